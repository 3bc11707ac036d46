/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of one JVM whose name a capture decides when its profile is made, because an agent's
 * report of a moment arrives after it. Remembers each place with the name that memory gave it, and
 * takes that or the agent's. Thread: the engine's.
 */
#pragma once

#include "attach/code_map.h"
#include "elf/symbol_table.h"
#include "profile/rebase.h"

#define LATER_PLACES_MAX (1u << 20)

struct deferred;

/* Borrows @frames for its life. New names take the share of @owner, whose JVM it is. 0 or -ENOMEM.
 */
int deferred_new(struct frame_table *frames, uint64_t owner, struct deferred **ret);
struct deferred *deferred_free(struct deferred *l);

/* When what is added next was seen, CLOCK_MONOTONIC. */
void deferred_set_time(struct deferred *l, uint64_t time_ns);
/* As code_later.add (symbolize/symbolize.h). @cookie: the struct deferred. */
uint32_t deferred_add(void *cookie, uint64_t word, bool is_return_address, const uint32_t *frames,
                      size_t count);

/* What names code before memory, where both know a place: one of both, or none; borrowed. */
struct deferred_source {
    struct code_map *map;      /* of the agent */
    struct symbol_table *text; /* of the JVM's own perf map */
};
/* From now on @s decides; what was decided before is void. */
void deferred_decide(struct deferred *l, const struct deferred_source *s);
/* As record_later_fn. @cookie: the struct deferred. */
size_t deferred_resolve(void *cookie, uint32_t n, uint32_t ret[RECORD_LATER_FRAMES_MAX]);

/* Another frame table takes the place of this one (profile/rebase.h): first 0, -ENOSPC or -ENOMEM,
 * then the change to @frames. What was decided before is void. */
int deferred_rebase_add(const struct deferred *l, struct rebase *b);
void deferred_rebase(struct deferred *l, const struct rebase *b, struct frame_table *frames);

/* Of the places decided since deferred_decide(). */
struct deferred_stats {
    uint32_t both, same; /* compiled code that both named; to the same methods */
    uint32_t added;      /* that memory had no name for and the source had */
};
struct deferred_stats deferred_stats(const struct deferred *l);
