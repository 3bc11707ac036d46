/* SPDX-License-Identifier: Apache-2.0 */
/* Parts shared by the text formats: head, numbers, names and ranking. Private to render/. */
#pragma once

#include "render/formats.h"

/* Appends the first section: what was measured, its quality, and the warnings. */
void report_add_head(const struct view *v, const struct render_opts *o, struct buf *out);
/* Appends "Label               : ", with async-profiler's spacing. */
void report_add_label(struct buf *out, const char *label);

/* Returns "ns", "bytes", or "events" for counts. */
const char *report_unit(const struct view *v);
/* Returns the short form of an event's @unit: "nanoseconds", "bytes" or "count". */
const char *report_unit_name(const char *unit);
double report_percent(uint64_t part, uint64_t whole);
/* Returns the requested number of rows. */
size_t report_top(const struct render_opts *o);

/* Returns the weight of @w by which the view ranks. */
uint64_t report_weigh(const struct view *v, struct view_sum w);
/* Returns the sum of the whole view. */
struct view_sum report_whole(const struct view *v);
/* Append "    12340000   12.34%       12  "; append the table's head with @title, and its rule. */
void report_add_columns(const struct view *v, struct view_sum w, struct buf *out);
void report_add_table_head(const struct view *v, const char *title, struct buf *out);
/* Appends the columns of @w and "[12 more methods]"; nothing if @count is 0. @what: "methods", a
 * literal. */
void report_add_rest(const struct view *v, size_t count, struct view_sum w, const char *what,
                     struct buf *out);
