/* SPDX-License-Identifier: Apache-2.0 */
/* What the text formats share: their head, numbers, names and ranking. Private to render/. */
#pragma once

#include "render/formats.h"

/* Appends what was measured, how good it is and the warnings: the first section of each. */
void report_add_head(const struct view *v, const struct render_opts *o, struct buf *out);
/* "Label               : ", as async-profiler spaces them. */
void report_add_label(struct buf *out, const char *label);

/* "ns", "bytes"; "events" for what is counted. */
const char *report_unit(const struct view *v);
/* Returns the same of an event's @unit: "nanoseconds", "bytes" or "count". */
const char *report_unit_name(const char *unit);
double report_percent(uint64_t part, uint64_t whole);
/* Returns how many rows are wanted. */
size_t report_top(const struct render_opts *o);

/* Returns what @o->total asks to rank by. */
uint64_t report_weigh(const struct view *v, struct view_sum w);
/* Of the whole view. */
struct view_sum report_whole(const struct view *v);
/* "    12340000   12.34%       12  " or, with a @title row, the head of the table and its rule. */
void report_add_columns(const struct view *v, struct view_sum w, struct buf *out);
void report_add_table_head(const struct view *v, const char *title, struct buf *out);
/* "... 12 more, 0.50% together", where there are any. @what: "methods", a literal. */
void report_add_rest(const struct view *v, size_t count, struct view_sum w, const char *what,
                     struct buf *out);
