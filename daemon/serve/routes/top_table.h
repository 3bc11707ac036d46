/* SPDX-License-Identifier: Apache-2.0 */
/* The table of /top, for a terminal and as JSON. Pure; thread: any. */
#pragma once

#include "base/buf.h"
#include "profile/top_functions.h"

#include <jansson.h>

struct top_opts {
    size_t width; /* columns of the terminal */
    size_t rows;  /* at most */
    bool live;    /* redraws in place of the table before: escape sequences */
};

/* Appends the table. 0 or -ENOMEM. */
int top_table(const struct view *v, const struct top_opts *o, struct buf *out);
/* {"samples":…,"functions":[{"name":…,"kind":…,"self":…,"total":…}],…}: a new reference, NULL for
 * want of memory. */
json_t *top_json(const struct view *v, size_t rows);
