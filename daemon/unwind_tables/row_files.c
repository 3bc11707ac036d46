/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "unwind_tables/row_files.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "unwind_tables/ehframe_reader.h"

#include <sys/stat.h>

#define ROW_FILES_MAX 4096
/* For this long a device and inode in a maps file stand for the file that was found behind them.
 * Otherwise a node that starts a hundred compilers a second would open their libraries a hundred
 * times. */
#define ROW_FILES_TRUST_NS (60 * NSEC_PER_SEC)

/* A file as the kernel tells it apart: the quick way to its table. */
struct file_key {
    uint64_t dev, inode, bytes, changed_ns;
};

struct file {
    struct file_key key;
    uint32_t dev_major, dev_minor; /* as maps files name it: may differ from the key's */
    uint64_t inode;
    uint64_t checked_ns;     /* CLOCK_MONOTONIC of the last look at the file itself */
    struct row_table *table; /* NULL: it cannot be read, or not yet */
    uint64_t ticket;         /* of the reading under way; 0: it was read */
};

struct row_files {
    const struct feeder_io *io;
    struct reader *reader; /* NULL: files are read at once */
    struct row_tables tables;
    struct file *files; /* owned, [count] */
    size_t count;
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
    r = io->background ? reader_new(io->wake_fd, &f->reader) : 0;
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
    free(f->files);
    free(f);
    return NULL;
}

/* The files of a table that goes are read again when they are wanted. */
static void dropped(void *ctx, const struct row_table *t)
{
    struct row_files *f = ctx;

    for (size_t i = 0; i < f->count; i++) {
        if (f->files[i].table == t)
            f->files[i--] = f->files[--f->count];
    }
}

static int table_for(struct row_files *f, const struct ehframe_table *e, struct row_table **ret,
                     struct error *err)
{
    return row_tables_get(&f->tables, e, f->io->put_rows, f->io->ctx, dropped, f, ret, err);
}

/* The kernel's own code in every process. It comes as a new file each time that it is asked for,
 * and is the same for all processes of a kind: no process can put another there under that name. */
static bool is_vdso(const struct mapping *m)
{
    return m->inode == 0 && span_eq_str(m->path, "[vdso]");
}

/* Told apart from that of 32-bit processes, which have no other addresses. No file has inode 0. */
static struct file_key vdso_key(const struct mapping *m)
{
    return (struct file_key){ .bytes = m->end - m->start, .changed_ns = m->end > UINT32_MAX };
}

static int remember(struct row_files *f, const struct mapping *m, const struct file_key *key,
                    struct row_table *t, uint64_t ticket)
{
    struct file *files;

    if (f->count >= ROW_FILES_MAX) /* any: it costs one reading */
        f->files[0] = f->files[--f->count];
    files = reallocarray(f->files, f->count + 1, sizeof(*files));
    if (!files)
        return -ENOMEM;
    f->files = files;
    f->files[f->count++] = (struct file){
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

static int read_now(struct row_files *f, int fd, const struct mapping *m,
                    const struct file_key *key, struct row_table **ret, struct error *err)
{
    struct ehframe_table e = { 0 };
    int r = ehframe_read(fd, &e, err);

    if (r < 0) {
        f->failed++;
        return r == -ENOMEM ? r : remember(f, m, key, NULL, 0);
    }
    r = table_for(f, &e, ret, err);
    if (r == 0)
        r = remember(f, m, key, *ret, 0);
    ehframe_deinit(&e);
    return r;
}

/* The table of the file @fd, which is taken. 0; FEEDER_PENDING; -errno. */
static int table_of(struct row_files *f, int fd, const struct mapping *m, struct row_table **ret,
                    struct error *err)
{
    _cleanup_close_ int owned = fd;
    struct file_key key;
    struct stat st;
    int r;

    if (fstat(fd, &st) < 0)
        return -errno;
    key = (struct file_key){ st.st_dev, st.st_ino, (uint64_t)st.st_size,
                             (uint64_t)st.st_ctim.tv_sec * NSEC_PER_SEC +
                                 (uint64_t)st.st_ctim.tv_nsec };
    if (is_vdso(m))
        key = vdso_key(m);
    for (size_t i = 0; i < f->count; i++) {
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
        r = remember(f, m, &key, NULL, f->last_ticket);
    return r < 0 ? r : FEEDER_PENDING;
}

/* The file of @m, if it was looked at lately. */
static const struct file *trusted(const struct row_files *f, const struct mapping *m)
{
    uint64_t now_ns = clock_monotonic_ns();
    struct file_key vdso = vdso_key(m);

    for (size_t i = 0; i < f->count; i++) {
        const struct file *file = &f->files[i];

        if (is_vdso(m)) {
            if (memcmp(&file->key, &vdso, sizeof(vdso)) == 0)
                return file;
            continue;
        }
        if (m->inode && file->inode == m->inode && file->dev_major == m->dev_major &&
            file->dev_minor == m->dev_minor && now_ns - file->checked_ns < ROW_FILES_TRUST_NS)
            return file;
    }
    return NULL;
}

int row_files_get(struct row_files *f, const struct proc_id *id, const struct mapping *m,
                  struct row_table **ret, struct error *err)
{
    const struct file *known = trusted(f, m);
    int fd = -1, r;

    *ret = NULL;
    if (known) {
        *ret = known->table;
        return known->ticket ? FEEDER_PENDING : 0;
    }
    if (!m->path.n)
        return 0;
    r = f->io->open_mapped(f->io->ctx, id, m->start, m->end, &fd, err);
    if (r != 0) /* other outcomes: there is no file */
        return r < 0 || r == PROC_GONE ? r : 0;
    return table_of(f, fd, m, ret, err);
}

static struct file *by_ticket(struct row_files *f, uint64_t ticket)
{
    for (size_t i = 0; i < f->count; i++) {
        if (f->files[i].ticket == ticket)
            return &f->files[i];
    }
    return NULL;
}

bool row_files_poll(struct row_files *f)
{
    struct reader_result result;
    bool news = false;

    while (f->reader && reader_take(f->reader, &result)) {
        struct row_table *t = NULL;
        struct file *file;

        f->read_ns += result.cpu_ns;
        if (by_ticket(f, result.ticket)) {
            if (result.outcome == 0)
                result.outcome = table_for(f, &result.table, &t, NULL);
            f->failed += result.outcome < 0;
            file = by_ticket(f, result.ticket); /* making room may have moved the list */
            if (file) {
                file->ticket = 0;
                file->table = t;
            }
        }
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
