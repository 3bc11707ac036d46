/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of time by name, for a bounded number of names: names chosen by a pattern, and the
 * heaviest other names. One more counter holds all other time, so that the sum stays true. Each
 * minute may add and remove names. Counters never fall: the counter of a new name begins at 0, and
 * its first minute counts as other time. Thread: the owner's.
 */
#pragma once

#include "base/intern.h"

#define HEAVY_NAME_BYTES 256 /* bytes of a name, with its NUL */
#define HEAVY_OTHER "[other]"
#define HEAVY_IDLE_MINUTES 60 /* a name is removed after more minutes without time */
/* a new name replaces the lightest name if it weighs more than this many times as much */
#define HEAVY_FACTOR 2

/* The newest minute in which a counter grew. */
struct heavy_minute {
    uint64_t start_ns; /* CLOCK_REALTIME; 0: the counter has not grown */
    uint64_t ns;       /* growth of the counter */
};

struct heavy_name {
    char *name; /* owned */
    uint64_t ns;
    uint64_t inherited_ns; /* set by the caller: time of the same name, removed in other services */
    uint64_t recent_ns;    /* mean per minute; later minutes weigh more */
    struct heavy_minute newest;
    unsigned idle; /* minutes */
    bool chosen;
};

struct heavy_names {
    struct heavy_name *names; /* owned */
    size_t count, cap;
    uint64_t other_ns, inherited_other_ns;
    struct heavy_minute newest_other; /* set by the caller */
    bool begun;                       /* at least one minute was added */
};

/* Time of one name in a minute. */
struct heavy_weight {
    uint32_t name; /* string */
    bool chosen;
    uint64_t ns;
};

struct heavy_limits {
    size_t heaviest, chosen;                                /* limits of names of each kind */
    void (*gone)(void *cookie, const struct heavy_name *n); /* called before @n is removed; NULL:
                                                             * not called */
    void *cookie;
};

/* Adds the weights of the minute at @start_ns and sorts them. Each name is in them once. Returns
 * the number of chosen names without room. */
size_t heavy_names_add(struct heavy_names *h, const struct intern *strings,
                       struct heavy_weight *weights, size_t count, uint64_t start_ns,
                       const struct heavy_limits *l);
void heavy_names_deinit(struct heavy_names *h);
/* Returns the mean that follows @recent_ns after a minute with @ns. */
uint64_t heavy_recent(uint64_t recent_ns, uint64_t ns);
