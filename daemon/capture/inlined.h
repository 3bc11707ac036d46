/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native frames of a capture with `lines=1`. Remembers where each lies. When the profile is
 * made, each becomes the functions inlined there, with their lines, as far as these were read by
 * then. Thread: the engine's.
 */
#pragma once

#include "profile/rebase.h"
#include "symbolize/inlines.h"
#include "symbolize/symbolize.h"

#define INLINED_PLACES_MAX (1u << 20)

struct inlined;

/* Borrows all for its life. 0 or -ENOMEM. */
int inlined_new(struct symbolizer *s, struct frame_table *frames, struct inlined **ret);
struct inlined *inlined_free(struct inlined *i);

/* Returns the frames of @stack, which was just named, of @p; native ones are @base + n in place of
 * their ids. Valid until the next call. */
const uint32_t *inlined_stack(struct inlined *i, struct process *p, const struct named_stack *stack,
                              uint32_t base);
/* Gets what n has become: as record_later_fn. */
size_t inlined_frames(struct inlined *i, uint32_t n, uint32_t ret[RECORD_LATER_FRAMES_MAX]);
/* Before a profile is made: what was decided before is void. */
void inlined_decide(struct inlined *i);
/* Returns whether something may still be read. */
bool inlined_waits(const struct inlined *i);

/* Another frame table takes the place of this one: as in attach/deferred_frames.h. */
int inlined_rebase_add(const struct inlined *i, struct rebase *b);
void inlined_rebase(struct inlined *i, const struct rebase *b, struct frame_table *frames);

/* Of the places since inlined_decide(). */
struct inlined_stats {
    uint32_t found, unread; /* with a function; not read in time, or not in the budget */
    uint32_t split;         /* in .dwo files */
    uint32_t shared;        /* whose names are in a shared file that is not there */
    uint32_t beyond;        /* broken, of another version, or beyond a limit */
    uint32_t dropped;       /* beyond INLINED_PLACES_MAX, since the beginning */
};
struct inlined_stats inlined_stats(const struct inlined *i);
