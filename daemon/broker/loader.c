/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/loader.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/old_kernel.h"
#include "sample/uprobe.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* What a job needs to begin. */
union job_input {
    struct {
        int pid_ns_fd; /* borrowed; this and the next two: as sampler_new() takes them */
        size_t ring_bytes;
        uint32_t max_frames;
    } sampler;
    struct sampler_points *points; /* owned */
    struct sampler_shared shared;  /* owned */
};

/* What is loaded. The first of these that is asked for is loaded first. */
enum job_kind { JOB_SAMPLER, JOB_POINTS, JOB_OFF, JOB_ALLOC, JOB_MOMENTS, JOB_COUNT };

struct job {
    union job_input in; /* of the last request, if @given: nobody has begun with it */
    bool given;
    uint64_t asked, answered; /* numbers of requests; a new one overtakes one that was dropped */
    bool wanted;              /* the last request was not dropped */
    int result;
    void *loaded; /* owned */
    struct error err;
};

struct loader {
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    int (*confine)(struct error *err);
    bool confined;
    int confine_result;
    struct error confine_err;
    struct job jobs[JOB_COUNT];
    struct uprobes **probes; /* owned: to be taken out */
    size_t probes_count, probes_cap;
    bool detaching, ended; /* some are being taken out; no others are begun with */
};

/* ---- what is loaded ---- */

static int load_sampler(union job_input *in, void **ret, struct error *err)
{
    struct sampler *sampler = NULL;
    int r;

    sleep(old_kernel_load_s());
    r = sampler_new(in->sampler.pid_ns_fd, in->sampler.ring_bytes, in->sampler.max_frames, &sampler,
                    err);
    *ret = sampler;
    return r;
}

static void keep_input(union job_input *in)
{
    (void)in;
}

static void drop_sampler(void *loaded)
{
    sampler_free(loaded);
}

static int load_points(union job_input *in, void **ret, struct error *err)
{
    int r = sampler_points_load(in->points, err);

    if (r < 0)
        in->points = sampler_points_free(in->points);
    *ret = in->points;
    return r;
}

static void drop_points_input(union job_input *in)
{
    sampler_points_free(in->points);
}

static void drop_points(void *loaded)
{
    sampler_points_free(loaded);
}

static int load_off(union job_input *in, void **ret, struct error *err)
{
    struct sampler_off *off = NULL;
    int r = sampler_off_new(&in->shared, &off, err);

    sampler_shared_close(&in->shared);
    *ret = off;
    return r;
}

static void drop_shared_input(union job_input *in)
{
    sampler_shared_close(&in->shared);
}

static void drop_off(void *loaded)
{
    sampler_off_free(loaded);
}

static int load_alloc(union job_input *in, void **ret, struct error *err)
{
    struct sampler_alloc *alloc = NULL;
    int r = sampler_alloc_new(&in->shared, &alloc, err);

    sampler_shared_close(&in->shared);
    *ret = alloc;
    return r;
}

static void drop_alloc(void *loaded)
{
    sampler_alloc_free(loaded);
}

static int load_moments(union job_input *in, void **ret, struct error *err)
{
    struct sampler_moments *moments = NULL;
    int r = sampler_moments_new(&in->shared, &moments, err);

    sampler_shared_close(&in->shared);
    *ret = moments;
    return r;
}

static void drop_moments(void *loaded)
{
    sampler_moments_free(loaded);
}

static const struct job_type {
    int (*load)(union job_input *in, void **ret, struct error *err); /* takes what @in owns */
    void (*drop_input)(union job_input *in);
    void (*drop)(void *loaded); /* NULL: nothing */
} JOBS[JOB_COUNT] = {
    [JOB_SAMPLER] = { .load = load_sampler, .drop_input = keep_input, .drop = drop_sampler },
    [JOB_POINTS] = { .load = load_points, .drop_input = drop_points_input, .drop = drop_points },
    [JOB_OFF] = { .load = load_off, .drop_input = drop_shared_input, .drop = drop_off },
    [JOB_ALLOC] = { .load = load_alloc, .drop_input = drop_shared_input, .drop = drop_alloc },
    [JOB_MOMENTS] = { .load = load_moments, .drop_input = drop_shared_input, .drop = drop_moments },
};

