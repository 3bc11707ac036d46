/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distinct bodies of a view's stacks: rows without their process and thread. Body numbers are in
 * the order of names. Private to render/.
 */
#pragma once

#include "profile/view.h"

struct shared_stacks {
    const struct view *v;
    uint32_t *row; /* [view->body_count]: the first row with the body */
};

/* Borrows @v. 0 or -ENOMEM; shared_stacks_deinit() is needed in every case. */
int shared_stacks_init(struct shared_stacks *b, const struct view *v);
void shared_stacks_deinit(struct shared_stacks *b);

/* Returns the *ret_n frames of @body, root first: indexes in view->frames. */
const uint32_t *shared_stacks_frames(const struct shared_stacks *b, uint32_t body, uint32_t *ret_n);
/* Returns the number of frames from the root on that @body shares with the previous body. */
uint32_t shared_stacks_shared(const struct shared_stacks *b, uint32_t body);

/* Returns the end of the run of rows from @row on with the same roots, and bodies in order. */
size_t shared_stacks_run_end(const struct shared_stacks *b, size_t row);
