/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables shared by pprof and otlp: samples added up by stack and thread, frames joined to places in
 * the code, functions and files. Private to render/proto/.
 *
 * A location is a place in the code: a frame and the frames inlined into it there. Functions,
 * mappings and locations are numbered from 0 in the order of their first use, row by row.
 */
#pragma once

#include "base/id_table.h"
#include "base/intern.h"
#include "profile/handlers.h"
#include "profile/view.h"

#define STACKS_NONE UINT32_MAX

/* The part of requests by which samples are split. */
enum stacks_requests { STACKS_NO_REQUESTS, STACKS_OPERATIONS, STACKS_SPANS };

/* Key of samples: one stack in one thread, with one lock owner, one request and one kind. */
struct stacks_key {
    uint32_t stack;   /* id in texts */
    uint32_t thread;  /* index in profile->threads; STACKS_NONE: not known */
    uint32_t event;   /* index in profile->events */
    uint32_t owner;   /* profile_lock_owner() */
    uint32_t request; /* depends on enum stacks_requests: 0, the operation (a string of the
                       * profile), or an index in profile->contexts */
    uint32_t handler; /* function of the profile that names the operation; 0: none, or a tracer
                       * names it */
    uint32_t kind;    /* enum thread_kind */
};

struct stacks_function {
    uint32_t name, file; /* strings of the view */
};

struct stacks_mapping {
    uint32_t path;       /* string of the view */
    uint32_t build_id;   /* string of the profile, 0: unknown */
    uint32_t code_cache; /* 1: code that the JVM generated, in no file; path is 0 */
};

/* Kinds of code. */
enum stacks_origin { STACKS_NO_CODE, STACKS_JAVA, STACKS_NATIVE, STACKS_KERNEL, STACKS_ORIGINS };

/* Key of a frame: frames with equal members are joined. */
struct stacks_place {
    uint32_t function, mapping; /* indexes; STACKS_NONE: in no file */
    uint32_t line;
    uint32_t origin; /* enum stacks_origin */
};

/* A frame within its location: inlined into @caller. */
struct stacks_node {
    uint32_t caller; /* index in nodes; STACKS_NONE: a frame that is not inlined */
    uint32_t place;  /* index in places */
};

struct stacks {
    const struct view *v;
    bool owners; /* samples are split by owner */
    enum stacks_requests requests;
    struct handlers *handlers; /* owned; NULL: the profile has no requests */
    struct stacks_key *keys;   /* sorted by stack, so that neighbours share callers */
    struct view_sum *sums;     /* [key_count] */
    uint32_t *key_of_sample; /* by sample of the profile, STACKS_NONE: left out; NULL: the view has
                              * no sample_rows */
    uint32_t key_count, key_cap;
    struct id_table owned;  /* struct stacks_key with an owner, a request or a kind */
    uint32_t *key_of_owned; /* [owned_cap]: index in keys + 1 */
    size_t owned_cap;
    struct id_table functions, mappings, places, nodes;
    struct id_table locations; /* uint32_t: the innermost node */
    struct intern *texts;      /* stacks: the locations as bytes, leaf first; 0: the empty stack */
    uint32_t *place_of_frame;  /* [view->frame_count] */
    uint32_t *stack_of_row;    /* [row_count] */
    size_t longest;            /* locations of the longest stack, at least 1 */
};

/* Initializes @s; borrows @v. @owners: split samples by the owner of a lock. 0 or -ENOMEM;
 * stacks_deinit() is needed in every case. */
int stacks_init(struct stacks *s, const struct view *v, bool owners, enum stacks_requests requests);
void stacks_deinit(struct stacks *s);

/* Returns the node with number @id. */
static inline const struct stacks_node *stacks_node(const struct stacks *s, uint32_t id)
{
    return id_table_get(&s->nodes, id);
}
/* Returns the innermost node of a location; its callers lead outwards. */
static inline uint32_t stacks_innermost(const struct stacks *s, uint32_t location)
{
    return *(const uint32_t *)id_table_get(&s->locations, location);
}
static inline const struct stacks_function *stacks_function(const struct stacks *s, uint32_t id)
{
    return id_table_get(&s->functions, id);
}
/* Return texts of a mapping, valid as long as the view. */
struct span stacks_mapping_path(const struct stacks *s, uint32_t mapping);
struct span stacks_mapping_build_id(const struct stacks *s, uint32_t mapping);
/* Returns the frame of a location that is not inlined; the other frames are inlined into it. */
const struct stacks_place *stacks_location_place(const struct stacks *s, uint32_t location);
static inline const struct stacks_place *stacks_node_place(const struct stacks *s, uint32_t node)
{
    return id_table_get(&s->places, stacks_node(s, node)->place);
}
/* Returns the locations of a stack (0 to intern_count(texts) - 1), leaf first, in ret[longest].
 * Returns how many. */
size_t stacks_get(const struct stacks *s, uint32_t stack, uint32_t *ret);
