/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hot path: walks many remembered frames in one run, as long as their words lie in the window.
 * It knows frames based on the stack pointer or the frame pointer, and interpreted ones. The state
 * of the walk stays in registers. The output equals that of unwind_step(), which walks all other
 * frames.
 */
#pragma once

#include "unwind/frozen.h"

/* How a step or a run of the hot path ended. */
enum unwind_fast {
    UNWIND_FAST_ON,      /* the next step may follow at once */
    UNWIND_FAST_UNKNOWN, /* unwind_step() must walk the frame */
    UNWIND_FAST_STALE,   /* the frame's nmethod must be checked in this tick */
    UNWIND_FAST_OUTSIDE, /* the frame's words are not in the window; they end at w->next.sp */
    UNWIND_FAST_AGAIN,   /* the caller has the same return address: a recursion */
    UNWIND_FAST_ROOT,    /* the frame was the outermost one */
};

/* Reads the word at @addr, a multiple of 8, from the window. Return: false if it is not there. */
UNWIND_INLINE bool unwind_in_window(const struct unwind_walk *w, uint64_t addr, uint64_t *ret)
{
    uint64_t i = addr - w->window_low;

    if (i >= w->window_bytes)
        return false;
    UNWIND_MASK(i, UNWIND_WINDOW_BYTES - 8);
    *ret = *(const uint64_t *)((const char *)w->window + i);
    return true;
}

/* Finds the caller of the frame @at by the remembered rule @k. Returns UNWIND_FAST_ON and sets
 * *ret, or returns the reason why it found none. */
UNWIND_INLINE enum unwind_fast unwind_fast_caller(struct unwind_walk *w,
                                                  const struct unwind_known *k,
                                                  const struct unwind_place *at,
                                                  struct unwind_place *ret)
{
    int32_t size = (int32_t)unwind_known_cfa(k);
    uint64_t cfa = (uint64_t)unwind_known_cfa(k);
    uint8_t base = unwind_known_base(k);
    int16_t rule_fp = unwind_known_fp(k);
    unwind_distance fp;

    if (unwind_ra_in_link(rule_fp) && base != UNWIND_BASE_ROOT)
        return UNWIND_FAST_UNKNOWN;
    if (base == UNWIND_BASE_SP)
        cfa += at->sp;
    else if (base == UNWIND_BASE_FP)
        cfa += at->fp;
    else
        return base == UNWIND_BASE_ROOT ? UNWIND_FAST_ROOT : UNWIND_FAST_UNKNOWN;
    if (cfa & 7 || cfa - at->sp - 1 >= UNWIND_STEP_BYTES_MAX) /* also if cfa <= sp */
        return UNWIND_FAST_UNKNOWN;
    ret->sp = cfa;
    ret->fp = at->fp;
    fp = unwind_fp_place(rule_fp, size);
    if (unwind_in_window(w, cfa + (uint64_t)(int64_t)unwind_ra_place(rule_fp, size), &ret->pc) &&
        (!fp || unwind_in_window(w, cfa + (uint64_t)(int64_t)fp, &ret->fp))) {
        ret->pc = unwind_unsigned(ret->pc);
        return UNWIND_FAST_ON;
    }
    w->next.sp = cfa;
    return UNWIND_FAST_OUTSIDE;
}

/* Finds the caller of an interpreted frame, as unwind_fast_caller() does, and sets the frame's two
 * output words. */
UNWIND_INLINE enum unwind_fast unwind_fast_interpreted(struct unwind_walk *w,
                                                       const struct unwind_process *p,
                                                       const struct unwind_place *at,
                                                       struct unwind_place *ret,
                                                       uint64_t *ret_method, uint64_t *ret_bcp)
{
    uint64_t fp = at->fp, method;

    if (fp & 7 || fp - at->sp > UNWIND_INTERPRETER_BYTES_MAX)
        return UNWIND_FAST_UNKNOWN;
    w->next.sp = fp + 16;
    if (!unwind_in_window(w, fp + 8, &ret->pc) || !unwind_in_window(w, fp, &ret->fp) ||
        !unwind_in_window(w, fp - 8, &ret->sp) || !unwind_in_window(w, fp - 24, &method) ||
        !unwind_in_window(w, fp - 8 * (uint64_t)p->vm.bcp_slot, ret_bcp))
        return UNWIND_FAST_OUTSIDE;
    if (!unwind_sender_fits(fp, ret->sp))
        return UNWIND_FAST_UNKNOWN;
    ret->pc = unwind_unsigned(ret->pc);
    ret->sp = unwind_sender_sp(fp, ret->sp);
    if (ret->sp - at->sp > UNWIND_STEP_BYTES_MAX)
        return UNWIND_FAST_UNKNOWN;
    *ret_method = (method & UNWIND_PC_MASK) | (uint64_t)UNWIND_INTERPRETED << UNWIND_KIND_SHIFT;
    return UNWIND_FAST_ON;
}

