/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One step up the stack from any kind of frame. A return address that a remembered rule found is
 * trusted if the cache holds a rule for it. Otherwise it must pass the tests of the slow path. If
 * it fails them, the walk steps back and finds the rule of the previous frame again.
 */
#pragma once

#include "unwind/fast_path.h"

/* Starts a walk of at most @max_words words at the given registers. The caller itself sets the
 * other registers and ids of the thread. */
UNWIND_INLINE void unwind_start(struct unwind_walk *w, uint64_t pc, uint64_t sp, uint64_t fp,
                                uint32_t slot, uint32_t tick, uint32_t max_words)
{
    w->at.pc = pc;
    w->at.sp = sp;
    w->at.fp = fp;
    w->words = 0;
    w->reads = 0;
    w->max_words = max_words;
    w->tick = tick;
    w->slot = slot;
    w->exact = 1;
    w->guessed = 0;
    w->distrust = 0;
    w->signals = 0;
    w->failed = 0;
    w->anchored = 0;
    w->wants_thread = 0;
    w->frozen.high = 0;
    w->frozen.chunks = 0;
    w->frozen.broken = 0;
    w->end = UNWIND_END_LIMIT;
    w->window_low = 0;
    w->window_bytes = 0;
}

/* Finds w->rule for w->at from the target's memory and tables. Returns 0 or an enum unwind_end. */
UNWIND_INLINE int unwind_slow_rule(struct unwind_walk *w, struct unwind_process *p)
{
    int end;

    if (unwind_in_code_cache(p, w->at.pc))
        return unwind_java_rule(w, p);
    w->ruled = 0;
    end = unwind_native_rule(w, p);
    /* Without rows the rule only assumes frame pointers: the VM's anchor is better. */
    if (!end && w->ruled && !w->failed)
        return 0;
    if (unwind_anchor_rule(w, p) <= 0)
        return end;
    /* A wrong rule may have led outside all mappings, so the pc is not output. The leaf's pc is
     * right: flamed finds its mapping by it. */
    w->rule.kind = end == UNWIND_END_NO_MAPPING && !w->exact ? UNWIND_MARK : UNWIND_NATIVE;
    return 0;
}

/* Sets the two output words of an interpreted frame in w->step. Return: false if they cannot be
 * read. */
UNWIND_INLINE bool unwind_interpreted(struct unwind_walk *w, struct unwind_process *p)
{
    struct unwind_step_words *s = &w->step;

    if (w->rule.base == UNWIND_BASE_ENTRY) {
        s->method = w->registers.method;
        s->second = 0;
    } else {
        if (!unwind_stack(w, w->at.fp - 24, &s->method))
            return false;
        /* The leaf's slot is stale while the register is ahead of it. After a call returns here the
         * register holds a stack address until the slot is loaded into it. */
        if (w->exact && w->registers.bcp - w->at.sp >= UNWIND_INTERPRETER_BYTES_MAX)
            s->second = w->registers.bcp;
        else if (!unwind_stack(w, w->at.fp - 8 * (uint64_t)p->vm.bcp_slot, &s->second))
            return false;
    }
    s->word = (s->method & UNWIND_PC_MASK) | (uint64_t)UNWIND_INTERPRETED << UNWIND_KIND_SHIFT;
    return true;
}

