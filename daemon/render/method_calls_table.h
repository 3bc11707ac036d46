/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a view: of each method how many, and how long they took. Private to render/. */
#pragma once

#include "base/buf.h"
#include "profile/view.h"

/* Each appends nothing for a view without calls. */

/* Appends the member `,"calls":{...}`; docs/formats.md describes it. */
void render_add_calls(const struct view *v, struct buf *out);
/* Appends a table as text: the methods with most time in their calls. */
void report_add_calls(const struct view *v, struct buf *out);
/* Returns how many methods there are, and appends what is known of the one at @i, on one line
 * without its end. */
size_t report_call_count(const struct view *v);
void report_add_call(const struct view *v, size_t i, struct buf *out);
