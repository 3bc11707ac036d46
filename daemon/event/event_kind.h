/* SPDX-License-Identifier: Apache-2.0 */
/* The number of each event of events.def: what flamed tells its broker to sample. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
#define EVENT(id, ...) EVENT_##id,
#include "event/events.def"
#undef EVENT
    EVENT_KINDS,
};

/* Bounds of a period: between two samples a processor spends this much, */
#define EVENT_PERIOD_MIN_NS UINT64_C(100000) /* 10,000 Hz */
#define EVENT_PERIOD_MAX_NS UINT64_C(1000000000)
/* or counts so much. */
#define EVENT_PERIOD_MAX_COUNT (UINT64_C(1) << 40)

/* Whether @period is one that an event of @kind may have. */
static inline bool event_period_valid(uint32_t kind, uint64_t period)
{
    return kind == EVENT_CPU ? period >= EVENT_PERIOD_MIN_NS && period <= EVENT_PERIOD_MAX_NS
                             : kind < EVENT_KINDS && period > 0 && period <= EVENT_PERIOD_MAX_COUNT;
}
