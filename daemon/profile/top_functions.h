/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a view by name: how much each did itself, and with all that it called. Thread:
 * any. */
#pragma once

#include "profile/view.h"

struct top_function {
    uint32_t name;        /* string of the view */
    uint32_t kind;        /* enum frame_kind: how it ran in most samples */
    uint64_t self, total; /* of samples or, with view_opts.total, of the value */
};

/* All of them, the hottest (by self, then total, then name) first, in an array that the caller
 * frees. Frames for processes, threads and what is cut are left out. 0 or -ENOMEM. */
int top_functions(const struct view *v, struct top_function **ret, size_t *ret_count);
