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

/* Whether off.bpf.c tells it: time that threads do not run. */
static inline bool event_is_wait(uint32_t kind)
{
    return kind == EVENT_OFFCPU || kind == EVENT_LOCK || kind == EVENT_NATIVELOCK;
}

/* Whether alloc.bpf.c tells it, at probes in the code of processes. */
static inline bool event_is_probe(uint32_t kind)
{
    return kind == EVENT_ALLOC || kind == EVENT_FUNCTION;
}

/* Bounds of a period: between two samples a processor spends this much, */
#define EVENT_PERIOD_MIN_NS UINT64_C(100000) /* 10,000 Hz */
#define EVENT_PERIOD_MAX_NS UINT64_C(1000000000)
/* or counts so much. */
#define EVENT_PERIOD_MAX_COUNT (UINT64_C(1) << 40)

/* In the event's unit: what one of those that the kernel counts is worth. */
static inline uint64_t event_worth(uint32_t kind)
{
    return kind == EVENT_NATIVEMEM ? (uint64_t)sysconf(_SC_PAGESIZE) : 1;
}

/* Whether @period is one that an event of @kind may have. */
static inline bool event_period_valid(uint32_t kind, uint64_t period)
{
    return kind == EVENT_CPU || kind == EVENT_WALL || kind == EVENT_SAFEPOINT || event_is_wait(kind)
               ? period >= EVENT_PERIOD_MIN_NS && period <= EVENT_PERIOD_MAX_NS
               : kind < EVENT_KINDS_ALL && period > 0 && period <= EVENT_PERIOD_MAX_COUNT &&
                     period % event_worth(kind) == 0;
}
