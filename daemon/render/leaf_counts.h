/* SPDX-License-Identifier: Apache-2.0 */
/* How the frames that ran are known, frame by frame. */
#pragma once

#include "profile/view.h"

/* Samples that ended in a frame. */
struct leaf_counts {
    uint64_t inferred, unsure; /* as in struct view_row */
};

/* Counts for each frame of @v. 0 and *ret, [v->frame_count], owned by the caller; -ENOMEM. */
int leaf_counts_new(const struct view *v, struct leaf_counts **ret);
