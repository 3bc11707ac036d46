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

/* Stores w->rule in the cache under @key, in place of the entry at its index. */
UNWIND_INLINE void unwind_remember(struct unwind_walk *w, uint64_t key)
{
    struct unwind_known *k = unwind_known_at(w, unwind_key_index(key));

    /* A reader on another CPU compares the key first and then copies the rest. A torn entry can
     * mislead one step, but its return address is then validated. The frame of that step may have
     * the kind and compile id of another: two CPUs would have to use the entry within some ns. */
    *(volatile uint64_t *)&k->key = 0;
    k->blob = w->rule.blob;
    k->compile_id = w->rule.compile_id;
    k->tick = w->tick;
    k->cfa = w->rule.cfa;
    k->fp = w->rule.fp;
    k->base = w->rule.base;
    k->kind = w->rule.kind;
    unwind_publish(&k->key, key);
}

/* Looks up @key in the cache and sets w->rule. Return: false if there is no entry, or its nmethod
 * is gone. */
UNWIND_INLINE bool unwind_recall(struct unwind_walk *w, struct unwind_process *p, uint64_t key)
{
    struct unwind_known *k = unwind_known_at(w, unwind_key_index(key));

    if (*(volatile uint64_t *)&k->key != key)
        return false;
    w->rule.blob = k->blob;
    w->rule.compile_id = k->compile_id;
    w->rule.cfa = k->cfa;
    w->rule.fp = k->fp;
    w->rule.base = k->base;
    w->rule.kind = k->kind;
    w->rule.keep = 0;
    if (w->rule.blob && k->tick != w->tick) {
        if (unwind_alive(w, p, w->rule.blob, w->rule.compile_id) <= 0)
            return false;
        k->tick = w->tick;
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
