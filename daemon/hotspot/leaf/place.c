/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose loop a loop is. In this order: a record inside it; the poll of the loop around it, where
 * that is the same bytecode loop (C2 cuts a counted loop into strips, and polls between them); the
 * nearest record before it, or the entry, if its method can have this loop; the only call that can
 * (calls.c). Else the callers that the records before and behind it share are sure, and no more;
 * the loop is of the last of them if that calls nothing.
 */
#include "hotspot/leaf/rule.h"

/* The frames of @f around the loop at hand. */
static struct leaf_place place_inside(struct leaf_rule *r, struct leaf_find f)
{
    uint32_t outer = r->depth[r->g->blocks[f.block].loop] - r->depth[r->loop];
    uint32_t count = r->in->chains[f.chain].count, owner = count;

    do /* a machine loop more than bytecode has: the outermost that is known */
        owner = leaf_chain_owner(r, f.chain, outer);
    while (owner == count && outer-- > 0);
    return leaf_place_of(f.chain, MIN(owner, count - 1), LEAF_INFERRED);
}

/* Whether @loop is one of strips: it has polls of its own, nothing else, and one loop inside. */
static bool is_stripped(struct leaf_rule *r, uint32_t loop, struct leaf_find *ret_poll)
{
    const struct leaf_loop *l = &r->g->loops[loop];
    bool polls = false;

    for (uint32_t i = 0; i < l->body_count; i++) {
        uint32_t at = r->g->bodies[l->body + i];
        const struct leaf_block *b = &r->g->blocks[at];

        if (!leaf_graph_pay(r->g, 1 + b->end - b->first))
            return false;
        if (b->loop != loop && !leaf_loop_has(r->g, r->loop, at))
            return false; /* of another loop */
        for (uint32_t k = b->first; b->loop == loop && k < b->end; k++) {
            if (r->e.chain[k] == LEAF_NONE)
                continue;
            if (r->e.kind[k] != LEAF_KIND_POLL)
                return false;
            *ret_poll = (struct leaf_find){ r->e.chain[k], at, LEAF_KIND_POLL };
            polls = true;
        }
    }
    return polls;
}

/* How many loops lie inside one another from the loop at hand out to what has @block. */
static uint32_t nested_from(struct leaf_rule *r, uint32_t block)
{
    uint32_t nested = 0;

    for (uint32_t l = r->loop;
         l != LEAF_NONE && (block == LEAF_NONE || !leaf_loop_has(r->g, l, block));
         l = r->g->loops[l].parent) {
        struct leaf_find poll;

        nested += l == r->loop || !is_stripped(r, l, &poll);
    }
    return nested;
}

/* By the nearest record before it, or the entry. False: the method there has no such loop, or calls
 * one with a loop before. */
static bool place_dominated(struct leaf_rule *r, const struct leaf_origin *before,
                            struct leaf_find behind, uint32_t nested, struct leaf_place *ret)
{
    const struct leaf_input *in = r->in;
    const struct leaf_span *span;
    int32_t until = INT32_MAX;

    if (behind.chain != LEAF_NONE &&
        leaf_origin_common(in, before, behind.chain) == before->count) {
        const struct leaf_chain *c = &in->chains[behind.chain];

        until = in->frames[c->first + c->count - before->count].bci;
        if (until <= before->at.bci)
            until = INT32_MAX; /* round an outer loop */
    }
    span = leaf_loop_behind(in, &before->at, nested, until);
    if (!span || leaf_calls_loops(r, before->at.method, before->at.bci, span->head))
        return false;
    *ret = leaf_place_of(before->chain, 0, LEAF_INFERRED);
    ret->bci = MAX(span->head, before->at.bci);
    return true;
}

/* Whether the innermost method of @p calls nothing, so that nothing is inlined there. */
static bool calls_nothing(const struct leaf_input *in, const struct leaf_place *p)
{
    uint32_t method = p->callee;

    if (method == LEAF_NONE && p->chain == LEAF_NONE)
        method = 0;
    else if (method == LEAF_NONE)
        method = in->frames[in->chains[p->chain].first + p->drop].method;
    return method < in->method_count && in->methods[method].known &&
           in->methods[method].invoke_count == 0;
}

/* The innermost frame that is sure, when the loop may be that of a method inlined there. */
static struct leaf_place place_unsure(struct leaf_rule *r, struct leaf_find before,
                                      struct leaf_find behind)
{
    uint32_t parent = r->g->loops[r->loop].parent, common = 0;
    struct leaf_place p = leaf_place_of(LEAF_NONE, 0, LEAF_UNSURE);

    if (before.chain != LEAF_NONE && behind.chain != LEAF_NONE)
        common = leaf_chain_common(r->in, before.chain, behind.chain);
    if (common > 0) {
        p.chain = before.chain;
        p.drop = (uint8_t)(r->in->chains[before.chain].count - common);
    }
    if (parent != LEAF_NONE && r->places[parent].chain != LEAF_NONE &&
        r->in->chains[r->places[parent].chain].count - r->places[parent].drop > common)
        p = r->places[parent];
    p.verdict = calls_nothing(r->in, &p) ? LEAF_INFERRED : LEAF_UNSURE;
    return p;
}

void leaf_place_loop(struct leaf_rule *r)
{
    uint32_t parent = r->g->loops[r->loop].parent;
    struct leaf_place *p = &r->places[r->loop];
    struct leaf_find f = leaf_walk_any(r), behind;
    struct leaf_origin before;
    uint32_t nested;

    if (f.chain != LEAF_NONE) {
        *p = place_inside(r, f);
        return;
    }
    if (parent != LEAF_NONE && is_stripped(r, parent, &f)) {
        *p = leaf_place_of(f.chain, 0, LEAF_INFERRED);
        return;
    }
    f = leaf_walk_dominating(r);
    behind = leaf_walk_behind(r);
    if (leaf_origin_of(r->in, f, &before)) {
        nested = nested_from(r, before.block);
        if (place_dominated(r, &before, behind, nested, p) ||
            leaf_place_called(r, &before, behind, nested, p))
            return;
    }
    *p = place_unsure(r, f, behind);
}
