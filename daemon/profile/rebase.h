/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves records and frame ids from one frame table to its replacement, in two steps, so that a lack
 * of memory changes nothing. First every user adds the entries that it uses (rebase_add_*). Then
 * every user takes the new ids (rebase_frame, record_rebase), which cannot fail. Thread: the
 * engine's.
 */
#pragma once

#include "base/cleanup.h"
#include "profile/profile.h"

struct rebase;

/* Begins a move between two tables, which are borrowed. 0 or -ENOMEM. */
int rebase_new(const struct frame_table *from, struct frame_table *to, struct rebase **ret);
struct rebase *rebase_free(struct rebase *b);
CLEANUP_FUNCTION(rebase_freep, rebase, rebase_free)

/* First step: add the entries that a frame or a record uses. 0, -ENOSPC or -ENOMEM. */
int rebase_add_frame(struct rebase *b, uint32_t frame);
int rebase_add_record(struct rebase *b, const struct record *r);

/* Second step: returns the new id of an added frame. Ids from RECORD_LATER on stay the same. */
uint32_t rebase_frame(const struct rebase *b, uint32_t frame);
/* Second step: moves @r to the new table; indexes of threads, processes and stacks stay. */
void record_rebase(struct record *r, const struct rebase *b);
