/* SPDX-License-Identifier: Apache-2.0 */
#include "base/worker.h"

#include "base/clock.h"
#include "base/macros.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

/* Oldest first. */
struct work_list {
    struct work *first, **end;
};

struct worker {
    pthread_t thread;
    char name[16];
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake, result;
    struct work_list queued, done;
    size_t waiting, waiting_max; /* to do, or under way */
    bool stopping;
    int wake_fd; /* borrowed; <= 0: none */
};

static void list_add(struct work_list *l, struct work *work)
{
    work->next = NULL;
    *l->end = work;
    l->end = &work->next;
}

static struct work *list_take(struct work_list *l)
{
    struct work *work = l->first;

    if (work) {
        l->first = work->next;
        if (!l->first)
            l->end = &l->first;
    }
    return work;
}

static struct work *take_queued(struct worker *w)
{
    while (!w->queued.first && !w->stopping)
        pthread_cond_wait(&w->wake, &w->lock);
    return w->stopping ? NULL : list_take(&w->queued);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct work *work;

    pthread_setname_np(pthread_self(), w->name);
    setpriority(PRIO_PROCESS, 0, 0); /* not in the way of the engine, which may have started it */
    pthread_mutex_lock(&w->lock);
    while ((work = take_queued(w))) {
        uint64_t before;

        pthread_mutex_unlock(&w->lock);
        before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        work->run(work);
        work->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
        pthread_mutex_lock(&w->lock);
        list_add(&w->done, work);
        w->waiting--;
        pthread_cond_broadcast(&w->result);
        if (w->wake_fd > 0)
            eventfd_write(w->wake_fd, 1);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int worker_new(const char *name, size_t waiting_max, int wake_fd, struct worker **ret)
{
    struct worker *w = calloc(1, sizeof(*w));
    pthread_condattr_t attr;
    int r;

    if (!w)
        return -ENOMEM;
    snprintf(w->name, sizeof(w->name), "%s", name);
    w->waiting_max = waiting_max;
    w->wake_fd = wake_fd;
    w->queued.end = &w->queued.first;
    w->done.end = &w->done.first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, NULL);
    pthread_cond_init(&w->result, &attr);
    pthread_condattr_destroy(&attr);
    r = pthread_create(&w->thread, NULL, worker_main, w);
    if (r != 0) {
        free(w);
        return -r;
    }
    *ret = w;
    return 0;
}

struct worker *worker_free(struct worker *w, void (*drop)(struct work *work))
{
    struct work *work;

    if (!w)
        return NULL;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    while ((work = list_take(&w->queued)) || (work = list_take(&w->done)))
        drop(work);
    pthread_cond_destroy(&w->wake);
    pthread_cond_destroy(&w->result);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

bool worker_put(struct worker *w, struct work *work)
{
    bool room;

    pthread_mutex_lock(&w->lock);
    room = w->waiting < w->waiting_max;
    if (room) {
        list_add(&w->queued, work);
        w->waiting++;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    return room;
}

struct work *worker_take(struct worker *w)
{
    struct work *work;

    pthread_mutex_lock(&w->lock);
    work = list_take(&w->done);
    pthread_mutex_unlock(&w->lock);
    return work;
}

bool worker_wait(struct worker *w, uint64_t deadline_ns)
{
    struct timespec until = { .tv_sec = (time_t)(deadline_ns / NSEC_PER_SEC),
                              .tv_nsec = (long)(deadline_ns % NSEC_PER_SEC) };
    bool there;

    pthread_mutex_lock(&w->lock);
    while (!w->done.first && w->waiting &&
           pthread_cond_timedwait(&w->result, &w->lock, &until) != ETIMEDOUT)
        ;
    there = w->done.first != NULL;
    pthread_mutex_unlock(&w->lock);
    return there;
}
