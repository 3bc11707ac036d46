/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The unwinder's descriptions of processes: their mappings, each with the place of its rows, and a
 * slot under which the unwinder remembers what addresses mean. A process gets another slot whenever
 * its description changes, so that nothing remembered outlives what it was true of.
 */
#include "unwind_tables/table_loader.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "unwind/unwind.h"
#include "unwind_tables/row_files.h"

#define FEEDER_PROCESSES_MAX 4096
_Static_assert(FEEDER_PROCESSES_MAX < UNWIND_SLOTS_MAX / 2, "there is always a free slot");

/* For this long a mapping that stays as it is stands for the file that its process had there: the
 * numbers in its line are the process's own matter. */
#define FEEDER_TRUST_NS (60 * NSEC_PER_SEC)

/* What is known of a mapping beyond what the unwinder must know. */
struct known_mapping {
    struct mapping place;    /* its path is not to be read */
    struct row_table *table; /* NULL: none; of one in use, it stays for as long */
    uint64_t looked_ns;      /* CLOCK_MONOTONIC, when its file was looked at; 0: it is not known */
};

struct known_process {
    struct proc_id id;
    struct unwind_process what;
    struct known_mapping *mappings; /* owned, [what.mapping_count] */
};

struct feeder {
    struct feeder_io io;
    struct row_files *files;
    struct known_process **processes; /* owned */
    size_t process_count;
    uint32_t last_slot;
    uint64_t left_out;
};

int feeder_new(const struct feeder_io *io, struct feeder **ret)
{
    struct feeder *f = calloc(1, sizeof(*f));
    int r;

    if (!f)
        return -ENOMEM;
    f->io = *io;
    r = row_files_new(&f->io, &f->files);
    if (r < 0) {
        free(f);
        return r;
    }
    *ret = f;
    return 0;
}

static struct known_process *process_free(struct known_process *k)
{
    if (!k)
        return NULL;
    for (size_t i = 0; i < k->what.mapping_count; i++) {
        if (k->mappings[i].table)
            row_table_release(k->mappings[i].table);
    }
    free(k->mappings);
    free(k);
    return NULL;
}

struct feeder *feeder_free(struct feeder *f)
{
    if (!f)
        return NULL;
    for (size_t i = 0; i < f->process_count; i++)
        process_free(f->processes[i]);
    free(f->processes);
    row_files_free(f->files);
    free(f);
    return NULL;
}

bool feeder_poll(struct feeder *f)
{
    return row_files_poll(f->files);
}

bool feeder_wait(struct feeder *f, uint64_t deadline_ns)
{
    return row_files_wait(f->files, deadline_ns);
}

static struct known_process **process_find(const struct feeder *f, int32_t host_pid)
{
    for (size_t i = 0; i < f->process_count; i++) {
        if (f->processes[i]->id.host_pid == host_pid)
            return &f->processes[i];
    }
    return NULL;
}

/* Whether the unwinder must know @m: executable, and not the JVM's own code. */
static bool mapping_wanted(const struct mapping *m, const struct unwind_vm *vm)
{
    return m->exec && m->start < (UINT64_C(1) << UNWIND_PC_BITS) &&
           !(vm && m->start >= vm->code_low && m->start < vm->code_high);
}

/* What was known of mapping @m of the same image not long ago; NULL: nothing. */
static const struct known_mapping *known_before(const struct known_process *before,
                                                const struct mapping *m, uint64_t now_ns)
{
    for (size_t i = 0; before && i < before->what.mapping_count; i++) {
        const struct known_mapping *known = &before->mappings[i];

        if (known->place.start == m->start)
            return known->looked_ns && now_ns - known->looked_ns < FEEDER_TRUST_NS &&
                           mapping_same_place(&known->place, m)
                       ? known
                       : NULL;
    }
    return NULL;
}

/* Gets the table of mapping @m, by @before or by a look at its file. As row_files_get(). */
static int mapping_look(struct feeder *f, const struct feeder_process *p, const struct mapping *m,
                        const struct known_process *before, struct known_mapping *ret,
                        struct error *err)
{
    uint64_t now_ns = clock_monotonic_ns();
    const struct known_mapping *known = known_before(before, m, now_ns);
    int r;

    if (known) {
        *ret = *known;
        return 0;
    }
    *ret = (struct known_mapping){ .place = *m };
    r = row_files_get(f->files, &p->id, m, &ret->table, err);
    if (r == 0)
        ret->looked_ns = now_ns;
    return r;
}

/* Adds @m to @k. 0, PROC_GONE, -ENOMEM; anything else leaves the mapping without rows. */
static int mapping_add(struct feeder *f, const struct feeder_process *p, const struct mapping *m,
                       const struct known_process *before, struct known_process *k, bool *pending,
                       struct error *err)
{
    struct unwind_mapping *u = &k->what.mappings[k->what.mapping_count];
    struct known_mapping *known = &k->mappings[k->what.mapping_count];
    int r = mapping_look(f, p, m, before, known, err);
    const struct row_table *t = known->table;

    if (r == PROC_GONE || r == -ENOMEM)
        return r;
    *u = (struct unwind_mapping){ .start = m->start, .end = m->end };
    *pending |= r == FEEDER_PENDING;
    if (t && ehframe_bias(t->segments, t->segment_count, m->start, m->offset, &u->bias)) {
        u->first_row = t->first;
        u->row_count = t->count;
        row_table_use(row_files_tables(f->files), known->table);
    } else {
        known->table = NULL;
    }
    k->what.mapping_count++;
    return 0;
}

