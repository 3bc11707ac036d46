/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scores how well the code of a machine loop fits a bytecode loop, with all methods called in that
 * loop. A common feature counts for the candidate. A feature of only the code, or of only the
 * bytecodes, counts against it by a part: C2 unrolls, turns multiplications into shifts, and leaves
 * out code that never ran.
 */
#include "base/array.h"
#include "hotspot/leaf/feature.h"
#include "hotspot/leaf/rule.h"

#define KEYS_MAX 256 /* distinct features of one loop */
#define DEPTH_MAX 6  /* depth of calls from one candidate */

/* both: tenths that a common feature adds. code, bytecodes: percent of that which a feature of only
 * the code, or only the bytecodes, subtracts. */
static const struct {
    uint8_t both, code, bytecodes;
} WEIGHTS[LEAF_FEATURE_KINDS] = {
    [LEAF_SMALL] = { 5, 30, 40 },     [LEAF_MEDIUM] = { 15, 30, 40 },
    [LEAF_LARGE] = { 30, 30, 40 },    [LEAF_WIDE] = { 30, 0, 50 },
    [LEAF_FIELD] = { 15, 30, 20 },    [LEAF_ELEMENT] = { 15, 120, 60 },
    [LEAF_OPERATION] = { 0, 80, 60 },
};

static const uint8_t OPERATIONS[LEAF_OPERATIONS] = {
    [LEAF_DOUBLE_ADD] = 15,    [LEAF_DOUBLE_MULTIPLY] = 15, [LEAF_DOUBLE_DIVIDE] = 20,
    [LEAF_FLOAT_ADD] = 15,     [LEAF_FLOAT_MULTIPLY] = 15,  [LEAF_FLOAT_DIVIDE] = 20,
    [LEAF_MULTIPLY] = 8,       [LEAF_DIVIDE] = 10,          [LEAF_XOR] = 10,
    [LEAF_CONVERT] = 15,       [LEAF_SHIFT_LEFT] = 2,       [LEAF_SHIFT_RIGHT] = 4,
    [LEAF_SHIFT_UNSIGNED] = 6,
};

/* Keys in ascending order, without duplicates. */
struct keys {
    uint32_t at[KEYS_MAX];
    size_t count;
    bool partial; /* the bytecodes of some calls are unknown */
};

/* Returns the index of @key, or the index to insert it at. */
static size_t keys_find(const struct keys *k, uint32_t key)
{
    return array_first(k->count, mid, k->at[mid] < key);
}

static bool keys_has(const struct keys *k, uint32_t key)
{
    size_t at = keys_find(k, key);

    return at < k->count && k->at[at] == key;
}

static void keys_add(struct keys *k, uint32_t key)
{
    size_t low = keys_find(k, key);

    if (k->count == KEYS_MAX || (low < k->count && k->at[low] == key))
        return;
    memmove(&k->at[low + 1], &k->at[low], (k->count - low) * sizeof(*k->at));
    k->at[low] = key;
    k->count++;
}

/* Adds the features of the current loop's code, without aside blocks. */
static void add_code(struct leaf_rule *r, struct keys *ret)
{
    const struct leaf_loop *l = &r->g->loops[r->loop];
    uint32_t found[LEAF_INSTRUCTION_FEATURES_MAX];

    for (uint32_t i = 0; i < l->body_count; i++) {
        uint32_t block = r->g->bodies[l->body + i];
        const struct leaf_block *b = &r->g->blocks[block];

        if (r->e.aside[block] != LEAF_NONE)
            continue;
        if (!leaf_graph_pay(r->g, 16 * (size_t)(b->end - b->first)))
            return;
        for (uint32_t k = b->first; k < b->end; k++) {
            size_t n = leaf_instruction_features(r->in->code, r->g->instructions[k].at,
                                                 r->in->constants, found);

            for (size_t f = 0; f < n; f++)
                keys_add(ret, found[f]);
        }
    }
}

/* Adds the features of bytecodes [@from, @to) of @method to @ret. Adds the features of all methods
 * called there to @called. */
static void add_bytecodes(struct leaf_rule *r, uint32_t method, int32_t from, int32_t to, int depth,
                          struct keys *ret, struct keys *called)
{
    const struct leaf_input *in = r->in;
    const struct leaf_method *m = &in->methods[method];

    if (depth == DEPTH_MAX || !leaf_method_resolved(in, method) || !m->known ||
        !leaf_graph_pay(r->g, 1 + 8 * (size_t)m->sign_count + m->invoke_count)) {
        ret->partial = true;
        return;
    }
    for (uint32_t i = m->signs; i < m->signs + m->sign_count; i++) {
        if (in->signs[i].bci >= from && in->signs[i].bci < to)
            keys_add(ret, in->signs[i].key);
    }
    for (uint32_t i = m->invokes; i < m->invokes + m->invoke_count; i++) {
        const struct leaf_invoke *call = &in->invokes[i];

        if (call->bci < from || call->bci >= to)
            continue;
        if (call->target != LEAF_NONE)
            add_bytecodes(r, call->target, 0, INT32_MAX, depth + 1, called, called);
        else
            ret->partial = true;
    }
}

static void add_candidate(struct leaf_rule *r, const struct leaf_place *p, struct keys *ret,
                          struct keys *called)
{
    const struct leaf_input *in = r->in;
    uint32_t method = 0;

    if (p->callee != LEAF_NONE) {
        add_bytecodes(r, p->callee, 0, INT32_MAX, 0, ret, called);
        return;
    }
    if (p->chain != LEAF_NONE)
        method = in->frames[in->chains[p->chain].first + p->drop].method;
    if (p->span != LEAF_NONE)
        add_bytecodes(r, method, in->spans[p->span].head, in->spans[p->span].end, 0, ret, called);
}

/* Returns the weight of @key, in tenths. */
static int32_t weight(uint32_t key)
{
    uint32_t kind = key >> LEAF_FEATURE_VALUE_BITS;
    uint32_t value = key & ((UINT32_C(1) << LEAF_FEATURE_VALUE_BITS) - 1);

    return kind == LEAF_OPERATION ? OPERATIONS[value % LEAF_OPERATIONS] : WEIGHTS[kind].both;
}

/* Scores @code against @own, the features of a loop, and @called, those of the methods that it
 * calls. Features of @called may be missing in the code, as compilers have special code for some
 * methods. */
static int32_t compare(const struct keys *code, const struct keys *own, const struct keys *called)
{
    bool partial = own->partial || called->partial;
    int32_t score = 0; /* tenths of percent */

    for (size_t i = 0; i < code->count; i++) {
        uint32_t key = code->at[i];

        if (keys_has(own, key) || keys_has(called, key))
            score += 100 * weight(key);
        else if (!partial)
            score -= weight(key) * WEIGHTS[key >> LEAF_FEATURE_VALUE_BITS].code;
    }
    for (size_t i = 0; i < own->count; i++) {
        if (!keys_has(code, own->at[i]))
            score -= weight(own->at[i]) * WEIGHTS[own->at[i] >> LEAF_FEATURE_VALUE_BITS].bytecodes;
    }
    return score / 100;
}

void leaf_candidates_score(struct leaf_rule *r, struct leaf_candidates *c)
{
    struct keys code = { .count = 0 }, own, called;

    if (r->in->aarch64)
        return; /* without features of its instructions */
    add_code(r, &code);
    for (size_t i = 0; i < c->count; i++) {
        own.count = called.count = 0;
        own.partial = called.partial = false;
        add_candidate(r, &c->at[i].place, &own, &called);
        c->at[i].score += compare(&code, &own, &called);
    }
}
