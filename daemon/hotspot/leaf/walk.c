/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence along the flow. Inside a loop, evidence counts whose record has a bytecode loop around
 * it: a record without one was put there for what comes in or goes out.
 */
#include "hotspot/leaf/rule.h"

#define BEHIND_BLOCKS_MAX 64 /* behind a loop */
#define DOMINATORS_MAX 256   /* before one */

static struct leaf_find find_raw(const struct leaf_rule *r, uint32_t block, uint32_t at)
{
    return (struct leaf_find){ r->e.chain[at], block, r->e.kind[at] };
}

struct leaf_find leaf_find_at(struct leaf_rule *r, uint32_t block, uint32_t at)
{
    uint8_t kind = r->e.kind[at];
    uint32_t chain = r->e.chain[at];

    if (chain == LEAF_NONE || leaf_chain_owner(r, chain, 0) == r->in->chains[chain].count ||
        ((r->traits[r->loop] & LEAF_DETAILED) &&
         (kind == LEAF_KIND_GUARD || kind == LEAF_KIND_FAULT)))
        return LEAF_FIND_NONE;
    return find_raw(r, block, at);
}

static struct leaf_find find_first(struct leaf_rule *r, uint32_t block)
{
    const struct leaf_block *b = &r->g->blocks[block];
    struct leaf_find f = LEAF_FIND_NONE;

    for (uint32_t i = b->first; i < b->end && f.chain == LEAF_NONE; i++)
        f = leaf_find_at(r, block, i);
    return f;
}

static struct leaf_find find_last(struct leaf_rule *r, uint32_t block)
{
    const struct leaf_block *b = &r->g->blocks[block];
    struct leaf_find f = LEAF_FIND_NONE;

    for (uint32_t i = b->end; i > b->first && f.chain == LEAF_NONE; i--)
        f = leaf_find_at(r, block, i - 1);
    return f;
}

static bool is_in_loop(const struct leaf_rule *r, uint32_t block)
{
    return leaf_loop_has(r->g, r->loop, block);
}

/* The block of the loop that runs after @block, not seen on this walk: straight on, if it can. */
static uint32_t next_block(const struct leaf_rule *r, uint32_t block)
{
    const struct leaf_block *b = &r->g->blocks[block];

    for (uint32_t s = b->successor_count; s-- > 0;) {
        uint32_t to = r->g->edges_out[b->successors + s];

        if (r->seen[to] != r->walk && r->e.aside[to] == LEAF_NONE && is_in_loop(r, to))
            return to;
    }
    return LEAF_NONE;
}

static bool pay_block(struct leaf_rule *r, uint32_t block)
{
    const struct leaf_block *b = &r->g->blocks[block];

    return leaf_graph_pay(r->g, 1 + b->end - b->first + b->successor_count);
}

struct leaf_find leaf_walk_round(struct leaf_rule *r, uint32_t block)
{
    r->walk++;
    for (uint32_t b = next_block(r, block); b != LEAF_NONE && pay_block(r, b);
         b = next_block(r, b)) {
        struct leaf_find f = find_first(r, b);

        if (f.chain != LEAF_NONE)
            return f;
        r->seen[b] = r->walk;
    }
    return LEAF_FIND_NONE;
}

struct leaf_find leaf_walk_any(struct leaf_rule *r)
{
    const struct leaf_loop *l = &r->g->loops[r->loop];
    struct leaf_find inner = LEAF_FIND_NONE;

    for (uint32_t i = 0; i < l->body_count; i++) {
        uint32_t b = r->g->bodies[l->body + i];
        struct leaf_find f;

        if (!pay_block(r, b))
            break;
        f = find_first(r, b);
        if (f.chain != LEAF_NONE && r->g->blocks[b].loop == r->loop)
            return f;
        if (f.chain != LEAF_NONE)
            inner = f;
    }
    return inner;
}

struct leaf_find leaf_walk_back(struct leaf_rule *r, uint32_t block)
{
    struct leaf_find f = LEAF_FIND_NONE;

    while (f.chain == LEAF_NONE && block != r->g->loops[r->loop].head) {
        block = r->g->blocks[block].dominator;
        if (block == LEAF_NONE || !is_in_loop(r, block) || !pay_block(r, block))
            break;
        f = find_last(r, block);
    }
    return f;
}

struct leaf_find leaf_walk_dominating(struct leaf_rule *r)
{
    uint32_t b = r->g->loops[r->loop].head;

    for (int n = 0; n < DOMINATORS_MAX; n++) {
        b = r->g->blocks[b].dominator;
        if (b == LEAF_NONE || !pay_block(r, b))
            break;
        for (uint32_t i = r->g->blocks[b].end; i > r->g->blocks[b].first; i--) {
            if (r->e.chain[i - 1] != LEAF_NONE)
                return find_raw(r, b, i - 1);
        }
    }
    return LEAF_FIND_NONE;
}

/* From @block on, out of the loop: what runs straight on first, other ways then. */
static struct leaf_find walk_out(struct leaf_rule *r, uint32_t block)
{
    uint32_t left[BEHIND_BLOCKS_MAX], count = 0;

    r->walk++;
    left[count++] = block;
    for (int n = 0; n < BEHIND_BLOCKS_MAX && count > 0; n++) {
        const struct leaf_block *b = &r->g->blocks[left[--count]];
        uint32_t at = left[count];

        if (!pay_block(r, at))
            break;
        for (uint32_t i = b->first; i < b->end; i++) {
            if (r->e.chain[i] != LEAF_NONE)
                return find_raw(r, at, i);
        }
        r->seen[at] = r->walk;
        for (uint32_t s = 0; s < b->successor_count && count < BEHIND_BLOCKS_MAX; s++) {
            uint32_t to = r->g->edges_out[b->successors + s];

            if (r->seen[to] != r->walk && r->e.aside[to] == LEAF_NONE && !is_in_loop(r, to))
                left[count++] = to;
        }
    }
    return LEAF_FIND_NONE;
}

struct leaf_find leaf_walk_behind(struct leaf_rule *r)
{
    const struct leaf_loop *l = &r->g->loops[r->loop];
    struct leaf_find f = LEAF_FIND_NONE;

    for (uint32_t i = 0; i < l->body_count && f.chain == LEAF_NONE; i++) {
        const struct leaf_block *b = &r->g->blocks[r->g->bodies[l->body + i]];

        if (!leaf_graph_pay(r->g, 1 + b->successor_count))
            break;
        for (uint32_t s = 0; s < b->successor_count && f.chain == LEAF_NONE; s++) {
            uint32_t to = r->g->edges_out[b->successors + s];

            if (!is_in_loop(r, to) && r->e.aside[to] == LEAF_NONE)
                f = walk_out(r, to);
        }
    }
    return f;
}
