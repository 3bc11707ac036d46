/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/hooker.h"

#include "base/array.h"
#include "base/lock.h"
#include "base/old_kernel.h"
#include "broker/confined_thread.h"

#include <pthread.h>
#include <unistd.h>

struct hooker {
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    struct hook **hooks; /* [count]: hooks with work for hook_work(); the first is next */
    size_t count, cap;
    bool busy, ended; /* busy: hook_work() runs; ended: no more hooks are begun */
};

static bool work_at(struct hook *hook)
{
    sleep(old_kernel_hook_s());
    return hook_work(hook);
}

/* Works on the first hook. The lock is held, except during hook_work(). */
static void work(struct hooker *h)
{
    struct hook *first = h->hooks[0];
    bool left;

    h->busy = true;
    pthread_mutex_unlock(&h->lock);
    left = work_at(first);
    pthread_mutex_lock(&h->lock);
    h->busy = false;
    if (!left) /* the hook is still first, but the list may have grown */
        memmove(h->hooks, h->hooks + 1, --h->count * sizeof(struct hook *));
    pthread_cond_broadcast(&h->changed);
}

static void hooker_main(void *arg)
{
    struct hooker *h = arg;

    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (h->count == 0 || h->ended)
            pthread_cond_wait(&h->changed, &h->lock);
        work(h);
    }
}

/* Queues @hook for the thread; without memory for that, works on it at once. Thread: any. */
static void give(void *hooker, struct hook *hook)
{
    struct hooker *h = hooker;
    bool later;

    pthread_mutex_lock(&h->lock);
    later = array_grow(&h->hooks, &h->cap, h->count + 1, 32);
    if (later)
        h->hooks[h->count++] = hook;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
    while (!later && work_at(hook))
        ;
}

/* Removes @hook from the queue. Returns false if the thread works on it. */
static bool take_back(void *hooker, struct hook *hook)
{
    struct hooker *h = hooker;
    size_t i;
    LOCK_SCOPE(&h->lock);

    i = h->busy;
    while (i < h->count && h->hooks[i] != hook)
        i++;
    if (i < h->count)
        memmove(&h->hooks[i], &h->hooks[i + 1], (--h->count - i) * sizeof(struct hook *));
    else
        hook = NULL;
    return hook;
}

int hooker_start(int (*confine)(struct error *err), struct hooker **ret, struct error *err)
{
    struct hooker *h = calloc(1, sizeof(*h));
    int r;

    if (!h)
        return error_set(err, -ENOMEM, "not enough memory to start");
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    r = confined_thread_start("flamed-hooker", /* urgent= */ true, confine, hooker_main, h, err);
    if (r < 0)
        free(h);
    else
        *ret = h;
    return r;
}

struct hook_worker hooker_worker(struct hooker *h)
{
    return (struct hook_worker){ give, take_back, h };
}

void hooker_end(struct hooker *h)
{
    if (!h)
        return;
    LOCK_SCOPE(&h->lock);
    h->ended = true;
    while (h->busy)
        pthread_cond_wait(&h->changed, &h->lock);
}
