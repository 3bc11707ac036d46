/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rules for frames of Java methods: compiled, native wrappers, interpreted. 0 and w->rule, or
 * the enum unwind_end that says what was not found.
 */
#pragma once

#include "unwind/rules.h"

/* Compiled methods and native wrappers. Their callers are Java code or stubs, never native code: a
 * word that points there is left over from an earlier call. */
UNWIND_FUNCTION int unwind_compiled_rule(struct unwind_walk *w, struct unwind_process *p)
{
    struct unwind_code code;
    int32_t size, complete, original;
    uint32_t shape;
    bool early;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    w->rule.kind = UNWIND_COMPILED;
    w->rule.blob = w->blob;
    if (!unwind_frame_facts(w, p, &size, &complete) ||
        !unwind_read_u32(w, w->blob + p->vm.nmethod_compile_id, &w->rule.compile_id))
        return UNWIND_END_NO_BLOB;
    if (!w->exact) {
        bool deopt = false;
        int fallback;
        uint64_t pc;

        if (unwind_is_deopt(w, p, w->at.pc) &&
            unwind_read(w, &original, 4, w->blob + p->vm.nmethod_orig_pc) && original > 0 &&
            original < size && unwind_stack(w, w->at.sp + (uint64_t)original, &pc) &&
            pc > w->blob && pc - w->blob < (64u << 20)) {
            w->at.pc = pc; /* what the frame was doing when its code was given up */
            deopt = true;
        }
        fallback = deopt ? 0 : unwind_fallback_bytes(w, w->at.pc);
        if (fallback > 0 &&
            unwind_try_shape(w, p, UNWIND_SHAPE_WHOLE, size + fallback, /* native= */ false))
            return 0;
        if (unwind_try_shape(w, p, UNWIND_SHAPE_WHOLE, size, false)) {
            if (deopt)
                w->rule.keep = 0;
            return 0;
        }
        return unwind_try_probe(w, p, size, UNWIND_PROBE_MAX) ? 0 : UNWIND_END_COMPILED;
    }
    if (!unwind_read_code(w, &code))
        return UNWIND_END_NO_BLOB;
    early = complete < 0 || size == 0 || w->at.pc - w->blob_code < (uint64_t)(int64_t)complete;
    shape = early ? unwind_prologue(&code) : unwind_epilogue(&code);
    if (unwind_try_shape(w, p, shape, size, false))
        return 0;
    if (early) {
        /* The bytes said nothing certain: what fits is it. */
        if (unwind_try_shape(w, p, UNWIND_SHAPE_RETURN, size, false) ||
            unwind_try_shape(w, p, UNWIND_SHAPE_WHOLE, size, false) ||
            unwind_try_shape(w, p, UNWIND_SHAPE_FP, size, false)) {
            w->rule.keep = 0;
            return 0;
        }
    } else if (shape != UNWIND_SHAPE_WHOLE &&
               unwind_try_shape(w, p, UNWIND_SHAPE_WHOLE, size, false)) {
        return 0;
    }
    return unwind_try_probe(w, p, size, UNWIND_PROBE_MAX) ? 0 : UNWIND_END_COMPILED;
}

/*
 * Changes w->rule where code does not save rbp, which still is the caller's then. A JVMCI compiler
 * saves it only if something in the code may stop or be given up. It is put where C1 and C2 put it,
 * by an instruction near the place from which on the frame is complete.
 */
UNWIND_FUNCTION int unwind_leave_fp(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t from, word = 0, next = 0;
    int32_t size = 0, complete = 0;
    uint32_t i, k;

    if (!w || !p || w->rule.base != UNWIND_BASE_SP || w->rule.fp != -16 ||
        !unwind_frame_facts(w, p, &size, &complete) || complete < 0 || size < 16)
        return 0;
    from = w->blob_code + (uint64_t)(int64_t)complete - UNWIND_SAVE_BEFORE;
    if (!unwind_read_u64(w, from, &word))
        return 0;
    for (i = 0; i < UNWIND_SAVE_WORDS; i++) {
        from += 8;
        if (!unwind_read_u64(w, from, &next))
            return 0;
        for (k = 0; k < 8; k++) {
            if (unwind_saves_fp(word, size))
                return 0;
            word = word >> 8 | next << 56;
            next >>= 8;
        }
    }
    w->rule.fp = 0;
    return 1;
}

