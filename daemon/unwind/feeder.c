/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The unwinder's tables as flamed keeps them. A file is known by what its .eh_frame says, not by
 * its name or build-id, which anybody can copy: two files share rows only where the rows are the
 * same. Rows are freed when the last process that maps the file is forgotten and the room is
 * needed.
 */
#include "unwind/feeder.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "unwind/ehframe.h"
#include "unwind/reader.h"
#include "unwind/unwind.h"

#include <sys/random.h>
#include <sys/stat.h>

#define FEEDER_FILES_MAX 4096
#define FEEDER_PROCESSES_MAX 4096
/* So long a device and inode in a maps file stand for the file that was found behind them: a node
 * that starts a hundred compilers a second would otherwise open their libraries a hundred times. */
#define FEEDER_TRUST_NS (60 * NSEC_PER_SEC)

/* A file as the kernel tells it apart: the quick way to its table. */
struct file_key {
    uint64_t dev, inode, bytes, changed_ns;
};

struct table {
    uint64_t digest[2]; /* of rows and segments */
    uint32_t first, count;
    struct ehframe_segment segments[EHFRAME_SEGMENTS_MAX];
    size_t segment_count;
    unsigned users; /* processes that map it */
    uint64_t used;  /* f->clock when it was last wanted */
};

struct file {
    struct file_key key;
    uint32_t dev_major, dev_minor; /* as maps files name it: may differ from the key's */
    uint64_t inode;
    uint64_t checked_ns; /* CLOCK_MONOTONIC of the last look at the file itself */
    struct table *table; /* NULL: it cannot be read, or not yet */
    uint64_t ticket;     /* of the reading under way; 0: it was read */
};

struct known_process {
    int32_t host_pid;
    struct unwind_process what;
    struct table **tables; /* owned, [table_count] */
    size_t table_count;
};

struct feeder {
    struct feeder_io io;
    struct reader *reader; /* NULL: files are read at once */
    uint64_t secret[2], clock, last_ticket;
    struct table **tables; /* owned; [table_count], sorted by first */
    size_t table_count;
    struct file *files; /* owned */
    size_t file_count;
    struct known_process **processes; /* owned */
    size_t process_count;
    uint32_t next_slot;
    uint64_t files_failed, left_out;
};

int feeder_new(const struct feeder_io *io, struct feeder **ret)
{
    struct feeder *f = calloc(1, sizeof(*f));

    if (!f)
        return -ENOMEM;
    f->io = *io;
    f->next_slot = 1;
    if (getrandom(f->secret, sizeof(f->secret), 0) != sizeof(f->secret))
        f->secret[0] = (uint64_t)(uintptr_t)f; /* early boot: better than nothing */
    if (io->background) {
        int r = reader_new(&f->reader);

        if (r < 0) {
            free(f);
            return r;
        }
    }
    *ret = f;
    return 0;
}

static struct known_process *process_free(struct known_process *k)
{
    if (!k)
        return NULL;
    for (size_t i = 0; i < k->table_count; i++)
        k->tables[i]->users--;
    free(k->tables);
    free(k);
    return NULL;
}

struct feeder *feeder_free(struct feeder *f)
{
    if (!f)
        return NULL;
    reader_free(f->reader);
    for (size_t i = 0; i < f->process_count; i++)
        process_free(f->processes[i]);
    for (size_t i = 0; i < f->table_count; i++)
        free(f->tables[i]);
    free(f->processes);
    free(f->tables);
    free(f->files);
    free(f);
    return NULL;
}

/* A keyed hash of 128 bits; the key is ours, so that a file cannot be made to look like another
 * one. */
