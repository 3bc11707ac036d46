/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/loader.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/old_kernel.h"
#include "broker/confined_thread.h"
#include "privileged/memfd.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

/* The input of a job. */
union job_input {
    struct {
        int pid_ns_fd; /* borrowed; this and the next two are arguments of sampler_new() */
        size_t ring_bytes;
        uint32_t max_frames;
        bool bpf_only;
    } sampler;
    struct sampler_shared shared; /* owned */
};

/* The jobs, by priority: of several requested jobs, the first in this list is loaded first. */
enum { JOB_SAMPLER, JOB_PROGRAMS, JOB_COUNT = JOB_PROGRAMS + PROGRAM_COUNT };

struct job {
    union job_input in; /* with `given`: input of the last request, which the thread has not taken
                         * yet */
    bool given;
    uint64_t asked, answered; /* numbers of requests; a new request replaces a dropped one */
    bool wanted;              /* the last request was not dropped */
    int result;
    void *loaded; /* owned */
    struct error err;
};

struct loader {
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    struct job jobs[JOB_COUNT];
};

/* ---- what is loaded ---- */

/* Makes a sampler of perf events, since the kernel refuses BPF programs for @why. If that fails,
 * appends its reason to @why. */
static int load_perf(struct error *why, struct sampler **ret)
{
    int fd = memfd_open("flamed-rows", MEMFD_DATA), r;
    struct error err = ERROR_NULL;
    size_t n = strlen(why->msg);

    if (fd < 0)
        return fd;
    if (ftruncate(fd, (off_t)(SAMPLER_ROWS_MAX * sizeof(struct unwind_row))) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        close(fd);
        return -ENOMEM;
    }
    r = sampler_new_perf(fd, why, ret, &err);
    if (r < 0)
        snprintf(why->msg + n, sizeof(why->msg) - n, "; nor can perf events sample: %s",
                 err.msg[0] ? err.msg : strerror(-r));
    return r;
}

bool loader_may_pass(int r)
{
    static const int PASSING[] = { -ENOMEM, -EMFILE, -ENFILE, -EAGAIN, -EINTR, -EBUSY, -ENOSPC };

    return ANY_OF(i, ARRAY_SIZE(PASSING), r == PASSING[i]);
}

static int load_sampler(union job_input *in, void **ret, struct error *err)
{
    struct sampler *sampler = NULL;
    struct error why = ERROR_NULL;
    int r;

    sleep(old_kernel_load_s());
    if (old_kernel_pretended("bpf"))
        r = error_set(&why, -ENOSYS, "FLAMED_OLD_KERNEL says that this kernel takes none");
    else
        r = sampler_new(in->sampler.pid_ns_fd, in->sampler.ring_bytes, in->sampler.max_frames,
                        &sampler, &why);
    /* A passing failure must not lead to perf events, which pass the stacks of all processes to
     * flamed. */
    if (r < 0 && !loader_may_pass(r) && !in->sampler.bpf_only && load_perf(&why, &sampler) == 0)
        r = 0;
    if (err)
        *err = why;
    *ret = sampler;
    return r;
}

static int load_program(size_t kind, union job_input *in, void **ret, struct error *err)
{
    int r = sampler_program(kind - JOB_PROGRAMS)->load(&in->shared, ret, err);

    sampler_shared_close(&in->shared);
    return r;
}

/* Runs job @kind. Takes ownership of what @in owns. */
static int load_kind(size_t kind, union job_input *in, void **ret, struct error *err)
{
    return kind == JOB_SAMPLER ? load_sampler(in, ret, err) : load_program(kind, in, ret, err);
}

static void drop_input(size_t kind, union job_input *in)
{
    if (kind >= JOB_PROGRAMS)
        sampler_shared_close(&in->shared);
}

static void drop_loaded(size_t kind, void *loaded)
{
    if (kind == JOB_SAMPLER)
        sampler_free(loaded);
    else if (loaded)
        sampler_program(kind - JOB_PROGRAMS)->free(loaded);
}

/* ---- the thread ---- */

