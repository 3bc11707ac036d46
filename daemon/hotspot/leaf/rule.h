/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to leaf/: declarations that the parts of the rule share. */
#pragma once

#include "hotspot/leaf/evidence.h"

#define LEAF_CANDIDATES_MAX 32 /* candidates for one loop */

/* The sure frames of a chain, and the verdict on them. */
struct leaf_place {
    uint32_t chain;  /* LEAF_NONE: the compiled method alone */
    int32_t bci;     /* LEAF_BCI_KEPT: as in the chain */
    uint32_t callee; /* as in struct leaf_range */
    int32_t callee_bci;
    uint32_t span; /* index of the bytecode loop in input->spans; LEAF_NONE: unknown */
    uint8_t drop;
    uint8_t verdict; /* enum leaf_verdict */
};

/* A point in the tree of inlined methods; the code in question runs behind it. */
struct leaf_origin {
    uint32_t chain; /* LEAF_NONE: the compiled method alone */
    uint32_t drop;  /* innermost frames to leave out */
    int32_t bci;    /* bci in the innermost remaining frame */
};

/* A piece of evidence and its block. */
struct leaf_find {
    uint32_t chain, block; /* LEAF_NONE: nothing found */
    uint8_t kind;          /* enum leaf_kind */
};

/* Facts about a machine loop. */
struct leaf_state {
    struct leaf_place place;   /* place of the loop as a whole */
    struct leaf_origin origin; /* the point before the loop */
    struct leaf_find poll;     /* of a loop over strips: the poll between the strips */
    uint32_t depth, height;    /* depth: loops around it; height: nesting depth inside, with itself,
                                  without strips */
    uint32_t inner;            /* number of loops directly inside */
    uint8_t traits;            /* bits of enum leaf_trait */
};

struct leaf_rule {
    const struct leaf_input *in;
    struct leaf_graph *g;
    struct leaf_evidence e;
    struct leaf_state *loops; /* [loop_count] */
    bool *called;    /* [chain_count] a call has this record, so its target is not inlined */
    uint8_t *owners; /* [chain_count] leaf_chain_owner() with outer 0, plus 1; 0: not computed */
    uint32_t *seen, walk; /* [block_count] number of the walk that last saw the block */
    uint32_t loop;        /* the current loop */
};

/* Traits of a loop, found in its own blocks. */
enum leaf_trait {
    LEAF_CALLS = 1,    /* it calls Java code, so its blocks are long */
    LEAF_DETAILED = 2, /* it has records for all instructions */
    LEAF_POLLS = 4,    /* it has a poll */
    LEAF_OTHER = 8,    /* it has a record that is not of a poll */
};

/* Returns the place of @chain without its @drop innermost frames. */
static inline struct leaf_place leaf_place_of(uint32_t chain, uint32_t drop,
                                              enum leaf_verdict verdict)
{
    return (struct leaf_place){ .chain = chain,
                                .bci = LEAF_BCI_KEPT,
                                .callee = LEAF_NONE,
                                .span = LEAF_NONE,
                                .drop = (uint8_t)drop,
                                .verdict = (uint8_t)verdict };
}

#define LEAF_FIND_NONE ((struct leaf_find){ LEAF_NONE, LEAF_NONE, LEAF_KIND_NONE })

/* ---- chains.c: frames alone ---- */

/* Returns the number of innermost frames of @chain before the frame with the loop in question. This
 * loop is @outer loops outside of the innermost loop around the record. If that loop does not exist
 * or is unknown, returns the chain's length. */
uint32_t leaf_chain_owner(struct leaf_rule *r, uint32_t chain, uint32_t outer);
/* Does the same, and gets the loop's span. */
uint32_t leaf_chain_span(struct leaf_rule *r, uint32_t chain, uint32_t outer, uint32_t *ret_span);
/* Returns the number of outermost frames that @a and @b share. The last of these frames may differ
 * in its bci. */