/* ---- the thread ---- */

/* Loads what was asked last, with the lock held but for the loading itself. */
static void load(struct loader *l, enum job_kind kind)
{
    struct job *job = &l->jobs[kind];
    union job_input in = job->in;
    uint64_t number = job->asked;
    struct error err = ERROR_NULL;
    void *loaded = NULL;
    int r;

    job->given = false;
    pthread_mutex_unlock(&l->lock);
    r = JOBS[kind].load(&in, &loaded, &err);
    pthread_mutex_lock(&l->lock);
    job->answered = number;
    if (!job->wanted || job->asked != number) {
        JOBS[kind].drop(loaded);
        return;
    }
    job->loaded = loaded;
    job->result = r;
    job->err = err;
}

/* The first job that is asked for; JOB_COUNT: none. */
static enum job_kind next_job(const struct loader *l)
{
    enum job_kind kind = 0;

    while (kind < JOB_COUNT && l->jobs[kind].asked == l->jobs[kind].answered)
        kind++;
    return kind;
}

/* Takes some probes out, with the lock held but for that. */
static void detach(struct loader *l)
{
    struct uprobes *probes = l->probes[l->probes_count - 1];
    bool left;

    l->detaching = true;
    pthread_mutex_unlock(&l->lock);
    left = uprobes_detach_some(probes);
    pthread_mutex_lock(&l->lock);
    l->detaching = false;
    if (left)
        return;
    /* Others may have come behind it. */
    for (size_t i = 0; i < l->probes_count; i++) {
        if (l->probes[i] == probes)
            l->probes[i] = l->probes[--l->probes_count];
    }
}

static void *loader_main(void *arg)
{
    struct loader *l = arg;
    enum job_kind kind;

    prctl(PR_SET_NAME, "flamed-loader");
    setpriority(PRIO_PROCESS, 0, 0); /* a second of the verifier's is not urgent */
    pthread_mutex_lock(&l->lock);
    l->confine_result = l->confine(&l->confine_err);
    l->confined = true;
    for (;;) {
        pthread_cond_broadcast(&l->changed);
        while ((kind = next_job(l)) == JOB_COUNT && (l->probes_count == 0 || l->ended))
            pthread_cond_wait(&l->changed, &l->lock);
        if (l->probes_count > 0 && !l->ended)
            detach(l);
        else
            load(l, kind);
    }
    return NULL;
}

int loader_start(int (*confine)(struct error *err), struct loader **ret, struct error *err)
{
    struct loader *l = calloc(1, sizeof(*l));
    pthread_condattr_t monotonic;
    int r;

    if (!l)
        return error_set(err, -ENOMEM, "not enough memory to start");
    l->confine = confine;
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&l->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    r = -pthread_create(&l->thread, NULL, loader_main, l);
    if (r < 0) {
        free(l);
        return error_code(err, r, "cannot start the thread that loads the BPF programs");
    }
    pthread_mutex_lock(&l->lock);
    while (!l->confined)
        pthread_cond_wait(&l->changed, &l->lock);
    r = l->confine_result;
    if (r < 0 && err)
        *err = l->confine_err;
    pthread_mutex_unlock(&l->lock);
    *ret = l;
    return r;
}

/* ---- for the broker ---- */