/* Loads the last request of @kind. The lock is held, except during the load itself. */
static void load(struct loader *l, size_t kind)
{
    struct job *job = &l->jobs[kind];
    union job_input in = job->in;
    uint64_t number = job->asked;
    struct error err = ERROR_NULL;
    void *loaded = NULL;
    int r;

    job->given = false;
    pthread_mutex_unlock(&l->lock);
    r = load_kind(kind, &in, &loaded, &err);
    pthread_mutex_lock(&l->lock);
    job->answered = number;
    if (!job->wanted || job->asked != number) {
        drop_loaded(kind, loaded);
        return;
    }
    job->loaded = loaded;
    job->result = r;
    job->err = err;
}

/* Returns the first job with an open request; JOB_COUNT: none. */
static size_t next_job(const struct loader *l)
{
    size_t kind = 0;

    while (kind < JOB_COUNT && l->jobs[kind].asked == l->jobs[kind].answered)
        kind++;
    return kind;
}

static void loader_main(void *arg)
{
    struct loader *l = arg;
    size_t kind;

    pthread_mutex_lock(&l->lock);
    for (;;) {
        pthread_cond_broadcast(&l->changed);
        while ((kind = next_job(l)) == JOB_COUNT)
            pthread_cond_wait(&l->changed, &l->lock);
        load(l, kind);
    }
}

int loader_start(int (*confine)(struct error *err), struct loader **ret, struct error *err)
{
    struct loader *l = calloc(1, sizeof(*l));
    int r;

    if (!l)
        return error_set(err, -ENOMEM, "not enough memory to start");
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    r = confined_thread_start("flamed-loader", /* urgent= */ false, confine, loader_main, l, err);
    if (r < 0)
        free(l);
    else
        *ret = l;
    return r;
}

/* ---- for the broker ---- */

static void ask(struct loader *l, size_t kind, const union job_input *in)
{
    struct job *job = &l->jobs[kind];
    LOCK_SCOPE(&l->lock);

    if (job->given)
        drop_input(kind, &job->in);
    job->in = *in;
    job->given = true;
    job->asked++;
    job->wanted = true;
    pthread_cond_broadcast(&l->changed);
}

/* Takes the result of job @kind as loader_take() does. */
static int take(struct loader *l, size_t kind, uint64_t wait_ns, void **ret, struct error *err)
{
    uint64_t until = clock_monotonic_ns() + wait_ns;
    struct job *job = &l->jobs[kind];
    int r = LOADER_BUSY;
    LOCK_SCOPE(&l->lock);

    while (job->asked != job->answered && wait_ns && clock_wait(&l->changed, &l->lock, until))
        ;
    if (job->asked == job->answered) {
        r = job->result;
        if (r == 0)
            *ret = TAKE_PTR(job->loaded);
        else if (err)
            *err = job->err;
    }
    return r;
}

void loader_ask(struct loader *l, int pid_ns_fd, size_t ring_bytes, uint32_t max_frames,
                bool bpf_only)
{
    ask(l, JOB_SAMPLER,
        &(union job_input){ .sampler = { pid_ns_fd, ring_bytes, max_frames, bpf_only } });
}

int loader_take(struct loader *l, uint64_t wait_ns, struct sampler **ret, struct error *err)
{
    void *loaded = NULL;
    int r = take(l, JOB_SAMPLER, wait_ns, &loaded, err);

    if (r == 0)
        *ret = loaded;
    return r;
}

void loader_ask_program(struct loader *l, enum event_program program,
                        const struct sampler_shared *shared)
{
    ask(l, JOB_PROGRAMS + program, &(union job_input){ .shared = *shared });
}

int loader_take_program(struct loader *l, enum event_program program, void **ret, struct error *err)
{
    return take(l, JOB_PROGRAMS + program, /* wait_ns= */ 0, ret, err);
}

void loader_drop(struct loader *l)
{
    if (!l)
        return;
    LOCK_SCOPE(&l->lock);
    for (size_t i = 0; i < JOB_COUNT; i++) {
        l->jobs[i].wanted = false;
        drop_loaded(i, l->jobs[i].loaded);
        l->jobs[i].loaded = NULL;
    }
}
