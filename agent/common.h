/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of both kinds of session: a lock, the host's clock, JVMTI's events on and off. */
#pragma once

#include "agent/jvmti_slots.h"
#include "agent/raw.h"
#include "agent/stream.h"

#include <linux/futex.h>
#include <linux/time.h>
#include <sys/syscall.h>

/* Takes @lock: 0 free, 1 held, 2 held and waited for. */
static inline void lock_take(uint32_t *lock)
{
    uint32_t free_value = 0;

    if (__atomic_compare_exchange_n(lock, &free_value, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return;
    while (__atomic_exchange_n(lock, 2, __ATOMIC_ACQUIRE) != 0)
        raw4(SYS_futex, lock, FUTEX_WAIT_PRIVATE, 2, NULL);
}

/* Releases @lock. */
static inline void lock_drop(uint32_t *lock)
{
    if (__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) == 2)
        raw3(SYS_futex, lock, FUTEX_WAKE_PRIVATE, 1);
}

/* Returns the host's CLOCK_MONOTONIC in ns. */
static inline uint64_t host_ns(const struct stream_header *h)
{
    struct {
        int64_t s, ns;
    } t = { 0, 0 };

    raw2(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (uint64_t)(t.s * 1000000000 + t.ns - h->clock_offset_ns);
}

/* Returns whether the session of @h is over at @now_ns: flamed ended it, or is gone. A lease that
 * is too long ends it, too, so that a flamed under an attacker's control cannot make the session
 * outlive it. */
static inline int lease_over(const struct stream_header *h, uint64_t now_ns)
{
    uint64_t until_ns = __atomic_load_n(&h->lease_ns, __ATOMIC_RELAXED);

    return __atomic_load_n(&h->stop, __ATOMIC_RELAXED) || now_ns > until_ns ||
           until_ns - now_ns > STREAM_LEASE_MAX_NS;
}

/* Turns @event of @env on or off for every thread. Returns JVMTI's error. */
static inline int32_t set_event(jvmti_env *env, int32_t mode, int32_t event)
{
    int32_t (*f)(jvmti_env *, int32_t, int32_t, void *, ...) =
        jvmti_function(env, JVMTI_SET_EVENT_NOTIFICATION_MODE);

    return f(env, mode, event, /* every thread */ NULL);
}

/* ---- alloc.c ---- */

/* Begins a session that samples allocation. It replaces an earlier session of this kind. Takes the
 * mapping @h. */
void alloc_begin(jvmti_vm *vm, struct stream_header *h);