/* Walks the frame @at: outputs its words to @out and moves @at to its caller. Returns
 * UNWIND_FAST_ON or UNWIND_FAST_AGAIN after a step, else the reason why there was no step. */
UNWIND_INLINE enum unwind_fast unwind_fast_step(struct unwind_walk *w,
                                                const struct unwind_process *p, UNWIND_OUT_TYPE out,
                                                uint64_t more, struct unwind_place *at,
                                                uint32_t *words)
{
    uint64_t key = at->pc | more, word, bcp;
    uint32_t i = *words, n = 1;
    struct unwind_place caller;
    struct unwind_known k;
    enum unwind_fast r;
    uint8_t kind;

    if (at->pc & ~UNWIND_PC_MASK || i + 2 > w->max_words ||
        !unwind_known_get(unwind_known_at(w, unwind_key_index(key)), key, &k))
        return UNWIND_FAST_UNKNOWN;
    if (k.blob && unwind_known_tick(&k) != w->tick)
        return UNWIND_FAST_STALE;
    kind = unwind_known_kind(&k);
    if (kind != UNWIND_COMPILED && w->guessed == 2 && !unwind_in_code_cache(p, at->pc))
        return UNWIND_FAST_UNKNOWN;
    word = at->pc | (uint64_t)(unwind_known_id(&k) & UNWIND_ID_MASK) << UNWIND_PC_BITS |
           (uint64_t)kind << UNWIND_KIND_SHIFT;
    if (unwind_known_base(&k) == UNWIND_BASE_INTERPRETER) {
        r = unwind_fast_interpreted(w, p, at, &caller, &word, &bcp);
        if (r != UNWIND_FAST_ON)
            return r;
        UNWIND_OUT(out, i + 1, bcp);
        n = 2;
    } else {
        r = unwind_fast_caller(w, &k, at, &caller);
        if (r == UNWIND_FAST_ROOT) {
            UNWIND_OUT(out, i, word);
            *words = i + 1;
        }
        if (r != UNWIND_FAST_ON)
            return r;
        if (caller.pc == at->pc)
            r = UNWIND_FAST_AGAIN;
    }
    UNWIND_OUT(out, i, word);
    w->back = *at;
    w->guessed = kind == UNWIND_COMPILED ? 2 : 1;
    *at = caller;
    *words = i + n;
    return r;
}

/* Makes up to UNWIND_RUN_MAX steps of the hot path. Returns how the run ended; w is as
 * unwind_step() would have left it. */
UNWIND_INLINE enum unwind_fast unwind_run(struct unwind_walk *w, const struct unwind_process *p,
                                          UNWIND_OUT_TYPE out)
{
    uint64_t slot = (uint64_t)(w->slot & (UNWIND_SLOTS_MAX - 1)) << 48;
    uint64_t more = slot | (w->exact ? UNWIND_KEY_EXACT : 0);
    struct unwind_place at = w->at;
    uint32_t words = w->words, i;
    enum unwind_fast r = UNWIND_FAST_UNKNOWN;

    if (w->distrust)
        return r;
    UNWIND_LOOP
    for (i = 0; i < UNWIND_RUN_MAX; i++) {
        uint32_t before = words;

        r = unwind_fast_step(w, p, out, more, &at, &words);
        if (r != UNWIND_FAST_ON && r != UNWIND_FAST_AGAIN)
            break;
        w->back_words = before;
        w->back_exact = w->exact;
        w->exact = 0;
        more = slot; /* only the first pc of a run can be exact */
        if (r == UNWIND_FAST_AGAIN)
            break;
    }
    w->words = words;
    w->at = at;
    return r;
}

