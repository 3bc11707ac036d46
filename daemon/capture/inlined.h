/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native frames of a capture with `lines=1`. Stores the address of each frame. When the profile
 * is made, each frame becomes the functions inlined there, with their lines, if these are read by
 * then. Thread: the engine's.
 */
#pragma once

#include "profile/rebase.h"
#include "symbolize/inlines.h"
#include "symbolize/symbolize.h"

#define INLINED_PLACES_MAX (1u << 20)

struct inlined;

/* Creates it; borrows the arguments for its life. Returns 0 or -ENOMEM. */
int inlined_new(struct symbolizer *s, struct frame_table *frames, struct inlined **ret);
struct inlined *inlined_free(struct inlined *i);

/* Returns the frames of @stack, which was just named, of process @p. Replaces the id of each native
 * frame by @base plus the frame's number. Valid until the next call. */
const uint32_t *inlined_stack(struct inlined *i, struct process *p, const struct named_stack *stack,
                              uint32_t base);
/* Gets the frames of native frame number @n: as record_later_fn. */
size_t inlined_frames(struct inlined *i, uint32_t n, uint32_t ret[RECORD_LATER_FRAMES_MAX]);
/* Resets the counters, before a profile is made. */
void inlined_decide(struct inlined *i);
/* Returns whether debug information is still being read. */
bool inlined_waits(const struct inlined *i);

/* Replace the frame table, as attach/deferred_frames.h describes. */
int inlined_rebase_add(const struct inlined *i, struct rebase *b);
void inlined_rebase(struct inlined *i, const struct rebase *b, struct frame_table *frames);

/* Counts of frames since inlined_decide(). */
struct inlined_stats {
    uint32_t found, unread; /* with a function; not read in time, or not within the budget */
    uint32_t split;         /* frames with debug information in .dwo files */
    uint32_t shared;        /* frames with names in a shared debug file that is missing */
    uint32_t beyond;        /* broken debug information, of another version, or beyond a limit */
    uint32_t dropped;       /* frames beyond INLINED_PLACES_MAX, since the capture began */
};
struct inlined_stats inlined_stats(const struct inlined *i);
