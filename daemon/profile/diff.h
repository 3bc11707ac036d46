/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two views merged into one tree of stacks. Each node has its weight in both, even if it occurs in
 * one only. Immutable once made; thread: any. The views must outlive the diff, which borrows their
 * warnings.
 */
#pragma once

#include "base/cleanup.h"
#include "profile/view.h"

#define DIFF_NODES_MAX 4000000u

struct diff_node {
    uint32_t parent;         /* index of the parent; the root, [0], is its own parent */
    uint32_t name;           /* string of the diff; the root's is "" */
    uint32_t kind;           /* enum frame_kind */
    uint32_t depth;          /* 0 for the root */
    uint32_t child, sibling; /* index of the first child, and of the parent's next child by name; 0:
                              * none */
    uint64_t a, b;           /* weight of the node and of all that it called */
    uint64_t a_self, b_self; /* weight of the node alone */
};

/* A function wherever it occurs; a recursion counts once. */
struct diff_function {
    uint32_t name, kind;
    uint64_t a, b, a_self, b_self;
};

struct diff {
    struct profile *profile_a, *profile_b;         /* references */
    const struct profile_event *event_a, *event_b; /* borrowed from the profiles: the compared
                                                    * events */
    struct intern *strings;
    struct diff_node *nodes;
    size_t node_count;
    struct diff_function *functions; /* the most changed first, by self */
    size_t function_count;
    uint64_t a, b;               /* total weight */
    double scale;                /* factor of a that makes both totals equal; 1: not normalized */
    bool by_value_a, by_value_b; /* weights of the side are values; else samples */
    /* Value of one unit of weight on each side, in @unit: the unit of both events, or "samples";
     * "": the two sides have different units. */
    const char *unit;
    uint64_t worth_a, worth_b;
    const struct view *view_a, *view_b;
    char mixed[VIEW_SENTENCE_BYTES]; /* warns that the sides show different events; "": they do
                                      * not */
    const char *note;                /* borrowed from diff_opts; "": none */
};

struct diff_opts {
    bool absolute; /* true: weights as counted; false: a is scaled to the total weight of b */
    bool reverse;  /* the tree begins at the leaves: a_self and b_self of nodes have no meaning */
    const char *note; /* a further warning; borrowed, NULL: none */
};

/* Merges two views. 0, -EFBIG or -ENOMEM. */
int diff_new(const struct view *a, const struct view *b, const struct diff_opts *o,
             struct diff **ret, struct error *err);
struct diff *diff_free(struct diff *d);
CLEANUP_FUNCTION(diff_freep, diff, diff_free)
static inline struct span diff_string(const struct diff *d, uint32_t id)
{
    return intern_get(d->strings, id);
}
enum diff_side { DIFF_BOTH, DIFF_A, DIFF_B };
/* Returns warning number @i, those about both sides first; NULL: there is none. *ret_side: what it
 * is about. */
const char *diff_warning(const struct diff *d, size_t i, enum diff_side *ret_side);
/* Returns b minus the scaled a. */
static inline double diff_delta(const struct diff *d, uint64_t a, uint64_t b)
{
    return (double)b - (double)a * d->scale;
}