static void ask(struct loader *l, enum job_kind kind, const union job_input *in)
{
    struct job *job = &l->jobs[kind];

    pthread_mutex_lock(&l->lock);
    if (job->given)
        JOBS[kind].drop_input(&job->in);
    job->in = *in;
    job->given = true;
    job->asked++;
    job->wanted = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

/* As loader_take(). */
static int take(struct loader *l, enum job_kind kind, uint64_t wait_ns, void **ret,
                struct error *err)
{
    uint64_t until = clock_monotonic_ns() + wait_ns;
    struct timespec ts = { .tv_sec = (time_t)(until / NSEC_PER_SEC),
                           .tv_nsec = (long)(until % NSEC_PER_SEC) };
    struct job *job = &l->jobs[kind];
    int r = LOADER_BUSY;

    pthread_mutex_lock(&l->lock);
    while (job->asked != job->answered && wait_ns &&
           pthread_cond_timedwait(&l->changed, &l->lock, &ts) == 0)
        ;
    if (job->asked == job->answered) {
        r = job->result;
        if (r == 0)
            *ret = TAKE_PTR(job->loaded);
        else if (err)
            *err = job->err;
    }
    pthread_mutex_unlock(&l->lock);
    return r;
}

void loader_ask(struct loader *l, int pid_ns_fd, size_t ring_bytes, uint32_t max_frames)
{
    ask(l, JOB_SAMPLER, &(union job_input){ .sampler = { pid_ns_fd, ring_bytes, max_frames } });
}

int loader_take(struct loader *l, uint64_t wait_ns, struct sampler **ret, struct error *err)
{
    void *loaded = NULL;
    int r = take(l, JOB_SAMPLER, wait_ns, &loaded, err);

    if (r == 0)
        *ret = loaded;
    return r;
}

void loader_ask_points(struct loader *l, struct sampler_points *points)
{
    ask(l, JOB_POINTS, &(union job_input){ .points = points });
}

int loader_take_points(struct loader *l, struct sampler_points **ret, struct error *err)
{
    void *loaded = NULL;
    int r = take(l, JOB_POINTS, /* wait_ns= */ 0, &loaded, err);

    if (r == 0)
        *ret = loaded;
    return r;
}

void loader_ask_off(struct loader *l, const struct sampler_shared *shared)
{
    ask(l, JOB_OFF, &(union job_input){ .shared = *shared });
}

int loader_take_off(struct loader *l, struct sampler_off **ret, struct error *err)
{
    void *loaded = NULL;
    int r = take(l, JOB_OFF, /* wait_ns= */ 0, &loaded, err);

    if (r == 0)
        *ret = loaded;
    return r;
}

void loader_ask_alloc(struct loader *l, const struct sampler_shared *shared)
{
    ask(l, JOB_ALLOC, &(union job_input){ .shared = *shared });
}

int loader_take_alloc(struct loader *l, struct sampler_alloc **ret, struct error *err)
{
    void *loaded = NULL;
    int r = take(l, JOB_ALLOC, /* wait_ns= */ 0, &loaded, err);

    if (r == 0)
        *ret = loaded;
    return r;
}

void loader_ask_moments(struct loader *l, const struct sampler_shared *shared)
{
    ask(l, JOB_MOMENTS, &(union job_input){ .shared = *shared });
}

int loader_take_moments(struct loader *l, struct sampler_moments **ret, struct error *err)
{
    void *loaded = NULL;
    int r = take(l, JOB_MOMENTS, /* wait_ns= */ 0, &loaded, err);

    if (r == 0)
        *ret = loaded;
    return r;
}

void loader_detach(void *loader, struct uprobes *probes)
{
    struct loader *l = loader;
    bool later;

    pthread_mutex_lock(&l->lock);
    later = array_grow(&l->probes, &l->probes_cap, l->probes_count + 1, 32);
    if (later)
        l->probes[l->probes_count++] = probes;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    if (!later)
        uprobes_detach(probes);
}

void loader_end(struct loader *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->ended = true;
    while (l->detaching)
        pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

void loader_drop(struct loader *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < JOB_COUNT; i++) {
        l->jobs[i].wanted = false;
        JOBS[i].drop(l->jobs[i].loaded);
        l->jobs[i].loaded = NULL;
    }
    pthread_mutex_unlock(&l->lock);
}
