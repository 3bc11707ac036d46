/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of leaf/: what the parts of the rule share. */
#pragma once

#include "hotspot/leaf/evidence.h"

#define LEAF_CANDIDATES_MAX 32 /* of one loop */

/* Frames of a chain that are sure, and how. */
struct leaf_place {
    uint32_t chain;  /* LEAF_NONE: nothing but the compiled method */
    int32_t bci;     /* LEAF_BCI_KEPT */
    uint32_t callee; /* as in struct leaf_range */
    int32_t callee_bci;
    uint32_t span; /* the bytecode loop, in input->spans; LEAF_NONE: not known */
    uint8_t drop;
    uint8_t verdict; /* enum leaf_verdict */
};

/* A point of the tree of inlined methods: what comes next runs behind it. */
struct leaf_origin {
    uint32_t chain; /* LEAF_NONE: the compiled method alone */
    uint32_t drop;  /* innermost frames that are left out */
    int32_t bci;    /* of the innermost frame that is left */
};

/* Where evidence was found. */
struct leaf_find {
    uint32_t chain, block; /* LEAF_NONE: nothing */
    uint8_t kind;          /* enum leaf_kind */
};

/* What is known of a machine loop. */
struct leaf_state {
    struct leaf_place place;   /* of it as a whole */
    struct leaf_origin origin; /* what comes before it */
    struct leaf_find poll;     /* of a strip: the poll between strips */
    uint32_t depth, height;    /* loops around it; loops in one another, strips not counted */
    uint32_t inner;            /* loops right inside */
    uint8_t traits;            /* bits of enum leaf_trait */
};

struct leaf_rule {
    const struct leaf_input *in;
    struct leaf_graph *g;
    struct leaf_evidence e;
    struct leaf_state *loops; /* [loop_count] */
    bool *called;             /* [chain_count] the record of a call: what it calls is not inlined */
    uint8_t *owners;          /* [chain_count] leaf_chain_owner() of 0 + 1; 0: not asked yet */
    uint32_t *seen, walk;     /* [block_count] the walk that saw the block last */
    uint32_t loop;            /* the one at hand */
};

/* What a loop's own blocks say of it. */
enum leaf_trait {
    LEAF_CALLS = 1,    /* they call Java code, so they are long */
    LEAF_DETAILED = 2, /* they have records for all instructions */
    LEAF_POLLS = 4,    /* a poll */
    LEAF_OTHER = 8,    /* a record of another kind */
};

/* Returns the frames of @chain without the innermost @drop. */
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

/* ---- chains.c: about frames alone ---- */

/* Returns how many innermost frames of @chain stand before the one with the loop in question. That
 * loop is @outer loops outside of the innermost one around the record. The chain's length: there is
 * none, or that cannot be told. */
uint32_t leaf_chain_owner(struct leaf_rule *r, uint32_t chain, uint32_t outer);
/* Does the same, and gets the loop. */
uint32_t leaf_chain_span(struct leaf_rule *r, uint32_t chain, uint32_t outer, uint32_t *ret_span);
/* Returns how many outermost frames @a and @b have in common: the last of them may differ in its
 * bci. */
uint32_t leaf_chain_common(const struct leaf_input *in, uint32_t a, uint32_t b);
/* Returns how many frames @o has. */
uint32_t leaf_origin_count(const struct leaf_input *in, const struct leaf_origin *o);
/* Returns frame @from_root of @o, the compiled method being 0. */
struct leaf_frame leaf_origin_frame(const struct leaf_input *in, const struct leaf_origin *o,
                                    uint32_t from_root);
/* Does what leaf_chain_common() does. */
uint32_t leaf_origin_common(const struct leaf_input *in, const struct leaf_origin *a,
                            const struct leaf_origin *b);
/* Returns the point of the tree that @f stands at; nothing: the entry of the compiled method. */
struct leaf_origin leaf_origin_of(const struct leaf_input *in, struct leaf_find f);
/* Returns whether two places have the same frames, but for the innermost bci. */
bool leaf_place_same(const struct leaf_input *in, const struct leaf_place *a,
                     const struct leaf_place *b);

/* ---- walk.c: evidence along the flow ---- */

/* Finds the evidence that comes next on the way round the loop at hand, behind the end of @block.
 */
struct leaf_find leaf_walk_round(struct leaf_rule *r, uint32_t block);
/* Finds what the blocks of the loop at hand have, in its own ones first. */
struct leaf_find leaf_walk_any(struct leaf_rule *r);
/* Finds the evidence before @block inside the loop at hand, in blocks that dominate it. */
struct leaf_find leaf_walk_back(struct leaf_rule *r, uint32_t block);
/* Finds the first evidence behind the loop at hand. */
struct leaf_find leaf_walk_behind(struct leaf_rule *r);
/* Returns whether the loop at hand is left into @block alone, but for what stands aside. */
bool leaf_walk_exits_into(struct leaf_rule *r, uint32_t block);
/* Does what leaf_find_at() does, of an instruction that has a record. */
struct leaf_find leaf_find_record(struct leaf_rule *r, uint32_t block, uint32_t at);
/* Returns what instruction @at of @block has to say about the loop at hand. */
static inline struct leaf_find leaf_find_at(struct leaf_rule *r, uint32_t block, uint32_t at)
{
    return r->e.chain[at] == LEAF_NONE ? LEAF_FIND_NONE : leaf_find_record(r, block, at);
}

/* What comes before the loop at hand in blocks that dominate it. */
struct leaf_before {
    struct leaf_origin origin;
    uint32_t nested; /* loops without a record that it is in, and the height of the innermost */
    uint32_t again;  /* a machine loop that may be a part of the same bytecode loop; LEAF_NONE */
    bool record;     /* a record stands there */
    bool inside;     /* it is the start of the loop around, whose nest is that of its bytecodes */
};
struct leaf_before leaf_walk_before(struct leaf_rule *r);

/* ---- candidates.c: which bytecode loops it can be ---- */

struct leaf_candidate {
    struct leaf_place place;
    int32_t score; /* tenths */
};

struct leaf_candidates {
    struct leaf_candidate at[LEAF_CANDIDATES_MAX];
    size_t count;
    bool more; /* there may be others: calls that are not known, or more than there is room for */
};

/* Finds the bytecode loops that can run between @before and @behind and may be the loop at hand.
 * Their scores are of their places alone. */
void leaf_candidates_find(struct leaf_rule *r, const struct leaf_before *before,
                          struct leaf_find behind, struct leaf_candidates *ret);

/* ---- score.c: how its code fits them ---- */

/* Adds to the score of each candidate how well the code of the loop at hand fits it. */
void leaf_candidates_score(struct leaf_rule *r, struct leaf_candidates *c);
/* Returns whether a loop around the one at hand is the bytecode loop @p already. */
bool leaf_place_taken(const struct leaf_rule *r, const struct leaf_place *p);
/* Returns whether method @method is resolved. If it is not, it is asked for. */
bool leaf_method_resolved(const struct leaf_input *in, uint32_t method);

/* ---- place.c: the verdict on a loop as a whole ---- */

/* Sets the place of the loop at hand; those around and before it are done. */
void leaf_place_loop(struct leaf_rule *r);
