/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The unwinder's descriptions of processes: their mappings, each with the place of its rows, and a
 * slot under which the unwinder remembers what addresses mean. A process gets another slot whenever
 * its description changes, so that nothing remembered outlives what it was true of.
 */
#include "unwind_tables/table_loader.h"

#include "base/cleanup.h"
#include "unwind/unwind.h"
#include "unwind_tables/row_files.h"

#define FEEDER_PROCESSES_MAX 4096
_Static_assert(FEEDER_PROCESSES_MAX < UNWIND_SLOTS_MAX / 2, "there is always a free slot");

struct known_process {
    int32_t host_pid;
    struct unwind_process what;
    struct row_table **tables; /* owned, [table_count] */
    size_t table_count;
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
    for (size_t i = 0; i < k->table_count; i++)
        row_table_release(k->tables[i]);
    free(k->tables);
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
        if (f->processes[i]->host_pid == host_pid)
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

/* Adds @m to @k. 0, PROC_GONE, -ENOMEM; anything else leaves the mapping without rows. */
static int mapping_add(struct feeder *f, const struct feeder_process *p, const struct mapping *m,
                       struct known_process *k, bool *pending, struct error *err)
{
    struct unwind_mapping *u = &k->what.mappings[k->what.mapping_count];
    struct row_table *t = NULL;
    int r = row_files_get(f->files, &p->id, m, &t, err);

    if (r == PROC_GONE || r == -ENOMEM)
        return r;
    *u = (struct unwind_mapping){ .start = m->start, .end = m->end };
    *pending |= r == FEEDER_PENDING;
    if (r == 0 && t && ehframe_bias(t->segments, t->segment_count, m->start, m->offset, &u->bias)) {
        u->first_row = t->first;
        u->row_count = t->count;
        row_table_use(row_files_tables(f->files), t);
        k->tables[k->table_count++] = t;
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

/* Reads what @k, new and empty, must hold of @p. 0, PROC_GONE or -ENOMEM. */
static int process_describe(struct feeder *f, const struct feeder_process *p,
                            struct known_process *k, bool *ret_pending, struct error *err)
{
    int r = 0;

    k->tables = calloc(UNWIND_MAPPINGS_MAX, sizeof(struct row_table *));
    if (!k->tables)
        return -ENOMEM;
    k->host_pid = p->id.host_pid;
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
        r = mapping_add(f, p, &p->maps->entries[i], k, ret_pending, err);
    }
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

int feeder_update(struct feeder *f, const struct feeder_process *p, struct error *err)
{
    struct known_process *k = calloc(1, sizeof(*k)), **old = process_find(f, p->id.host_pid);
    bool pending = false;
    int r = k ? process_describe(f, p, k, &pending, err) : -ENOMEM;

    if (r == 0 && (!old || process_differs(&k->what, &(*old)->what))) {
        k->what.slot = next_slot(f);
        r = f->io.put_process(f->io.ctx, k->host_pid, &k->what, err);
        if (r == 0)
            r = process_keep(f, &k, old);
    }
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
