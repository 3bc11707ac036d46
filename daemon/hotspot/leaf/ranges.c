/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the frames of each instruction in a loop, from the graph and the evidence. */
#include "base/array.h"
#include "hotspot/leaf/rule.h"

#include "base/cleanup.h"

static void rule_deinit(struct leaf_rule *r)
{
    leaf_evidence_deinit(&r->e);
    free(r->loops);
    free(r->called);
    free(r->owners);
    free(r->seen);
}

static int range_add(struct leaf_ranges *to, const struct leaf_instruction *i, struct leaf_place p)
{
    struct leaf_range *last = to->count > 0 ? &to->at[to->count - 1] : NULL;

    if (last && last->end == i->at && last->chain == p.chain && last->drop == p.drop &&
        last->bci == p.bci && last->verdict == p.verdict && last->callee == p.callee) {
        last->end = i->at + i->size;
        return 0;
    }
    if (!array_grow(&to->at, &to->room, to->count + 1, 32))
        return -ENOMEM;
    to->at[to->count++] = (struct leaf_range){ .start = i->at,
                                               .end = i->at + i->size,
                                               .chain = p.chain,
                                               .bci = p.bci,
                                               .callee = p.callee,
                                               .callee_bci = p.callee_bci,
                                               .drop = p.drop,
                                               .verdict = p.verdict };
    return 0;
}

/*
 * Returns the frames at an instruction between @before and @next. In a loop with calls, code is
 * near its record. In a short loop, the instructions of all inlined methods are mixed. So a frame
 * inside the loop's own frame is given only if both records contain it.
 */
static struct leaf_place place_between(struct leaf_rule *r, struct leaf_find before,
                                       struct leaf_find next)
{
    uint32_t count = r->in->chains[next.chain].count, owner, common = 0;
    struct leaf_place p = leaf_place_of(next.chain, 0, LEAF_INFERRED);
    bool own = r->g->blocks[next.block].loop == r->loop;

    if (own && ((r->loops[r->loop].traits & LEAF_CALLS) || next.kind == LEAF_KIND_DETAIL ||
                next.kind == LEAF_KIND_POLL))
        return p;
    if (!own) {
        uint32_t outer = r->loops[r->g->blocks[next.block].loop].depth - r->loops[r->loop].depth;

        owner = leaf_chain_owner(r, next.chain, outer);
        if (owner == count)
            return r->loops[r->loop].place;
    } else {
        owner = leaf_chain_owner(r, next.chain, 0);
    }
    if (before.chain != LEAF_NONE)
        common = leaf_chain_common(r->in, before.chain, next.chain);
    p.drop = (uint8_t)MIN(owner, count - MAX(common, 1U));
    if (common == 0)
        p.drop = (uint8_t)owner;
    return p;
}

/* The nearest evidence around an instruction. */
struct between {
    struct leaf_find before, next;
};

/* Returns the frames at an instruction. An aside block has its own chain. */
static struct leaf_place place_at(struct leaf_rule *r, uint32_t block, const struct between *at)
{
    if (r->e.aside[block] != LEAF_NONE)
        return leaf_place_of(r->e.aside[block], 0, LEAF_INFERRED);
    return at->next.chain != LEAF_NONE ? place_between(r, at->before, at->next)
                                       : r->loops[r->loop].place;
}

/* Adds the places of the instructions of @block. @at: an array with room for each instruction. */
static int add_block(struct leaf_rule *r, uint32_t block, struct between *at,
                     struct leaf_ranges *ret)
{
    const struct leaf_block *b = &r->g->blocks[block];
    struct leaf_find next = leaf_walk_round(r, block), before = leaf_walk_back(r, block);
    uint32_t n = b->end - b->first;
    int result = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct leaf_find here = leaf_find_at(r, block, b->first + i);

        at[i].before = before;
        if (here.chain != LEAF_NONE)
            before = here;
    }
    for (uint32_t i = n; i-- > 0;) {
        struct leaf_find here = leaf_find_at(r, block, b->first + i);

        if (here.chain != LEAF_NONE)
            next = here;
        at[i].next = next;
    }
    for (uint32_t i = 0; result == 0 && i < n; i++)
        result = range_add(ret, &r->g->instructions[b->first + i], place_at(r, block, &at[i]));
    return result;
}

