/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Parts of the rules for code of a HotSpot VM. They try a frame's size and shape, and test the word
 * in the place of its return address.
 */
#pragma once

#include "unwind/codecache.h"

/* Sets w->rule: @cfa is where the frame ends, @fp where the caller's frame pointer lies, both in
 * bytes. */
UNWIND_INLINE void unwind_set_rule(struct unwind_walk *w, uint8_t base, int32_t cfa, int16_t fp,
                                   bool keep)
{
    w->rule.base = base;
    w->rule.cfa = cfa;
    w->rule.fp = fp;
    w->rule.keep = keep;
}

/* Makes w->rule that of a stub. */
UNWIND_INLINE void unwind_set_stub(struct unwind_walk *w)
{
    w->rule.kind = UNWIND_STUB;
    w->rule.blob = 0;
    w->rule.compile_id = 0;
}

/* Returns whether fp is a little above sp, so that it may lead to the caller's frame pointer. */
UNWIND_INLINE bool unwind_fp_near(const struct unwind_walk *w)
{
    return w->at.fp >= w->at.sp && w->at.fp - w->at.sp < 8192 && (w->at.fp & 7) == 0;
}

/* Returns whether w->rule, based on sp, finds a return address into Java code (with @native: into
 * any code). */
UNWIND_INLINE bool unwind_rule_returns(struct unwind_walk *w, struct unwind_process *p, bool native)
{
    uint64_t cfa = w->at.sp + (uint64_t)(int64_t)w->rule.cfa;

    if (!unwind_ra_in_link(w->rule.fp))
        return unwind_returns_at(
            w, p, cfa + (uint64_t)(int64_t)unwind_ra_place(w->rule.fp, w->rule.cfa), native);
    if (!w->exact)
        return false;
    return (native ? unwind_any_return(w, p, w->registers.link)
                   : unwind_java_return(w, p, w->registers.link)) > 0;
}

/* Sets the rule for code that has saved nothing. Returns whether the rule finds a return
 * address. */
UNWIND_INLINE bool unwind_try_leaf(struct unwind_walk *w, struct unwind_process *p, bool native)
{
    unwind_set_rule(w, UNWIND_BASE_SP, UNWIND_LEAF_CFA, 0, false);
    return unwind_rule_returns(w, p, native);
}

/* Sets the rule for a frame of @size bytes in @shape. Returns whether the rule finds a return
 * address. */
UNWIND_INLINE bool unwind_try_shape(struct unwind_walk *w, struct unwind_process *p, uint32_t shape,
                                    int32_t size, bool native)
{
    int32_t cfa = size;
    int16_t fp = -16;

    if (shape == UNWIND_SHAPE_RETURN) {
        cfa = UNWIND_LEAF_CFA;
        fp = 0;
    } else if (shape == UNWIND_SHAPE_FP) {
        cfa = 16;
    } else if (shape == UNWIND_SHAPE_WHOLE_FP) {
        fp = 0;
    }
    if (cfa < UNWIND_LEAF_CFA)
        return false;
    unwind_set_rule(w, UNWIND_BASE_SP, cfa, cfa < 16 ? 0 : fp, true);
    return unwind_rule_returns(w, p, native);
}

/* Reads the instructions around w->at.pc. Return: false if they cannot be read. */
UNWIND_INLINE bool unwind_read_code(struct unwind_walk *w, struct unwind_code *c)
{
    return unwind_read(w, c, sizeof(*c), w->at.pc - 8);
}

/* Reads the frame size of the blob w->blob, in bytes (0: none), and the offset in its code where
 * the frame is complete. */
UNWIND_INLINE bool unwind_frame_facts(struct unwind_walk *w, const struct unwind_process *p,
                                      int32_t *ret_size, int32_t *ret_complete)
{
    int32_t words, complete = 0;
    int16_t complete2;

    if (!unwind_read(w, &words, 4, w->blob + p->vm.blob_frame_size))
        return false;
    if (p->vm.frame_complete_bytes == 2) {
        if (!unwind_read(w, &complete2, 2, w->blob + p->vm.blob_frame_complete))
            return false;
        complete = complete2;
    } else if (!unwind_read(w, &complete, 4, w->blob + p->vm.blob_frame_complete)) {
        return false;
    }
    *ret_size = words > 0 && words < (int32_t)(UNWIND_STEP_BYTES_MAX / 8) ? words * 8 : 0;
    *ret_complete = complete;
    return true;
}

/* Sets the rule by the first return address into Java code in the @words words above a frame of
 * @size bytes. Compiled code pushes such words around calls of stubs. Return: false if there is no
 * return address. */
UNWIND_INLINE bool unwind_try_probe(struct unwind_walk *w, struct unwind_process *p, int32_t size,
                                    uint32_t words)
{
    int at = unwind_probe(w, p, w->at.sp + (uint64_t)size, words);

    if (at <= 0)
        return false;
    unwind_set_rule(w, UNWIND_BASE_SP, size + at * 8, size + at * 8 >= 16 ? -16 : 0, false);
    return true;
}

/* Returns whether compiled code that continues at @ra, with its stack pointer at @sp, has a caller.
 * Returns true without a test if @ra is in code of another kind. */
UNWIND_INLINE bool unwind_caller_fits(struct unwind_walk *w, struct unwind_process *p, uint64_t ra,
                                      uint64_t sp)
{
    struct unwind_stub_caller *c = &w->caller;

    if (unwind_in_interpreter(p, ra))
        return true;
    if (unwind_find_blob(w, p, ra - 1) <= 0)
        return false;
    if (!unwind_is_nmethod(w->blob_name))
        return true;
    return unwind_frame_facts(w, p, &c->size, &c->complete) && c->size >= 8 &&
           unwind_returns_at(w, p, sp + (uint64_t)c->size - 8, false);
}

/* Sets the rule for a caller at @pc with its stack pointer at @sp and the current fp. */
UNWIND_INLINE void unwind_set_direct(struct unwind_walk *w, uint64_t pc, uint64_t sp)
{
    unwind_set_rule(w, UNWIND_BASE_DIRECT, 0, 0, false);
    w->next.pc = pc;
    w->next.sp = sp;
    w->next.fp = w->at.fp;
}

/* Returns 1 if an adapter that was called from @ra leads from compiled code into the interpreter.
 * Such an adapter keeps the called method in its register from its first to its last
 * instruction. */
UNWIND_FUNCTION int unwind_adapter_method(struct unwind_walk *w, struct unwind_process *p,
                                          uint64_t ra)
{
    uint64_t constant = 0;

    if (!w || !p || unwind_in_interpreter(p, ra) || unwind_find_blob(w, p, ra - 1) <= 0 ||
        !unwind_is_nmethod(w->blob_name))
        return 0;
    return unwind_read_u64(w, w->registers.method + p->vm.method_const, &constant) && constant ? 1
                                                                                               : 0;
}
