/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches evidence along the flow. Inside a loop, evidence counts only if there is a bytecode loop
 * around its record. Other records were put there for code before or behind the loop.
 */
#include "hotspot/leaf/rule.h"

#define BEHIND_BLOCKS_MAX 256 /* blocks searched behind a loop */
#define DOMINATORS_MAX 256    /* dominators searched before a loop */

static struct leaf_find find_raw(const struct leaf_rule *r, uint32_t block, uint32_t at)
{
    return (struct leaf_find){ r->e.chain[at], block, r->e.kind[at] };
}

struct leaf_find leaf_find_record(struct leaf_rule *r, uint32_t block, uint32_t at)
{
    uint8_t kind = r->e.kind[at];
    uint32_t chain = r->e.chain[at];

    if (leaf_chain_owner(r, chain, 0) == r->in->chains[chain].count ||
        ((r->loops[r->loop].traits & LEAF_DETAILED) &&
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

/* Returns the next block of the loop after @block that this walk has not seen: the block straight
 * on, if possible. */
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

/* Returns the loop around @block that is a sibling of the current loop: it has the same parent. */
static uint32_t sibling_of(const struct leaf_rule *r, uint32_t block)
{
    uint32_t parent = r->g->loops[r->loop].parent, l = r->g->blocks[block].loop;

    while (l != LEAF_NONE && r->g->loops[l].parent != parent)
        l = r->g->loops[l].parent;
    return l;
}

/* Returns the point behind loop @l, which is placed already. */
static struct leaf_origin origin_behind(const struct leaf_rule *r, uint32_t l)
{
    const struct leaf_place *p = &r->loops[l].place;
    struct leaf_origin o = { p->chain, p->drop, p->bci };

    if (p->verdict == LEAF_UNSURE)
        return r->loops[l].origin;
    if (p->callee == LEAF_NONE && p->span != LEAF_NONE)
        o.bci = r->in->spans[p->span].end - 1;
    else if (p->bci == LEAF_BCI_KEPT)
        o.bci =
            p->chain == LEAF_NONE ? -1 : r->in->frames[r->in->chains[p->chain].first + p->drop].bci;
    return o;
}

/* Gets the start of loop @l, which is placed already. Returns false if the start is unknown. */
static bool origin_inside(const struct leaf_rule *r, uint32_t l, struct leaf_origin *ret)
{
    const struct leaf_place *p = &r->loops[l].place;

    if (p->verdict == LEAF_UNSURE || p->span == LEAF_NONE || p->callee != LEAF_NONE)
        return false;
    *ret = (struct leaf_origin){ p->chain, p->drop, r->in->spans[p->span].head - 1 };
    return true;
}

/* Returns @sibling if it and the current loop may be parts of one bytecode loop: C2 makes three
 * loops of a counted innermost loop. */
static uint32_t again_of(const struct leaf_rule *r, uint32_t sibling)
{
    return r->loops[sibling].height == 1 && r->loops[r->loop].height == 1 ? sibling : LEAF_NONE;
}

struct leaf_before leaf_walk_before(struct leaf_rule *r)
{
    struct leaf_before ret = { .nested = r->loops[r->loop].height, .again = LEAF_NONE };
    uint32_t b = r->g->loops[r->loop].head, parent = r->g->loops[r->loop].parent, sibling;

    for (int n = 0; n < DOMINATORS_MAX; n++) {
        b = r->g->blocks[b].dominator;
        if (b == LEAF_NONE || !pay_block(r, b))
            break;
        for (; parent != LEAF_NONE && !leaf_loop_has(r->g, parent, b);
             parent = r->g->loops[parent].parent) {
            if (origin_inside(r, parent, &ret.origin)) {
                ret.inside =
                    r->loops[parent].height == r->in->spans[r->loops[parent].place.span].nested;
                return ret;
            }
            ret.nested++;
        }
        sibling = parent == r->g->loops[r->loop].parent ? sibling_of(r, b) : LEAF_NONE;
        if (sibling != LEAF_NONE) {
            ret.origin = origin_behind(r, sibling);
            ret.again = again_of(r, sibling);
            return ret;
        }
        for (uint32_t i = r->g->blocks[b].end; i > r->g->blocks[b].first; i--) {
            if (r->e.chain[i - 1] == LEAF_NONE)
                continue;
            ret.origin = leaf_origin_of(r->in, find_raw(r, b, i - 1));
            ret.record = true;
            return ret;
        }
    }
    ret.origin = leaf_origin_of(r->in, LEAF_FIND_NONE);
    return ret;
}

/* Walks from @block on, out of the loop: first straight on, then along other edges. */
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

bool leaf_walk_exits_into(struct leaf_rule *r, uint32_t block)
{
    const struct leaf_loop *l = &r->g->loops[r->loop];

    for (uint32_t i = 0; i < l->body_count; i++) {
        const struct leaf_block *b = &r->g->blocks[r->g->bodies[l->body + i]];

        if (!leaf_graph_pay(r->g, 1 + b->successor_count))
            return false;
        for (uint32_t s = 0; s < b->successor_count; s++) {
            uint32_t to = r->g->edges_out[b->successors + s];

            if (to != block && !is_in_loop(r, to) && r->e.aside[to] == LEAF_NONE)
                return false;
        }
    }
    return true;
}
