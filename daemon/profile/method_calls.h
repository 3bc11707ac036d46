/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of methods, as samples of event wall show them. Samples of a thread, one after the other,
 * that lie below the same frame of a method are one call. Pure; one thread at a time.
 */
#pragma once

#include "profile/view.h"

#define METHOD_CALLS_METHODS_MAX 1000u     /* that match; others are left out */
#define METHOD_CALLS_MAX ((size_t)1 << 20) /* with a length of their own, in a profile */
#define METHOD_CALLS_NESTED_MAX 64 /* methods that match, on one stack: inner ones are left out */
#define METHOD_CALLS_STACKS_MAX ((uint32_t)1 << 20) /* distinct places of such methods */
/* With more between samples, they are no samples of a capture: the flight recorder looks at threads
 * once a second. */
#define METHOD_CALLS_PERIOD_MAX_NS (NSEC_PER_SEC / 2)
/* A thread without samples for more than both of these may have done anything, */
#define METHOD_CALLS_GAP_PERIODS 16
#define METHOD_CALLS_GAP_NS (NSEC_PER_SEC / 4)
/* and so may one that waited for this many periods with a stack that could not be read. */
#define METHOD_CALLS_HOLE_PERIODS 3

struct method_calls_opts {
    struct match *methods; /* borrowed: on names as @names spells them, without line */
    enum view_names names;
    uint8_t event;    /* index in the profile's events */
    uint64_t over_ns; /* samples are inside a call if it lasted at least this long */
    /* The profile is put together of several captures: a thread without samples at its beginning
     * may have been there. */
    bool joined;
};

/* A method that matched. A call lasts from its first sample to its last one, and half of the time
 * to the samples before and after. */
struct method_calls_row {
    uint32_t name;           /* string of struct method_calls */
    uint64_t count;          /* calls that began and ended in the profile: */
    uint64_t p50_ns, p99_ns; /* of these; 0 if there are none */
    uint64_t cut;            /* other calls: only a part of each is known */
    uint64_t longest_ns;     /* of all */
    bool longest_cut;        /* and that call lasted longer */
    uint64_t total_ns;       /* of all */
};

struct method_calls {
    struct intern *names;
    struct method_calls_row *rows; /* owned, the largest total first */
    size_t row_count;
    uint64_t over_ns, period_ns;
    uint8_t *inside; /* owned, of each sample of the profile: 1 if it lies in a call */
    /* What is left out: methods beyond the limit, calls without room, samples of virtual threads,
     * methods too deep on a stack that has many. A sample counts with those that it stands for. */
    uint64_t methods_left_out, calls_left_out, virtual_left_out, nested_left_out;
    char warnings[VIEW_CALLS_WARNINGS][VIEW_SENTENCE_BYTES];
    size_t warning_count;
};

/* Finds the calls in @p. 0 and *ret; -EINVAL with @err: a regular expression takes too long, or the
 * event's samples are too far apart; -ENOMEM. */
int method_calls_find(const struct profile *p, const struct method_calls_opts *o,
                      struct method_calls **ret, struct error *err);
/* Accepts NULL, returns NULL. */
struct method_calls *method_calls_free(struct method_calls *c);
static inline struct span method_calls_name(const struct method_calls *c,
                                            const struct method_calls_row *row)
{
    return intern_get(c->names, row->name);
}
