/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of events: of the rows of events.def, and of the forms that other names have. flamed
 * sends them to its broker. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
#define EVENT(id, ...) EVENT_##id,
#include "event/events.def"
    EVENT_KINDS,
    /* The forms of event_form.h. The name selects the event. */
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

/* The sources of events.def: what captures do with the samples of an event. */
enum event_source_kind {
#define SOURCE(id, name) SOURCE_##id,
#include "event/events.def"
    SOURCE_KINDS,
};

/* Properties of an event, as bits. */
enum event_flag {
    EVENT_VALUED = 1,     /* each sample has a value of its own; without this bit its value is a
                           * period */
    EVENT_OF_JVM = 2,     /* an event of JVMs only */
    EVENT_PROBES = 4,     /* sampled by probes in the code of processes; needs the role attach */
    EVENT_CALLS = 8,      /* samples are calls of functions, at probes that each set installs */
    EVENT_PAGES = 16,     /* the kernel counts pages; the event counts their bytes */
    EVENT_COSTS_ALL = 32, /* slows every process of the machine, whatever the target */
    EVENT_SINGLE = 64,    /* only one sample set at a time can sample it */
    EVENT_OBJECTS = 128,  /* samples are Java objects; an agent reports which are still reachable */
    /* Samples are blocks of malloc, which flamed follows until they are freed. */
    EVENT_BLOCKS = 256,
    EVENT_RUNS = 512, /* has samples of running threads, too, like cpu */
    EVENT_YIELDS =
        1024, /* source=probe samples virtual threads by probes, which needs the role attach */
};

/* Limits of a period that is a time on a processor. */
#define EVENT_PERIOD_MIN_NS UINT64_C(100000) /* 10,000 Hz */
#define EVENT_PERIOD_MAX_NS UINT64_C(1000000000)
/* The upper limit of a period that counts events. */
#define EVENT_PERIOD_MAX_COUNT (UINT64_C(1) << 40)

/* A bit in a period. The period is then a time in ns between two samples on a processor, of an
 * event that does not count time. The number of events between two samples depends on their rate,
 * so each sample has a value of its own. */
#define EVENT_PACED (UINT64_C(1) << 63)
static inline bool event_is_paced(uint64_t period)
{
    return period & EVENT_PACED;
}

/* Returns the number in a period: in the event's unit, or in ns if it is paced. */
static inline uint64_t event_period_number(uint64_t period)
{
    return period & ~EVENT_PACED;
}
