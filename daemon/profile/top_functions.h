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
    uint64_t self, total; /* of samples or, with view_opts.total, of the value */
};

/* Returns all functions in an array that the caller frees, the hottest first (by self, then total,
 * then name). Frames for processes, threads and cut stacks are left out. 0 or -ENOMEM. */
int top_functions(const struct view *v, struct top_function **ret, size_t *ret_count);
