/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The unwinder's descriptions of processes: their mappings, the rows of each, and a slot, which is
 * part of the keys of the rule cache. A process gets another slot whenever its description changes,
 * so that no remembered rule is used after it became invalid. Mappings that find no room in the
 * description lie in the table of rows.
 */
#include "unwind_tables/table_loader.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"
#include "proc/stall_readers.h"
#include "unwind/unwind.h"
#include "unwind_tables/row_files.h"

#define FEEDER_PROCESSES_MAX 4096
#define FEEDER_VITAL 32 /* places of a description reserved for vital mappings */
_Static_assert(FEEDER_PROCESSES_MAX < UNWIND_SLOTS_MAX / 2, "there is always a free slot");

/* How long the table of an unchanged mapping stays valid without a look at the file. The numbers in
 * a line of maps identify a file only within its process. */
#define FEEDER_TRUST_NS (60 * NSEC_PER_SEC)
/* How long one update looks at files when they are read in the background. The next update
 * continues with the rest. */
#define FEEDER_LOOK_NS (10 * NSEC_PER_MSEC)
#define FEEDER_URGENT_MAX (64 + MAPS_MET_MAX) /* files looked at regardless of time */

/* What flamed knows of a mapping beyond the unwinder's part. */
struct known_mapping {
    struct mapping place;    /* without a valid path */
    struct row_table *table; /* NULL: none. A table in use is not evicted */
    uint64_t looked_ns;      /* CLOCK_MONOTONIC, of the last look at the file; 0: the look is
                              * pending or failed */
};

struct known_process {
    struct proc_id id;
    uint64_t owner; /* proc_owner() */
    struct unwind_process what;
    struct known_mapping *mappings; /* owned, [count], sorted by start */
    size_t count;
    struct row_table *more; /* the mappings that found no room in @what; NULL: none */
    size_t left_out;        /* mappings that the description lacks */
    bool no_rows;           /* the rows of a file found no room */
    uint64_t again_ns;      /* CLOCK_MONOTONIC: when to try failed readings of files again; 0: none
                             * failed */
    size_t looked;          /* index in the maps of the first file not looked at; 0: all were */
};

/* A description in the making. */
struct description {
    struct known_process *k;
    const struct known_process *before; /* the previous description of the same image; NULL: none */
    size_t at;     /* index in the mappings of @before; all earlier ones lie at lower addresses */
    size_t urgent; /* files looked at without regard to time */
    struct unwind_mapping *more; /* owned, [more_count]: mappings beyond @k->what */
    size_t more_count;
    uint64_t deadline_ns; /* end of the time for looking at files; CLOCK_MONOTONIC */
    bool pending;
};

struct feeder {
    struct feeder_io io;
    struct row_files *files;
    struct known_process **processes; /* owned */
    size_t process_count;
    struct shares places; /* of processes */
    uint32_t last_slot;
    bool unlooked; /* an update ended before it had looked at all files */
};