/* Adds what instruction @at of @block shows about the innermost loop of the block. */
static void find_trait(struct leaf_rule *r, uint32_t block, uint32_t at)
{
    struct leaf_state *s = &r->loops[r->g->blocks[block].loop];

    if (r->e.chain[at] == LEAF_NONE)
        return;
    if (r->e.kind[at] == LEAF_KIND_CALL && r->g->instructions[at].flow == LEAF_CALL)
        s->traits |= LEAF_CALLS;
    if (r->e.kind[at] == LEAF_KIND_DETAIL)
        s->traits |= LEAF_DETAILED;
    if (r->e.kind[at] != LEAF_KIND_POLL) {
        s->traits |= LEAF_OTHER;
        return;
    }
    s->traits |= LEAF_POLLS;
    s->poll = (struct leaf_find){ r->e.chain[at], block, LEAF_KIND_POLL };
}

/* Finds strips: a loop with one loop inside, and with a poll but no other record of its own, is a
 * loop over strips. */
static void find_strips(struct leaf_rule *r)
{
    for (size_t l = 0; l < r->g->loop_count; l++) { /* inner loops first */
        struct leaf_state *s = &r->loops[l];
        uint32_t parent = r->g->loops[l].parent;

        if (s->inner != 1 || !(s->traits & LEAF_POLLS) || (s->traits & LEAF_OTHER)) {
            s->poll = LEAF_FIND_NONE;
            s->height++;
        }
        if (parent == LEAF_NONE)
            continue;
        r->loops[parent].inner++;
        r->loops[parent].height = MAX(r->loops[parent].height, s->height);
    }
}

static void find_states(struct leaf_rule *r)
{
    for (uint32_t i = 0; i < r->g->block_count; i++) {
        const struct leaf_block *b = &r->g->blocks[i];

        for (uint32_t k = b->first; k < b->end; k++) {
            if (b->loop != LEAF_NONE)
                find_trait(r, i, k);
            if (r->e.chain[k] != LEAF_NONE && r->g->instructions[k].flow == LEAF_CALL)
                r->called[r->e.chain[k]] |= r->e.kind[k] == LEAF_KIND_CALL;
        }
    }
    find_strips(r);
    for (size_t l = r->g->loop_count; l-- > 0;) {
        uint32_t parent = r->g->loops[l].parent;

        r->loops[l].depth = parent == LEAF_NONE ? 0 : r->loops[parent].depth + 1;
    }
}

static int rule_init(const struct leaf_input *in, struct leaf_graph *g, struct leaf_rule *ret)
{
    *ret = (struct leaf_rule){
        .in = in,
        .g = g,
        .loops = calloc(g->loop_count + 1, sizeof(*ret->loops)),
        .called = calloc(in->chain_count + 1, sizeof(*ret->called)),
        .owners = calloc(in->chain_count + 1, sizeof(*ret->owners)),
        .seen = calloc(g->block_count + 1, sizeof(*ret->seen)),
    };
    if (!ret->loops || !ret->called || !ret->owners || !ret->seen)
        return -ENOMEM;
    return leaf_evidence_make(in, g, &ret->e);
}

/* Places each loop after those around it and those that dominate it. */
static void place_loops(struct leaf_rule *r)
{
    for (size_t i = 0; i < r->g->reached; i++) {
        uint32_t block = r->g->order[i];

        r->loop = r->g->blocks[block].loop;
        if (r->loop != LEAF_NONE && r->g->loops[r->loop].head == block)
            leaf_place_loop(r);
    }
}

static int add_loops(struct leaf_rule *r, struct leaf_ranges *ret)
{
    _cleanup_free_ struct between *room = malloc((r->g->instruction_count + 1) * sizeof(*room));
    int result = room ? 0 : -ENOMEM;

    find_states(r);
    place_loops(r);
    for (uint32_t block = 0; result == 0 && block < r->g->block_count; block++) {
        r->loop = r->g->blocks[block].loop;
        if (r->loop != LEAF_NONE)
            result = add_block(r, block, room, ret);
    }
    return result == 0 && r->g->steps == 0 ? -E2BIG : result;
}

int leaf_ranges_make(const struct leaf_input *in, struct leaf_graph *g, struct leaf_ranges *ret)
{
    _cleanup_(rule_deinit) struct leaf_rule r;
    struct leaf_ranges ranges = { 0 };
    int result = rule_init(in, g, &r);

    if (result == 0)
        result = add_loops(&r, &ranges);
    if (result < 0)
        free(ranges.at);
    else
        *ret = ranges;
    return result;
}

const struct leaf_range *leaf_ranges_find(const struct leaf_ranges *r, uint32_t pc)
{
    size_t low = array_first(r->count, mid, r->at[mid].end <= pc);

    return low < r->count && r->at[low].start <= pc ? &r->at[low] : NULL;
}
