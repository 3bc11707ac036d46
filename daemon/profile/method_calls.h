/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds calls of methods in samples of event wall. Successive samples of a thread below the same
 * frame of a method are one call. Pure; one thread at a time.
 */
#pragma once

#include "profile/view.h"

#define METHOD_CALLS_METHODS_MAX 1000u     /* limit of matching methods; others are left out */
#define METHOD_CALLS_MAX ((size_t)1 << 20) /* limit of calls in a profile with a stored length */
/* limit of matching methods on one stack; inner ones are left out */
#define METHOD_CALLS_NESTED_MAX 64
#define METHOD_CALLS_STACKS_MAX ((uint32_t)1 << 20) /* distinct places of matching methods */
/* Longest period of samples in which calls are found. Excludes the flight recorder, which samples
 * threads once a second. */
#define METHOD_CALLS_PERIOD_MAX_NS (NSEC_PER_SEC / 2)
/* A gap between samples that is longer than both of these cuts a call. */
#define METHOD_CALLS_GAP_PERIODS 16
#define METHOD_CALLS_GAP_NS (NSEC_PER_SEC / 4)
/* A wait of more periods with an unreadable stack cuts a call, too. */
#define METHOD_CALLS_HOLE_PERIODS 3

struct method_calls_opts {
    struct match *methods; /* borrowed: matches names as spelled by `names`, without line */
    enum view_names names;
    uint8_t event;    /* index in the profile's events */
    uint64_t over_ns; /* only calls that lasted at least this long count as `inside` */
    /* The profile is joined from several captures: a thread may have lived before its first sample,
     * and after its last. */
    bool joined;
};

/* A matching method. A call lasts from its first sample to its last, plus half of the time to the
 * samples before and after. */
struct method_calls_row {
    uint32_t name;           /* string of struct method_calls */
    uint64_t count;          /* calls that began and ended in the profile */
    uint64_t p50_ns, p99_ns; /* lengths of the calls in `count`; 0: none */
    uint64_t cut;            /* number of other calls, with a missing start or end */
    uint64_t longest_ns;     /* of all calls */
    bool longest_cut;        /* the longest call is cut */
    uint64_t total_ns;       /* of all calls */
};

struct method_calls {
    struct intern *names;
    struct method_calls_row *rows; /* owned, the largest total first */
    size_t row_count;
    uint64_t over_ns, period_ns;
    uint8_t *inside; /* owned, by sample of the profile: 1 if a call contains it */
    /* Left out: methods beyond the limit, calls without room, samples of virtual threads, inner
     * methods of deep stacks. A sample adds its count. */
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