int feeder_new(const struct feeder_io *io, struct feeder **ret)
{
    struct feeder *f = calloc(1, sizeof(*f));
    int r;

    if (!f)
        return -ENOMEM;
    f->io = *io;
    shares_init(&f->places, FEEDER_PROCESSES_MAX);
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
    for (size_t i = 0; i < k->count; i++) {
        if (k->mappings[i].table)
            row_table_release(k->mappings[i].table);
    }
    if (k->more)
        row_table_release(k->more);
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

bool feeder_has_more(const struct feeder *f)
{
    return f->unlooked;
}

bool feeder_poll(struct feeder *f)
{
    bool unlooked = f->unlooked;

    f->unlooked = false;
    return row_files_poll(f->files) || unlooked;
}

bool feeder_wait(struct feeder *f, uint64_t deadline_ns)
{
    return row_files_wait(f->files, deadline_ns);
}

static struct known_process **process_find(const struct feeder *f, int32_t host_pid)
{
    return FIRST_OF(i, f->processes, f->process_count, f->processes[i]->id.host_pid == host_pid);
}

/* Returns whether the unwinder must know @m: executable, and not the JVM's code cache. */
static bool mapping_wanted(const struct mapping *m, const struct unwind_vm *vm)
{
    return m->exec && m->start < (UINT64_C(1) << UNWIND_PC_BITS) &&
           !(vm && m->start >= vm->code_low && m->start < vm->code_high);
}

/* Returns the recent knowledge of mapping @m of the same image; NULL: none. */
static const struct known_mapping *known_before(struct description *d, const struct mapping *m,
                                                uint64_t now_ns)
{
    const struct known_process *before = d->before;
    const struct known_mapping *known;

    while (before && d->at < before->count && before->mappings[d->at].place.start < m->start)
        d->at++;
    if (!before || d->at == before->count)
        return NULL;
    known = &before->mappings[d->at];
    return known->looked_ns && now_ns - known->looked_ns < FEEDER_TRUST_NS &&
                   mapping_same_place(&known->place, m)
               ? known
               : NULL;
}

/* Returns whether to look at the file of @m without regard to time, because stacks lead through
 * it. */
static bool is_urgent(const struct feeder_process *p, const struct mapping *m,
                      struct description *d)
{
    return (mapping_is_vital(m) || maps_have_met(p->met, m)) && ++d->urgent <= FEEDER_URGENT_MAX;
}

/* Gets the table of mapping @i of the maps: from the previous description, or by a look at its file
 * if there is time. Returns as row_files_get(). */
static int mapping_look(struct feeder *f, const struct feeder_process *p, size_t i,
                        struct description *d, struct known_mapping *ret, struct error *err)
{
    const struct mapping *m = &p->maps->entries[i];
    uint64_t now_ns = clock_monotonic_ns();
    const struct known_mapping *known = known_before(d, m, now_ns);
    int r;

    if (known) {
        *ret = *known;
        return 0;
    }
    *ret = (struct known_mapping){ .place = *m };
    if (!is_urgent(p, m, d)) {
        if (d->before && i < d->before->looked)
            return FEEDER_PENDING; /* files that the last update did not reach come first */
        if (now_ns >= d->deadline_ns) {
            if (!d->k->looked)
                d->k->looked = MAX(i, (size_t)1);
            return FEEDER_PENDING;
        }
    }
    r = row_files_get(f->files, &p->id, m, &ret->table, err);
    if (r == 0)
        ret->looked_ns = now_ns;
    return r;
}

/* Returns the place for the next mapping, with @rest mappings left to place. Vital mappings, and
 * others while there is room, go into the description itself. NULL: no place. */
static struct unwind_mapping *place_for(struct description *d, const struct mapping *m, size_t rest)
{
    struct unwind_process *what = &d->k->what;
    size_t kept = mapping_is_vital(m) ? 0 : FEEDER_VITAL;

    if (what->mapping_count + kept < UNWIND_MAPPINGS_MAX ||
        (what->mapping_count < UNWIND_MAPPINGS_MAX &&
         what->mapping_count + rest <= UNWIND_MAPPINGS_MAX))
        return &what->mappings[what->mapping_count++];
    if (!d->more)
        d->more = calloc(UNWIND_MORE_MAX, sizeof(*d->more));
    return d->more && d->more_count < UNWIND_MORE_MAX ? &d->more[d->more_count++] : NULL;
}

/* Adds mapping @i of the maps. Returns 0, PROC_GONE or -ENOMEM. After other failures the mapping
 * has no rows. */
static int mapping_add(struct feeder *f, const struct feeder_process *p, size_t i,
                       struct description *d, struct error *err)
{
    const struct mapping *m = &p->maps->entries[i];
    struct unwind_mapping *u = place_for(d, m, p->maps->count - i);
    struct known_mapping *known = &d->k->mappings[d->k->count];
    const struct row_table *t;
    int r;

    if (!u) {
        d->k->left_out++;
        return 0;
    }
    *u = (struct unwind_mapping){ .start = m->start, .end = m->end };
    r = mapping_look(f, p, i, d, known, err);
    t = known->table;
    if (r == PROC_GONE || r == -ENOMEM)
        return r;
    d->pending |= r == FEEDER_PENDING;
    d->k->no_rows |= r == -ENOSPC;
    if (r < 0 && r != -ENOSPC)
        d->k->again_ns = clock_monotonic_ns() + ROW_FILES_REFUSED_NS;
    if (t && ehframe_bias(t->segments, t->segment_count, m->start, m->offset, &u->bias)) {
        u->first_row = t->first;
        u->row_count = t->count;
        row_table_use(row_files_tables(f->files), known->table);
    } else {
        known->table = NULL;
    }
    d->k->count++;
    return 0;
}

/* Puts the mappings beyond the description into the table of rows. If that has no room, counts them
 * as left out. */
static int put_more(struct feeder *f, struct description *d, struct error *err)
{
    size_t n = d->more_count, words = n * (1 + UNWIND_MORE_WORDS);
    _cleanup_free_ uint64_t *word = n ? malloc(words * sizeof(*word)) : NULL;
    struct ehframe_table e = { .rows = (struct unwind_row *)word, .count = words };
    struct known_process *k = d->k;
    int r;

    if (!n)
        return 0;
    if (!word)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct unwind_mapping *m = &d->more[i];
        uint64_t *rest = word + n + i * UNWIND_MORE_WORDS;

        word[i] = m->start;
        rest[0] = m->end;
        rest[1] = m->bias;
        rest[2] = m->first_row | (uint64_t)m->row_count << 32;
    }
    r = row_files_put(f->files, k->owner, &e, &k->more, err);
    if (r == 0) {
        k->what.more_count = (uint32_t)n;
        k->what.first_more = k->more->first;
        row_table_use(row_files_tables(f->files), k->more);
    } else if (r != -ENOMEM) {
        k->left_out += n;
    }
    return r == -ENOMEM ? r : 0;
}

/* Returns whether @a and @b differ in anything but the slot. Different padding only causes a
 * redundant update. */
