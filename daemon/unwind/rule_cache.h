/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cache of rules by pc, which all CPUs and processes share. The nmethod of a remembered rule is
 * checked once a tick. So a rule is never used for other code that has since taken the nmethod's
 * place.
 */
#pragma once

#include "unwind/hotspot.h"

#define UNWIND_KEY_EXACT (1ULL << 63)

/* Returns the cache key of the frame w->at. */
UNWIND_INLINE uint64_t unwind_key(const struct unwind_walk *w)
{
    return (w->at.pc & UNWIND_PC_MASK) | (uint64_t)(w->slot & (UNWIND_SLOTS_MAX - 1)) << 48 |
           (w->exact ? UNWIND_KEY_EXACT : 0);
}

/* Returns the index of @key in the cache. */
UNWIND_INLINE uint32_t unwind_key_index(uint64_t key)
{
    return (uint32_t)(key * 0x9E3779B97F4A7C15ULL >> 48) & (UNWIND_KNOWN_COUNT - 1);
}

/* Returns 1 if the nmethod @blob of a remembered rule is in use and still has the compile id
 * @compile_id. */
UNWIND_FUNCTION int unwind_alive(struct unwind_walk *w, struct unwind_process *p, uint64_t blob,
                                 uint32_t compile_id)
{
    uint32_t id;
    uint8_t used;

    if (!w || !p)
        return 0;
    return unwind_read(w, &used, 1, blob - p->vm.block_header_bytes + p->vm.block_used) && used &&
                   unwind_read_u32(w, blob + p->vm.nmethod_compile_id, &id) && id == compile_id
               ? 1
               : 0;
}

/*
 * Two processors that store rules in one entry at once may leave words of both in it. So the first
 * word is a sum of the key and the other words. A reader copies all words and compares the sum with
 * that for its own key. An entry of another key, or with words of two rules, does not match.
 */

/* Returns the sum of the words of @k, without its key. */
UNWIND_INLINE uint64_t unwind_known_sum(const struct unwind_known *k)
{
    return k->blob + k->seen * 0x5BD1E995 + k->step * 0x27D4EB2F;
}

/* Copies the entry at @k to *ret. Return: false if it does not hold the rule of @key. */
UNWIND_INLINE bool unwind_known_get(const struct unwind_known *k, uint64_t key,
                                    struct unwind_known *ret)
{
    const volatile struct unwind_known *from = k;

    ret->sum = from->sum;
    ret->blob = from->blob;
    ret->seen = from->seen;
    ret->step = from->step;
    return (unwind_known_sum(ret) ^ key) == ret->sum;
}

/* Stores the rule of @key at @k. */
UNWIND_INLINE void unwind_known_put(struct unwind_known *k, uint64_t key,
                                    const struct unwind_known *rule)
{
    volatile struct unwind_known *to = k;

    to->blob = rule->blob;
    to->seen = rule->seen;
    to->step = rule->step;
    to->sum = unwind_known_sum(rule) ^ key;
}

/* Returns when the nmethod of @k was last seen alive. */
UNWIND_INLINE uint32_t unwind_known_tick(const struct unwind_known *k)
{
    return (uint32_t)k->seen;
}

/* Returns the compile id of @k's nmethod. */
UNWIND_INLINE uint32_t unwind_known_id(const struct unwind_known *k)
{
    return (uint32_t)(k->seen >> 32);
}

/* Returns the distance of the CFA from the base, in bytes. */
UNWIND_INLINE int64_t unwind_known_cfa(const struct unwind_known *k)
{
    return (int64_t)k->step >> 32;
}

/* Returns where the caller's fp lies: unwind_rule.fp. */
UNWIND_INLINE int16_t unwind_known_fp(const struct unwind_known *k)
{
    return (int16_t)(k->step >> 16);
}

/* Returns the kind of code: enum unwind_kind. */
UNWIND_INLINE uint8_t unwind_known_kind(const struct unwind_known *k)
{
    return (uint8_t)(k->step >> 8);
}

/* Returns the base of the CFA: unwind_rule.base. */
UNWIND_INLINE uint8_t unwind_known_base(const struct unwind_known *k)
{
    return (uint8_t)k->step;
}

/* Returns the word unwind_known.seen. */
UNWIND_INLINE uint64_t unwind_known_seen(uint32_t compile_id, uint32_t tick)
{
    return (uint64_t)compile_id << 32 | tick;
}

/* Stores w->rule in the cache under @key, in place of the entry at its index. */
UNWIND_INLINE void unwind_remember(struct unwind_walk *w, uint64_t key)
{
    const struct unwind_rule *r = &w->rule;
    struct unwind_known rule = {
        .blob = r->blob,
        .seen = unwind_known_seen(r->compile_id, w->tick),
        .step = (uint64_t)(uint32_t)r->cfa << 32 | (uint64_t)(uint16_t)r->fp << 16 |
                (uint64_t)r->kind << 8 | r->base,
    };

    unwind_known_put(unwind_known_at(w, unwind_key_index(key)), key, &rule);
}

/* Stores in @rule, the entry of @key, that its nmethod is alive now. */
UNWIND_INLINE void unwind_keep(struct unwind_walk *w, uint64_t key, struct unwind_known *rule)
{
    rule->seen = unwind_known_seen(unwind_known_id(rule), w->tick);
    unwind_known_put(unwind_known_at(w, unwind_key_index(key)), key, rule);
}

/* Looks up @key in the cache and sets w->rule. Return: false if there is no entry, or its nmethod
 * is gone. */
UNWIND_INLINE bool unwind_recall(struct unwind_walk *w, struct unwind_process *p, uint64_t key)
{
    struct unwind_known rule;

    if (!unwind_known_get(unwind_known_at(w, unwind_key_index(key)), key, &rule))
        return false;
    w->rule.blob = rule.blob;
    w->rule.compile_id = unwind_known_id(&rule);
    w->rule.cfa = (int32_t)unwind_known_cfa(&rule);
    w->rule.fp = unwind_known_fp(&rule);
    w->rule.base = unwind_known_base(&rule);
    w->rule.kind = unwind_known_kind(&rule);
    w->rule.keep = 0;
    if (rule.blob && unwind_known_tick(&rule) != w->tick) {
        if (unwind_alive(w, p, rule.blob, unwind_known_id(&rule)) <= 0)
            return false;
        unwind_keep(w, key, &rule);
    }
    return true;
}

/* Returns the output word for the frame w->at. */
UNWIND_INLINE uint64_t unwind_word(const struct unwind_walk *w)
{
    return (w->at.pc & UNWIND_PC_MASK) |
           (uint64_t)(w->rule.compile_id & UNWIND_ID_MASK) << UNWIND_PC_BITS |
           (uint64_t)w->rule.kind << UNWIND_KIND_SHIFT;
}

/* Returns an output word that stands for @mark, not for a frame. */
UNWIND_INLINE uint64_t unwind_mark(enum unwind_mark mark)
{
    return (uint64_t)mark | (uint64_t)UNWIND_MARK << UNWIND_KIND_SHIFT;
}