/* The caller is known though the interpreter's frame is not whole yet: Method* is in rbx. What
 * stands right at @pc is not about to enter: it has returned there from compiled code, and has not
 * put rsp back yet. r13 and the word on top may still be those of the call, rbx may be anything. */
UNWIND_INLINE bool unwind_try_entry(struct unwind_walk *w, struct unwind_process *p, uint64_t pc,
                                    uint64_t sp, uint64_t fp)
{
    if (w->at.pc - pc < UNWIND_RETURNED_BYTES || unwind_java_return(w, p, pc) <= 0)
        return false;
    unwind_set_rule(w, UNWIND_BASE_ENTRY, 0, 0, false);
    w->next.pc = pc;
    w->next.sp = sp;
    w->next.fp = fp;
    return true;
}

/* While a method is entered: r13 is the caller's sp until it becomes the bytecode's address. The
 * return address is on top, then in rax while the locals are pushed. Then it is pushed again below
 * rbp. */
UNWIND_FUNCTION int unwind_entering(struct unwind_walk *w, struct unwind_process *p)
{
    struct unwind_code code;
    uint64_t pc, fp = 0;

    if (!w || !p || !w->exact)
        return 0;
    if (w->r13 > w->at.sp && w->r13 - w->at.sp < UNWIND_INTERPRETER_BYTES_MAX) {
        if (w->r13 == w->at.sp + 8 && unwind_stack(w, w->at.sp, &pc) &&
            unwind_try_entry(w, p, pc, w->r13, w->at.fp))
            return 1;
        if (unwind_read_code(w, &code) && UNWIND_BACK(code.before, 1) == 0x55 &&
            unwind_stack(w, w->at.sp, &fp) && unwind_stack(w, w->at.sp + 8, &pc) &&
            unwind_try_entry(w, p, pc, w->r13, fp))
            return 1;
        if (w->at.fp >= w->at.sp && w->at.fp - w->at.sp <= 8 && unwind_stack(w, w->at.fp, &fp) &&
            unwind_stack(w, w->at.fp + 8, &pc) && unwind_try_entry(w, p, pc, w->r13, fp))
            return 1;
        if (unwind_try_entry(w, p, w->rax, w->r13, w->at.fp))
            return 1;
        return unwind_stack(w, w->at.sp, &pc) && unwind_try_entry(w, p, pc, w->r13, w->at.fp);
    }
    /* The frame is begun: sender_sp is there, Method* is not. */
    return w->at.fp - 8 >= w->at.sp && w->at.fp - 24 < w->at.sp &&
           unwind_stack(w, w->at.fp - 8, &pc) && pc > w->at.fp &&
           pc - w->at.fp < 2 * UNWIND_INTERPRETER_BYTES_MAX && unwind_stack(w, w->at.fp, &fp) &&
           unwind_stack(w, w->at.fp + 8, &w->next.pc) && unwind_try_entry(w, p, w->next.pc, pc, fp);
}

/* The interpreter: its frames hang on rbp. */
UNWIND_FUNCTION int unwind_interpreter_rule(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t method = 0, constant = 0, sender = 0, fp;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    fp = w->at.fp;
    w->rule.kind = UNWIND_INTERPRETED;
    w->rule.blob = 0;
    w->rule.compile_id = 0;
    if (unwind_entering(w, p) > 0)
        return 0;
    unwind_set_rule(w, UNWIND_BASE_INTERPRETER, 0, 0, !w->exact);
    if (fp >= w->at.sp && fp - w->at.sp < UNWIND_INTERPRETER_BYTES_MAX && (fp & 7) == 0 &&
        unwind_stack(w, fp - 24, &method) && unwind_stack(w, fp - 8, &sender) && sender > fp &&
        sender - fp < 2 * UNWIND_INTERPRETER_BYTES_MAX && method &&
        unwind_read_u64(w, method + p->vm.method_const, &constant) && constant)
        return 0;
    if (w->exact && unwind_returns_at(w, p, w->at.sp, false)) { /* its last instructions */
        w->rule.kind = UNWIND_STUB;
        unwind_set_rule(w, UNWIND_BASE_SP, 8, 0, false);
        return 0;
    }
    return UNWIND_END_INTERPRETED;
}
