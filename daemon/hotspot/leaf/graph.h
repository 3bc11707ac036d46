/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flow graph of one piece of compiled code: basic blocks, their dominators, and the natural
 * loops. The input bytes are foreign, so the graph is bounded. Knows neither records nor methods.
 * Pure; thread: any.
 */
#pragma once

#include "hotspot/leaf/instruction.h"

#define LEAF_INSTRUCTIONS_MAX ((size_t)96 << 10)
#define LEAF_BLOCKS_MAX ((size_t)24 << 10)
#define LEAF_EDGES_MAX (4 * LEAF_BLOCKS_MAX)
#define LEAF_LOOPS_MAX ((size_t)1024)
#define LEAF_BODIES_MAX ((size_t)256 << 10) /* blocks of all loops together */
#define LEAF_STEPS_MAX ((size_t)4 << 20)    /* steps of work for one piece of code: some 10 ms */
#define LEAF_NONE UINT32_MAX

/* An edge that no instruction shows: from the instruction at or before @from to the one at @to.
 * Both are bytes from the code's start. */
struct leaf_way {
    uint32_t from, to;
};

/* Input of the graph besides instructions. Borrowed. */
struct leaf_ways {
    const struct leaf_way
        *traps; /* from a load or division that faults to the code that handles it */
    size_t trap_count;
    const struct leaf_way *handlers; /* from the end of a call to the handler of its exception */
    size_t handler_count;
    const uint32_t *tables; /* possible targets of jumps by a table */
    size_t table_count;
};

struct leaf_block {
    uint32_t first, end;                      /* instructions [first, end) */
    uint32_t successors, successor_count;     /* in graph->edges_out */
    uint32_t predecessors, predecessor_count; /* in graph->edges_in */
    uint32_t dominator;                       /* the nearest; LEAF_NONE: entry or unreachable */
    uint32_t order;                           /* in reverse postorder; LEAF_NONE: unreachable */
    uint32_t loop;                            /* innermost loop; LEAF_NONE: none */
};

struct leaf_loop {
    uint32_t head;             /* block that begins the loop */
    uint32_t body, body_count; /* in graph->bodies */
    uint32_t parent;           /* loop around this one; LEAF_NONE: none */
};

/* A flow graph. Owns its arrays. An inner loop comes before the loops around it. */
struct leaf_graph {
    const struct leaf_instruction *instructions; /* borrowed */
    size_t instruction_count;
    struct leaf_block *blocks;
    uint32_t *block_of; /* [instruction_count] */
    size_t block_count;
    uint32_t *edges_out, *edges_in; /* indices of blocks */
    uint32_t *order;                /* [reached] blocks in reverse postorder */
    size_t reached;
    struct leaf_loop *loops;
    size_t loop_count;
    uint32_t *bodies;
    size_t steps; /* remaining steps of LEAF_STEPS_MAX */
};

/* Makes the graph of @instructions, borrowed. Return: 0 and *ret, to be freed with
 * leaf_graph_deinit(); -E2BIG: a limit above is exceeded; -ENOMEM. */
int leaf_graph_make(const struct leaf_instruction *instructions, size_t count,
                    const struct leaf_ways *ways, struct leaf_graph *ret);
void leaf_graph_deinit(struct leaf_graph *g);

/* Returns the index of the instruction that holds byte @at; LEAF_NONE: none. */
uint32_t leaf_instruction_at(const struct leaf_graph *g, uint32_t at);
/* Returns whether @block is in @loop, or in a loop inside it. Also returns false when the steps are
 * exhausted. */
bool leaf_loop_has(struct leaf_graph *g, uint32_t loop, uint32_t block);
/* Takes @n steps off the remaining steps. Returns false if fewer than @n remain. */
bool leaf_graph_pay(struct leaf_graph *g, size_t n);

/* ---- inside: blocks.c, dominators.c, loops.c; each returns as leaf_graph_make() ---- */

/* Makes the blocks of g->instructions, and the edges between them. */
int leaf_blocks_make(struct leaf_graph *g, const struct leaf_ways *ways);
/* Sets the order and the dominator of each block. */
int leaf_dominators_make(struct leaf_graph *g);
/* Returns whether @a dominates @b. Also returns false when the steps are exhausted. */
bool leaf_dominates(struct leaf_graph *g, uint32_t a, uint32_t b);
/* Finds the loops, and the innermost loop of each block. */
int leaf_loops_make(struct leaf_graph *g);
