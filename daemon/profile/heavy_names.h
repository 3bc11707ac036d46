/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of time by name, for a bounded number of names: those chosen by a pattern, and the
 * heaviest others. All other time has one more counter, so that the sum stays true. Names come and
 * go by the minute, and counters only grow. A later name begins at 0, and its first minute counts
 * as other time. Thread: the owner's.
 */
#pragma once

#include "base/intern.h"

#define HEAVY_NAME_BYTES 256 /* of a name, with its NUL */
#define HEAVY_OTHER "[other]"
#define HEAVY_IDLE_MINUTES 60 /* a name without time for longer is removed */
#define HEAVY_FACTOR 2        /* times the lightest name: a new name that weighs more replaces it */

/* The newest minute in which a counter grew. */
struct heavy_minute {
    uint64_t start_ns; /* CLOCK_REALTIME; 0: it has not grown */
    uint64_t ns;       /* growth of the counter */
};

struct heavy_name {
    char *name; /* owned */
    uint64_t ns;
    uint64_t inherited_ns; /* set by the caller: time of removed names of others */
    uint64_t recent_ns;    /* mean of a minute, in which new minutes weigh more */
    struct heavy_minute newest;
    unsigned idle; /* minutes */
    bool chosen;
};

struct heavy_names {
    struct heavy_name *names; /* owned */
    size_t count, cap;
    uint64_t other_ns, inherited_other_ns;
    struct heavy_minute newest_other; /* set by the caller */
    bool begun;                       /* a minute was added */
};

/* The time of one name in a minute. */
struct heavy_weight {
    uint32_t name; /* string */
    bool chosen;
    uint64_t ns;
};

struct heavy_limits {
    size_t heaviest, chosen;                                /* names of each kind */
    void (*gone)(void *cookie, const struct heavy_name *n); /* called before @n is removed; NULL:
                                                             * not called */
    void *cookie;
};

/* Adds the weights of the minute at @start_ns, in which each name is once, and sorts them. Returns
 * the number of chosen names without room. */
size_t heavy_names_add(struct heavy_names *h, const struct intern *strings,
                       struct heavy_weight *weights, size_t count, uint64_t start_ns,
                       const struct heavy_limits *l);
void heavy_names_deinit(struct heavy_names *h);
/* Returns the next mean of a minute, after a minute of @ns. */
uint64_t heavy_recent(uint64_t recent_ns, uint64_t ns);
