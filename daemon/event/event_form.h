/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses names of events that have no row in events.def. These are raw events of the processor,
 * events of its caches, events of a PMU by terms, tracepoints, functions of a file and breakpoints.
 * Any event may have the modifiers u and k. The parser does not know whether the machine has the
 * event. Pure; thread: any.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "event/event_kind.h"

#define EVENT_TERMS_MAX 8        /* terms in an event of a PMU */
#define EVENT_FILTER_MAX 180     /* characters of a tracepoint's filter */
#define EVENT_BREAKPOINT_BYTES 4 /* unless the text says 1, 2, 4 or 8 */

/* A term: "umask=0x3", "edge" (value 1), or the name of an event of the PMU. */
struct event_term {
    struct span name;
    uint64_t value;
    bool given; /* the term has a value */
};

enum event_access { EVENT_READ = 1, EVENT_WRITE = 2, EVENT_EXECUTE = 4 };

/* A parsed name. Spans point into the text. */
struct event_form {
    enum event_kind kind; /* a row of events.def, or one of the forms that follow the rows */
    bool exclude_user, exclude_kernel;
    uint64_t config; /* of EVENT_RAW and EVENT_CACHE: the config of perf_event_open(2) */
    /* EVENT_TRACEPOINT: its group and name; EVENT_FUNCTION: a file and a symbol; EVENT_PMU: name
     * alone. */
    struct span group, name;
    struct span filter;                       /* EVENT_TRACEPOINT: text in braces; may be empty */
    struct event_term terms[EVENT_TERMS_MAX]; /* EVENT_PMU */
    size_t term_count;
    uint64_t address;       /* EVENT_BREAKPOINT; EVENT_FUNCTION: offset in bytes from the symbol */
    uint32_t bytes, access; /* of a breakpoint: 1 to 8; bits of enum event_access */
};

/* Parses @text. Returns 0, or -ENOENT if @text is neither the name of a row nor of any form.
 * Returns -EINVAL if it is malformed; @err then says why. */
int event_form_parse(struct span text, struct event_form *ret, struct error *err);

/* Returns whether @text may stand in the braces after a tracepoint. */
bool event_is_filter(struct span text);

/* Writes the name of the cache event number @i, as perf lists it, to @buf. Returns @buf, or NULL if
 * there is no such event. */
#define EVENT_CACHE_NAME_BYTES 32
const char *event_cache_name(size_t i, char buf[EVENT_CACHE_NAME_BYTES]);
