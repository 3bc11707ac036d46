/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rules for HotSpot code that differ on aarch64: method entries, stubs, adapters. Functions
 * named _rule return 0 and set w->rule, or return an enum unwind_end. The other ones that set
 * w->rule return 1 if they did.
 */
#pragma once

#include "unwind/rules.h"

/* ---- compiled methods ---- */

/* Does nothing: compiled code of aarch64 always saves fp, beside the return address. */
UNWIND_INLINE int unwind_leave_fp(struct unwind_walk *w, struct unwind_process *p)
{
    (void)w;
    (void)p;
    return 0;
}

/* ---- the interpreter ---- */

/* Returns whether @sender can be the caller's sp of an interpreted frame at @fp. It may lie below
 * @fp: an interpreted caller reserves its whole expression stack, and the callee's frame begins
 * inside that. */
UNWIND_INLINE bool unwind_sender_fits(uint64_t fp, uint64_t sender)
{
    return sender - fp + 2 * (uint64_t)UNWIND_INTERPRETER_BYTES_MAX <
           4 * (uint64_t)UNWIND_INTERPRETER_BYTES_MAX;
}

/* Returns the caller's sp: @sender, but at least the address above the frame record at @fp.
 * Interpreted callers are found by fp alone. */
UNWIND_INLINE uint64_t unwind_sender_sp(uint64_t fp, uint64_t sender)
{
    return sender < fp + 16 ? fp + 16 : sender;
}

/* Returns the caller's sp while a method is entered: sp itself, or the register `sender` if the
 * method has moved sp. */
UNWIND_INLINE uint64_t unwind_entry_sp(const struct unwind_walk *w, const struct unwind_process *p)
{
    uint64_t sender = p->vm.virtual_threads ? w->registers.sender : w->registers.sender_17;

    return (sender & 7) || sender - w->at.sp >= UNWIND_INTERPRETER_BYTES_MAX ? w->at.sp : sender;
}

#define UNWIND_ENTRY_INSTRUCTIONS 96 /* most in an interpreter entry, up to its frame */

/* Returns 1 if the interpreter makes its frame a few instructions after w->at.pc. */
UNWIND_FUNCTION int unwind_frame_follows(struct unwind_walk *w)
{
    uint32_t i, code = 0;

    if (!w)
        return 0;
    UNWIND_LOOP
    for (i = 0; i < UNWIND_ENTRY_INSTRUCTIONS; i++) {
        if (!unwind_read_u32(w, w->at.pc + i * 4, &code))
            return 0;
        if (unwind_is_stp_pair(code))
            return 1;
    }
    return 0;
}

/* Sets the rule if a method is being entered. Its Method* is then in a register, and the return
 * address in the link register. The latter stays there for a few instructions after it was
 * saved. */
UNWIND_FUNCTION int unwind_entering(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t fp, saved = 0, method = 0;

    if (!w || !p || !w->exact || unwind_java_return(w, p, w->registers.link) <= 0)
        return 0;
    fp = w->at.fp;
    if (unwind_frame_follows(w) <= 0) {
        if (fp < w->at.sp || fp - w->at.sp > 80 || (fp & 7) || !unwind_stack(w, fp + 8, &saved) ||
            unwind_unsigned(saved) != w->registers.link || !unwind_stack(w, fp - 24, &method) ||
            method == w->registers.method || !unwind_stack(w, fp, &fp))
            return 0;
    }
    if (!unwind_read_u64(w, w->registers.method + p->vm.method_const, &method) || !method)
        return 0;
    unwind_set_rule(w, UNWIND_BASE_ENTRY, 0, 0, false);
    w->next.pc = w->registers.link;
    w->next.sp = unwind_entry_sp(w, p);
    w->next.fp = fp;
    return 1;
}

/* ---- stubs ---- */

/* Returns 1 if the link register leads back into the stubs' own blob, as after a call between
 * stubs. */
UNWIND_FUNCTION int unwind_link_inside(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t blob;

    if (!w || !p)
        return 0;
    blob = w->blob;
    return unwind_in_code_cache(p, w->registers.link) &&
                   w->registers.link != p->vm.call_stub_return &&
                   unwind_find_blob(w, p, w->registers.link - 1) > 0 && w->blob == blob
               ? 1
               : 0;
}

