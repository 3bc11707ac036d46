/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls from other threads into the engine's: asked, where the caller waits, or posted. Nobody
 * waits for an engine that is stalled.
 */
#include "engine/engine_impl.h"

#include <sys/eventfd.h>

#define LOOK_NS (NSEC_PER_SEC / 10) /* of who waits */

void engine_alive(struct engine *e)
{
    atomic_store_explicit(&e->alive_ns, clock_monotonic_ns(), memory_order_relaxed);
}

unsigned engine_stands_s(struct engine *e)
{
    uint64_t last = atomic_load_explicit(&e->alive_ns, memory_order_relaxed),
             now = clock_monotonic_ns();

    return now > last && now - last >= ENGINE_PATIENCE_NS ? (unsigned)((now - last) / NSEC_PER_SEC)
                                                          : 0;
}

/* With the lock held. False: the engine ends. */
static bool enqueue(struct engine *e, struct engine_call *call)
{
    struct engine_call **at = &e->calls;

    if (e->stopping)
        return false;
    while (*at)
        at = &(*at)->next;
    *at = call;
    eventfd_write(e->wake_fd, 1);
    return true;
}

/* Whether the engine stands, in a sentence. */
static bool engine_stands(struct engine *e, struct error *err)
{
    unsigned seconds = engine_stands_s(e);

    if (!seconds)
        return false;
    error_set(err, -ETIMEDOUT,
              "flamed is stalled: no progress for %u s (waiting for flamed-broker, or overloaded)",
              seconds);
    error_remedy(err, "ask again in 10 s: a broker that does not answer is started again "
                      "by then; else check that flamed gets processor time");
    return true;
}

/* Waits for @call for one look's time, or until something is done. False where it is given up: the
 * engine stands and has not begun it. With the lock held. */
static bool engine_call_wait(struct engine *e, struct engine_call *call, struct error *err)
{
    uint64_t until_ns = clock_monotonic_ns() + LOOK_NS;
    struct timespec until = { .tv_sec = (time_t)(until_ns / NSEC_PER_SEC),
                              .tv_nsec = (long)(until_ns % NSEC_PER_SEC) };
    struct engine_call **at = &e->calls;

    if (pthread_cond_timedwait(&e->called, &e->lock, &until) != ETIMEDOUT || call->begun ||
        !engine_stands(e, err))
        return true;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    return false;
}

int engine_ask(struct engine *e, int (*fn)(struct engine *e, void *arg), void *arg,
               struct error *err)
{
    struct engine_call call = { .fn = fn, .arg = arg, .result = BACKEND_UNAVAILABLE };
    bool queued;

    pthread_mutex_lock(&e->lock);
    queued = enqueue(e, &call);
    while (queued && !call.done && engine_call_wait(e, &call, err))
        ;
    pthread_mutex_unlock(&e->lock);
    if (!queued) {
        error_set(err, -ESHUTDOWN, "flamed is stopping or being started again");
        error_remedy(err, "ask once more in a second");
    }
    return call.result;
}

void engine_post(struct engine *e, int (*fn)(struct engine *e, void *arg), const void *arg,
                 size_t n)
{
    struct engine_call *call = malloc(sizeof(*call) + n);

    if (!call)
        return;
    *call = (struct engine_call){ .fn = fn, .arg = memcpy(call + 1, arg, n), .posted = true };
    pthread_mutex_lock(&e->lock);
    if (!enqueue(e, call))
        free(call);
    pthread_mutex_unlock(&e->lock);
}

bool engine_is_called(struct engine *e)
{
    bool called;

    pthread_mutex_lock(&e->lock);
    called = e->calls != NULL;
    pthread_mutex_unlock(&e->lock);
    return called;
}

bool engine_run_calls(struct engine *e)
{
    uint64_t begun_ns = clock_monotonic_ns();
    bool stopping;

    pthread_mutex_lock(&e->lock);
    while (e->calls && (e->stopping || clock_monotonic_ns() - begun_ns < ENGINE_TURN_NS)) {
        struct engine_call *call = e->calls;

        e->calls = call->next;
        call->begun = true;
        pthread_mutex_unlock(&e->lock);
        engine_alive(e);
        call->result = call->fn(e, call->arg);
        pthread_mutex_lock(&e->lock);
        if (call->posted) {
            free(call);
            continue;
        }
        call->done = true;
        pthread_cond_broadcast(&e->called);
    }
    stopping = e->stopping;
    pthread_mutex_unlock(&e->lock);
    return !stopping;
}
