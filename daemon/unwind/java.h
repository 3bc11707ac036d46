/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rules for frames of Java methods: compiled methods, native wrappers, interpreted methods.
 * Functions return 0 and set w->rule, or return an enum unwind_end.
 */
#pragma once

#include "unwind/arch/arch_rules.h"

/* Finds the rule of a compiled method or native wrapper. Their callers are Java code or stubs,
 * never native code. A stack word that points to native code is left over from an earlier call. */
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
            w->at.pc = pc; /* the pc at which the frame was deoptimized */
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
    shape = early ? unwind_prologue(w, &code, complete - (int32_t)(w->at.pc - w->blob_code))
                  : unwind_epilogue(&code, size);
    if (unwind_try_shape(w, p, shape, size, false))
        return 0;
    if (early) {
        /* The instructions did not decide: the first shape with a valid return address wins. */
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

/* Finds the rule of interpreter code. Interpreted frames are found by fp. */
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
        unwind_stack(w, fp - 24, &method) && unwind_stack(w, fp - 8, &sender) &&
        unwind_sender_fits(fp, sender) && method &&
        unwind_read_u64(w, method + p->vm.method_const, &constant) && constant)
        return 0;
    if (w->exact && unwind_try_leaf(w, p, false)) { /* the last instructions, after the frame was
                                                     * removed */
        w->rule.kind = UNWIND_STUB;
        return 0;
    }
    return UNWIND_END_INTERPRETED;
}
