/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of time by name, for a bounded number of names: those that a pattern chose, and the
 * heaviest of the others. All other time is one counter more, so that the sum stays true. Names
 * come and go by the minute, and counters only grow. A name that comes later begins at 0, and its
 * first minute counts as other time. Thread: the owner's.
 */
#pragma once

#include "base/intern.h"

#define HEAVY_NAME_BYTES 256 /* of a name, with its NUL */
#define HEAVY_OTHER "[other]"
#define HEAVY_IDLE_MINUTES 60 /* without time: then a name goes */
#define HEAVY_FACTOR 2 /* so many times the lightest a newcomer weighs that takes its place */

struct heavy_name {
    char *name; /* owned */
    uint64_t ns;
    uint64_t inherited_ns; /* that the caller adds: of others' names that are the same and went */
    uint64_t recent_ns;    /* of a minute: a mean in which new ones weigh more */
    unsigned idle;         /* minutes */
    bool chosen;
};

struct heavy_names {
    struct heavy_name *names; /* owned */
    size_t count, cap;
    uint64_t other_ns, inherited_other_ns;
    bool begun; /* a minute was added */
};

/* Time of one name in a minute. */
struct heavy_weight {
    uint32_t name; /* string */
    bool chosen;
    uint64_t ns;
};

struct heavy_limits {
    size_t heaviest, chosen;                                /* names of each kind */
    void (*gone)(void *cookie, const struct heavy_name *n); /* before @n goes; NULL: not told */
    void *cookie;
};

/* Adds the minute of @weights, in which each name is once; they are sorted. Returns how many chosen
 * names found no room. */
size_t heavy_names_add(struct heavy_names *h, const struct intern *strings,
                       struct heavy_weight *weights, size_t count, const struct heavy_limits *l);
void heavy_names_deinit(struct heavy_names *h);
/* Returns the mean of a minute, after one of @ns. */
uint64_t heavy_recent(uint64_t recent_ns, uint64_t ns);
