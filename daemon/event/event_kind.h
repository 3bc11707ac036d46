/* SPDX-License-Identifier: Apache-2.0 */
/* The number of each event of events.def, and of the forms of other names: what flamed tells its
 * broker to sample. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
#define EVENT(id, ...) EVENT_##id,
#include "event/events.def"
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

/* The BPF programs of events.def. */
enum event_program {
#define PROGRAM(id, name) PROGRAM_##id,
#include "event/events.def"
    PROGRAM_COUNT,
};

/* What captures do for events, of events.def. */
enum event_source_kind {
#define SOURCE(id, name) SOURCE_##id,
#include "event/events.def"
    SOURCE_COUNT_ALL,
};

/* What is true of an event, as bits. */
enum event_flag {
    EVENT_VALUED = 1,     /* each sample has a value of its own; else it is worth a period */
    EVENT_OF_JVM = 2,     /* of JVMs alone */
    EVENT_PROBES = 4,     /* by probes in the code of processes: that takes the role of attaching */
    EVENT_CALLS = 8,      /* samples are calls of functions, at probes of each set's own */
    EVENT_PAGES = 16,     /* the kernel counts pages, of whose bytes the event is */
    EVENT_COSTS_ALL = 32, /* it costs every process of the machine time, whatever is captured */
    EVENT_SINGLE = 64,    /* one set of samples at a time: the kernel watches it once */
    EVENT_OBJECTS = 128,  /* samples are Java objects, and an agent says which are left, */
    EVENT_BLOCKS = 256,   /* or blocks of malloc, which are followed until they are freed */
    EVENT_RUNS = 512,     /* samples of threads that run come besides, as those of cpu */
};

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
