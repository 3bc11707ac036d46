/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of one minute by service and name, from its profiles. Three passes over the profiles
 * find the service of each JVM, then the weight of each service, then the times of its names.
 * Private to profile/. Thread: the owner's.
 */
#pragma once

#include "base/id_table.h"
#include "profile/heavy_names.h"
#include "profile/service_counters.h"

#define MINUTE_SERVICES_MAX 10000u
#define MINUTE_WEIGHTS_MAX 1000000u
#define MINUTE_STRINGS_MAX ((size_t)32 << 20)

struct minute_service {
    struct span name, pod_namespace; /* a NUL follows */
    uint32_t owner;
    uint64_t payer;  /* payer of its first JVM; each payer has a share of the places */
    uint32_t number; /* number under which its weights are added; several services may have the
                      * same */
    uint64_t cpu_ns, lock_ns;
};

/* Returns the weight of a service: its CPU time, and its waits for locks up to the same amount,
 * because waits cost nothing. */
static inline uint64_t minute_service_weight(const struct minute_service *s)
{
    return s->cpu_ns + MIN(s->lock_ns, s->cpu_ns);
}

struct minute {
    struct match *chosen; /* borrowed; NULL: none */
    struct intern *strings;
    uint8_t *is_chosen; /* by string: 0 not known yet, 1 no, 2 yes */
    size_t is_chosen_cap;
    struct id_table images; /* JVMs */
    uint32_t *services_of;  /* latest known service, by id of images */
    size_t services_of_cap;
    struct id_table keys; /* keys of services: strings and owner */
    struct minute_service *services;
    size_t services_cap, service_count;
    struct minute_service **by_weight; /* the heaviest first; after minute_sort() */
    struct id_table weight_keys;       /* struct weight_key: number, kind and name */
    uint64_t *ns;                      /* by id of weight_keys */
    size_t ns_cap;
    /* Time of names without room. */
    uint64_t other_ns[SERVICE_COUNTERS_MAX + 1][SERVICE_COUNTER_KINDS];
    struct heavy_weight *weights; /* by number and kind; after minute_group() */
    uint32_t *firsts;             /* index of the first weight of each number and kind */
    uint64_t left_out;            /* number of samples and functions without room */
};

/* 0 or -ENOMEM; @m needs minute_deinit() in every case. */
int minute_init(struct minute *m, struct match *chosen);
void minute_deinit(struct minute *m);
/* First pass, by time: stores the services of JVMs in @p. 0 or -ENOMEM. */
int minute_note(struct minute *m, const struct profile *p);
/* Second pass: adds the weights of services. 0 or -ENOMEM. */
int minute_weigh(struct minute *m, const struct profile *p);
int minute_sort(struct minute *m);
const struct minute_service *minute_service_find(const struct minute *m, const char *name,
                                                 const char *pod_namespace, uint32_t owner);
/* Third pass, after the caller set the numbers (up to SERVICE_COUNTERS_MAX): adds the times of
 * names. 0 or -ENOMEM. */
int minute_count(struct minute *m, const struct profile *p);
int minute_group(struct minute *m);
/* Returns the number of weights of @number and @kind, which *ret points to. */
size_t minute_weights(struct minute *m, uint32_t number, uint32_t kind, struct heavy_weight **ret);
/* Returns the time of names of @number and @kind without room. */
uint64_t minute_other(const struct minute *m, uint32_t number, uint32_t kind);
