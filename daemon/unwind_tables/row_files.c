/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "unwind_tables/row_files.h"

#include "base/cleanup.h"
#include "base/list.h"
#include "proc/stall_readers.h"
#include "unwind_tables/ehframe_reader.h"
#include "unwind_tables/pinned_files.h"

#define ROW_FILES_MAX 16384

/* How long a table of a file without an identity is used, and by its opener alone. */
#define ROW_FILES_OPENER_NS (60 * NSEC_PER_SEC)
/* Least time before another try for an owner if there was no room to read a copy of a file. */
#define ROW_FILES_BUSY_NS NSEC_PER_SEC

/* A file that @id has mapped at @m, just opened or pinned. */
struct opened {
    struct proc_id id;
    uint64_t owner;   /* owner of the process */
    struct mapping m; /* without a valid path */
    struct file_identity identity;
    uint64_t at_ns; /* CLOCK_MONOTONIC */
};

struct file {
    struct opened by;        /* the first process. Without an identity (the file was changing, or is
                              * a copy) only that process uses the table */
    struct row_table *table; /* NULL: not readable, or not read yet */
    uint64_t ticket;         /* ticket of the pending reading; 0: none is pending */
    struct reader_job *job;  /* the pending reading; borrowed from the reader; NULL: put off */
    uint64_t refused_ns;     /* CLOCK_MONOTONIC: until then the owner is refused; other owners
                              * ignore this entry. 0: not refused */
    int refused;             /* the reason: -ENOSPC, no room in its share; -errno of a reading that
                              * failed for now */
};

struct row_files {
    const struct feeder_io *io;
    struct reader *reader; /* NULL: files are read at once */
    struct row_tables tables;
    struct pinned_files pinned;
    struct file *files; /* owned, [count] */
    size_t count;
    size_t found; /* search start: files of one process are adjacent */
    uint64_t last_ticket, failed, read_ns;
};

int row_files_new(const struct feeder_io *io, struct row_files **ret)
{
    struct row_files *f = calloc(1, sizeof(*f));
    int r;

    if (!f)
        return -ENOMEM;
    f->io = io;
    row_tables_init(&f->tables, io->rows_max);
    r = io->background ? reader_new(io->wake_fd, io->copies, &f->reader) : 0;
    if (r < 0) {
        row_files_free(f);
        return r;
    }
    *ret = f;
    return 0;
}

struct row_files *row_files_free(struct row_files *f)
{
    if (!f)
        return NULL;
    reader_free(f->reader);
    row_tables_deinit(&f->tables);
    pinned_files_deinit(&f->pinned);
    free(f->files);
    free(f);
    return NULL;
}

/* Forgets the files of an evicted table: they are read again when needed. */
static void dropped(void *ctx, const struct row_table *t)
{
    struct row_files *f = ctx;

    for (size_t i = 0; i < f->count; i++) {
        if (f->files[i].table == t)
            f->files[i--] = f->files[--f->count];
    }
}

int row_files_put(struct row_files *f, uint64_t owner, const struct ehframe_table *e,
                  struct row_table **ret, struct error *err)
{
    return row_tables_get(&f->tables, owner, e, f->io->put_rows, f->io->ctx, dropped, f, ret, err);
}

/* Returns whether @m is the kernel's vdso. Each opening of it gives another file, but its code is
 * the same for all 64-bit processes. No process can put another file there under that name. */
static bool is_vdso(const struct mapping *m)
{
    return m->inode == 0 && span_eq_str(m->path, "[vdso]");
}

/* Returns whether @m is a mapping of a 32-bit process. Its vdso is read from the process, which can
 * write to its own copy. */
static bool is_narrow(const struct mapping *m)
{
    return m->end <= UINT32_MAX;
}

/* Returns an identity for the vdso: device 0, which no file has. */
static struct file_identity vdso_identity(const struct mapping *m)
{
    return (struct file_identity){ .inode = 1, .bytes = m->end - m->start };
}

/* Drops entries of refused files that may be tried again. */
static void forget_refused(struct row_files *f, uint64_t now_ns)
{
    for (size_t i = 0; i < f->count; i++) {
        if (f->files[i].refused_ns && f->files[i].refused_ns <= now_ns)
            f->files[i--] = f->files[--f->count];
    }
}

static int remember(struct row_files *f, const struct file *file)
{
    struct file *files;

    if (f->count >= ROW_FILES_MAX) /* evict any file: it costs one reading */
        f->files[0] = f->files[--f->count];
    files = reallocarray(f->files, f->count + 1, sizeof(*files));
    if (!files)
        return -ENOMEM;
    f->files = files;
    f->files[f->count++] = *file;
    return 0;
}

/* Returns whether the error @r of a reading holds for the file, and not only for now, as one of the
 * disk does. */
static bool is_of_file(int r)
{
    return r == -ENOEXEC || r == -EBADMSG || r == -EFBIG;
}

static int read_now(struct row_files *f, int fd, const struct opened *o, struct row_table **ret,
                    struct error *err)
{
    struct ehframe_table e = { 0 };
    int r = ehframe_read(fd, &e, err);

    if (r < 0) {
        f->failed++;
        return is_of_file(r) ? remember(f, &(struct file){ .by = *o }) : r;
    }
    r = row_files_put(f, o->owner, &e, ret, err)
            ?: remember(f, &(struct file){ .by = *o, .table = *ret });
    ehframe_deinit(&e);
    return r;
}

