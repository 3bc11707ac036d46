/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rules for code that the VM generates beside methods: stubs, adapters, blobs of the runtime. 0
 * and w->rule, or the enum unwind_end that says what was not found.
 */
#pragma once

#include "unwind/rules.h"

/* Whether compiled code that would return to @ra with its stack pointer at @sp has a caller. Code
 * of other kinds is not looked at. */
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

/* Whether the word at @sp returns behind a direct call of the stub that w->at.pc is in, and that
 * caller has a caller itself. The stub begins at or behind @low. 2: it pushes rbp. */
UNWIND_FUNCTION int unwind_stub_return(struct unwind_walk *w, struct unwind_process *p,
                                       uint64_t low, uint64_t sp)
{
    struct unwind_stub_caller *c;
    uint64_t target;

    if (!w || !p)
        return 0;
    c = &w->caller;
    if (!unwind_stack(w, sp, &c->ra) || !unwind_in_code_cache(p, c->ra))
        return 0;
    target = unwind_call_target(w, c->ra);
    if (target < low || target > w->at.pc || !unwind_caller_fits(w, p, c->ra, sp + 8))
        return 0;
    return unwind_read(w, &c->first, 1, target) && c->first == 0x55 ? 2 : 1;
}

/*
 * Digests and ciphers make room on the stack, align it, and use rbp for their own ends. Their
 * return address is the first word that stands behind a direct call of theirs, if its caller has a
 * caller itself. What earlier calls left lies here too. 1 and w->rule.
 */
UNWIND_INLINE int unwind_large_stub(struct unwind_walk *w, struct unwind_process *p, uint64_t low)
{
    uint32_t i;
    int found;

    for (i = 0; i < UNWIND_STUB_WORDS_MAX; i++) {
        found = unwind_stub_return(w, p, low, w->at.sp + 8 * (uint64_t)i);
        if (found <= 0)
            continue;
        unwind_set_rule(w, UNWIND_BASE_SP, (int32_t)(8 * i + 8), found == 2 && i ? -16 : 0, false);
        return 1;
    }
    return 0;
}

/* Stubs without a frame size: call_stub, copies, digests, barriers. */
UNWIND_FUNCTION int unwind_stub_rule(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t code, low, near_fp = ~0ULL, near_sp = ~0ULL, target;
    struct unwind_stub_words *s;
    bool fp_near, fp_ok, sp_ok;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    s = &w->stub;
    s->by_fp = 0;
    s->by_sp = 0;
    low = w->blob_code;
    w->rule.kind = UNWIND_STUB;
    w->rule.blob = 0;
    w->rule.compile_id = 0;
    fp_near = w->at.fp >= w->at.sp && w->at.fp - w->at.sp < 8192 && (w->at.fp & 7) == 0;
    if (fp_near && unwind_stack(w, w->at.fp + 8, &s->by_fp) && s->by_fp == ~0ULL) {
        /* The method entry barrier has a cookie under its return address. */
        unwind_set_rule(w, UNWIND_BASE_FP, 24, -24, false);
        if (unwind_returns_at(w, p, w->at.fp + 16, false))
            return 0;
    }
    if (!w->exact) {
        if (!fp_near)
            return UNWIND_END_STUB;
        unwind_set_rule(w, UNWIND_BASE_FP, 16, -16, true);
        return unwind_returns_at(w, p, w->at.fp + 8, true) ? 0 : UNWIND_END_STUB;
    }
    if (!unwind_read_code(w, &s->code))
        return UNWIND_END_STUB;
    code = s->code.at & 0xff;
    if (code == 0x55 || code == 0xc3) { /* at push rbp, at ret */
        unwind_set_rule(w, UNWIND_BASE_SP, 8, 0, false);
        if (unwind_returns_at(w, p, w->at.sp, true))
            return 0;
    }
    if (UNWIND_BACK(s->code.before, 1) == 0x55) { /* after push rbp */
        unwind_set_rule(w, UNWIND_BASE_SP, 16, -16, false);
        if (unwind_returns_at(w, p, w->at.sp + 8, true))
            return 0;
    }
    /* A frame at rbp or none: the caller whose call goes nearest below the pc is the right one. */
    fp_ok = fp_near && unwind_java_return(w, p, s->by_fp) > 0;
    sp_ok = unwind_stack(w, w->at.sp, &s->by_sp) && unwind_java_return(w, p, s->by_sp) > 0;
    if (fp_ok) {
        target = unwind_call_target(w, s->by_fp);
        if (target && target <= w->at.pc)
            near_fp = w->at.pc - target;
    }
    if (sp_ok) {
        target = unwind_call_target(w, s->by_sp);
        if (target && target <= w->at.pc)
            near_sp = w->at.pc - target;
    }
    if (fp_ok && near_fp < near_sp) {
        unwind_set_rule(w, UNWIND_BASE_FP, 16, -16, false);
        return 0;
    }
    if (sp_ok) {
        unwind_set_rule(w, UNWIND_BASE_SP, 8, 0, false);
        return 0;
    }
    if (fp_ok) {
        unwind_set_rule(w, UNWIND_BASE_FP, 16, -16, false);
        return 0;
    }
    if (unwind_large_stub(w, p, low) > 0)
        return 0;
    if (unwind_try_probe(w, p, 0, UNWIND_PROBE_MAX)) {
        w->rule.fp = 0; /* what lies below is the stub's, not rbp */
        return 0;
    }
    /* A stub that libjvm called. */
    if (fp_near && s->by_fp && unwind_find_mapping(w, p, s->by_fp) > 0) {
        unwind_set_rule(w, UNWIND_BASE_FP, 16, -16, false);
        return 0;
    }
    unwind_set_rule(w, UNWIND_BASE_SP, 8, 0, false);
    return unwind_find_mapping(w, p, s->by_sp) > 0 ? 0 : UNWIND_END_STUB;
}

