/* SPDX-License-Identifier: Apache-2.0 */
/* The number of each event of events.def, and of the forms of other names: what flamed tells its
 * broker to sample. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

enum event_kind {
#define EVENT(id, ...) EVENT_##id,
#include "event/events.def"
#undef EVENT
    EVENT_KINDS,
    /* The forms of event_form.h, whose text says more. */
    EVENT_RAW = EVENT_KINDS,
    EVENT_CACHE,
    EVENT_PMU,
    EVENT_TRACEPOINT,
    EVENT_FUNCTION,
    EVENT_BREAKPOINT,
    EVENT_KINDS_ALL,
};

/* Returns whether off.bpf.c tells it: time that threads do not run. */
static inline bool event_is_wait(uint32_t kind)
{
    return kind == EVENT_OFFCPU || kind == EVENT_LOCK || kind == EVENT_NATIVELOCK;
}

/* Returns whether alloc.bpf.c tells it, at probes in the code of processes. */
static inline bool event_is_probe(uint32_t kind)
{
    return kind == EVENT_ALLOC || kind == EVENT_LIVE || kind == EVENT_FUNCTION ||
           kind == EVENT_MALLOC || kind == EVENT_NATIVELIVE;
}

/* Returns whether only a JVM has events of @kind. */
static inline bool event_is_of_jvm(uint32_t kind)
{
    return kind == EVENT_ALLOC || kind == EVENT_LIVE || kind == EVENT_LOCK ||
           kind == EVENT_SAFEPOINT;
}

/* Returns whether its samples are calls of functions, at probes of each set's own. */
static inline bool event_is_call(uint32_t kind)
{
    return kind == EVENT_FUNCTION || kind == EVENT_MALLOC || kind == EVENT_NATIVELIVE;
}

/* Returns whether those functions are the ones of malloc. */
static inline bool event_is_malloc(uint32_t kind)
{
    return kind == EVENT_MALLOC || kind == EVENT_NATIVELIVE;
}

/* Bounds of a period: between two samples a processor spends this much, */
#define EVENT_PERIOD_MIN_NS UINT64_C(100000) /* 10,000 Hz */
#define EVENT_PERIOD_MAX_NS UINT64_C(1000000000)
/* or counts so much. */
#define EVENT_PERIOD_MAX_COUNT (UINT64_C(1) << 40)

/* A period with this bit is the time between two samples on a processor, in ns, of an event that
 * counts something else. How many events lie between two follows from how often they come, and each
 * sample has a value of its own. */
#define EVENT_PACED (UINT64_C(1) << 63)
static inline bool event_is_paced(uint64_t period)
{
    return period & EVENT_PACED;
}

/* Returns a period as a number: of the event's unit, or of ns where it is paced. */
static inline uint64_t event_period_number(uint64_t period)
{
    return period & ~EVENT_PACED;
}

/* Returns whether an event of @kind counts time, or samples come by the clock. */
static inline bool event_is_clocked(uint32_t kind)
{
    return kind == EVENT_CPU || kind == EVENT_WALL || kind == EVENT_SAFEPOINT ||
           event_is_wait(kind);
}

/* Returns whether samples of @kind, which counts, may come at a pace. What is allocated, or asked
 * of malloc, is sampled as it takes up memory. */
static inline bool event_may_be_paced(uint32_t kind)
{
    return kind < EVENT_KINDS_ALL && !event_is_clocked(kind) && kind != EVENT_ALLOC &&
           kind != EVENT_LIVE && !event_is_malloc(kind);
}

/* In the event's unit: what one of those that the kernel counts is worth. */
static inline uint64_t event_worth(uint32_t kind)
{
    return kind == EVENT_NATIVEMEM ? (uint64_t)sysconf(_SC_PAGESIZE) : 1;
}

/* Returns whether @period is one that an event of @kind may have. */
static inline bool event_period_valid(uint32_t kind, uint64_t period)
{
    uint64_t number = event_period_number(period);

    if (event_is_clocked(kind) || event_is_paced(period))
        return event_is_paced(period) == !event_is_clocked(kind) &&
               (event_is_clocked(kind) || event_may_be_paced(kind)) &&
               number >= EVENT_PERIOD_MIN_NS && number <= EVENT_PERIOD_MAX_NS;
    return kind < EVENT_KINDS_ALL && period > 0 && period <= EVENT_PERIOD_MAX_COUNT &&
           period % event_worth(kind) == 0;
}
