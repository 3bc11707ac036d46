/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The services that a target gets under their own names. An engine keeps a series for each of them,
 * and a JVM can claim a new name or version at each start. So the number of these services is
 * limited, and owners share it. Thread: the owner's.
 */
#pragma once

#include "base/shares.h"
#include "base/siphash.h"

#define SERIES_MAX 1000 /* services at a time */
#define SERIES_KEPT_NS                                                                             \
    (3600 * NSEC_PER_SEC) /* a service without samples gives up its place then                     \
                           */

struct series_place {
    uint64_t print; /* hash of the service's name */
    uint64_t owner, last_ns;
};

struct series {
    struct fingerprint_key key;
    struct shares shares;
    struct series_place places[SERIES_MAX];
    size_t count;
};

void series_init(struct series *s);
/* Returns true if @name has a place at @now_ns (CLOCK_REALTIME), or gets one out of the
 * share of @owner, who pays for the JVM (process_payer()). */
bool series_admit(struct series *s, uint64_t owner, struct span name, uint64_t now_ns);
