/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pprof, otlp and their like have in common: samples added up by stack and thread, frames put
 * together into places in the code, and tables of functions and of mapped files. Private to
 * render/.
 *
 * A location is a place in the code: a frame and what was inlined into it there. Functions,
 * mappings and locations are numbered from 0 in the order of their first use, row by row.
 */
#pragma once

#include "base/id_table.h"
#include "profile/view.h"

#define STACKS_NONE UINT32_MAX

/* Samples of one row in one thread. */
struct stacks_key {
    uint32_t row;
    uint32_t thread; /* index in profile->threads; STACKS_NONE: not known */
};

struct stacks_function {
    uint32_t name, file; /* strings of the view */
};

struct stacks_mapping {
    uint32_t path;       /* string of the view */
    uint32_t build_id;   /* string of the profile, 0: unknown */
    uint32_t code_cache; /* 1: no file, but what the JVM made; path is 0 */
};

/* A frame within its location: inlined into @caller. */
struct stacks_node {
    uint32_t caller; /* index in nodes; STACKS_NONE: the frame that has code of its own */
    uint32_t frame;  /* of the view */
};

struct stacks {
    const struct view *v;
    struct id_table keys; /* struct stacks_key, in the order of time */
    uint64_t *counts;     /* of samples, [keys.cap] */
    size_t counts_cap;
    struct id_table nodes, functions, mappings;
    struct id_table locations;   /* uint32_t: the innermost node */
    uint32_t *function_of_frame; /* [view->frame_count] */
    uint32_t *mapping_of_frame;  /* [view->frame_count]; STACKS_NONE: in no file */
    uint32_t *places;            /* locations of all rows, each row's leaf first */
    uint32_t *places_at;         /* [row_count + 1]: where a row's locations begin */
};

/* 0 or -ENOMEM; to be deinited in any case. Borrows @v. */
int stacks_init(struct stacks *s, const struct view *v);
void stacks_deinit(struct stacks *s);

static inline const struct stacks_key *stacks_key(const struct stacks *s, uint32_t id)
{
    return id_table_get(&s->keys, id);
}
static inline const struct stacks_node *stacks_node(const struct stacks *s, uint32_t id)
{
    return id_table_get(&s->nodes, id);
}
/* The innermost node of a location; its callers lead outwards. */
static inline uint32_t stacks_innermost(const struct stacks *s, uint32_t location)
{
    return *(const uint32_t *)id_table_get(&s->locations, location);
}
static inline const struct stacks_function *stacks_function(const struct stacks *s, uint32_t id)
{
    return id_table_get(&s->functions, id);
}
/* Of a mapping: valid as long as the view. */
struct span stacks_mapping_path(const struct stacks *s, uint32_t mapping);
struct span stacks_mapping_build_id(const struct stacks *s, uint32_t mapping);
/* What file the code of a location is in: of its outermost frame. */
uint32_t stacks_location_mapping(const struct stacks *s, uint32_t location);
