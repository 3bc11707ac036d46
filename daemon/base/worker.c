/* SPDX-License-Identifier: Apache-2.0 */
#include "base/worker.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/shares.h"

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

/* Owners with a remembered processor time. The owner with the least time is forgotten first,
 * because it differs least from an unknown owner. */
#define WORKER_OWNERS_MAX 64

/* A queue of pieces, the oldest first. */
struct work_list {
    struct work *first, **end;
};

/* An owner's place in the order. at_ns is on a clock of the processor time that owners have used.
 */
struct turn {
    uint64_t owner, at_ns;
};

struct worker {
    pthread_t thread;
    char name[16];
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake, result;
    struct work_list queued, done;
    struct shares places; /* shares of the pieces that wait or run */
    struct turn turns[WORKER_OWNERS_MAX];
    size_t turn_count;
    /* Time of the current turn; an owner that was idle starts from here, not from an earlier time.
     */
    uint64_t now_ns;
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

/* ---- the next turn ---- */

static struct turn *turn_find(struct worker *w, uint64_t owner)
{
    return FIRST_OF(i, w->turns, w->turn_count, w->turns[i].owner == owner);
}

static uint64_t turn_ns(struct worker *w, uint64_t owner)
{
    const struct turn *t = turn_find(w, owner);

    return t ? MAX(t->at_ns, w->now_ns) : w->now_ns;
}

static void turn_spend(struct worker *w, uint64_t owner, uint64_t took_ns)
{
    uint64_t at_ns = turn_ns(w, owner) + took_ns;
    struct turn *t = turn_find(w, owner);

    if (!t && w->turn_count < WORKER_OWNERS_MAX) {
        t = &w->turns[w->turn_count++];
    } else if (!t) {
        t = &w->turns[0];
        for (size_t i = 1; i < w->turn_count; i++)
            t = w->turns[i].at_ns < t->at_ns ? &w->turns[i] : t;
    }
    *t = (struct turn){ owner, at_ns };
}

/* Takes the oldest piece of the owner that has used the least processor time. */
static struct work *take_fair(struct worker *w)
{
    struct work **best = &w->queued.first, *work;
    uint64_t best_ns = UINT64_MAX;

    for (struct work **at = &w->queued.first; *at; at = &(*at)->next) {
        uint64_t ns = turn_ns(w, (*at)->owner);

        if (ns < best_ns) {
            best = at;
            best_ns = ns;
        }
    }
    work = *best;
    *best = work->next;
    if (!work->next)
        w->queued.end = best;
    work->queued = false;
    w->now_ns = best_ns;
    return work;
}

static struct work *take_queued(struct worker *w)
{
    while (!w->queued.first && !w->stopping)
        pthread_cond_wait(&w->wake, &w->lock);
    return w->stopping ? NULL : take_fair(w);
}

/* ---- the thread ---- */

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct work *work;

    pthread_setname_np(pthread_self(), w->name);
    setpriority(PRIO_PROCESS, 0, 0); /* gives up the priority of the engine, which may have
                                      * started the thread */
    pthread_mutex_lock(&w->lock);
    while ((work = take_queued(w))) {
        uint64_t before;

        pthread_mutex_unlock(&w->lock);
        before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        work->run(work);
        work->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
        pthread_mutex_lock(&w->lock);
        turn_spend(w, work->owner, work->cpu_ns);
        list_add(&w->done, work);
        shares_give(&w->places, work->owner, 1);
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
    int r;

    if (!w)
        return -ENOMEM;
    snprintf(w->name, sizeof(w->name), "%s", name);
    shares_init(&w->places, waiting_max);
    w->wake_fd = wake_fd;
    w->queued.end = &w->queued.first;
    w->done.end = &w->done.first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    pthread_cond_init(&w->result, NULL);
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

bool worker_has_place(struct worker *w, uint64_t owner)
{
    LOCK_SCOPE(&w->lock);

    return shares_room(&w->places, owner) > 0;
}

bool worker_put(struct worker *w, struct work *work)
{
    bool room;
    LOCK_SCOPE(&w->lock);

    room = shares_take(&w->places, work->owner, 1);
    if (room) {
        list_add(&w->queued, work);
        work->queued = true;
        pthread_cond_signal(&w->wake);
    }
    return room;
}

void worker_hurry(struct worker *w, struct work *work, uint64_t owner)
{
    LOCK_SCOPE(&w->lock);

    if (work->queued && turn_ns(w, owner) <= turn_ns(w, work->owner)) {
        shares_give(&w->places, work->owner, 1);
        shares_force(&w->places, owner, 1);
        work->owner = owner;
    }
}

struct work *worker_take(struct worker *w)
{
    LOCK_SCOPE(&w->lock);

    return list_take(&w->done);
}

bool worker_wait(struct worker *w, uint64_t deadline_ns)
{
    LOCK_SCOPE(&w->lock);

    while (!w->done.first && w->places.used && clock_wait(&w->result, &w->lock, deadline_ns))
        ;
    return w->done.first != NULL;
}