/* Finds the caller by w->rule and moves w->at there. Returns 0 or an enum unwind_end. */
UNWIND_INLINE int unwind_apply(struct unwind_walk *w)
{
    struct unwind_place *to = &w->step.to; /* to->sp: the CFA */
    bool fp_set = false, link = false;
    unwind_distance fp;

    to->fp = w->at.fp;
    switch (w->rule.base) {
    case UNWIND_BASE_SP:
        to->sp = w->at.sp + (uint64_t)(int64_t)w->rule.cfa;
        break;
    case UNWIND_BASE_FP:
        to->sp = w->at.fp + (uint64_t)(int64_t)w->rule.cfa;
        break;
    case UNWIND_BASE_INTERPRETER:
        if ((w->at.fp & 7) || !unwind_stack(w, w->at.fp - 8, &to->sp) ||
            !unwind_stack(w, w->at.fp + 8, &to->pc) || !unwind_stack(w, w->at.fp, &to->fp))
            return UNWIND_END_MEMORY;
        if (w->at.fp < w->at.sp || !unwind_sender_fits(w->at.fp, to->sp))
            return UNWIND_END_INTERPRETED;
        to->sp = unwind_sender_sp(w->at.fp, to->sp);
        goto found;
    case UNWIND_BASE_FP_LOAD:
        if (!unwind_read_u64(w, w->at.fp + (uint64_t)(int64_t)w->rule.cfa, &to->sp) ||
            !unwind_read_u64(w, w->at.fp, &to->fp))
            return UNWIND_END_MEMORY;
        fp_set = true;
        break;
    case UNWIND_BASE_SP_LOAD:
        if (!unwind_read_u64(w, w->at.sp + (uint64_t)(int64_t)w->rule.cfa, &to->sp))
            return UNWIND_END_MEMORY;
        to->sp += 8;
        break;
    case UNWIND_BASE_SIGNAL:
        if (w->signals >= UNWIND_SIGNALS_MAX)
            return UNWIND_END_PROGRESS;
        if (!unwind_read_u64(w, w->at.sp + UNWIND_SIGNAL_PC, &to->pc) ||
            !unwind_read_u64(w, w->at.sp + UNWIND_SIGNAL_SP, &to->sp) ||
            !unwind_read_u64(w, w->at.sp + UNWIND_SIGNAL_FP, &to->fp) ||
            (UNWIND_SIGNAL_LINK &&
             !unwind_read_u64(w, w->at.sp + UNWIND_SIGNAL_LINK, &w->registers.link)))
            return UNWIND_END_MEMORY;
        w->registers.link = unwind_unsigned(w->registers.link);
        w->at = *to; /* may be on another stack */
        w->exact = 1;
        w->signals++;
        w->window_bytes = 0;
        return 0;
    case UNWIND_BASE_DIRECT:
    case UNWIND_BASE_ENTRY:
    case UNWIND_BASE_ANCHOR:
        *to = w->next;
        goto found;
    default:
        return UNWIND_END_NO_RULE;
    }
    if (to->sp & 7)
        return UNWIND_END_PROGRESS;
    link = unwind_ra_in_link(w->rule.fp);
    if (link && !w->exact)
        return UNWIND_END_RETURN;
    if (link)
        to->pc = w->registers.link;
    else if (!unwind_stack(w, to->sp + (uint64_t)(int64_t)unwind_ra_place(w->rule.fp, w->rule.cfa),
                           &to->pc))
        return UNWIND_END_MEMORY;
    fp = unwind_fp_place(w->rule.fp, w->rule.cfa);
    if (fp && !fp_set && !unwind_stack(w, to->sp + (uint64_t)(int64_t)fp, &to->fp))
        return UNWIND_END_MEMORY;
found:
    to->pc = unwind_unsigned(to->pc);
    if (to->sp < w->at.sp ||
        (to->sp == w->at.sp && !link && w->rule.base != UNWIND_BASE_DIRECT &&
         w->rule.base != UNWIND_BASE_ENTRY) ||
        to->sp - w->at.sp > UNWIND_STEP_BYTES_MAX)
        return UNWIND_END_PROGRESS;
    w->at = *to;
    w->exact = 0;
    return 0;
}

/* Finds the rule of w->at, outputs its words and moves to the caller. Returns UNWIND_GO_ON, also
 * after a step back, or UNWIND_STOP with w->end. */
