/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a view by name, with the weight of each itself and with all that it called.
 * Thread: any.
 */
#pragma once

#include "profile/view.h"

struct top_function {
    uint32_t name;        /* string of the view */
    uint32_t kind;        /* enum frame_kind of most of its weight */
    uint64_t self, total; /* in samples or, with view_opts.total, in values */
};

/* The rows of a view with the same root frames of view_opts.by, such as the rows of one
 * operation. */
struct top_group {
    size_t first, end; /* view->rows[first .. end) */
    uint64_t weight;   /* in the unit of top_function.total */
};

/* Sums of the names of a view, for one group after the other. */
struct top_sums;

/* 0 or -ENOMEM. */
int top_sums_new(const struct view *v, struct top_sums **ret);
struct top_sums *top_sums_free(struct top_sums *t);
CLEANUP_FUNCTION(top_sums_freep, top_sums, top_sums_free)
/* Returns the functions of @g in an array that the caller frees, the hottest first (by self, then
 * total, then name). Frames for processes, threads and cut stacks are left out. 0 or -ENOMEM. */
int top_group_functions(struct top_sums *t, const struct top_group *g, struct top_function **ret,
                        size_t *ret_count);
/* Returns the functions of all rows, as top_group_functions() does for a group. */
int top_functions(const struct view *v, struct top_function **ret, size_t *ret_count);
/* Returns the groups of a view with view_opts.by, the greatest first, in an array that the caller
 * frees. 0 or -ENOMEM. */
int top_groups(const struct view *v, struct top_group **ret, size_t *ret_count);
/* Appends the names of the frames that stand for @g, such as "[Main pid=42] [GET /a]". */
void top_group_name(const struct view *v, const struct top_group *g, struct buf *out);
