/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of time by service, for metrics: of functions that ran, of functions with all that they
 * called, of waits for locks by class. They add up finished minutes of the recorder. Services, and
 * names of each, are bounded (heavy_names.h). Names are spelled as names=merged. Thread: any; calls
 * are serialised inside.
 */
#pragma once

#include "profile/heavy_names.h"
#include "profile/match.h"
#include "profile/profile.h"

#define SERVICE_COUNTERS_MAX 100     /* services; all others share one counter */
#define SERVICE_COUNTERS_CHOSEN 50   /* functions per service chosen by patterns */
#define SERVICE_COUNTERS_HEAVIEST 50 /* upper bound of service_counters_opts.heaviest */
#define SERVICE_COUNTERS_OTHERS "[other services]"

enum service_counter {
    SERVICE_COUNTER_CPU,   /* by the function that ran */
    SERVICE_COUNTER_CALLS, /* by chosen function, with all that it called */
    SERVICE_COUNTER_LOCKS, /* by class: waits for monitors and locks, none for conditions */
    SERVICE_COUNTER_KINDS,
};

struct service_counters_opts {
    size_t heaviest;      /* number of the heaviest names per service with a counter */
    struct match *chosen; /* functions that always have a counter; NULL: none. Owned after
                           * service_counters_new() */
};

struct service_counters;

/* 0; -ENOMEM: @o->chosen stays the caller's. */
int service_counters_new(const struct service_counters_opts *o, struct service_counters **ret);
/* NULL is fine. Returns NULL. */
struct service_counters *service_counters_free(struct service_counters *c);
/* Adds the samples of JVMs in the @count profiles of the minute that begins at @start_ns of
 * CLOCK_REALTIME. Samples without memory are left out and counted. */
void service_counters_add(struct service_counters *c, uint64_t start_ns,
                          struct profile *const *slices, size_t count);

struct service_counter_line {
    const char *service, *pod_namespace; /* "": no namespace */
    const char *name;                    /* HEAVY_OTHER: all others */
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
 * service comes once. */
void service_counters_each(struct service_counters *c, const struct service_counters_query *q);
/* Returns the number of chosen functions without a counter in a minute, and of samples without
 * memory. */
uint64_t service_counters_left_out(struct service_counters *c);
