/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of events that are no row of events.def: raw events of the processor, events of its caches
 * and of a PMU by terms. Also tracepoints, functions of a file, breakpoints, and the modifiers u
 * and k of any event. What such a text says is known here; whether the machine has the event is
 * not. Pure; thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "event/event_kind.h"

#define EVENT_TERMS_MAX 8        /* of a PMU's event */
#define EVENT_FILTER_MAX 180     /* characters of a tracepoint's filter */
#define EVENT_BREAKPOINT_BYTES 4 /* unless the text says 1, 2, 4 or 8 */

/* "umask=0x3", "edge" (value 1), or the name of an event of the PMU. */
struct event_term {
    struct span name;
    uint64_t value;
    bool given; /* the value */
};

enum event_access { EVENT_READ = 1, EVENT_WRITE = 2, EVENT_EXECUTE = 4 };

/* What a text says. Spans point into it. */
struct event_form {
    enum event_kind kind; /* a row of events.def, or one of the forms behind them */
    bool exclude_user, exclude_kernel;
    uint64_t config; /* EVENT_RAW, EVENT_CACHE: as perf_event_open(2) takes it */
    /* EVENT_TRACEPOINT; EVENT_FUNCTION: a file and a symbol of it; EVENT_PMU: name alone. */
    struct span group, name;
    struct span filter;                       /* EVENT_TRACEPOINT: in braces; may be none */
    struct event_term terms[EVENT_TERMS_MAX]; /* EVENT_PMU */
    size_t term_count;
    uint64_t address;       /* EVENT_BREAKPOINT; EVENT_FUNCTION: bytes behind the symbol */
    uint32_t bytes, access; /* of it: 1 to 8; bits of enum event_access */
};

/* Return: 0. -ENOENT: @text is no name of a row, and has none of the forms. -EINVAL: it has one,
 * with a mistake that @err says. */
int event_form_parse(struct span text, struct event_form *ret, struct error *err);

/* Returns whether @text may stand in the braces behind a tracepoint. */
bool event_is_filter(struct span text);

/* Return: the name of the cache event number @i as perf lists it, written to @buf; NULL behind the
 * last. */
#define EVENT_CACHE_NAME_BYTES 32
const char *event_cache_name(size_t i, char buf[EVENT_CACHE_NAME_BYTES]);
