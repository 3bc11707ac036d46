/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the method that a loop belongs to, by the first of these that applies:
 * - a record inside the loop;
 * - the poll of the loop around it, if both are one bytecode loop (C2 cuts a counted loop into
 *   strips, and polls between them);
 * - the loop around it, if that is of a method without records;
 * - the poll right behind it, if no other loop can be before that poll;
 * - the only bytecode loop that can run between the records before and behind it (candidates.c); if
 *   several can, the one that fits the code best by far (score.c).
 * Else only the callers that these records share are sure. If the last of these callers calls
 * nothing, the loop belongs to it.
 */
#include "hotspot/leaf/rule.h"

#define MARGIN 25 /* tenths by which the best candidate must lead */

/* Returns whether calls in loop @span of @method may lead to other loops that are inlined there. */
static bool may_inline_loops(struct leaf_rule *r, uint32_t method, const struct leaf_span *span)
{
    const struct leaf_input *in = r->in;
    const struct leaf_method *m = &in->methods[method];

    if (m->invoke_count == 0)
        return false;
    if (!leaf_method_resolved(in, method) || !leaf_graph_pay(r->g, 1 + m->invoke_count))
        return true;
    for (uint32_t i = 0; i < m->invoke_count; i++) {
        const struct leaf_invoke *call = &in->invokes[m->invokes + i];
        const struct leaf_method *to =
            call->target == LEAF_NONE ? NULL : &in->methods[call->target];

        if (call->bci >= span->head && call->bci < span->end &&
            (!to || !to->known || to->count > 0 || to->invoke_count > 0))
            return true;
    }
    return false;
}

/* Returns whether @f, a poll in the current loop, belongs to that loop itself. C2 makes strips only
 * of innermost loops, so a loop that contains others keeps its poll. */
static bool is_own_poll(struct leaf_rule *r, struct leaf_find f, uint32_t owner, uint32_t span)
{
    const struct leaf_frame *frame = &r->in->frames[r->in->chains[f.chain].first + owner];

    return f.kind == LEAF_KIND_POLL && r->g->blocks[f.block].loop == r->loop &&
           may_inline_loops(r, frame->method, &r->in->spans[span]);
}

/* Returns the frames of @f around the current loop. */
static struct leaf_place place_inside(struct leaf_rule *r, struct leaf_find f)
{
    uint32_t outer = r->loops[r->g->blocks[f.block].loop].depth - r->loops[r->loop].depth;
    uint32_t count = r->in->chains[f.chain].count, owner = count, span;
    uint32_t inlined = 0; /* number of loops in the methods inlined in the owner */
    struct leaf_place p;

    do /* there are more machine loops than bytecode loops: take the outermost known one */
        owner = leaf_chain_span(r, f.chain, outer, &span);
    while (owner == count && outer-- > 0);
    p = leaf_place_of(f.chain, MIN(owner, count - 1), LEAF_INFERRED);
    p.span = span;
    /* The record may belong to an inner loop that begins here. */
    while (span != LEAF_NONE && r->in->spans[span].nested + inlined < r->loops[r->loop].height &&
           !is_own_poll(r, f, owner, span)) {
        uint32_t inner = owner, nested = r->in->spans[span].nested;

        owner = leaf_chain_span(r, f.chain, ++outer, &span);
        if (owner == count)
            break;
        if (owner != inner)
            inlined += nested;
        p = leaf_place_of(f.chain, owner, LEAF_INFERRED);
        p.span = span;
    }
    return p;
}

/* Returns whether loop @span of @method contains neither loops nor calls. */
static bool is_plain(const struct leaf_input *in, uint32_t method, const struct leaf_span *span)
{
    const struct leaf_method *m = &in->methods[method];

    if (span->nested != 1 || (m->invoke_count > 0 && !leaf_method_resolved(in, method)))
        return false;
    for (uint32_t i = 0; i < m->invoke_count; i++) {
        int32_t bci = in->invokes[m->invokes + i].bci;

        if (bci >= span->head && bci < span->end)
            return false;
    }
    return true;
}

/* Places the current loop by the poll right @behind it. If one strip is the whole of a counted
 * loop, C2 leaves the poll of that loop behind the strip. All exits of the loop must lead into the
 * block of the poll: then no other loop, without a poll of its own, runs between them. Returns
 * false if the loop is not such a strip. */
