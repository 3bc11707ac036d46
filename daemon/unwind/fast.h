/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hot path: remembered frames on the stack or frame pointer whose words lie in the window, many
 * at once, with all that changes from one to the next in registers. Gives what unwind_step() would,
 * one by one; what it does not know it leaves to that.
 */
#pragma once

#include "unwind/known.h"

/* Has the window begin at the stack pointer when it ends within two ordinary frames. */
UNWIND_INLINE void unwind_follow(struct unwind_walk *w)
{
    if (w->at.sp - w->window_low + UNWIND_AHEAD_BYTES > w->window_bytes)
        unwind_move_window(w, w->at.sp);
}

/* Why a run of the hot path ended. */
enum unwind_fast {
    UNWIND_FAST_ON,      /* nothing: more may follow at once */
    UNWIND_FAST_UNKNOWN, /* the frame at hand is for unwind_step() */
    UNWIND_FAST_STALE,   /* its nmethod is to be looked at again */
    UNWIND_FAST_OUTSIDE, /* its words are not in the window */
};

/* Looks up @key, to whose pc @last led. UNWIND_FAST_ON and *ret. */
UNWIND_INLINE enum unwind_fast unwind_look_up(struct unwind_walk *w, const struct unwind_process *p,
                                              uint64_t key, const struct unwind_known *last,
                                              struct unwind_known **ret)
{
    struct unwind_known *k = unwind_known_at(w, unwind_key_index(key));

    if (*(volatile uint64_t *)&k->key != key)
        return UNWIND_FAST_UNKNOWN;
    if (k->kind != UNWIND_COMPILED && last->kind == UNWIND_COMPILED &&
        !unwind_in_code_cache(p, key & UNWIND_PC_MASK))
        return UNWIND_FAST_UNKNOWN; /* compiled code is never called by native code */
    if (k->blob && k->tick != w->tick)
        return UNWIND_FAST_STALE;
    *ret = k;
    return UNWIND_FAST_ON;
}

/* The word at @addr, if it lies in the window. */
UNWIND_INLINE bool unwind_in_window(const struct unwind_walk *w, uint64_t addr, uint64_t *ret)
{
    uint64_t i = addr - w->window_low;

    if (i & 7 || i >= w->window_bytes)
        return false;
    i >>= 3;
    UNWIND_MASK(i, UNWIND_WINDOW_BYTES / 8 - 1);
    *ret = w->window[i];
    return true;
}

/* The caller of the frame @at by @k. UNWIND_FAST_ON and *ret. */
UNWIND_INLINE enum unwind_fast unwind_fast_caller(const struct unwind_walk *w,
                                                  const struct unwind_known *k,
                                                  const struct unwind_place *at,
                                                  struct unwind_place *ret)
{
    uint64_t cfa = (uint64_t)(int64_t)k->cfa;

    if (k->base == UNWIND_BASE_SP)
        cfa += at->sp;
    else if (k->base == UNWIND_BASE_FP)
        cfa += at->fp;
    else
        return UNWIND_FAST_UNKNOWN;
    ret->sp = cfa;
    ret->fp = at->fp;
    if (cfa <= at->sp)
        return UNWIND_FAST_UNKNOWN;
    if (!unwind_in_window(w, cfa - 8, &ret->pc) ||
        (k->fp && !unwind_in_window(w, cfa + (uint64_t)(int64_t)k->fp, &ret->fp)))
        return UNWIND_FAST_OUTSIDE;
    return UNWIND_FAST_ON;
}

/* Steps as long as all is at hand. What ended it; after the first step w is as unwind_step() would
 * leave it, before it nothing was changed. */
UNWIND_INLINE enum unwind_fast unwind_run(struct unwind_walk *w, const struct unwind_process *p,
                                          UNWIND_OUT_TYPE out)
{
    uint64_t slot = (uint64_t)(w->slot & (UNWIND_SLOTS_MAX - 1)) << 48;
    uint64_t more = slot | (w->exact ? UNWIND_KEY_EXACT : 0), key = 0, word = 0;
    struct unwind_known *k = unwind_known_at(w, 0);
    struct unwind_place at = w->at, caller;
    uint32_t words = w->words, i;
    enum unwind_fast r = UNWIND_FAST_ON;

    if (w->distrust || (w->guessed == 2 && !unwind_in_code_cache(p, at.pc)))
        return UNWIND_FAST_UNKNOWN;
    UNWIND_LOOP
    for (i = 0; i < UNWIND_RUN_MAX; i++) {
        r = UNWIND_FAST_UNKNOWN;
        if (at.pc & ~UNWIND_PC_MASK || words >= w->max_words)
            break;
        if ((at.pc | more) != key) { /* in a recursion it stays the same */
            r = unwind_look_up(w, p, at.pc | more, k, &k);
            if (r != UNWIND_FAST_ON)
                break;
            key = at.pc | more;
            word = at.pc | (uint64_t)(k->compile_id & UNWIND_ID_MASK) << UNWIND_PC_BITS |
                   (uint64_t)k->kind << UNWIND_KIND_SHIFT;
        }
        r = unwind_fast_caller(w, k, &at, &caller);
        if (r != UNWIND_FAST_ON)
            break;
        UNWIND_OUT(out, words, word);
        words++;
        w->back = at;
        at = caller;
        more = slot; /* only the first pc can be exact */
    }
    if (i == 0)
        return r == UNWIND_FAST_OUTSIDE ? UNWIND_FAST_UNKNOWN : r;
    w->back_words = words - 1;
    w->back_exact = i == 1 ? w->exact : 0;
    w->exact = 0;
    w->words = words;
    w->at = at;
    w->guessed = k->kind == UNWIND_COMPILED ? 2 : 1;
    return r;
}

/* What the hot path can do now. False: the next frame is for unwind_step(). */
UNWIND_INLINE bool unwind_fast_steps(struct unwind_walk *w, struct unwind_process *p,
                                     UNWIND_OUT_TYPE out)
{
    struct unwind_known *k;
    enum unwind_fast r;

    unwind_follow(w);
    r = unwind_run(w, p, out);
    if (r == UNWIND_FAST_OUTSIDE)
        unwind_move_window(w, w->at.sp);
    if (r != UNWIND_FAST_STALE)
        return r != UNWIND_FAST_UNKNOWN;
    k = unwind_known_at(w, unwind_key_index(unwind_key(w)));
    if (unwind_alive(w, p, k->blob, k->compile_id) <= 0)
        return false;
    k->tick = w->tick;
    return true;
}