/* True if @a and @b differ in anything but the slot; where padding does, they are only put once
 * more. */
static bool process_differs(const struct unwind_process *a, const struct unwind_process *b)
{
    struct unwind_process x = *a;

    x.slot = b->slot;
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): see above */
    return memcmp(&x, b, sizeof(x)) != 0;
}

/* The next slot that no process has. They rise, then begin at 1 again. That is the sign to forget
 * what is remembered by slot (sampler_put_process()). */
static uint32_t next_slot(struct feeder *f)
{
    size_t i;

    do {
        f->last_slot = f->last_slot % (UNWIND_SLOTS_MAX - 1) + 1;
        for (i = 0; i < f->process_count && f->processes[i]->what.slot != f->last_slot; i++)
            ;
    } while (i < f->process_count);
    return f->last_slot;
}

/* What was described of the image of @p; NULL: nothing. */
static const struct known_process *image_before(const struct feeder_process *p,
                                                struct known_process *const *old)
{
    return old && proc_id_equal(&(*old)->id, &p->id) && (*old)->what.exec_id == p->exec_id ? *old
                                                                                           : NULL;
}

/* Gives back what was allocated and has no mapping in it. */
static void process_fit(struct known_process *k)
{
    struct known_mapping *fit =
        k->what.mapping_count
            ? reallocarray(k->mappings, k->what.mapping_count, sizeof(*k->mappings))
            : NULL;

    if (fit)
        k->mappings = fit;
}

/* Reads what @k, new and empty, must hold of @p. 0, PROC_GONE or -ENOMEM. */
static int process_describe(struct feeder *f, const struct feeder_process *p,
                            const struct known_process *before, struct known_process *k,
                            bool *ret_pending, struct error *err)
{
    int r = 0;

    k->mappings = calloc(UNWIND_MAPPINGS_MAX, sizeof(*k->mappings));
    if (!k->mappings)
        return -ENOMEM;
    k->id = p->id;
    k->what.start_boottime_ns = p->start_boottime_ns;
    k->what.exec_id = p->exec_id;
    if (p->vm)
        k->what.vm = *p->vm;
    for (size_t i = 0; r == 0 && i < p->maps->count; i++) {
        if (!mapping_wanted(&p->maps->entries[i], p->vm))
            continue;
        if (k->what.mapping_count == UNWIND_MAPPINGS_MAX) {
            f->left_out++;
            continue;
        }
        r = mapping_add(f, p, &p->maps->entries[i], before, k, ret_pending, err);
    }
    process_fit(k);
    return r;
}

/* Puts *k, which is taken, in the place of *old, or beside the others. 0 or -ENOMEM. */
static int process_keep(struct feeder *f, struct known_process **k, struct known_process **old)
{
    struct known_process **processes;

    if (old) {
        process_free(*old);
        *old = TAKE_PTR(*k);
        return 0;
    }
    processes = f->process_count < FEEDER_PROCESSES_MAX
                    ? reallocarray(f->processes, f->process_count + 1, sizeof(*processes))
                    : NULL;
    if (!processes)
        return -ENOMEM;
    f->processes = processes;
    f->processes[f->process_count++] = TAKE_PTR(*k);
    return 0;
}

/* Puts @k into the unwinder's tables, unless @old is there and says the same. 0 or -errno. */
static int process_put(struct feeder *f, struct known_process *k, const struct known_process *old,
                       struct error *err)
{
    if (old && !process_differs(&k->what, &old->what)) {
        k->what.slot = old->what.slot;
        return 0;
    }
    k->what.slot = next_slot(f);
    return f->io.put_process(f->io.ctx, k->id.host_pid, &k->what, err);
}

int feeder_update(struct feeder *f, const struct feeder_process *p, struct error *err)
{
    struct known_process *k = calloc(1, sizeof(*k)), **old = process_find(f, p->id.host_pid);
    bool pending = false;
    int r = k ? process_describe(f, p, image_before(p, old), k, &pending, err) : -ENOMEM;

    if (r == 0)
        r = process_put(f, k, old ? *old : NULL, err);
    if (r == 0)
        r = process_keep(f, &k, old);
    process_free(k);
    return r == 0 && pending ? FEEDER_PENDING : r;
}

const struct unwind_process *feeder_known(const struct feeder *f, int32_t host_pid)
{
    struct known_process **k = process_find(f, host_pid);

    return k ? &(*k)->what : NULL;
}

void feeder_forget(struct feeder *f, int32_t host_pid)
{
    struct known_process **k = process_find(f, host_pid);

    if (!k)
        return;
    f->io.put_process(f->io.ctx, host_pid, NULL, NULL);
    process_free(*k);
    *k = f->processes[--f->process_count];
}

void feeder_stats(const struct feeder *f, struct feeder_stats *ret)
{
    const struct row_tables *tables = row_files_tables(f->files);

    *ret = (struct feeder_stats){
        .processes = f->process_count,
        .files = tables->count,
        .rows = row_tables_rows(tables),
        .rows_max = f->io.rows_max,
        .files_failed = row_files_failed(f->files),
        .read_ns = row_files_read_ns(f->files),
        .mappings_left_out = f->left_out,
    };
}