static bool place_by_poll(struct leaf_rule *r, struct leaf_find behind, struct leaf_place *ret)
{
    const struct leaf_input *in = r->in;
    uint32_t span;

    if (behind.chain == LEAF_NONE || behind.kind != LEAF_KIND_POLL ||
        r->loops[r->loop].height != 1 ||
        r->g->blocks[behind.block].loop != r->g->loops[r->loop].parent ||
        !leaf_walk_exits_into(r, behind.block) || leaf_chain_span(r, behind.chain, 0, &span) != 0 ||
        span == LEAF_NONE ||
        !leaf_graph_pay(
            r->g,
            1 + in->methods[in->frames[in->chains[behind.chain].first].method].invoke_count) ||
        !is_plain(in, in->frames[in->chains[behind.chain].first].method, &in->spans[span]))
        return false;
    *ret = leaf_place_of(behind.chain, 0, LEAF_INFERRED);
    ret->span = span;
    return !leaf_place_taken(r, ret);
}

/* Returns whether the innermost method of @p calls no method, so that nothing is inlined there. */
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

/* Returns the innermost sure frame, for a loop that may belong to a method inlined in that
 * frame. */
static struct leaf_place place_unsure(struct leaf_rule *r, const struct leaf_origin *before,
                                      struct leaf_find behind)
{
    uint32_t parent = r->g->loops[r->loop].parent, common = 0;
    struct leaf_place p = leaf_place_of(LEAF_NONE, 0, LEAF_UNSURE);

    if (before->chain != LEAF_NONE && behind.chain != LEAF_NONE) {
        struct leaf_origin to = leaf_origin_of(r->in, behind);

        common = leaf_origin_common(r->in, before, &to);
    }
    if (common > 0) {
        p.chain = before->chain;
        p.drop = (uint8_t)(r->in->chains[before->chain].count - common);
    }
    if (parent != LEAF_NONE && r->loops[parent].place.chain != LEAF_NONE &&
        r->in->chains[r->loops[parent].place.chain].count - r->loops[parent].place.drop > common)
        p = r->loops[parent].place;
    p.verdict = calls_nothing(r->in, &p) ? LEAF_INFERRED : LEAF_UNSURE;
    return p;
}

/* Gets the best of @c, if it leads by MARGIN. Returns false if none does. */
static bool choose(struct leaf_rule *r, struct leaf_candidates *c, struct leaf_place *ret)
{
    const struct leaf_candidate *best = NULL;
    int32_t next = c->more ? 0 : INT32_MIN;

    if (c->count > 1 || (c->more && c->count > 0))
        leaf_candidates_score(r, c);
    for (size_t i = 0; i < c->count; i++) {
        if (!best || c->at[i].score > best->score)
            best = &c->at[i];
    }
    if (!best)
        return false;
    for (size_t i = 0; i < c->count; i++) {
        if (!leaf_place_same(r->in, &c->at[i].place, &best->place))
            next = MAX(next, c->at[i].score);
    }
    if (next != INT32_MIN && best->score < next + MARGIN)
        return false;
    *ret = best->place;
    return true;
}

void leaf_place_loop(struct leaf_rule *r)
{
    uint32_t parent = r->g->loops[r->loop].parent;
    struct leaf_state *s = &r->loops[r->loop];
    struct leaf_find f = leaf_walk_any(r), behind;
    struct leaf_candidates c;
    struct leaf_before before;

    if (f.chain != LEAF_NONE) {
        s->place = place_inside(r, f);
        return;
    }
    if (parent != LEAF_NONE && r->loops[parent].poll.chain != LEAF_NONE) {
        s->place = leaf_place_of(r->loops[parent].poll.chain, 0, LEAF_INFERRED);
        return;
    }
    if (parent != LEAF_NONE && r->loops[parent].place.verdict == LEAF_INFERRED &&
        r->loops[parent].place.callee != LEAF_NONE) {
        s->place = r->loops[parent].place;
        return;
    }
    before = leaf_walk_before(r);
    behind = leaf_walk_behind(r);
    s->origin = before.origin;
    if (place_by_poll(r, behind, &s->place))
        return;
    leaf_candidates_find(r, &before, behind, &c);
    if (!choose(r, &c, &s->place))
        s->place = place_unsure(r, &before.origin, behind);
}