static void digest(const struct feeder *f, const struct ehframe_table *t, uint64_t ret[2])
{
    const struct span parts[2] = {
        { (const char *)t->rows, t->count * sizeof(*t->rows) },
        { (const char *)t->segments, t->segment_count * sizeof(*t->segments) },
    };
    unsigned __int128 multiplier = ((unsigned __int128)f->secret[0] << 64) | f->secret[1] | 1;
    unsigned __int128 h = ((unsigned __int128)t->count << 64) | t->segment_count;

    for (size_t k = 0; k < ARRAY_SIZE(parts); k++) {
        for (size_t i = 0; i + 8 <= parts[k].n; i += 8) {
            uint64_t word;

            memcpy(&word, parts[k].p + i, sizeof(word));
            h = (h ^ word) * multiplier;
            h ^= h >> 61;
        }
    }
    ret[0] = (uint64_t)h;
    ret[1] = (uint64_t)(h >> 64);
}

static void table_drop(struct feeder *f, size_t at)
{
    struct table *t = f->tables[at];

    for (size_t i = 0; i < f->file_count; i++) {
        if (f->files[i].table == t)
            f->files[i--] = f->files[--f->file_count];
    }
    memmove(&f->tables[at], &f->tables[at + 1], (f->table_count - at - 1) * sizeof(struct table *));
    f->table_count--;
    free(t);
}

/* The first gap of @count rows: its index in the list of tables, or -1. */
static ssize_t find_room(const struct feeder *f, uint32_t count, uint32_t *ret_first)
{
    uint32_t at = 0;

    for (size_t i = 0; i <= f->table_count; i++) {
        uint32_t end = i < f->table_count ? f->tables[i]->first : f->io.rows_max;

        if (end - at >= count) {
            *ret_first = at;
            return (ssize_t)i;
        }
        if (i < f->table_count)
            at = f->tables[i]->first + f->tables[i]->count;
    }
    return -1;
}

/* Frees the table that was not wanted for the longest time. False: all are in use. */
static bool make_room(struct feeder *f)
{
    size_t oldest = f->table_count;

    for (size_t i = 0; i < f->table_count; i++) {
        if (f->tables[i]->users == 0 &&
            (oldest == f->table_count || f->tables[i]->used < f->tables[oldest]->used))
            oldest = i;
    }
    if (oldest == f->table_count)
        return false;
    table_drop(f, oldest);
    return true;
}

/* Puts the rows of @e where there is room. 0, -ENOSPC, -ENOMEM or what the broker said. */
static int table_add(struct feeder *f, const struct ehframe_table *e, const uint64_t sum[2],
                     struct table **ret, struct error *err)
{
    _cleanup_free_ struct table *t = calloc(1, sizeof(*t));
    struct table **tables;
    ssize_t at;
    int r;

    if (!t)
        return -ENOMEM;
    while (f->table_count >= FEEDER_FILES_MAX ||
           (at = find_room(f, (uint32_t)e->count, &t->first)) < 0) {
        if (!make_room(f))
            return error_set(err, -ENOSPC, "the table of unwind rows is full");
    }
    tables = reallocarray(f->tables, f->table_count + 1, sizeof(*tables));
    if (!tables)
        return -ENOMEM;
    f->tables = tables;
    if (e->count) {
        r = f->io.put_rows(f->io.ctx, t->first, e->rows, (uint32_t)e->count, err);
        if (r < 0)
            return r;
    }
    t->count = (uint32_t)e->count;
    memcpy(t->segments, e->segments, sizeof(t->segments));
    t->segment_count = e->segment_count;
    memcpy(t->digest, sum, sizeof(t->digest));
    memmove(&f->tables[at + 1], &f->tables[at],
            (f->table_count - (size_t)at) * sizeof(struct table *));
    f->tables[at] = t;
    f->table_count++;
    *ret = TAKE_PTR(t);
    return 0;
}

static int file_remember(struct feeder *f, const struct mapping *m, const struct file_key *key,
                         struct table *t, uint64_t ticket)
{
    struct file *files;

    if (f->file_count >= FEEDER_FILES_MAX) /* any: it costs one reading */
        f->files[0] = f->files[--f->file_count];
    files = reallocarray(f->files, f->file_count + 1, sizeof(*files));
    if (!files)
        return -ENOMEM;
    f->files = files;
    f->files[f->file_count++] = (struct file){
        .key = *key,
        .dev_major = m->dev_major,
        .dev_minor = m->dev_minor,
        .inode = m->inode,
        .checked_ns = clock_monotonic_ns(),
        .table = t,
        .ticket = ticket,
    };
    return 0;
}

