/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rules for runtime blobs, which the VM generates beside methods. Functions return 0 and set
 * w->rule, or return an enum unwind_end.
 */
#pragma once

#include "unwind/arch/arch_rules.h"

/* Finds the rule for a runtime blob: slow paths, safepoint polls, deoptimization, exceptions. */
UNWIND_FUNCTION int unwind_runtime_rule(struct unwind_walk *w, struct unwind_process *p)
{
    struct unwind_code code;
    int32_t size, complete;
    uint32_t shape = UNWIND_SHAPE_WHOLE;
    uint64_t ra;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    unwind_set_stub(w);
    if (!unwind_frame_facts(w, p, &size, &complete))
        return UNWIND_END_RUNTIME;
    if (!w->exact && size) {
        /* The return address of a safepoint blob is the poll itself, which no call precedes. */
        unwind_set_rule(w, UNWIND_BASE_SP, size, -16, true);
        if (unwind_stack(w, w->at.sp + (uint64_t)size - 8, &ra) &&
            (unwind_in_code_cache(p, ra) || unwind_find_mapping(w, p, ra) > 0))
            return 0;
    } else if (w->exact) {
        if (!unwind_read_code(w, &code))
            return UNWIND_END_RUNTIME;
        if (w->at.pc - w->blob_code < (uint64_t)(int64_t)complete)
            /* Both may be any number, so the difference wraps. */
            shape = unwind_prologue(w, &code,
                                    (int32_t)((uint64_t)complete - (w->at.pc - w->blob_code)));
        else
            shape = unwind_epilogue(&code, size);
        if (unwind_try_shape(w, p, shape, size, true)) {
            w->rule.keep = 0;
            return 0;
        }
        if (size && unwind_stack(w, w->at.sp + (uint64_t)size - 8, &ra) &&
            unwind_in_code_cache(p, ra)) {
            unwind_set_rule(w, UNWIND_BASE_SP, size, -16, false);
            return 0;
        }
    }
    if (unwind_fp_near(w) && unwind_returns_at(w, p, w->at.fp + 8, true)) {
        unwind_set_rule(w, UNWIND_BASE_FP, 16, -16, false);
        return 0;
    }
    if (unwind_try_probe(w, p, 0, UNWIND_PROBE_MAX)) {
        if (w->rule.cfa < 16)
            w->rule.fp = 0;
        return 0;
    }
    /* libjvm may have called the blob. */
    return w->exact && unwind_try_leaf(w, p, true) ? 0 : UNWIND_END_RUNTIME;
}