static bool process_differs(const struct unwind_process *a, const struct unwind_process *b)
{
    struct unwind_process x = *a;

    x.slot = b->slot;
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): see above */
    return memcmp(&x, b, sizeof(x)) != 0;
}

/* Returns the next slot that no process uses. Slots rise and wrap to 1. At a wrap the rule cache is
 * cleared (sampler_put_process()). */
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

/* Returns the previous description of the image of @p; NULL: none. */
static const struct known_process *image_before(const struct feeder_process *p,
                                                struct known_process *const *old)
{
    return old && proc_id_equal(&(*old)->id, &p->id) && (*old)->what.exec_id == p->exec_id ? *old
                                                                                           : NULL;
}

/* Frees the unused rest of the list of mappings. */
static void process_fit(struct known_process *k)
{
    struct known_mapping *fit =
        k->count ? reallocarray(k->mappings, k->count, sizeof(*k->mappings)) : NULL;

    if (fit)
        k->mappings = fit;
}

/* Fills in @d->k, new and empty, for @p. Returns 0, PROC_GONE or -ENOMEM. */
static int process_describe(struct feeder *f, const struct feeder_process *p, struct description *d,
                            struct error *err)
{
    struct known_process *k = d->k;
    int r = 0;

    k->mappings = calloc(p->maps->count + 1, sizeof(*k->mappings));
    if (!k->mappings)
        return -ENOMEM;
    k->id = p->id;
    k->left_out = p->maps->left_out;
    k->what.start_boottime_ns = p->start_boottime_ns;
    k->what.exec_id = p->exec_id;
    if (p->vm)
        k->what.vm = *p->vm;
    k->what.unloads = p->unloads;
    for (size_t i = 0; r == 0 && i < p->maps->count; i++) {
        if (mapping_wanted(&p->maps->entries[i], p->vm))
            r = mapping_add(f, p, i, d, err);
    }
    f->unlooked |= k->looked != 0 || (d->before && d->before->looked);
    process_fit(k);
    return r == 0 ? put_more(f, d, err) : r;
}

/* Takes over *k and stores it in place of *old, or as a new process. Returns 0 or -ENOMEM. */
static int process_keep(struct feeder *f, struct known_process **k, struct known_process **old)
{
    struct known_process **processes;

    if (old) {
        shares_give(&f->places, (*old)->owner, 1);
        shares_force(&f->places, (*k)->owner, 1);
        process_free(*old);
        *old = TAKE_PTR(*k);
        return 0;
    }
    processes = reallocarray(f->processes, f->process_count + 1, sizeof(*processes));
    if (!processes)
        return -ENOMEM;
    shares_force(&f->places, (*k)->owner, 1);
    f->processes = processes;
    f->processes[f->process_count++] = TAKE_PTR(*k);
    return 0;
}

/* Puts @k into the unwinder's tables, unless @old is in the tables and equal to @k. Returns 0 or
 * -errno. */
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
    struct description d = { .k = k,
                             .before = image_before(p, old),
                             .deadline_ns = f->io.background ? clock_monotonic_ns() + FEEDER_LOOK_NS
                                                             : UINT64_MAX };
    uint64_t owner = readers_owner(&p->id);
    int r = k ? 0 : -ENOMEM;

    if (r == 0 && !old && !shares_room(&f->places, owner)) {
        f->places.refused++;
        r = error_set(err, -ENOSPC, "its owner has too many processes already");
    }
    if (r == 0) {
        k->owner = owner;
        r = process_describe(f, p, &d, err);
    }
    free(d.more);
    if (r == 0)
        r = process_put(f, k, old ? *old : NULL, err);
    if (r == 0)
        r = process_keep(f, &k, old);
    process_free(k);
    return r == 0 && d.pending ? FEEDER_PENDING : r;
}

const struct unwind_process *feeder_known(const struct feeder *f, int32_t host_pid)
{
    struct known_process **k = process_find(f, host_pid);

    return k ? &(*k)->what : NULL;
}

size_t feeder_left_out(const struct feeder *f, int32_t host_pid)
{
    struct known_process **k = process_find(f, host_pid);

    return k ? (*k)->left_out : 0;
}

bool feeder_lacks_rows(const struct feeder *f, int32_t host_pid)
{
    struct known_process **k = process_find(f, host_pid);

    return k && (*k)->no_rows;
}

uint64_t feeder_again_ns(const struct feeder *f, int32_t host_pid)
{
    struct known_process **k = process_find(f, host_pid);

    return k ? (*k)->again_ns : 0;
}

void feeder_forget(struct feeder *f, int32_t host_pid)
{
    struct known_process **k = process_find(f, host_pid);

    if (!k)
        return;
    f->io.put_process(f->io.ctx, host_pid, NULL, NULL);
    shares_give(&f->places, (*k)->owner, 1);
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
        .refused = tables->shares.refused + f->places.refused,
    };
    for (size_t i = 0; i < f->process_count; i++)
        ret->mappings_left_out += f->processes[i]->left_out;
}
