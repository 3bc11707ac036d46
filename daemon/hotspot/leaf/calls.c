/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops of methods that left no record at all: arithmetic, or arrays whose length C2 knows. All
 * that is called without being inlined has a record. So what runs between two records of one method
 * is that method, or what it calls between them. If one call alone can have the loop, the
 * loop is of the method that is called.
 */
#include "hotspot/leaf/rule.h"

/* Frame @from_root of @chain, the compiled method being 0. */
static const struct leaf_frame *frame_at(const struct leaf_input *in, uint32_t chain,
                                         uint32_t from_root)
{
    const struct leaf_chain *c = &in->chains[chain];

    return &in->frames[c->first + c->count - 1 - from_root];
}

static bool has_span_between(const struct leaf_input *in, const struct leaf_method *m, int32_t from,
                             int32_t to)
{
    for (uint32_t s = 0; s < m->count; s++) {
        const struct leaf_span *span = &in->spans[m->first + s];

        if (span->end > from && span->head < to)
            return true;
    }
    return false;
}

/* Whether the frames of @chain above its frame @common may have loops of their own in the part that
 * counts: behind their record, or before it. */
static bool has_own_loops(const struct leaf_input *in, uint32_t chain, uint32_t common, bool behind)
{
    for (uint32_t i = common; i < in->chains[chain].count; i++) {
        const struct leaf_frame *f = frame_at(in, chain, i);
        const struct leaf_method *m = &in->methods[f->method];

        if (!m->known || has_span_between(in, m, behind ? f->bci : -1, behind ? INT32_MAX : f->bci))
            return true;
    }
    return false;
}

/* How deep the loops of @m are nested; its calls may add to that. */
static uint32_t nested_of(const struct leaf_input *in, const struct leaf_method *m)
{
    uint32_t most = 0;

    for (uint32_t s = 0; s < m->count; s++)
        most = MAX(most, in->spans[m->first + s].nested);
    return most;
}

/* The only call of @m between bytecodes @from and @to that can have loops. LEAF_NONE: not one. */
static uint32_t only_call(const struct leaf_rule *r, const struct leaf_method *m, int32_t from,
                          int32_t to)
{
    const struct leaf_input *in = r->in;
    uint32_t found = LEAF_NONE;

    for (uint32_t i = 0; i < m->invoke_count; i++) {
        const struct leaf_invoke *call = &in->invokes[m->invokes + i];
        const struct leaf_method *target;

        if (call->bci <= from || call->bci >= to)
            continue;
        if (call->target == LEAF_NONE)
            return LEAF_NONE;
        target = &in->methods[call->target];
        if (target->known && target->count == 0 && target->invoke_count == 0)
            continue;
        if (!target->known || found != LEAF_NONE)
            return LEAF_NONE;
        found = m->invokes + i;
    }
    return found;
}

/* Whether the calls of method @method are there; if not, they are asked for. */
static bool has_invokes(const struct leaf_input *in, uint32_t method)
{
    if (in->methods[method].invokes != LEAF_NONE)
        return true;
    if (in->wanted)
        in->wanted[method] = 1;
    return false;
}

bool leaf_calls_loops(struct leaf_rule *r, uint32_t method, int32_t from, int32_t to)
{
    const struct leaf_method *m = &r->in->methods[method];

    if (m->invoke_count == 0 || to <= from || !has_invokes(r->in, method) ||
        !leaf_graph_pay(r->g, 1 + m->invoke_count))
        return false;
    for (uint32_t i = 0; i < m->invoke_count; i++) {
        const struct leaf_invoke *call = &r->in->invokes[m->invokes + i];
        const struct leaf_method *target;

        if (call->bci <= from || call->bci >= to || call->target == LEAF_NONE)
            continue;
        target = &r->in->methods[call->target];
        if (target->known && target->count > 0)
            return true;
    }
    return false;
}

bool leaf_place_called(struct leaf_rule *r, const struct leaf_origin *before,
                       struct leaf_find behind, uint32_t nested, struct leaf_place *ret)
{
    const struct leaf_input *in = r->in;
    struct leaf_frame from;
    const struct leaf_frame *to;
    const struct leaf_invoke *call;
    const struct leaf_method *m;
    uint32_t common, found;

    if (behind.chain == LEAF_NONE)
        return false;
    common = leaf_origin_common(in, before, behind.chain);
    if (common == 0 || !leaf_graph_pay(r->g, 1 + before->count))
        return false;
    from = before->chain == LEAF_NONE ? before->at : *frame_at(in, before->chain, common - 1);
    to = frame_at(in, behind.chain, common - 1);
    m = &in->methods[from.method];
    if (from.bci >= to->bci || !m->known || has_span_between(in, m, from.bci, to->bci) ||
        (before->chain != LEAF_NONE && has_own_loops(in, before->chain, common, true)) ||
        has_own_loops(in, behind.chain, common, false) || !has_invokes(in, from.method) ||
        !leaf_graph_pay(r->g, 1 + m->invoke_count))
        return false;
    found = only_call(r, m, from.bci, to->bci);
    if (found == LEAF_NONE)
        return false;
    call = &in->invokes[found];
    m = &in->methods[call->target];
    *ret = (struct leaf_place){
        .chain = before->chain,
        .bci = call->bci,
        .callee = call->target,
        .callee_bci = m->count > 0 ? in->spans[m->first].head : -1,
        .drop = (uint8_t)(before->count - common),
        .verdict = nested_of(in, m) >= nested ? LEAF_INFERRED : LEAF_UNSURE,
    };
    return true;
}