/*
 * Walks a recursion: as long as the return address repeats, the frames have the same size and the
 * same output word. Only the frame pointer of the last frame is read.
 */
UNWIND_INLINE void unwind_recur(struct unwind_walk *w, UNWIND_OUT_TYPE out)
{
    uint64_t key = unwind_key(w), pc = w->at.pc, i, word, next, fp, last = w->at.fp;
    uint32_t words = w->words, n;
    struct unwind_known k;
    uint64_t size, below;

    if (!unwind_known_get(unwind_known_at(w, unwind_key_index(key)), key, &k))
        return;
    size = (uint64_t)unwind_known_cfa(&k);
    below = (uint64_t) - (int64_t)unwind_known_fp(&k);
    if (unwind_known_kind(&k) != UNWIND_COMPILED || unwind_known_base(&k) != UNWIND_BASE_SP ||
        unwind_known_tick(&k) != w->tick || pc & ~UNWIND_PC_MASK || w->at.sp & 7 || size & 7 ||
        size < 16 || size > UNWIND_WINDOW_BYTES || below & 7 || !below || below > size)
        return;
    word = pc | (uint64_t)(unwind_known_id(&k) & UNWIND_ID_MASK) << UNWIND_PC_BITS |
           (uint64_t)UNWIND_COMPILED << UNWIND_KIND_SHIFT;
    i = w->at.sp - 8 - w->window_low; /* where the return address @pc was found */
    if (i >= w->window_bytes)
        return;
    UNWIND_LOOP
    for (n = 0; n < UNWIND_RECUR_MAX; n++) {
        uint64_t at = i + size;

        if (at >= w->window_bytes || words + 2 > w->max_words)
            break;
        UNWIND_MASK(at, UNWIND_WINDOW_BYTES - 8);
        next = *(const uint64_t *)((const char *)w->window + at);
        if (next != pc)
            break;
        UNWIND_OUT(out, words, word);
        words++;
        i = at;
    }
    if (!n)
        return;
    next = w->window_low + i + 8; /* stack pointer of the last frame's caller */
    if (n > 1 && !unwind_in_window(w, next - size - below, &last))
        return;
    if (!unwind_in_window(w, next - below, &fp))
        return;
    w->back.pc = pc;
    w->back.sp = next - size;
    w->back.fp = last;
    w->back_words = words - 1;
    w->back_exact = 0;
    w->at.sp = next;
    w->at.fp = fp;
    w->words = words;
    w->guessed = 2;
}

/* Makes one run of the hot path. Returns an enum unwind_outcome. */
UNWIND_INLINE int unwind_fast_steps(struct unwind_walk *w, struct unwind_process *p,
                                    UNWIND_OUT_TYPE out)
{
    struct unwind_known k;
    uint64_t low, key;

    if (w->frozen.high)
        return UNWIND_SLOWLY;
    if (!w->window_bytes)
        unwind_move_window(w, w->at.sp);
    low = w->window_low;
    switch (unwind_run(w, p, out)) {
    case UNWIND_FAST_ON:
        return UNWIND_GO_ON;
    case UNWIND_FAST_AGAIN:
        unwind_recur(w, out);
        return UNWIND_GO_ON;
    case UNWIND_FAST_ROOT:
        w->end = UNWIND_END_ROOT;
        return UNWIND_STOP;
    case UNWIND_FAST_OUTSIDE: /* try again only if the window could be moved */
        unwind_move_window(w, w->next.sp - 16);
        return w->window_bytes && w->window_low != low ? UNWIND_GO_ON : UNWIND_SLOWLY;
    case UNWIND_FAST_STALE:
        key = unwind_key(w);
        if (!unwind_known_get(unwind_known_at(w, unwind_key_index(key)), key, &k) ||
            unwind_alive(w, p, k.blob, unwind_known_id(&k)) <= 0)
            return UNWIND_SLOWLY;
        unwind_keep(w, key, &k);
        return UNWIND_GO_ON;
    default:
        return UNWIND_SLOWLY;
    }
}
