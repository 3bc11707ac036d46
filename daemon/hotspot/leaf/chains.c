/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/leaf/rule.h"

static const struct leaf_frame *frame_of(const struct leaf_input *in, uint32_t chain, uint32_t i)
{
    return &in->frames[in->chains[chain].first + i];
}

uint32_t leaf_chain_span(struct leaf_rule *r, uint32_t chain, uint32_t outer, uint32_t *ret_span)
{
    const struct leaf_input *in = r->in;
    uint32_t count = in->chains[chain].count;

    *ret_span = LEAF_NONE;
    for (uint32_t i = 0; i < count; i++) {
        const struct leaf_frame *f = frame_of(in, chain, i);
        const struct leaf_method *m = &in->methods[f->method];

        if (!m->known || !leaf_graph_pay(r->g, 1 + m->count))
            return count;
        for (uint32_t s = m->first; s < m->first + m->count; s++) {
            const struct leaf_span *span = &in->spans[s];

            if (f->bci >= span->head && f->bci < span->end && outer-- == 0) {
                *ret_span = s;
                return i;
            }
        }
    }
    return count;
}

uint32_t leaf_chain_owner(struct leaf_rule *r, uint32_t chain, uint32_t outer)
{
    uint32_t span;

    if (outer > 0)
        return leaf_chain_span(r, chain, outer, &span);
    if (r->owners[chain] == 0)
        r->owners[chain] = (uint8_t)(leaf_chain_span(r, chain, 0, &span) + 1);
    return r->owners[chain] - 1U;
}

uint32_t leaf_origin_count(const struct leaf_input *in, const struct leaf_origin *o)
{
    return o->chain == LEAF_NONE ? 1 : in->chains[o->chain].count - o->drop;
}

struct leaf_frame leaf_origin_frame(const struct leaf_input *in, const struct leaf_origin *o,
                                    uint32_t from_root)
{
    struct leaf_frame f = { 0 };

    if (o->chain != LEAF_NONE)
        f = *frame_of(in, o->chain, in->chains[o->chain].count - 1 - from_root);
    if (from_root + 1 == leaf_origin_count(in, o))
        f.bci = o->bci;
    return f;
}

uint32_t leaf_origin_common(const struct leaf_input *in, const struct leaf_origin *a,
                            const struct leaf_origin *b)
{
    uint32_t na = leaf_origin_count(in, a), nb = leaf_origin_count(in, b), n = 0;

    while (n < na && n < nb) {
        struct leaf_frame x = leaf_origin_frame(in, a, n), y = leaf_origin_frame(in, b, n);

        if (x.method != y.method)
            break;
        n++;
        if (x.bci != y.bci)
            break;
    }
    return n;
}

struct leaf_origin leaf_origin_of(const struct leaf_input *in, struct leaf_find f)
{
    if (f.chain == LEAF_NONE)
        return (struct leaf_origin){ .chain = LEAF_NONE, .bci = -1 };
    return (struct leaf_origin){ .chain = f.chain, .bci = frame_of(in, f.chain, 0)->bci };
}

uint32_t leaf_chain_common(const struct leaf_input *in, uint32_t a, uint32_t b)
{
    struct leaf_origin x = { .chain = a, .bci = frame_of(in, a, 0)->bci };
    struct leaf_origin y = { .chain = b, .bci = frame_of(in, b, 0)->bci };

    return leaf_origin_common(in, &x, &y);
}

bool leaf_place_same(const struct leaf_input *in, const struct leaf_place *a,
                     const struct leaf_place *b)
{
    struct leaf_origin x = { a->chain, a->drop, 0 }, y = { b->chain, b->drop, 0 };
    uint32_t n = leaf_origin_count(in, &x);

    if (a->callee != b->callee || (a->callee != LEAF_NONE && a->bci != b->bci))
        return false;
    return n == leaf_origin_count(in, &y) && leaf_origin_common(in, &x, &y) == n;
}