/* The table with the rows of @e: one that is there, or a new one. */
static int table_for(struct feeder *f, const struct ehframe_table *e, struct table **ret,
                     struct error *err)
{
    uint64_t sum[2];

    digest(f, e, sum);
    for (size_t i = 0; i < f->table_count; i++) {
        if (memcmp(f->tables[i]->digest, sum, sizeof(sum)) == 0) {
            *ret = f->tables[i];
            return 0;
        }
    }
    return table_add(f, e, sum, ret, err);
}

static int read_now(struct feeder *f, int fd, const struct mapping *m, const struct file_key *key,
                    struct table **ret, struct error *err)
{
    struct ehframe_table e = { 0 };
    int r = ehframe_read(fd, &e, err);

    if (r < 0) {
        f->files_failed++;
        return r == -ENOMEM ? r : file_remember(f, m, key, NULL, 0);
    }
    r = table_for(f, &e, ret, err);
    if (r == 0)
        r = file_remember(f, m, key, *ret, 0);
    ehframe_deinit(&e);
    return r;
}

/* The table of the file @fd, which is taken; *ret NULL where it has none that can be read. 0;
 * FEEDER_PENDING; -errno. */
static int table_of(struct feeder *f, int fd, const struct mapping *m, struct table **ret,
                    struct error *err)
{
    _cleanup_close_ int owned = fd;
    struct file_key key;
    struct stat st;
    int r;

    *ret = NULL;
    if (fstat(fd, &st) < 0)
        return -errno;
    key = (struct file_key){ st.st_dev, st.st_ino, (uint64_t)st.st_size,
                             (uint64_t)st.st_ctim.tv_sec * NSEC_PER_SEC +
                                 (uint64_t)st.st_ctim.tv_nsec };
    for (size_t i = 0; i < f->file_count; i++) {
        if (memcmp(&f->files[i].key, &key, sizeof(key)) == 0) {
            *ret = f->files[i].table;
            f->files[i].checked_ns = clock_monotonic_ns();
            return f->files[i].ticket ? FEEDER_PENDING : 0;
        }
    }
    if (!f->reader)
        return read_now(f, fd, m, &key, ret, err);
    r = reader_put(f->reader, take_fd(&owned), ++f->last_ticket);
    if (r == -ENOSPC) /* very many at once: it is asked for again */
        return FEEDER_PENDING;
    if (r == 0)
        r = file_remember(f, m, &key, NULL, f->last_ticket);
    return r < 0 ? r : FEEDER_PENDING;
}

bool feeder_poll(struct feeder *f)
{
    struct reader_result result;
    bool news = false;

    while (f->reader && reader_take(f->reader, &result)) {
        struct file *file = NULL;

        for (size_t i = 0; i < f->file_count && !file; i++) {
            if (f->files[i].ticket == result.ticket)
                file = &f->files[i];
        }
        if (file) {
            struct table *t = NULL;

            if (result.outcome == 0)
                result.outcome = table_for(f, &result.table, &t, NULL);
            f->files_failed += result.outcome < 0;
            /* making room may have moved the list of files */
            for (size_t i = 0; i < f->file_count; i++) {
                if (f->files[i].ticket == result.ticket) {
                    f->files[i].ticket = 0;
                    f->files[i].table = t;
                }
            }
        }
        ehframe_deinit(&result.table);
        news = true;
    }
    return news;
}

bool feeder_wait(struct feeder *f, uint64_t deadline_ns)
{
    return f->reader && reader_wait(f->reader, deadline_ns);
}

static struct known_process **process_find(struct feeder *f, int32_t host_pid)
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

