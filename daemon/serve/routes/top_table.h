/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the table of /top, for a terminal and as JSON. Pure; thread: any. */
#pragma once

#include "base/buf.h"
#include "profile/top_functions.h"

#include <jansson.h>

struct top_opts {
    size_t width; /* columns of the terminal */
    size_t rows;  /* highest number of rows */
    bool live;    /* redraw over the previous table with escape sequences */
};

/* Appends the table. 0 or -ENOMEM. */
int top_table(const struct view *v, const struct top_opts *o, struct buf *out);
/* Returns {"samples":…,"functions":[{"name":…,"kind":…,"self":…,"total":…}],…} as a new reference;
 * NULL: out of memory. */
json_t *top_json(const struct view *v, size_t rows);
