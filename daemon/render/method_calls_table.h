/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the calls of a view: count and lengths by method. Private to render/. */
#pragma once

#include "base/buf.h"
#include "profile/view.h"

/* Append nothing for a view without calls. */

/* Appends the member `,"calls":{...}`; docs/formats.md describes it. */
void render_add_calls(const struct view *v, struct buf *out);
/* Appends a text table of the methods with the most time in their calls. */
void report_add_calls(const struct view *v, struct buf *out);
/* Return the number of methods; append the calls of method @i as one line without line break. */
size_t report_call_count(const struct view *v);
void report_add_call(const struct view *v, size_t i, struct buf *out);
