/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/loader.h"

#include "base/clock.h"
#include "base/old_kernel.h"

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct loader {
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    int (*confine)(struct error *err);
    bool confined;
    int pid_ns_fd; /* borrowed; this and the next two: as sampler_new() takes them */
    size_t ring_bytes;
    uint32_t max_frames;
    uint64_t asked, answered; /* numbers of requests; a new one overtakes one that was dropped */
    bool wanted;              /* the last request was not dropped */
    int result;               /* of confine(), then of sampler_new() */
    struct sampler *sampler;
    struct error err;
    struct points_job {
        struct sampler_points *asked, *loaded; /* owned; asked: NULL while it is being loaded */
        bool busy, wanted;
        int result;
        struct error err;
    } points;
    struct off_job {
        struct sampler_shared shared; /* owned */
        uint64_t asked, answered;
        bool wanted;
        int result;
        struct sampler_off *off;
        struct error err;
    } off;
    struct alloc_job {
        struct sampler_shared shared; /* owned */
        uint64_t asked, answered;
        bool wanted;
        int result;
        struct sampler_alloc *alloc;
        struct error err;
    } alloc;
};

/* Loads what was asked last, with the lock held but for the loading itself. */
static void load(struct loader *l)
{
    uint64_t number = l->asked;
    size_t ring_bytes = l->ring_bytes;
    uint32_t max_frames = l->max_frames;
    struct sampler *sampler = NULL;
    struct error err = ERROR_NULL;
    int pid_ns_fd = l->pid_ns_fd, r;

    pthread_mutex_unlock(&l->lock);
    sleep(old_kernel_load_s());
    r = sampler_new(pid_ns_fd, ring_bytes, max_frames, &sampler, &err);
    pthread_mutex_lock(&l->lock);
    l->answered = number;
    if (!l->wanted || l->asked != number) {
        sampler_free(sampler);
        return;
    }
    l->sampler = sampler;
    l->result = r;
    l->err = err;
}

/* The same of the program of tracepoints. */
static void load_points(struct loader *l)
{
    struct sampler_points *points = TAKE_PTR(l->points.asked);
    struct error err = ERROR_NULL;
    int r;

    pthread_mutex_unlock(&l->lock);
    r = sampler_points_load(points, &err);
    if (r < 0)
        points = sampler_points_free(points);
    pthread_mutex_lock(&l->lock);
    l->points.busy = l->points.asked != NULL;
    if (!l->points.wanted || l->points.busy) {
        sampler_points_free(points);
        return;
    }
    l->points.loaded = points;
    l->points.result = r;
    l->points.err = err;
}

/* The same of the programs of sampler_off.h. */
static void load_off(struct loader *l)
{
    struct sampler_shared shared = l->off.shared;
    uint64_t number = l->off.asked;
    struct sampler_off *off = NULL;
    struct error err = ERROR_NULL;
    int r;

    l->off.shared = SAMPLER_SHARED_NONE;
    pthread_mutex_unlock(&l->lock);
    r = sampler_off_new(&shared, &off, &err);
    sampler_shared_close(&shared);
    pthread_mutex_lock(&l->lock);
    l->off.answered = number;
    if (!l->off.wanted || l->off.asked != number) {
        sampler_off_free(off);
        return;
    }
    l->off.off = off;
    l->off.result = r;
    l->off.err = err;
}

/* The same of the program of sampler_alloc.h. */
static void load_alloc(struct loader *l)
{
    struct sampler_shared shared = l->alloc.shared;
    uint64_t number = l->alloc.asked;
    struct sampler_alloc *alloc = NULL;
    struct error err = ERROR_NULL;
    int r;

    l->alloc.shared = SAMPLER_SHARED_NONE;
    pthread_mutex_unlock(&l->lock);
    r = sampler_alloc_new(&shared, &alloc, &err);
    sampler_shared_close(&shared);
    pthread_mutex_lock(&l->lock);
    l->alloc.answered = number;
    if (!l->alloc.wanted || l->alloc.asked != number) {
        sampler_alloc_free(alloc);
        return;
    }
    l->alloc.alloc = alloc;
    l->alloc.result = r;
    l->alloc.err = err;
}

