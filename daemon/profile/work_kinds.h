/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the samples of a view by category of work, or by kind of wait. Pure; thread: any. */
#pragma once

#include "profile/category.h"
#include "profile/view.h"
#include "profile/waits.h"

/* A kind of work or wait, and its samples. */
struct work_kind {
    const char *name; /* static */
    struct view_sum sum;
};

#define WORK_KINDS_MAX (WAIT_COUNT + 2)
_Static_assert((int)CATEGORY_COUNT <= (int)WORK_KINDS_MAX, "one array for both");

/* Returns whether @v has samples of blocked threads. */
bool work_has_waits(const struct view *v);
/* Adds up @v by kind of wait if it has waits: running threads and idle threads are further kinds.
 * Otherwise adds up by category, which needs view_opts.exact. Returns the number of kinds,
 * including those without samples; 0: @v has no categories. */
size_t work_kinds(const struct view *v, struct work_kind ret[WORK_KINDS_MAX]);
