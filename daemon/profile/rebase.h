/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves what points into one frame table to another that takes its place. Two steps, so that a lack
 * of memory changes nothing. First everything adds what it uses (rebase_add_*). Then everything
 * takes its new ids (rebase_frame, record_rebase), which cannot fail. Thread: the engine's.
 */
#pragma once

#include "base/cleanup.h"
#include "profile/profile.h"

struct rebase;

/* Both are borrowed. 0 or -ENOMEM. */
int rebase_new(const struct frame_table *from, struct frame_table *to, struct rebase **ret);
struct rebase *rebase_free(struct rebase *b);
CLEANUP_FUNCTION(rebase_freep, rebase, rebase_free)

/* Does the first step. 0, -ENOSPC or -ENOMEM. */
int rebase_add_frame(struct rebase *b, uint32_t frame);
int rebase_add_record(struct rebase *b, const struct record *r);

/* Does the second step: returns the new id of a frame that was added. Ids from RECORD_LATER on
 * stay. */
uint32_t rebase_frame(const struct rebase *b, uint32_t frame);
/* @r is of the new table from now on; what it knows of threads, processes and stacks keeps its
 * indexes. */
void record_rebase(struct record *r, const struct rebase *b);