uint32_t leaf_chain_common(const struct leaf_input *in, uint32_t a, uint32_t b);
/* Returns the number of frames of @o. */
uint32_t leaf_origin_count(const struct leaf_input *in, const struct leaf_origin *o);
/* Returns frame @from_root of @o, the compiled method being 0. */
struct leaf_frame leaf_origin_frame(const struct leaf_input *in, const struct leaf_origin *o,
                                    uint32_t from_root);
/* Returns the number of outermost frames that @a and @b share, as leaf_chain_common() does. */
uint32_t leaf_origin_common(const struct leaf_input *in, const struct leaf_origin *a,
                            const struct leaf_origin *b);
/* Returns the point of the tree at @f. Without evidence, returns the entry of the compiled
 * method. */
struct leaf_origin leaf_origin_of(const struct leaf_input *in, struct leaf_find f);
/* Returns whether two places have the same frames, except for the innermost bci. */
bool leaf_place_same(const struct leaf_input *in, const struct leaf_place *a,
                     const struct leaf_place *b);

/* ---- walk.c: evidence along the flow ---- */

/* Finds the next evidence on the way round the current loop, from the end of @block on. */
struct leaf_find leaf_walk_round(struct leaf_rule *r, uint32_t block);
/* Finds any evidence in the blocks of the current loop, its own blocks first. */
struct leaf_find leaf_walk_any(struct leaf_rule *r);
/* Finds the evidence before @block inside the current loop, in blocks that dominate it. */
struct leaf_find leaf_walk_back(struct leaf_rule *r, uint32_t block);
/* Finds the first evidence behind the current loop. */
struct leaf_find leaf_walk_behind(struct leaf_rule *r);
/* Returns whether all exits of the current loop lead into @block. Aside blocks do not count. */
bool leaf_walk_exits_into(struct leaf_rule *r, uint32_t block);
/* Does the work of leaf_find_at() for an instruction that has a record. */
struct leaf_find leaf_find_record(struct leaf_rule *r, uint32_t block, uint32_t at);
/* Returns the evidence of instruction @at of @block for the current loop. */
static inline struct leaf_find leaf_find_at(struct leaf_rule *r, uint32_t block, uint32_t at)
{
    return r->e.chain[at] == LEAF_NONE ? LEAF_FIND_NONE : leaf_find_record(r, block, at);
}

/* The nearest point before the current loop, in blocks that dominate it. */
struct leaf_before {
    struct leaf_origin origin;
    uint32_t nested; /* height of the current loop, plus the number of unplaced loops around it
                        inside the point */
    uint32_t again; /* a machine loop that may be part of the same bytecode loop; LEAF_NONE: none */
    bool record;    /* the point is at a record */
    bool inside;    /* the point is the start of the loop around, which has the nesting depth of its
                       bytecode loop */
};
struct leaf_before leaf_walk_before(struct leaf_rule *r);

/* ---- candidates.c: the bytecode loops that the current loop can be ---- */

struct leaf_candidate {
    struct leaf_place place;
    int32_t score; /* tenths */
};

struct leaf_candidates {
    struct leaf_candidate at[LEAF_CANDIDATES_MAX];
    size_t count;
    bool more; /* there may be others: unknown calls, or too many candidates */
};

/* Finds the bytecode loops that can run between @before and @behind and may be the current loop.
 * Scores them by their places alone. */
void leaf_candidates_find(struct leaf_rule *r, const struct leaf_before *before,
                          struct leaf_find behind, struct leaf_candidates *ret);

/* ---- score.c: how well the code fits the candidates ---- */

/* Adds to the score of each candidate how well the current loop's code fits it. */
void leaf_candidates_score(struct leaf_rule *r, struct leaf_candidates *c);
/* Returns whether a loop around the current one is already the bytecode loop @p. */
bool leaf_place_taken(const struct leaf_rule *r, const struct leaf_place *p);
/* Returns whether @method is resolved. If not, marks it as wanted. */
bool leaf_method_resolved(const struct leaf_input *in, uint32_t method);

/* ---- place.c: the verdict on a loop as a whole ---- */

/* Sets the place of the current loop. The loops around and before it must be placed already. */
void leaf_place_loop(struct leaf_rule *r);