static void *loader_main(void *arg)
{
    struct loader *l = arg;

    prctl(PR_SET_NAME, "flamed-loader");
    setpriority(PRIO_PROCESS, 0, 0); /* a second of the verifier's is not urgent */
    pthread_mutex_lock(&l->lock);
    l->result = l->confine(&l->err);
    l->confined = true;
    for (;;) {
        pthread_cond_broadcast(&l->changed);
        while (l->asked == l->answered && !l->points.asked && l->off.asked == l->off.answered &&
               l->alloc.asked == l->alloc.answered)
            pthread_cond_wait(&l->changed, &l->lock);
        if (l->asked != l->answered)
            load(l);
        else if (l->points.asked)
            load_points(l);
        else if (l->off.asked != l->off.answered)
            load_off(l);
        else
            load_alloc(l);
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
    l->off.shared = l->alloc.shared = SAMPLER_SHARED_NONE;
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
    r = l->result;
    if (r < 0 && err)
        *err = l->err;
    pthread_mutex_unlock(&l->lock);
    *ret = l;
    return r;
}

void loader_ask(struct loader *l, int pid_ns_fd, size_t ring_bytes, uint32_t max_frames)
{
    pthread_mutex_lock(&l->lock);
    l->pid_ns_fd = pid_ns_fd;
    l->ring_bytes = ring_bytes;
    l->max_frames = max_frames;
    l->asked++;
    l->wanted = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

int loader_take(struct loader *l, uint64_t wait_ns, struct sampler **ret, struct error *err)
{
    uint64_t until = clock_monotonic_ns() + wait_ns;
    struct timespec ts = { .tv_sec = (time_t)(until / NSEC_PER_SEC),
                           .tv_nsec = (long)(until % NSEC_PER_SEC) };
    int r = LOADER_BUSY;

    pthread_mutex_lock(&l->lock);
    while (l->asked != l->answered && wait_ns &&
           pthread_cond_timedwait(&l->changed, &l->lock, &ts) == 0)
        ;
    if (l->asked == l->answered) {
        r = l->result;
        if (r == 0)
            *ret = TAKE_PTR(l->sampler);
        else if (err)
            *err = l->err;
    }
    pthread_mutex_unlock(&l->lock);
    return r;
}

void loader_ask_points(struct loader *l, struct sampler_points *points)
{
    pthread_mutex_lock(&l->lock);
    sampler_points_free(l->points.asked);
    l->points.asked = points;
    l->points.busy = l->points.wanted = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

int loader_take_points(struct loader *l, struct sampler_points **ret, struct error *err)
{
    int r = LOADER_BUSY;

    pthread_mutex_lock(&l->lock);
    if (!l->points.busy) {
        r = l->points.result;
        if (r == 0)
            *ret = TAKE_PTR(l->points.loaded);
        else if (err)
            *err = l->points.err;
    }
    pthread_mutex_unlock(&l->lock);
    return r;
}

void loader_ask_off(struct loader *l, const struct sampler_shared *shared)
{
    pthread_mutex_lock(&l->lock);
    sampler_shared_close(&l->off.shared);
    l->off.shared = *shared;
    l->off.asked++;
    l->off.wanted = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

int loader_take_off(struct loader *l, struct sampler_off **ret, struct error *err)
{
    int r = LOADER_BUSY;

    pthread_mutex_lock(&l->lock);
    if (l->off.asked == l->off.answered) {
        r = l->off.result;
        if (r == 0)
            *ret = TAKE_PTR(l->off.off);
        else if (err)
            *err = l->off.err;
    }
    pthread_mutex_unlock(&l->lock);
    return r;
}

void loader_ask_alloc(struct loader *l, const struct sampler_shared *shared)
{
    pthread_mutex_lock(&l->lock);
    sampler_shared_close(&l->alloc.shared);
    l->alloc.shared = *shared;
    l->alloc.asked++;
    l->alloc.wanted = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

int loader_take_alloc(struct loader *l, struct sampler_alloc **ret, struct error *err)
{
    int r = LOADER_BUSY;

    pthread_mutex_lock(&l->lock);
    if (l->alloc.asked == l->alloc.answered) {
        r = l->alloc.result;
        if (r == 0)
            *ret = TAKE_PTR(l->alloc.alloc);
        else if (err)
            *err = l->alloc.err;
    }
    pthread_mutex_unlock(&l->lock);
    return r;
}

void loader_drop(struct loader *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->lock);
    l->wanted = false;
    l->sampler = sampler_free(l->sampler);
    l->points.wanted = false;
    l->points.loaded = sampler_points_free(l->points.loaded);
    l->off.wanted = false;
    l->off.off = sampler_off_free(l->off.off);
    l->alloc.wanted = false;
    l->alloc.alloc = sampler_alloc_free(l->alloc.alloc);
    pthread_mutex_unlock(&l->lock);
}
