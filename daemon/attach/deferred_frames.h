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

struct later;

/* Borrows @frames for its life. 0 or -ENOMEM. */
int later_new(struct frame_table *frames, struct later **ret);
struct later *later_free(struct later *l);

/* When what is added next was seen, CLOCK_MONOTONIC. */
void later_set_time(struct later *l, uint64_t time_ns);
/* As code_later.add (symbolize/symbolize.h). @cookie: the struct later. */
uint32_t later_add(void *cookie, uint64_t word, bool is_return_address, const uint32_t *frames,
                   size_t count);

/* Who names code besides memory: one of both, or none; borrowed. */
struct later_source {
    struct code_map *map;      /* of the agent */
    struct symbol_table *text; /* of the JVM's own perf map */
    bool first;                /* before memory, where both know a place; else after it */
};
/* From now on @s decides; what was decided before is void. */
void later_decide(struct later *l, const struct later_source *s);
/* As record_later_fn. @cookie: the struct later. */
size_t later_frames(void *cookie, uint32_t n, uint32_t ret[RECORD_LATER_FRAMES_MAX]);

/* Another frame table takes the place of this one (profile/rebase.h): first 0, -ENOSPC or -ENOMEM,
 * then the change to @frames. What was decided before is void. */
int later_rebase_add(const struct later *l, struct rebase *b);
void later_rebase(struct later *l, const struct rebase *b, struct frame_table *frames);

/* Of the places decided since later_decide(). */
struct later_stats {
    uint32_t both, same; /* compiled code that both named; to the same methods */
    uint32_t added;      /* that memory had no name for and the source had */
};
struct later_stats later_stats(const struct later *l);
