/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/mailbox.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/macros.h"
#include "proc/looking.h"
#include "request/backend.h"

#include <sys/eventfd.h>

#define LOOK_NS (NSEC_PER_SEC / 10) /* interval at which a caller checks for a stall */

/* A call from another thread: on the caller's stack until done, or on the heap if posted. */
struct mailbox_call {
    struct mailbox_call *next;
    int (*fn)(void *arg);
    void *arg;
    int result;
    bool begun, done;
    bool posted;       /* no caller waits: freed after it has run */
    uint64_t ticket;   /* 0: none */
    struct error *err; /* the caller's, for mailbox_answer() */
};

void mailbox_init(struct mailbox *m)
{
    *m = (struct mailbox){ .wake_fd = -1 };
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->called, NULL);
    mailbox_alive(m);
}

void mailbox_deinit(struct mailbox *m)
{
    pthread_mutex_destroy(&m->lock);
    pthread_cond_destroy(&m->called);
}

void mailbox_stop(struct mailbox *m)
{
    LOCK_SCOPE(&m->lock);

    m->stopping = true;
}

void mailbox_alive(struct mailbox *m)
{
    atomic_store_explicit(&m->alive_ns, clock_monotonic_ns(), memory_order_relaxed);
}

unsigned mailbox_stalled_s(struct mailbox *m)
{
    uint64_t last = atomic_load_explicit(&m->alive_ns, memory_order_relaxed),
             now = clock_monotonic_ns();

    return now > last && now - last >= MAILBOX_STALLED_NS ? (unsigned)((now - last) / NSEC_PER_SEC)
                                                          : 0;
}

/* Appends @call. Returns false if the engine ends. With the lock held. */
static bool enqueue(struct mailbox *m, struct mailbox_call *call)
{
    struct mailbox_call **at = &m->calls;

    if (m->stopping)
        return false;
    while (*at)
        at = &(*at)->next;
    *at = call;
    eventfd_write(m->wake_fd, 1);
    return true;
}

/* Returns whether the engine is stalled, with a sentence in @err. */
static bool is_stalled(struct mailbox *m, struct error *err)
{
    unsigned seconds = mailbox_stalled_s(m);
    struct looking at;

    if (!seconds)
        return false;
    looking_get(&at); /* do not name the process, which the caller may not see */
    error_set(err, -ETIMEDOUT, "flamed is stalled: no progress for %u s, while %s", seconds,
              at.at != LOOKING_NOWHERE ? looking_text(at.at)
                                       : "it waited for flamed-broker, or was overloaded");
    error_remedy(err, "ask again in 10 s: a broker that does not answer is started again "
                      "by then; else check that flamed gets processor time");
    return true;
}

static void drop(struct mailbox_call **at, const struct mailbox_call *call)
{
    while (*at && *at != call)
        at = &(*at)->next;
    if (*at)
        *at = call->next;
}

/* Waits for @call for LOOK_NS, or until a call is done. Returns false to give up, if the engine is
 * stalled and is not running @call. With the lock held. */
static bool wait_for(struct mailbox *m, struct mailbox_call *call, struct error *err)
{
    uint64_t until_ns = clock_monotonic_ns() + LOOK_NS;

    if (clock_wait(&m->called, &m->lock, until_ns) || call->begun || call->done ||
        !is_stalled(m, err))
        return true;
    drop(&m->calls, call);
    drop(&m->later, call);
    return false;
}

int mailbox_ask(struct mailbox *m, int (*fn)(void *arg), void *arg, struct error *err)
{
    struct mailbox_call call = { .fn = fn, .arg = arg, .result = BACKEND_UNAVAILABLE, .err = err };
    bool queued;

    pthread_mutex_lock(&m->lock);
    queued = enqueue(m, &call);
    while (queued && !call.done && wait_for(m, &call, err))
        ;
    pthread_mutex_unlock(&m->lock);
    if (!queued) {
        error_set(err, -ESHUTDOWN, "flamed is stopping or being started again");
        error_remedy(err, "ask once more in a second");
    }
    return call.result;
}

void mailbox_post(struct mailbox *m, int (*fn)(void *arg), const void *arg, size_t n)
{
    struct mailbox_call *call = malloc(sizeof(*call) + n);

    if (!call)
        return;
    *call = (struct mailbox_call){ .fn = fn, .arg = memcpy(call + 1, arg, n), .posted = true };
    LOCK_SCOPE(&m->lock);
    if (!enqueue(m, call))
        free(call);
}

bool mailbox_has_calls(struct mailbox *m)
{
    LOCK_SCOPE(&m->lock);

    return m->calls != NULL;
}

bool mailbox_run(struct mailbox *m)
{
    uint64_t begun_ns = clock_monotonic_ns();
    bool stopping;

    pthread_mutex_lock(&m->lock);
    while (m->calls && (m->stopping || clock_monotonic_ns() - begun_ns < MAILBOX_TURN_NS)) {
        struct mailbox_call *call = m->calls;

        m->calls = call->next;
        call->begun = true;
        m->now = call;
        pthread_mutex_unlock(&m->lock);
        mailbox_alive(m);
        call->result = call->fn(call->arg);
        pthread_mutex_lock(&m->lock);
        if (call->posted) {
            free(call);
            continue;
        }
        if (call->result == -EINPROGRESS && call->ticket) {
            call->result = BACKEND_UNAVAILABLE;
            call->begun = false;
            call->next = m->later;
            m->later = call;
            continue;
        }
        call->done = true;
        pthread_cond_broadcast(&m->called);
    }
    stopping = m->stopping;
    pthread_mutex_unlock(&m->lock);
    return !stopping;
}

uint64_t mailbox_ticket(struct mailbox *m)
{
    m->now->ticket = ++m->last_ticket;
    return m->last_ticket;
}

bool mailbox_answer(struct mailbox *m, uint64_t ticket, int r, const struct error *err)
{
    struct mailbox_call *call;
    LOCK_SCOPE(&m->lock);

    for (call = m->later; call && call->ticket != ticket; call = call->next)
        ;
    if (call) {
        drop(&m->later, call);
        if (r && call->err && err)
            *call->err = *err;
        call->result = r;
        call->done = true;
        pthread_cond_broadcast(&m->called);
    }
    return call;
}
