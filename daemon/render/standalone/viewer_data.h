/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the profile for the viewer of web/, for every page that contains one. */
#pragma once

#include "render/formats.h"

/* Appends the object without its closing brace, so that a page can add members. @ret_rows: NULL, or
 * room for view->row_count numbers: the row of the object that each row of the view is part of.
 * (Rows that minwidth cut in the same place are one.) 0 or -ENOMEM. */
int viewer_data_add(const struct view *v, const struct render_opts *o, uint32_t *ret_rows,
                    struct buf *out);