static bool is_file(const struct file *file, const struct opened *o)
{
    const struct opened *by = &file->by;

    if (file->refused_ns && (by->owner != o->owner || o->at_ns >= file->refused_ns))
        return false;
    if (by->identity.inode || o->identity.inode)
        return file_identity_equal(&by->identity, &o->identity);
    return proc_id_equal(&by->id, &o->id) && mapping_same_place(&by->m, &o->m) &&
           o->at_ns - by->at_ns < ROW_FILES_OPENER_NS;
}

/* Returns the entry for @o; NULL: none. */
static const struct file *find_file(struct row_files *f, const struct opened *o)
{
    for (size_t n = 0, i = f->found; n < f->count; n++, i++) {
        i = i < f->count ? i : 0;
        if (is_file(&f->files[i], o)) {
            f->found = i + 1;
            return &f->files[i];
        }
    }
    return NULL;
}

/* Gets the table of @file, which @owner has mapped. Returns as row_files_get(). */
static int table_of(struct row_files *f, const struct file *file, uint64_t owner,
                    struct row_table **ret)
{
    *ret = file->table;
    if (!file->ticket)
        return file->refused_ns ? file->refused : 0;
    if (file->job)
        reader_hurry(f->reader, file->job, owner);
    return FEEDER_PENDING;
}

/* Reads @fd, which it takes over. Returns as row_files_get(). */
static int read_file(struct row_files *f, int fd, const struct opened *o, struct row_table **ret,
                     struct error *err)
{
    struct file file = { .by = *o, .ticket = ++f->last_ticket };
    _cleanup_close_ int owned = fd;
    int r;

    if (!f->reader)
        return read_now(f, fd, o, ret, err);
    r = reader_put(f->reader, o->owner, take_fd(&owned), file.ticket, &file.job);
    if (r == -ENOSPC) {
        forget_refused(f, o->at_ns);
        file.refused_ns = o->at_ns + ROW_FILES_BUSY_NS;
        file.refused = -ENOSPC;
    } else if (r < 0) {
        return r;
    }
    r = remember(f, &file);
    return r < 0 ? r : FEEDER_PENDING;
}

/* Gets the entry for the file mapped at @m without opening the file; NULL: none. */
static const struct file *find_unopened(struct row_files *f, const struct mapping *m,
                                        struct opened *o)
{
    if (is_vdso(m))
        o->identity = vdso_identity(m);
    else
        pinned_files_find(&f->pinned, m, o->at_ns, &o->identity);
    return find_file(f, o);
}

int row_files_get(struct row_files *f, const struct proc_id *id, const struct mapping *m,
                  struct row_table **ret, struct error *err)
{
    struct opened o = {
        .id = *id, .owner = readers_owner(id), .m = *m, .at_ns = clock_monotonic_ns()
    };
    const struct file *known = NULL;
    _cleanup_close_ int fd = -1;
    int r;

    *ret = NULL;
    if (!m->path.n || (is_vdso(m) && is_narrow(m)))
        return 0;
    known = find_unopened(f, m, &o);
    if (known)
        return table_of(f, known, o.owner, ret);
    if (f->reader && !reader_has_place(f->reader, o.owner))
        return FEEDER_PENDING; /* too many at once: the caller tries again */
    r = f->io->open_mapped(f->io->ctx, id, m->start, m->end, &fd, err);
    if (r != 0) /* other outcomes: the mapping has no file */
        return r < 0 || r == PROC_GONE ? r : 0;
    if (!is_vdso(m)) {
        file_identity_of(fd, &o.identity);
        pinned_files_add(&f->pinned, fd, m, &o.identity, o.at_ns);
        known = find_file(f, &o);
    }
    return known ? table_of(f, known, o.owner, ret) : read_file(f, take_fd(&fd), &o, ret, err);
}

static struct file *by_ticket(struct row_files *f, uint64_t ticket)
{
    return FIRST_OF(i, f->files, f->count, f->files[i].ticket == ticket);
}

/* Puts the rows of a finished reading. The file of its ticket may be forgotten by now. */
static void take_result(struct row_files *f, const struct reader_result *result, uint64_t now_ns)
{
    struct file *file = by_ticket(f, result->ticket);
    struct row_table *t = NULL;
    int r = result->outcome, refused = r == -ENOMEM ? -ENOSPC : r < 0 && !is_of_file(r) ? r : 0;

    if (!file)
        return;
    if (r == 0) {
        r = row_files_put(f, file->by.owner, &result->table, &t, NULL);
        refused = r < 0 ? -ENOSPC : 0;
    }
    f->failed += r < 0;
    if (refused)
        forget_refused(f, now_ns);
    file = by_ticket(f, result->ticket); /* the list may have moved */
    if (file) {
        file->ticket = 0;
        file->table = t;
        file->refused_ns = refused ? now_ns + ROW_FILES_REFUSED_NS : 0;
        file->refused = refused;
    }
}

bool row_files_poll(struct row_files *f)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct reader_result result;
    bool news = false;

    pinned_files_release(&f->pinned, now_ns);
    while (f->reader && reader_take(f->reader, &result)) {
        f->read_ns += result.cpu_ns;
        take_result(f, &result, now_ns);
        ehframe_deinit(&result.table);
        news = true;
    }
    return news;
}

bool row_files_wait(struct row_files *f, uint64_t deadline_ns)
{
    return f->reader && reader_wait(f->reader, deadline_ns);
}

struct row_tables *row_files_tables(struct row_files *f)
{
    return &f->tables;
}

uint64_t row_files_failed(const struct row_files *f)
{
    return f->failed;
}

uint64_t row_files_read_ns(const struct row_files *f)
{
    return f->read_ns;
}
