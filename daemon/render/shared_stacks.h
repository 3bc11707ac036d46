/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bodies of a view's stacks: what is left of a row without its process and thread. Each is
 * there once, in the order of their numbers, which is that of their names. Private to render/.
 */
#pragma once

#include "profile/view.h"

struct shared_stacks {
    const struct view *v;
    uint32_t *row; /* [view->body_count]: the first row with that body */
};

/* 0 or -ENOMEM; to be deinited in any case. Borrows @v. */
int shared_stacks_init(struct shared_stacks *b, const struct view *v);
void shared_stacks_deinit(struct shared_stacks *b);

/* Its frames, root first: indexes in view->frames, as many as *ret_n. */
const uint32_t *shared_stacks_frames(const struct shared_stacks *b, uint32_t body, uint32_t *ret_n);
/* Returns how many frames it shares with the body before, from the root on. */
uint32_t shared_stacks_shared(const struct shared_stacks *b, uint32_t body);

/* Returns the end of the rows from @row on that have the same roots, and their bodies in order. */
size_t shared_stacks_run_end(const struct shared_stacks *b, size_t row);
