/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of time by service, for metrics. There are three kinds: by function that ran, by
 * function with all that it called, and by class of an awaited lock. They add up finished minutes
 * of the recorder. The number of services, and of names per service, is bounded (heavy_names.h).
 * Names are spelled as with names=merged. Thread: any; calls are serialised inside.
 */
#pragma once

#include "profile/heavy_names.h"
#include "profile/match.h"
#include "profile/profile.h"

#define SERVICE_COUNTERS_MAX 100     /* limit of services; all others share one counter */
#define SERVICE_COUNTERS_CHOSEN 50   /* functions per service chosen by patterns */
#define SERVICE_COUNTERS_HEAVIEST 50 /* upper bound of service_counters_opts.heaviest */
#define SERVICE_COUNTERS_OTHERS "[other services]"

enum service_counter {
    SERVICE_COUNTER_CPU,   /* by the function that ran */
    SERVICE_COUNTER_CALLS, /* by chosen function, with all that it called */
    SERVICE_COUNTER_LOCKS, /* by class: waits for monitors and locks, without waits for
                            * conditions */
    SERVICE_COUNTER_KINDS,
};

struct service_counters_opts {
    size_t heaviest;      /* number of heaviest names per service that have a counter */
    struct match *chosen; /* functions that always have a counter; NULL: none. Owned after
                           * service_counters_new() */
};

struct service_counters;

/* Creates the counters. 0, or -ENOMEM: then @o->chosen stays the caller's. */
int service_counters_new(const struct service_counters_opts *o, struct service_counters **ret);
/* Frees @c, which may be NULL. Returns NULL. */
struct service_counters *service_counters_free(struct service_counters *c);
/* Adds the samples of JVMs in the @count profiles of the minute that begins at @start_ns of
 * CLOCK_REALTIME. If memory is short, samples are left out and counted. */
void service_counters_add(struct service_counters *c, uint64_t start_ns,
                          struct profile *const *slices, size_t count);

struct service_counter_line {
    const char *service, *pod_namespace; /* "": no namespace */
    const char *name;                    /* HEAVY_OTHER: all other names */
    uint64_t ns;
    struct heavy_minute newest;
};
/* Filter of services: the JVMs of one service have the same name, namespace and owner. */
struct service_counters_query {
    enum service_counter kind;
    bool (*sees)(void *cookie, uint32_t owner, const char *pod_namespace);
    void (*line)(void *cookie, const struct service_counter_line *line);
    void *cookie;
};
/* Calls q->line with the counters of each visible service, by service and namespace. Each name of a
 * service is reported once. */
void service_counters_each(struct service_counters *c, const struct service_counters_query *q);
/* Returns how often a chosen function had no counter in a minute, plus the number of samples left
 * out. */
uint64_t service_counters_left_out(struct service_counters *c);