/* Returns 1 if the link register leads to code that has a caller itself, with its stack pointer at
 * @sp. */
UNWIND_FUNCTION int unwind_link_fits(struct unwind_walk *w, struct unwind_process *p, uint64_t sp)
{
    if (!w || !p)
        return 0;
    return unwind_caller_fits(w, p, w->registers.link, sp) ? 1 : 0;
}

/* Sets the rule for a stub without a frame. It may have pushed words: the caller's frame begins
 * above them. */
UNWIND_FUNCTION int unwind_leaf_stub(struct unwind_walk *w, struct unwind_process *p)
{
    uint32_t i;

    if (!w || !p || unwind_any_return(w, p, w->registers.link) <= 0)
        return 0;
    unwind_set_rule(w, UNWIND_BASE_SP, UNWIND_LEAF_CFA, 0, false);
    if (!unwind_in_code_cache(p, w->registers.link))
        return 1; /* libjvm called the stub */
    for (i = 0; i < UNWIND_STUB_WORDS_MAX; i++) {
        if (unwind_link_fits(w, p, w->at.sp + 8 * (uint64_t)i) <= 0)
            continue;
        unwind_set_rule(w, UNWIND_BASE_SP, (int32_t)(8 * i), 0, false);
        return 1;
    }
    return 0;
}

/* Finds the rule for stubs without a frame size: call_stub, copies, digests, barriers. */
UNWIND_FUNCTION int unwind_stub_rule(struct unwind_walk *w, struct unwind_process *p)
{
    struct unwind_stub_words *s;
    bool framed;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    s = &w->stub;
    s->by_fp = 0;
    unwind_set_stub(w);
    framed = unwind_fp_near(w) && unwind_stack(w, w->at.fp + 8, &s->by_fp);
    s->by_fp = unwind_unsigned(s->by_fp);
    if (!w->exact || (framed && (s->by_fp == w->registers.link || unwind_link_inside(w, p) > 0))) {
        unwind_set_rule(w, UNWIND_BASE_FP, 16, -16, !w->exact);
        if (framed && unwind_any_return(w, p, s->by_fp) > 0)
            return 0;
        if (!w->exact)
            return UNWIND_END_STUB;
    }
    if (unwind_leaf_stub(w, p) > 0)
        return 0;
    unwind_set_rule(w, UNWIND_BASE_FP, 16, -16, false);
    return framed && unwind_any_return(w, p, s->by_fp) > 0 ? 0 : UNWIND_END_STUB;
}

/* ---- adapters ---- */

/* Sets the rule for an interrupted adapter. If the adapter leads into the interpreter, its frame is
 * output as the interpreted method. */
UNWIND_FUNCTION int unwind_exact_adapter(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t ra, sp;

    if (!w || !p)
        return 0;
    ra = w->registers.link;
    sp = unwind_entry_sp(w, p);
    if (unwind_java_return(w, p, ra) <= 0)
        return 0;
    if (!unwind_caller_fits(w, p, ra, sp))
        sp = w->at.sp;
    unwind_set_direct(w, ra, sp);
    if (unwind_adapter_method(w, p, ra) > 0) {
        w->rule.kind = UNWIND_INTERPRETED;
        w->rule.base = UNWIND_BASE_ENTRY;
    }
    return 1;
}

/* Finds the rule for adapters and for vtable and itable stubs. They have no frame, except an
 * adapter that calls the VM to change the call that led to it. */
UNWIND_FUNCTION int unwind_adapter_rule(struct unwind_walk *w, struct unwind_process *p)
{
    bool adapter;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    unwind_set_stub(w);
    adapter = w->blob_name == UNWIND_NAME('I', '2', 'C', '/', 'C', '2', 'I', ' ');
    if (w->exact && adapter && unwind_exact_adapter(w, p) > 0)
        return 0;
    if (w->exact && unwind_try_leaf(w, p, true))
        return 0;
    unwind_set_rule(w, UNWIND_BASE_FP, 16, -16, false);
    return unwind_fp_near(w) && unwind_returns_at(w, p, w->at.fp + 8, true) ? 0 : UNWIND_END_STUB;
}
