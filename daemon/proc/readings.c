/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of a process that several callers need. */
#include "proc/stall_readers.h"

#include <unistd.h>

/* ---- reads of memory ---- */

struct page_reading {
    struct reading base; /* first */
    int fd;
    uint64_t at;
    size_t n;
    uint8_t bytes[];
};

static int run_pread(struct reading *r)
{
    struct page_reading *p = (struct page_reading *)r;
    ssize_t n = pread(p->fd, p->bytes, p->n, (off_t)p->at);

    return n < 0 ? -errno : (int)n;
}

static void drop_pread(struct reading *r)
{
    free(r);
}

ssize_t readers_pread(const struct proc_id *id, int fd, uint64_t at, void *buf, size_t n)
{
    struct page_reading *p;
    struct reading *r;
    int got;

    n = MIN(n, READERS_BYTES_MAX);
    if (!readers_next_page())
        return -ETIMEDOUT;
    if (!readers_are_used()) {
        ssize_t direct = pread(fd, buf, n, (off_t)at);

        return direct < 0 ? -errno : direct;
    }
    p = malloc(sizeof(*p) + n);
    if (!p)
        return -ENOMEM;
    *p = (struct page_reading){ { .run = run_pread, .drop = drop_pread, .jvm = true }, fd, at, n };
    r = &p->base;
    got = readers_run(id, &r);
    if (got > 0)
        memcpy(buf, p->bytes, (size_t)got);
    if (r)
        free(p);
    return got;
}

/* ---- reads of stat ---- */

struct stat_reading {
    struct reading base; /* first */
    int proc_fd;
    int32_t host_pid;
    struct proc_stat stat;
};

static int run_stat(struct reading *r)
{
    struct stat_reading *s = (struct stat_reading *)r;

    return proc_read_stat(s->proc_fd, s->host_pid, &s->stat);
}

static void drop_stat(struct reading *r)
{
    free(r);
}

int readers_stat(int fd, const struct proc_id *id, struct proc_stat *ret)
{
    struct stat_reading *s;
    struct reading *r;
    int result;

    if (!readers_are_used())
        return proc_read_stat(fd, id->host_pid, ret);
    s = malloc(sizeof(*s));
    if (!s)
        return -ENOMEM;
    *s = (struct stat_reading){
        { .run = run_stat, .drop = drop_stat }, fd, id->host_pid, { .state = 0 }
    };
    r = &s->base;
    result = readers_run(id, &r);
    if (result == 0)
        *ret = s->stat;
    if (r)
        free(s);
    return result;
}
