/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that fill the unwinder's tables. flamed writes into memory that both share and names
 * what is to be copied; nothing in it is interpreted here.
 */
#include "base/cleanup.h"
#include "broker/server.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(BROKER_ROWS_MAX == SAMPLER_ROWS_MAX, "the table of rows of both");
_Static_assert(sizeof(struct unwind_process) <= BROKER_TABLES_BYTES, "a process goes over at once");

void server_forget_tables(struct server *s)
{
    if (s->tables)
        munmap((void *)(uintptr_t)s->tables, BROKER_TABLES_BYTES);
    s->tables = NULL;
    s->tables_fd = close_fd(s->tables_fd);
}

/*
 * tables. Safe: a fresh piece of memory of fixed size, sealed so that neither side can make it
 * shorter under the other; it is not executable and has no name.
 */
int request_tables(struct server *s, const struct broker_request *q, struct reply *rep)
{
    int fd;

    (void)q;
    if (!s->tables) {
        _cleanup_close_ int mem = memfd_create("flamed-tables", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        void *p;

        if (mem < 0 || ftruncate(mem, (off_t)BROKER_TABLES_BYTES) < 0 ||
            fcntl(mem, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
            return error_errno(&rep->err, "cannot make memory for the unwinder's tables");
        p = mmap(NULL, BROKER_TABLES_BYTES, PROT_READ, MAP_SHARED, mem, 0);
        if (p == MAP_FAILED)
            return error_errno(&rep->err, "cannot map memory for the unwinder's tables");
        s->tables = p;
        s->tables_fd = take_fd(&mem);
    }
    fd = fcntl(s->tables_fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return error_errno(&rep->err, "cannot copy the fd of the unwinder's tables");
    rep->value = BROKER_TABLES_BYTES;
    return reply_fd(rep, fd);
}

/*
 * put_rows. Safe: bytes go to an index that was checked to lie in a table of fixed size, which
 * nothing but the BPF program reads. The program takes every row for untrusted: a wrong one gives a
 * wrong stack, read with the rights of the process that is sampled.
 */
int request_put_rows(struct server *s, const struct broker_request *q, struct reply *rep)
{
    int r = server_sampler(s, &rep->err);

    if (r < 0)
        return r;
    if (!s->tables)
        return error_set(&rep->err, -EINVAL, "put_rows: ask for the tables first");
    return sampler_put_rows(s->sampler, (uint32_t)q->start, s->tables,
                            (uint32_t)(q->end - q->start));
}

/*
 * put_process. Safe: as put_rows; one entry of fixed size in a table that the BPF program looks
 * pids up in. It is copied before it is used, so that flamed cannot change it meanwhile.
 */
int request_put_process(struct server *s, const struct broker_request *q, struct reply *rep)
{
    _cleanup_free_ struct unwind_process *p = malloc(sizeof(*p));
    int r = server_sampler(s, &rep->err);

    if (r < 0)
        return r;
    if (!p)
        return -ENOMEM;
    if (!s->tables)
        return error_set(&rep->err, -EINVAL, "put_process: ask for the tables first");
    memcpy(p, s->tables, sizeof(*p));
    return sampler_put_process(s->sampler, q->host_pid, p);
}

/*
 * forget_process. Safe: takes an entry away.
 */
int request_forget_process(struct server *s, const struct broker_request *q, struct reply *rep)
{
    (void)rep;
    return s->sampler ? sampler_put_process(s->sampler, q->host_pid, NULL) : 0;
}