/* The file of @m, if it was looked at lately. */
static const struct file *file_trusted(const struct feeder *f, const struct mapping *m)
{
    uint64_t now_ns = clock_monotonic_ns();

    for (size_t i = 0; i < f->file_count && m->inode; i++) {
        const struct file *file = &f->files[i];

        if (file->inode == m->inode && file->dev_major == m->dev_major &&
            file->dev_minor == m->dev_minor && now_ns - file->checked_ns < FEEDER_TRUST_NS)
            return file;
    }
    return NULL;
}

/* Adds @m to @k. 0, PROC_GONE, -ENOMEM; anything else leaves the mapping without rows. */
static int mapping_add(struct feeder *f, const struct feeder_process *p, const struct mapping *m,
                       struct known_process *k, bool *pending, struct error *err)
{
    struct unwind_mapping *u = &k->what.mappings[k->what.mapping_count];
    _cleanup_close_ int fd = -1;
    const struct file *known;
    struct table *t = NULL;
    int r = 1;

    *u = (struct unwind_mapping){ .start = m->start, .end = m->end };
    known = file_trusted(f, m);
    if (known) {
        t = known->table;
        r = known->ticket ? FEEDER_PENDING : 0;
    } else if (m->path.n) {
        r = f->io.open_mapped(f->io.ctx, &p->id, m->start, m->end, &fd, err);
        if (r == PROC_GONE)
            return r;
    }
    if (r == 0 && !known)
        r = table_of(f, take_fd(&fd), m, &t, err);
    if (r == -ENOMEM)
        return r;
    *pending |= r == FEEDER_PENDING;
    if (r == 0 && t && ehframe_bias(t->segments, t->segment_count, m->start, m->offset, &u->bias)) {
        u->first_row = t->first;
        u->row_count = t->count;
        t->used = ++f->clock;
        t->users++;
        k->tables[k->table_count++] = t;
    }
    k->what.mapping_count++;
    return 0;
}

/* True if @a and @b differ in anything but the slot. */
static bool process_differs(const struct unwind_process *a, const struct unwind_process *b)
{
    struct unwind_process x = *a;

    x.slot = b->slot;
    return memcmp(&x, b, sizeof(x)) != 0;
}

int feeder_update(struct feeder *f, const struct feeder_process *p, struct error *err)
{
    struct known_process *k = calloc(1, sizeof(*k)), **old;
    struct known_process **processes;
    bool pending = false;
    int r = 0;

    if (!k)
        return -ENOMEM;
    k->tables = calloc(UNWIND_MAPPINGS_MAX, sizeof(struct table *));
    if (!k->tables) {
        free(k);
        return -ENOMEM;
    }
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
        r = mapping_add(f, p, &p->maps->entries[i], k, &pending, err);
    }
    if (r != 0)
        goto out;
    old = process_find(f, k->host_pid);
    k->what.slot = old ? (*old)->what.slot : 0;
    if (old && !process_differs(&k->what, &(*old)->what))
        goto out;
    k->what.slot = f->next_slot;
    f->next_slot = f->next_slot % (UNWIND_SLOTS_MAX - 1) + 1;
    r = f->io.put_process(f->io.ctx, k->host_pid, &k->what, err);
    if (r < 0)
        goto out;
    if (old) {
        process_free(*old);
        *old = TAKE_PTR(k);
        goto out;
    }
    r = -ENOMEM;
    processes = f->process_count < FEEDER_PROCESSES_MAX
                    ? reallocarray(f->processes, f->process_count + 1, sizeof(*processes))
                    : NULL;
    if (processes) {
        f->processes = processes;
        f->processes[f->process_count++] = TAKE_PTR(k);
        r = 0;
    }
out:
    process_free(k);
    return r == 0 && pending ? FEEDER_PENDING : r;
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
    *ret = (struct feeder_stats){
        .processes = f->process_count,
        .files = f->table_count,
        .rows_max = f->io.rows_max,
        .files_failed = f->files_failed,
        .mappings_left_out = f->left_out,
    };
    for (size_t i = 0; i < f->table_count; i++)
        ret->rows += f->tables[i]->count;
}
