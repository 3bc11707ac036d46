/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/leaf/rule.h"

static const struct leaf_frame *frame_of(const struct leaf_input *in, uint32_t chain, uint32_t i)
{
    return &in->frames[in->chains[chain].first + i];
}

static uint32_t find_owner(struct leaf_rule *r, uint32_t chain, uint32_t outer)
{
    const struct leaf_input *in = r->in;
    uint32_t count = in->chains[chain].count;

    for (uint32_t i = 0; i < count; i++) {
        const struct leaf_frame *f = frame_of(in, chain, i);
        const struct leaf_method *m = &in->methods[f->method];

        if (!m->known || !leaf_graph_pay(r->g, 1 + m->count))
            return count;
        for (uint32_t s = 0; s < m->count; s++) {
            const struct leaf_span *span = &in->spans[m->first + s];

            if (f->bci >= span->head && f->bci < span->end && outer-- == 0)
                return i;
        }
    }
    return count;
}

uint32_t leaf_chain_owner(struct leaf_rule *r, uint32_t chain, uint32_t outer)
{
    if (outer > 0)
        return find_owner(r, chain, outer);
    if (r->owners[chain] == 0)
        r->owners[chain] = (uint8_t)(find_owner(r, chain, 0) + 1);
    return r->owners[chain] - 1U;
}

uint32_t leaf_chain_common(const struct leaf_input *in, uint32_t a, uint32_t b)
{
    uint32_t na = in->chains[a].count, nb = in->chains[b].count, n = 0;

    while (n < na && n < nb) {
        const struct leaf_frame *x = frame_of(in, a, na - 1 - n);
        const struct leaf_frame *y = frame_of(in, b, nb - 1 - n);

        if (x->method != y->method)
            break;
        n++;
        if (x->bci != y->bci)
            break;
    }
    return n;
}

bool leaf_origin_of(const struct leaf_input *in, struct leaf_find before, struct leaf_origin *ret)
{
    if (in->method_count == 0)
        return false;
    *ret = (struct leaf_origin){ .chain = before.chain, .block = before.block, .count = 1 };
    if (before.chain != LEAF_NONE) {
        ret->at = *frame_of(in, before.chain, 0);
        ret->count = in->chains[before.chain].count;
    } else {
        ret->at.bci = -1;
    }
    return true;
}

uint32_t leaf_origin_common(const struct leaf_input *in, const struct leaf_origin *from,
                            uint32_t chain)
{
    return from->chain == LEAF_NONE ? 1 : leaf_chain_common(in, from->chain, chain);
}

const struct leaf_span *leaf_loop_behind(const struct leaf_input *in, const struct leaf_frame *f,
                                         uint32_t nested, int32_t until)
{
    const struct leaf_method *m = &in->methods[f->method];
    const struct leaf_span *best = NULL;

    for (uint32_t s = 0; m->known && s < m->count; s++) {
        const struct leaf_span *span = &in->spans[m->first + s];

        if (span->end <= f->bci || span->head >= until || span->nested < nested)
            continue;
        if (!best || span->head < best->head || (span->head == best->head && span->end > best->end))
            best = span;
    }
    return best;
}