/* The caller is @pc with its stack pointer at @sp; fp is still its own. */
UNWIND_INLINE void unwind_set_direct(struct unwind_walk *w, uint64_t pc, uint64_t sp)
{
    unwind_set_rule(w, UNWIND_BASE_DIRECT, 0, 0, false);
    w->next.pc = pc;
    w->next.sp = sp;
    w->next.fp = w->at.fp;
}

/*
 * An adapter that has the VM change the call that led here (SharedRuntime::fixup_callers_callsite).
 * All registers lie on the stack, the general ones behind @fpu bytes of the others. Among them are
 * r13 (the adapter's own stack pointer) and rax (the return address that lies there). 1 and
 * w->rule.
 */
UNWIND_FUNCTION int unwind_saved_adapter(struct unwind_walk *w, struct unwind_process *p,
                                         uint64_t fpu)
{
    uint64_t rax = 0, r13 = 0, ra = 0, end;

    if (!w || !p)
        return 0;
    end = w->at.sp + fpu + UNWIND_CPU_STATE_BYTES;
    if (!unwind_stack(w, w->at.sp + fpu + UNWIND_CPU_STATE_R13, &r13) || r13 - end > 8 ||
        !unwind_stack(w, w->at.sp + fpu + UNWIND_CPU_STATE_RAX, &rax) ||
        !unwind_stack(w, r13, &ra) || ra != rax || unwind_java_return(w, p, ra) <= 0)
        return 0;
    unwind_set_direct(w, ra, r13 + 8);
    return 1;
}

/* Whether an adapter that was called from @ra leads from compiled code into the interpreter. Then
 * the called method is in rbx from its first to its last instruction. */
UNWIND_FUNCTION int unwind_adapter_method(struct unwind_walk *w, struct unwind_process *p,
                                          uint64_t ra)
{
    uint64_t constant = 0;

    if (!w || !p || unwind_in_interpreter(p, ra) || unwind_find_blob(w, p, ra - 1) <= 0 ||
        !unwind_is_nmethod(w->blob_name))
        return 0;
    return unwind_read_u64(w, w->rbx + p->vm.method_const, &constant) && constant ? 1 : 0;
}

/* An adapter at which a thread stands: r13 is the stack pointer from before it made room. On the
 * way into the interpreter it is the entry of the interpreted method. */
