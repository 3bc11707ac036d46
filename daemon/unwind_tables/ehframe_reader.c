/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "unwind_tables/ehframe_reader.h"

#include "base/cleanup.h"
#include "base/memfd_copy.h"
#include "base/worker.h"

#define READER_QUEUE_MAX 1024 /* files; owners share them */

struct reader_job {
    struct work work; /* first */
    int fd;
    uint64_t owner;        /* owner at reader_put(); work.owner may have changed since */
    uint64_t copied_bytes; /* size of fd if it is a copy in memory, else 0 */
    struct reader_result result;
};

struct reader {
    struct worker *worker;
    struct shares *copies; /* borrowed */
};

static void job_free(struct work *w)
{
    struct reader_job *j = (struct reader_job *)w;

    close_fd(j->fd);
    ehframe_deinit(&j->result.table);
    free(j);
}

static void job_run(struct work *w)
{
    struct reader_job *j = (struct reader_job *)w;

    j->result.outcome = ehframe_read(j->fd, &j->result.table, NULL);
    j->fd = close_fd(j->fd);
}

int reader_new(int wake_fd, struct shares *copies, struct reader **ret)
{
    struct reader *r = calloc(1, sizeof(*r));
    int k;

    if (!r)
        return -ENOMEM;
    r->copies = copies;
    k = worker_new("flamed-ehframe", READER_QUEUE_MAX, wake_fd, &r->worker);
    if (k < 0) {
        free(r);
        return k;
    }
    *ret = r;
    return 0;
}

struct reader *reader_free(struct reader *r)
{
    if (!r)
        return NULL;
    worker_free(r->worker, job_free);
    free(r);
    return NULL;
}

bool reader_has_place(struct reader *r, uint64_t owner)
{
    return worker_has_place(r->worker, owner);
}

int reader_put(struct reader *r, uint64_t owner, int fd, uint64_t ticket, struct reader_job **ret)
{
    struct reader_job *j = calloc(1, sizeof(*j));
    uint64_t copied = sealed_bytes(fd);

    if (!j) {
        close_fd(fd);
        return -ENOMEM;
    }
    *j = (struct reader_job){ .work = { .run = job_run, .owner = owner },
                              .fd = fd,
                              .owner = owner,
                              .copied_bytes = copied,
                              .result.ticket = ticket };
    if (shares_room(r->copies, owner) >= copied && worker_put(r->worker, &j->work)) {
        shares_force(r->copies, owner, copied);
        *ret = j;
        return 0;
    }
    job_free(&j->work);
    return -ENOSPC;
}

void reader_hurry(struct reader *r, struct reader_job *job, uint64_t owner)
{
    worker_hurry(r->worker, &job->work, owner);
}

bool reader_take(struct reader *r, struct reader_result *ret)
{
    struct reader_job *j = (struct reader_job *)worker_take(r->worker);

    if (!j)
        return false;
    *ret = j->result;
    ret->cpu_ns = j->work.cpu_ns;
    shares_give(r->copies, j->owner, j->copied_bytes);
    free(j);
    return true;
}

bool reader_wait(struct reader *r, uint64_t deadline_ns)
{
    return worker_wait(r->worker, deadline_ns);
}
