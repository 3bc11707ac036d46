/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of time by service, for metrics: of functions that ran, of functions with all that they
 * called, of waits for locks by class. They add up finished minutes of the recorder. Services, and
 * names of each, are bounded (heavy_names.h). Names are spelled as names=merged. Thread: any; calls
 * are serialised inside.
 */
#pragma once

#include "profile/match.h"
#include "profile/profile.h"

#define SERVICE_COUNTERS_MAX 100     /* services; the time of others is one's */
#define SERVICE_COUNTERS_CHOSEN 50   /* functions of a service that patterns choose */
#define SERVICE_COUNTERS_HEAVIEST 50 /* of its heaviest, at most */
#define SERVICE_COUNTERS_OTHERS "[other services]"

enum service_counter {
    SERVICE_COUNTER_CPU,   /* by the function that ran */
    SERVICE_COUNTER_CALLS, /* by chosen function, with all that it called */
    SERVICE_COUNTER_LOCKS, /* by class: waits for monitors and locks, none for conditions */
    SERVICE_COUNTER_KINDS,
};

struct service_counters_opts {
    size_t heaviest;      /* names of a service that have a counter for their weight */
    struct match *chosen; /* owned from then on: functions that always have one; NULL: none */
};

struct service_counters;

/* 0; -ENOMEM, and then @o->chosen is the caller's. */
int service_counters_new(const struct service_counters_opts *o, struct service_counters **ret);
/* NULL is fine. Returns NULL. */
struct service_counters *service_counters_free(struct service_counters *c);
/* Adds the JVMs' samples of the @count profiles of a minute. What finds no memory is left out, and
 * counted. */
void service_counters_add(struct service_counters *c, struct profile *const *slices, size_t count);

struct service_counter_line {
    const char *service, *pod_namespace; /* "": no namespace */
    const char *name;                    /* HEAVY_OTHER: all others */
    uint64_t ns;
};
/* Which services are seen: JVMs of one have the same name, namespace and owner. */
struct service_counters_query {
    enum service_counter kind;
    bool (*sees)(void *cookie, uint32_t owner, const char *pod_namespace);
    void (*line)(void *cookie, const struct service_counter_line *line);
    void *cookie;
};
/* Hands out the counters of services that are seen, by service and namespace. Each name of one is
 * handed out once. */
void service_counters_each(struct service_counters *c, const struct service_counters_query *q);
/* Returns how many chosen functions had no counter in a minute, and samples no memory. */
uint64_t service_counters_left_out(struct service_counters *c);
