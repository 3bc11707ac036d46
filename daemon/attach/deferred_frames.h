/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of one JVM that a capture names only when it makes its profile, because an agent reports
 * code after it was sampled. Stores each place with the frames that the JVM's memory gave, and
 * later decides between these and the agent's frames. Thread: the engine's.
 */
#pragma once

#include "attach/code_map.h"
#include "elf/symbol_table.h"
#include "profile/rebase.h"

#define LATER_PLACES_MAX (1u << 20)
/* Pieces, pcs, frames and lines of the agent's code that may be read for one decision: some 0.5 s.
 * Later places keep the frames that memory gave. */
#define LATER_STEPS_MAX (UINT64_C(1) << 28)

struct deferred;

/* Borrows @frames for its life. New names are charged to @owner, the JVM's owner. Returns 0 or
 * -ENOMEM. */
int deferred_new(struct frame_table *frames, uint64_t owner, struct deferred **ret);
struct deferred *deferred_free(struct deferred *l);

/* Sets the CLOCK_MONOTONIC time of the places that are added next. */
void deferred_set_time(struct deferred *l, uint64_t time_ns);
/* Implements code_later.add (symbolize/symbolize.h). @cookie: the struct deferred. */
uint32_t deferred_add(void *cookie, uint64_t word, bool is_return_address, const uint32_t *frames,
                      size_t count);

/* The source that is preferred to memory if both name a place. At most one member is set; both are
 * borrowed. */
struct deferred_source {
    struct code_map *map;      /* the agent's code map */
    struct symbol_table *text; /* the JVM's own perf map */
};
/* Uses @s for decisions from now on; earlier decisions are void. */
void deferred_decide(struct deferred *l, const struct deferred_source *s);
/* Implements record_later_fn. @cookie: the struct deferred. */
size_t deferred_resolve(void *cookie, uint32_t n, uint32_t ret[RECORD_LATER_FRAMES_MAX]);

/* Replace the frame table by @frames (profile/rebase.h) in two steps. The first returns 0, -ENOSPC
 * or -ENOMEM. Earlier decisions are void. */
int deferred_rebase_add(const struct deferred *l, struct rebase *b);
void deferred_rebase(struct deferred *l, const struct rebase *b, struct frame_table *frames);

/* Counts of places decided since deferred_decide(). */
struct deferred_stats {
    uint32_t both, same; /* places that both sources named; those with equal names */
    uint32_t added;      /* places that only the source named */
    uint32_t loops;      /* places in loops that memory named otherwise, and rightly */
    uint32_t given_up;   /* places that were not looked up, or not to the end: too much code */
};
struct deferred_stats deferred_stats(const struct deferred *l);
