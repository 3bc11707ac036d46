/* SPDX-License-Identifier: Apache-2.0 */
/* Spells the name of a frame for every format. Private to profile/. */
#pragma once

#include "base/buf.h"
#include "profile/view.h"

/* Appends the name of @f, a frame of @p, as spelled by @o: "java.lang.Thread.run:42_[j]". Pure. */
void frame_name_spell(const struct profile *p, const struct view_opts *o, const struct frame *f,
                      struct buf *out);
