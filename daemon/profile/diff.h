/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two views laid over each other: one tree of stacks, each node with what it weighs in both. What
 * is only in one of them is there as well. Immutable once made; thread: any.
 */
#pragma once

#include "base/cleanup.h"
#include "profile/view.h"

#define DIFF_NODES_MAX 4000000u

struct diff_node {
    uint32_t parent;         /* index; the root, [0], is its own */
    uint32_t name;           /* string of the diff; the root's is "" */
    uint32_t kind;           /* enum frame_kind */
    uint32_t depth;          /* 0 for the root */
    uint32_t child, sibling; /* the first child and the next child of the parent, by name; 0:
                                none */
    uint64_t a, b;           /* weight of it and all above it */
    uint64_t a_self, b_self; /* of it alone */
};

/* A function wherever it occurs; a recursion counts once. */
struct diff_function {
    uint32_t name, kind;
    uint64_t a, b, a_self, b_self;
};

struct diff {
    struct profile *profile_a, *profile_b;         /* references */
    const struct profile_event *event_a, *event_b; /* theirs: what is compared */
    struct intern *strings;
    struct diff_node *nodes;
    size_t node_count;
    struct diff_function *functions; /* the most changed first, by self */
    size_t function_count;
    uint64_t a, b; /* weight of the whole */
    double scale;  /* of a, so that both weigh the same; 1 when not normalized */
    bool by_value; /* weights are values; else samples */
    /* What 1 of weight is worth on each side, in @unit: that of both events, or "samples". unit "":
     * the two sides weigh different things. */
    const char *unit;
    uint64_t worth_a, worth_b;
    char few[2][VIEW_SENTENCE_BYTES]; /* of both views, a's first */
};

struct diff_opts {
    bool absolute; /* as counted; else as if both had been sampled for as long, by weight */
    bool reverse;  /* the tree begins at the leaves: nodes' own weights then have no meaning */
};

/* 0, -EFBIG or -ENOMEM. */
int diff_new(const struct view *a, const struct view *b, const struct diff_opts *o,
             struct diff **ret, struct error *err);
struct diff *diff_free(struct diff *d);
CLEANUP_FUNCTION(diff_freep, diff, diff_free)
static inline struct span diff_string(const struct diff *d, uint32_t id)
{
    return intern_get(d->strings, id);
}
/* b less a, a scaled. */
static inline double diff_delta(const struct diff *d, uint64_t a, uint64_t b)
{
    return (double)b - (double)a * d->scale;
}
