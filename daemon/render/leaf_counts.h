/* SPDX-License-Identifier: Apache-2.0 */
/* Counts inferred and unsure leaves, frame by frame. */
#pragma once

#include "profile/view.h"

/* Samples with a frame as their innermost Java frame. */
struct leaf_counts {
    uint64_t inferred, unsure; /* as in struct view_row */
};

/* Counts for each frame of @v. *ret: [v->frame_count], owned by the caller. 0 or -ENOMEM. */
int leaf_counts_new(const struct view *v, struct leaf_counts **ret);
