/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/leaf/evidence.h"

#include "base/cleanup.h"

#define ASIDE_CALL_MAX 16 /* instructions before the call of a trap that may belong to it */
#define ASIDE_JUMP_MAX 8  /* instructions of a block that only leads to an aside block */
#define ASIDE_ROUNDS 3    /* longest chain of such blocks */

void leaf_evidence_deinit(struct leaf_evidence *e)
{
    free(TAKE_PTR(e->chain));
    free(TAKE_PTR(e->kind));
    free(TAKE_PTR(e->aside));
}

static bool is_call(const struct leaf_instruction *i)
{
    return i->flow == LEAF_CALL || i->flow == LEAF_SLOW || i->flow == LEAF_TRAP;
}

static void set(struct leaf_evidence *e, uint32_t instruction, enum leaf_kind kind, uint32_t chain)
{
    e->kind[instruction] = (uint8_t)kind;
    e->chain[instruction] = chain;
}

/* Assigns a record to an instruction: the call that ends at the record, a poll, or the instruction
 * that ends there. */
static void place_record(const struct leaf_graph *g, const struct leaf_record *r,
                         struct leaf_evidence *e)
{
    uint32_t here = leaf_instruction_at(g, r->at);
    uint32_t before = r->at > 0 ? leaf_instruction_at(g, r->at - 1) : LEAF_NONE;

    if (before != LEAF_NONE && g->instructions[before].at + g->instructions[before].size != r->at)
        return; /* the record is inside an instruction: other code is executed than was decoded */
    if (before != LEAF_NONE && is_call(&g->instructions[before]))
        set(e, before, LEAF_KIND_CALL, r->chain);
    else if (here != LEAF_NONE && g->instructions[here].poll)
        set(e, here, LEAF_KIND_POLL, r->chain);
    else if (before != LEAF_NONE)
        set(e, before, LEAF_KIND_DETAIL, r->chain);
}

static uint32_t chain_aside(const struct leaf_graph *g, const struct leaf_evidence *e,
                            const struct leaf_block *b)
{
    for (uint32_t i = b->first; i < b->end && i < b->first + ASIDE_CALL_MAX; i++) {
        uint8_t flow = g->instructions[i].flow;

        if (flow == LEAF_CALL)
            break;
        if (flow == LEAF_SLOW || flow == LEAF_TRAP)
            return e->chain[i];
    }
    return LEAF_NONE;
}

static void find_asides(const struct leaf_graph *g, struct leaf_evidence *e)
{
    for (size_t b = 0; b < g->block_count; b++)
        e->aside[b] = chain_aside(g, e, &g->blocks[b]);
    for (int round = 0; round < ASIDE_ROUNDS; round++) {
        for (size_t i = 0; i < g->block_count; i++) {
            const struct leaf_block *b = &g->blocks[i];

            if (e->aside[i] == LEAF_NONE && b->successor_count == 1 &&
                b->end - b->first <= ASIDE_JUMP_MAX &&
                g->instructions[b->end - 1].flow == LEAF_JUMP)
                e->aside[i] = e->aside[g->edges_out[b->successors]];
        }
    }
}

static void find_guards(const struct leaf_graph *g, struct leaf_evidence *e)
{
    for (size_t i = 0; i < g->block_count; i++) {
        const struct leaf_block *b = &g->blocks[i];
        uint32_t last = b->end - 1;

        if (e->aside[i] != LEAF_NONE || g->instructions[last].flow != LEAF_BRANCH ||
            e->kind[last] != LEAF_KIND_NONE)
            continue;
        for (uint32_t s = 0; s < b->successor_count; s++) {
            uint32_t to = g->edges_out[b->successors + s];

            if (e->aside[to] != LEAF_NONE)
                set(e, last, LEAF_KIND_GUARD, e->aside[to]);
        }
    }
}

static void find_faults(const struct leaf_input *in, const struct leaf_graph *g,
                        struct leaf_evidence *e)
{
    for (size_t i = 0; i < in->ways.trap_count; i++) {
        uint32_t from = leaf_instruction_at(g, in->ways.traps[i].from);
        uint32_t to = leaf_instruction_at(g, in->ways.traps[i].to);
        uint32_t chain = to == LEAF_NONE ? LEAF_NONE : e->aside[g->block_of[to]];

        if (from != LEAF_NONE && chain != LEAF_NONE && e->kind[from] == LEAF_KIND_NONE)
            set(e, from, LEAF_KIND_FAULT, chain);
    }
}

int leaf_evidence_make(const struct leaf_input *in, const struct leaf_graph *g,
                       struct leaf_evidence *ret)
{
    struct leaf_evidence e = {
        .chain = malloc((g->instruction_count + 1) * sizeof(*e.chain)),
        .kind = calloc(g->instruction_count + 1, sizeof(*e.kind)),
        .aside = malloc((g->block_count + 1) * sizeof(*e.aside)),
    };

    if (!e.chain || !e.kind || !e.aside) {
        leaf_evidence_deinit(&e);
        return -ENOMEM;
    }
    for (size_t i = 0; i < g->instruction_count; i++)
        e.chain[i] = LEAF_NONE;
    for (size_t i = 0; i < in->record_count; i++)
        place_record(g, &in->records[i], &e);
    find_asides(g, &e);
    find_guards(g, &e);
    find_faults(in, g, &e);
    *ret = e;
    return 0;
}