UNWIND_FUNCTION int unwind_exact_adapter(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t rax, r13, ra = 0;

    if (!w || !p)
        return 0;
    rax = w->rax;
    r13 = w->r13;
    if (unwind_java_return(w, p, rax) <= 0)
        return 0;
    if (r13 < w->at.sp || r13 - w->at.sp >= 4096 || (r13 & 7)) {
        /* popped, to make room for the interpreter's arguments */
        if (unwind_stack(w, w->at.sp, &ra) && ra == rax)
            return 0;
        r13 = w->at.sp;
    } else if (unwind_stack(w, r13, &ra) && ra == rax) {
        r13 += 8; /* not popped: the registers are about to be saved */
    }
    unwind_set_direct(w, rax, r13);
    if (unwind_adapter_method(w, p, rax) > 0) {
        w->rule.kind = UNWIND_INTERPRETED;
        w->rule.base = UNWIND_BASE_ENTRY;
    }
    return 1;
}

/* vtable and itable stubs, adapters: no frame of their own, at most some words pushed again. */
UNWIND_FUNCTION int unwind_adapter_rule(struct unwind_walk *w, struct unwind_process *p)
{
    bool adapter;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    w->rule.kind = UNWIND_STUB;
    w->rule.blob = 0;
    w->rule.compile_id = 0;
    adapter = w->blob_name == UNWIND_NAME('I', '2', 'C', '/', 'C', '2', 'I', ' ');
    if (adapter && w->exact && unwind_exact_adapter(w, p) > 0)
        return 0;
    if (adapter && (unwind_saved_adapter(w, p, UNWIND_CPU_STATE_FPU) > 0 ||
                    unwind_saved_adapter(w, p, UNWIND_CPU_STATE_FPU_8) > 0))
        return 0;
    if (unwind_try_probe(w, p, 0, 4)) {
        w->rule.fp = 0;
        return 0;
    }
    unwind_set_rule(w, UNWIND_BASE_SP, 8, 0, false);
    return unwind_returns_at(w, p, w->at.sp, true) ? 0 : UNWIND_END_STUB;
}

/* The blobs of the runtime: slow paths, safepoint polls, deoptimization, exceptions. */
UNWIND_FUNCTION int unwind_runtime_rule(struct unwind_walk *w, struct unwind_process *p)
{
    struct unwind_code code;
    int32_t size, complete;
    uint32_t shape = UNWIND_SHAPE_WHOLE;
    uint64_t ra;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    w->rule.kind = UNWIND_STUB;
    w->rule.blob = 0;
    w->rule.compile_id = 0;
    if (!unwind_frame_facts(w, p, &size, &complete))
        return UNWIND_END_RUNTIME;
    if (!w->exact && size) {
        /* A safepoint's return address is the poll's own: no call stands before it. */
        unwind_set_rule(w, UNWIND_BASE_SP, size, -16, true);
        if (unwind_stack(w, w->at.sp + (uint64_t)size - 8, &ra) &&
            (unwind_in_code_cache(p, ra) || unwind_find_mapping(w, p, ra) > 0))
            return 0;
    } else if (w->exact) {
        if (!unwind_read_code(w, &code))
            return UNWIND_END_RUNTIME;
        if (w->at.pc - w->blob_code < (uint64_t)(int64_t)complete)
            shape = unwind_prologue(&code);
        else
            shape = unwind_epilogue(&code);
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
    if (w->at.fp >= w->at.sp && w->at.fp - w->at.sp < 8192 && (w->at.fp & 7) == 0 &&
        unwind_returns_at(w, p, w->at.fp + 8, true)) {
        unwind_set_rule(w, UNWIND_BASE_FP, 16, -16, false);
        return 0;
    }
    if (unwind_try_probe(w, p, 0, UNWIND_PROBE_MAX)) {
        if (w->rule.cfa < 16)
            w->rule.fp = 0;
        return 0;
    }
    unwind_set_rule(w, UNWIND_BASE_SP, 8, 0, false); /* one that libjvm called */
    return w->exact && unwind_returns_at(w, p, w->at.sp, true) ? 0 : UNWIND_END_RUNTIME;
}
