/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that fill the unwinder's tables. flamed writes into memory that both share and names
 * what to copy; the broker interprets none of it, except for the form of a context's path.
 */
#include "base/cleanup.h"
#include "broker/target/target.h"
#include "privileged/memfd.h"
#include "sample/sample_abi.h"
#include "unwind/context_path.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* NOLINTNEXTLINE(misc-redundant-expression): that they are equal is the point */
_Static_assert(BROKER_ROWS_MAX == SAMPLER_ROWS_MAX, "the table of rows of both");
_Static_assert(sizeof(struct unwind_process) <= BROKER_TABLES_BYTES, "a process goes over at once");
_Static_assert(BROKER_FRAMES_MIN == SAMPLE_USER_MIN && BROKER_FRAMES_MAX == SAMPLE_USER_MAX,
               "the length of a stack of both");

/*
 * tables. Safe: fresh memory of fixed size, sealed so that neither side can make it shorter under
 * the other; it is not executable and has no name. There is one at a time: another request replaces
 * it.
 */
int request_tables(struct server *s, const struct no_fields *q, struct reply *rep)
{
    _cleanup_close_ int fd = memfd_open("flamed-tables", MEMFD_DATA);
    void *p;

    (void)q;
    if (fd < 0 || ftruncate(fd, (off_t)BROKER_TABLES_BYTES) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
        return error_errno(&rep->err, "cannot make memory for the unwinder's tables");
    p = mmap(NULL, BROKER_TABLES_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        return error_errno(&rep->err, "cannot map memory for the unwinder's tables");
    server_forget_tables(s);
    s->tables = p;
    return reply_fd(rep, take_fd(&fd));
}

/*
 * put_rows. Safe: bytes go to an index, checked to lie in a table of fixed size, that only the BPF
 * program reads. The program trusts no row: a wrong one gives a wrong stack, read with the rights
 * of the sampled process.
 */
int request_put_rows(struct server *s, const struct rows_fields *q, struct reply *rep)
{
    int r = server_sampler(s, /* wait_ns= */ 0, &rep->err);

    if (r < 0)
        return r;
    if (!s->tables)
        return error_set(&rep->err, -EINVAL, "put_rows: ask for the tables first");
    return sampler_put_rows(s->sampling.sampler, q->first, s->tables, q->end - q->first);
}

/*
 * rows. Safe: the map's memory can be mapped. Anything else takes bpf(2), which flamed may not
 * call. It holds what flamed had put there, and flamed may put anything.
 */
int request_rows(struct server *s, const struct no_fields *q, struct reply *rep)
{
    int fd, r = server_sampler(s, /* wait_ns= */ 0, &rep->err);

    (void)q;
    if (r < 0)
        return r;
    fd = fcntl(sampler_rows_fd(s->sampling.sampler), F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? error_errno(&rep->err, "cannot copy the fd of the rows") : reply_fd(rep, fd);
}

/*
 * put_process. Safe: as put_rows; one entry of fixed size in a table that the BPF program looks
 * pids up in. It is copied before it is used, so that flamed cannot change it in between.
 */
int request_put_process(struct server *s, const struct pid_fields *q, struct reply *rep)
{
    _cleanup_free_ struct unwind_process *p = malloc(sizeof(*p));
    int r = server_sampler(s, /* wait_ns= */ 0, &rep->err);

    if (r < 0)
        return r;
    if (!p)
        return -ENOMEM;
    if (!s->tables)
        return error_set(&rep->err, -EINVAL, "put_process: ask for the tables first");
    memcpy(p, s->tables, sizeof(*p));
    return sampler_put_process(s->sampling.sampler, q->host_pid, p);
}

/*
 * forget_process. Safe: removes an entry.
 */
int request_forget_process(struct server *s, const struct pid_fields *q, struct reply *rep)
{
    (void)rep;
    return s->sampling.sampler ? sampler_put_process(s->sampling.sampler, q->host_pid, NULL) : 0;
}

/*
 * put_context. Safe: only for a JVM, as mem is, because the steps may read any of its memory, and
 * texts. One entry of fixed size, copied before its form is checked: a bounded number of steps of
 * known kinds. The BPF program takes them with the rights of the interrupted thread, so they lead
 * to no memory but the process's own. It takes none if the process has execed since the check, or
 * is another one: the stack of a program begins at a place of its own, which the path has.
 */
int request_put_context(struct server *s, const struct target_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    struct context_path path;
    int r = server_sampler(s, /* wait_ns= */ 0, &rep->err);

    if (r < 0)
        return r;
    if (!s->tables)
        return error_set(&rep->err, -EINVAL, "put_context: ask for the tables first");
    memcpy(&path, s->tables, sizeof(path));
    if (!path.step_count || !context_path_valid(&path))
        return error_set(&rep->err, -EINVAL, "put_context: not a path of known steps");
    r = server_pin_jvm(s, q, &t, &path.stack_start, &rep->err) ?: target_check(&t);
    if (r == 0 && !path.stack_start)
        return error_set(&rep->err, -ESRCH, "put_context: process %d cannot be identified",
                         q->host_pid);
    return r ? r : sampler_put_context(s->sampling.sampler, q->host_pid, &path);
}

/*
 * forget_context. Safe: removes an entry.
 */
int request_forget_context(struct server *s, const struct pid_fields *q, struct reply *rep)
{
    (void)rep;
    return s->sampling.sampler ? sampler_put_context(s->sampling.sampler, q->host_pid, NULL) : 0;
}

/*
 * put_thread. Safe: two ids and an address go into a table of fixed size. The BPF program reads
 * there with the rights of the sampled process, and trusts nothing that it reads.
 */
int request_put_thread(struct server *s, const struct thread_fields *q, struct reply *rep)
{
    int r = server_sampler(s, /* wait_ns= */ 0, &rep->err);

    return r < 0
               ? r
               : sampler_put_thread(s->sampling.sampler, q->host_pid, q->host_tid, q->java_thread);
}
