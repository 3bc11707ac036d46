/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of leaf/: what the parts of the rule share. */
#pragma once

#include "hotspot/leaf/evidence.h"

/* Frames of a chain that are sure, and how. */
struct leaf_place {
    uint32_t chain;  /* LEAF_NONE: nothing but the compiled method */
    int32_t bci;     /* LEAF_BCI_KEPT */
    uint32_t callee; /* as of struct leaf_range */
    int32_t callee_bci;
    uint8_t drop;
    uint8_t verdict; /* enum leaf_verdict */
};

struct leaf_rule {
    const struct leaf_input *in;
    struct leaf_graph *g;
    struct leaf_evidence e;
    struct leaf_place *places; /* [loop_count] of each loop as a whole */
    uint32_t *depth;           /* [loop_count] loops around it */
    uint8_t *owners;           /* [chain_count] leaf_chain_owner() of 0 + 1; 0: not asked yet */
    uint8_t *traits;           /* [loop_count] bits of enum leaf_trait */
    uint32_t *seen, walk;      /* [block_count] the walk that saw the block last */
    uint32_t loop;             /* the one at hand */
};

/* What a loop's own blocks say of it. */
enum leaf_trait {
    LEAF_CALLS = 1,    /* they call Java code, so they are long */
    LEAF_DETAILED = 2, /* they have records for all instructions */
};

/* Where evidence was found. */
struct leaf_find {
    uint32_t chain, block; /* LEAF_NONE: nothing */
    uint8_t kind;          /* enum leaf_kind */
};
/* Returns the frames of @chain without the innermost @drop. */
static inline struct leaf_place leaf_place_of(uint32_t chain, uint32_t drop,
                                              enum leaf_verdict verdict)
{
    return (struct leaf_place){ .chain = chain,
                                .bci = LEAF_BCI_KEPT,
                                .callee = LEAF_NONE,
                                .drop = (uint8_t)drop,
                                .verdict = (uint8_t)verdict };
}

#define LEAF_FIND_NONE ((struct leaf_find){ LEAF_NONE, LEAF_NONE, LEAF_KIND_NONE })

/* ---- chains.c: about frames alone ---- */

/* Returns how many innermost frames of @chain stand before the one with the loop in question. That
 * loop is @outer loops outside of the innermost one around the record. The chain's length: there is
 * none, or that cannot be told. */
uint32_t leaf_chain_owner(struct leaf_rule *r, uint32_t chain, uint32_t outer);
/* Returns how many outermost frames @a and @b have in common: the last of them may differ in its
 * bci. */
uint32_t leaf_chain_common(const struct leaf_input *in, uint32_t a, uint32_t b);
/* Where the code before a loop is: at a record, or at the entry of the compiled method. */
struct leaf_origin {
    struct leaf_frame at; /* innermost */
    uint32_t chain;       /* LEAF_NONE: the entry */
    uint32_t block;       /* LEAF_NONE: the same */
    uint32_t count;       /* frames */
};
/* Gives the origin that @before is; if that is nothing, the entry. Return: false: not even the
 * compiled method is known. */
bool leaf_origin_of(const struct leaf_input *in, struct leaf_find before, struct leaf_origin *ret);
/* Returns how many outermost frames @from and @chain have in common, as leaf_chain_common(). */
uint32_t leaf_origin_common(const struct leaf_input *in, const struct leaf_origin *from,
                            uint32_t chain);
/* Returns the first loop of the method of @f, @nested loops deep, that ends behind its bci and
 * begins before @until. NULL: there is none. */
const struct leaf_span *leaf_loop_behind(const struct leaf_input *in, const struct leaf_frame *f,
                                         uint32_t nested, int32_t until);

/* ---- walk.c: evidence along the flow ---- */

/* Finds the evidence that comes next on the way round the loop at hand, behind the end of @block.
 */
struct leaf_find leaf_walk_round(struct leaf_rule *r, uint32_t block);
/* Finds what the blocks of the loop at hand have, in its own ones first. */
struct leaf_find leaf_walk_any(struct leaf_rule *r);
/* Finds the evidence before @block inside the loop at hand, in blocks that dominate it. */
struct leaf_find leaf_walk_back(struct leaf_rule *r, uint32_t block);
/* Finds the nearest evidence that dominates the loop at hand, outside of it. */
struct leaf_find leaf_walk_dominating(struct leaf_rule *r);
/* Finds the first evidence behind the loop at hand. */
struct leaf_find leaf_walk_behind(struct leaf_rule *r);
/* Returns what instruction @at of @block has to say about the loop at hand. */
struct leaf_find leaf_find_at(struct leaf_rule *r, uint32_t block, uint32_t at);

/* ---- calls.c: methods that left no record ---- */

/* Finds the one call between the records @before and @behind whose method can have @nested loops in
 * one another. Return: false: there is none, there are several, or one is not known. */
bool leaf_place_called(struct leaf_rule *r, const struct leaf_origin *before,
                       struct leaf_find behind, uint32_t nested, struct leaf_place *ret);
/* Returns whether a call of @method between bytecodes @from and @to may have a loop, too. What is
 * not known yet is asked for. */
bool leaf_calls_loops(struct leaf_rule *r, uint32_t method, int32_t from, int32_t to);

/* ---- place.c: the verdict on a loop as a whole ---- */

/* Sets r->places of the loop at hand; those around it are done. */
void leaf_place_loop(struct leaf_rule *r);