UNWIND_INLINE int unwind_try_step(struct unwind_walk *w, struct unwind_process *p,
                                  UNWIND_OUT_TYPE out)
{
    struct unwind_step_words *s = &w->step;
    uint64_t key = unwind_key(w);
    uint32_t here_words = w->words, i;
    bool recalled = false, misled = w->guessed == 2 && !unwind_in_code_cache(p, w->at.pc);
    int end;

    s->here = w->at;
    s->second = 0;
    if (w->at.pc & ~UNWIND_PC_MASK) {
        w->end = UNWIND_END_RETURN;
        recalled = true; /* not a canonical pc: the rule that found it was wrong */
    } else if (!w->distrust && !misled && unwind_recall(w, p, key)) {
        recalled = true;
        w->end = 0;
    } else {
        w->end = 0;
    }
    if (!recalled || w->end) {
        if (w->guessed && (w->end || misled || unwind_any_return(w, p, w->at.pc) <= 0)) {
            /* The remembered rule of the previous frame is wrong here: walk that frame again by the
             * slow path. */
            w->at = w->back;
            w->words = w->back_words;
            w->exact = w->back_exact;
            w->guessed = 0;
            w->distrust = 1;
            return UNWIND_GO_ON;
        }
        end = w->end;
        if (!end) {
            end = unwind_slow_rule(w, p);
        } else {
            if (unwind_anchor_rule(w, p) <= 0)
                return UNWIND_STOP;
            w->rule.kind = UNWIND_MARK;
            end = 0;
        }
        recalled = false;
        w->end = 0;
        if (end) {
            w->end = (uint8_t)end;
            w->rule.kind = unwind_in_code_cache(p, w->at.pc) ? UNWIND_STUB : UNWIND_NATIVE;
            w->rule.compile_id = 0;
        } else if (w->rule.keep && (w->exact || unwind_any_return(w, p, w->at.pc) > 0)) {
            /* Do not remember a safepoint poll's pc: a remembered pc counts as a valid return
             * address. */
            unwind_remember(w, key);
        }
    }
    w->distrust = 0;
    if (w->reads > UNWIND_READS_MAX &&
        !w->end) { /* limits the time that a hostile target can cost */
        w->end = UNWIND_END_LIMIT;
        return UNWIND_STOP;
    }

    if (!w->end && w->rule.kind == UNWIND_MARK && w->rule.base == UNWIND_BASE_DIRECT &&
        unwind_frozen_begin(w, p) == UNWIND_FROZEN_FOUND)
        return UNWIND_GO_ON;
    s->word = unwind_word(w);
    if (!w->end && w->rule.kind == UNWIND_INTERPRETED && !unwind_interpreted(w, p))
        w->end = UNWIND_END_MEMORY;
    if (w->rule.kind == UNWIND_MARK)
        s->word = unwind_mark(w->rule.base == UNWIND_BASE_ANCHOR ? UNWIND_MARK_SKIPPED
                                                                 : UNWIND_MARK_FROZEN);
    if (w->words + 2 > w->max_words) {
        w->end = UNWIND_END_LIMIT;
        return UNWIND_STOP;
    }
    i = w->words;
    UNWIND_OUT(out, i, s->word);
    w->words++;
    if (w->end)
        return UNWIND_STOP;
    if (w->rule.base == UNWIND_BASE_ANCHOR && w->rule.kind == UNWIND_NATIVE)
        s->second = unwind_mark(UNWIND_MARK_SKIPPED);
    if (w->rule.kind == UNWIND_INTERPRETED || s->second) {
        i = w->words;
        UNWIND_OUT(out, i, s->second);
        w->words++;
    }
    if (w->rule.base == UNWIND_BASE_ROOT)
        return UNWIND_STOP;
    w->back = s->here;
    w->back_words = here_words;
    w->back_exact = w->exact;
    end = unwind_apply(w);
    if (end) {
        if (recalled) { /* as above: find the rule again from memory */
            w->at = s->here;
            w->words = here_words;
            w->distrust = 1;
            return UNWIND_GO_ON;
        }
        if (w->rule.kind == UNWIND_NATIVE && !w->failed) { /* try the thread's anchor */
            w->at = s->here;
            w->words = here_words;
            w->failed = 1;
            w->distrust = 1;
            return UNWIND_GO_ON;
        }
        w->end = (uint8_t)end;
        return UNWIND_STOP;
    }
    /* No call precedes the pc that a signal interrupted. */
    w->guessed = !recalled || w->exact ? 0 : w->rule.kind == UNWIND_COMPILED ? 2 : 1;
    return UNWIND_GO_ON;
}

/* Walks one frame: outputs its words to @out (room for w->max_words) and moves to its caller.
 * Returns UNWIND_GO_ON or UNWIND_STOP. If the caller makes no further step, w->end is
 * UNWIND_END_LIMIT. */
UNWIND_INLINE int unwind_step(struct unwind_walk *w, struct unwind_process *p, UNWIND_OUT_TYPE out)
{
    int outcome = w->frozen.high ? unwind_frozen_step(w, p, out) : unwind_try_step(w, p, out);

    if (outcome == UNWIND_GO_ON)
        w->end = UNWIND_END_LIMIT;
    return outcome;
}
