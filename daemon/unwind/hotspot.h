/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rules for code of a HotSpot VM, one function for each kind of frame. Each finds the caller of
 * w->at, checks it, and leaves w->rule; 0, or the enum unwind_end that says what was not found.
 */
#pragma once

#include "unwind/codecache.h"

UNWIND_INLINE void unwind_set_rule(struct unwind_walk *w, uint8_t base, int32_t cfa, int16_t fp,
                                   bool keep)
{
    w->rule.base = base;
    w->rule.cfa = cfa;
    w->rule.fp = fp;
    w->rule.keep = keep;
}

/* Sets the rule for a frame of @size bytes in @shape and returns whether its return address is one.
 */
UNWIND_INLINE bool unwind_try_shape(struct unwind_walk *w, struct unwind_process *p, uint32_t shape,
                                    int32_t size, bool native)
{
    int32_t cfa = size;
    int16_t fp = -16;

    if (shape == UNWIND_SHAPE_RETURN) {
        cfa = 8;
        fp = 0;
    } else if (shape == UNWIND_SHAPE_FP) {
        cfa = 16;
    } else if (shape == UNWIND_SHAPE_WHOLE_FP) {
        fp = 0;
    }
    if (cfa < 8)
        return false;
    unwind_set_rule(w, UNWIND_BASE_SP, cfa, cfa < 16 ? 0 : fp, true);
    return unwind_returns_at(w, p, w->at.sp + (uint64_t)cfa - 8, native);
}

UNWIND_INLINE bool unwind_read_code(struct unwind_walk *w, struct unwind_code *c)
{
    return unwind_read(w, c, sizeof(*c), w->at.pc - 8);
}

/* Bytes of the frame of the blob at hand, and where it is complete (bytes from the start of its
 * code). */
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

/* Words that compiled code pushes around calls of stubs lie between the frame and what it calls. */
UNWIND_INLINE bool unwind_try_probe(struct unwind_walk *w, struct unwind_process *p, int32_t size,
                                    uint32_t words)
{
    int at = unwind_probe(w, p, w->at.sp + (uint64_t)size, words);

    if (at <= 0)
        return false;
    unwind_set_rule(w, UNWIND_BASE_SP, size + at * 8, size + at * 8 >= 16 ? -16 : 0, false);
    return true;
}

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
        uint64_t pc;

        if (unwind_is_deopt(w, p, w->at.pc) &&
            unwind_read(w, &original, 4, w->blob + p->vm.nmethod_orig_pc) && original > 0 &&
            original < size && unwind_stack(w, w->at.sp + (uint64_t)original, &pc) &&
            pc > w->blob && pc - w->blob < (64u << 20)) {
            w->at.pc = pc; /* what the frame was doing when its code was given up */
            deopt = true;
        }
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

/* The caller is known though the interpreter's frame is not whole yet: Method* is in rbx. */
UNWIND_INLINE bool unwind_try_entry(struct unwind_walk *w, struct unwind_process *p, uint64_t pc,
                                    uint64_t sp, uint64_t fp)
{
    if (unwind_java_return(w, p, pc) <= 0)
        return false;
    unwind_set_rule(w, UNWIND_BASE_ENTRY, 0, 0, false);
    w->next.pc = pc;
    w->next.sp = sp;
    w->next.fp = fp;
    return true;
}

/* While a method is entered: r13 is the caller's sp until it becomes the bytecode's address; the
 * return address is on top, then in rax while the locals are pushed, then pushed again below rbp.
 */
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

/* Whether compiled code that would return to @ra with its stack pointer at @sp has a caller. Code
 * of other kinds is not looked at. */
UNWIND_INLINE bool unwind_caller_fits(struct unwind_walk *w, struct unwind_process *p, uint64_t ra,
                                      uint64_t sp)
{
    int32_t size, complete;

    if (unwind_in_interpreter(p, ra))
        return true;
    if (unwind_find_blob(w, p, ra - 1) <= 0)
        return false;
    if (!unwind_is_nmethod(w->blob_name))
        return true;
    return unwind_frame_facts(w, p, &size, &complete) && size >= 8 &&
           unwind_returns_at(w, p, sp + (uint64_t)size - 8, false);
}

/* Whether the word at @sp returns behind a direct call of the stub of which w->at.pc is a part and
 * which begins at or behind @low, and that caller has a caller itself. 2: the stub pushes rbp. */
UNWIND_FUNCTION int unwind_stub_return(struct unwind_walk *w, struct unwind_process *p,
                                       uint64_t low, uint64_t sp)
{
    uint64_t ra = 0, target;
    uint8_t first = 0;

    if (!w || !p || !unwind_stack(w, sp, &ra) || !unwind_in_code_cache(p, ra))
        return 0;
    target = unwind_call_target(w, ra);
    if (target < low || target > w->at.pc || !unwind_caller_fits(w, p, ra, sp + 8))
        return 0;
    return unwind_read(w, &first, 1, target) && first == 0x55 ? 2 : 1;
}

/*
 * Digests and ciphers make room on the stack, align it, and use rbp for their own ends. Their
 * return address is the first word that stands behind a direct call of theirs, and whose caller has
 * a caller itself: what earlier calls left lies here too. 1 and w->rule.
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
    uint64_t by_fp = 0, by_sp = 0, code = 0, low, near_fp = ~0ULL, near_sp = ~0ULL, target;
    struct unwind_code c;
    bool fp_near, fp_ok, sp_ok;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    low = w->blob_code;
    w->rule.kind = UNWIND_STUB;
    w->rule.blob = 0;
    w->rule.compile_id = 0;
    fp_near = w->at.fp >= w->at.sp && w->at.fp - w->at.sp < 8192 && (w->at.fp & 7) == 0;
    if (fp_near && unwind_stack(w, w->at.fp + 8, &by_fp) && by_fp == ~0ULL) {
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
    if (!unwind_read_code(w, &c))
        return UNWIND_END_STUB;
    code = c.at & 0xff;
    if (code == 0x55 || code == 0xc3) { /* at push rbp, at ret */
        unwind_set_rule(w, UNWIND_BASE_SP, 8, 0, false);
        if (unwind_returns_at(w, p, w->at.sp, true))
            return 0;
    }
    if (UNWIND_BACK(c.before, 1) == 0x55) { /* after push rbp */
        unwind_set_rule(w, UNWIND_BASE_SP, 16, -16, false);
        if (unwind_returns_at(w, p, w->at.sp + 8, true))
            return 0;
    }
    /* A frame at rbp or none: the caller whose call goes nearest below the pc is the right one. */
    fp_ok = fp_near && unwind_java_return(w, p, by_fp) > 0;
    sp_ok = unwind_stack(w, w->at.sp, &by_sp) && unwind_java_return(w, p, by_sp) > 0;
    if (fp_ok) {
        target = unwind_call_target(w, by_fp);
        if (target && target <= w->at.pc)
            near_fp = w->at.pc - target;
    }
    if (sp_ok) {
        target = unwind_call_target(w, by_sp);
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
    if (fp_near && by_fp && unwind_find_mapping(p, by_fp) > 0) {
        unwind_set_rule(w, UNWIND_BASE_FP, 16, -16, false);
        return 0;
    }
    unwind_set_rule(w, UNWIND_BASE_SP, 8, 0, false);
    return unwind_find_mapping(p, by_sp) > 0 ? 0 : UNWIND_END_STUB;
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
 * An adapter that has the VM change the call that led here (SharedRuntime::fixup_callers_callsite):
 * all registers lie on the stack, the general ones behind @fpu bytes of the others. Among them are
 * r13, which is the adapter's own stack pointer, and rax, the return address that lies there. 1 and
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

/* An adapter at which a thread stands: r13 is the stack pointer from before it made room. */
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
            (unwind_in_code_cache(p, ra) || unwind_find_mapping(p, ra) > 0))
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

/* The frame that the virtual thread's oldest frame on this stack stands on, found by the
 * JavaThread. */
UNWIND_INLINE bool unwind_entry_by_thread(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t entry = 0;

    if (!w->thread || !p->vm.thread_cont_entry ||
        !unwind_read_u64(w, w->thread + p->vm.thread_cont_entry, &entry) || (entry & 7) ||
        entry < w->at.sp || entry - w->at.sp > UNWIND_STEP_BYTES_MAX)
        return false;
    entry += p->vm.cont_entry_bytes;
    if (!unwind_read_u64(w, entry, &w->next.fp) || !unwind_read_u64(w, entry + 8, &w->next.pc))
        return false;
    w->next.sp = entry + 16;
    return unwind_java_return(w, p, w->next.pc) > 0;
}

/* Older frames of a virtual thread are frozen: goes on below them, in the carrier's own frames. */
UNWIND_FUNCTION int unwind_barrier_rule(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t at;
    int found;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    w->rule.kind = UNWIND_MARK;
    w->rule.blob = 0;
    w->rule.compile_id = 0;
    unwind_set_rule(w, UNWIND_BASE_DIRECT, 0, 0, false);
    if (unwind_entry_by_thread(w, p))
        return 0;
    /* Where the thread is not known: its ContinuationEntry lies on top of the stack, or a few words
     * of arguments above, and behind it fp and the return address of the frame that it is in. */
    at = w->at.sp + p->vm.cont_entry_bytes + 8;
    found = unwind_probe(w, p, at, UNWIND_PROBE_MAX);
    if (found <= 0) {
        at += 8 * UNWIND_PROBE_MAX;
        found = unwind_probe(w, p, at, UNWIND_PROBE_MAX);
    }
    if (found <= 0)
        return UNWIND_END_THREAD;
    at += 8 * ((uint64_t)found - 1);
    if (!unwind_stack(w, at, &w->next.pc) || !unwind_stack(w, at - 8, &w->next.fp))
        return UNWIND_END_THREAD;
    w->next.sp = at + 8;
    return 0;
}

/*
 * The safety net: where native code gives no way on, the walk goes on at the Java frame that the
 * thread left last, which the VM keeps for each thread outside of Java (JavaFrameAnchor). One that
 * lies above the stack pointer is this stack's; leaf calls set none. 1: w->rule leads there.
 */
UNWIND_FUNCTION int unwind_anchor_rule(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t thread, sp = 0, pc = 0, fp = 0;

    if (!w || !p || w->anchored || !p->vm.thread_anchor_sp)
        return 0;
    thread = unwind_java_thread(w);
    w->wants_thread = 1; /* also where it turns out to be another's by now */
    if (!thread || !unwind_read_u64(w, thread + p->vm.thread_anchor_sp, &sp) || (sp & 7) ||
        sp <= w->at.sp || sp - w->at.sp > UNWIND_STEP_BYTES_MAX ||
        !unwind_read_u64(w, thread + p->vm.thread_anchor_pc, &pc) ||
        !unwind_read_u64(w, thread + p->vm.thread_anchor_fp, &fp))
        return 0;
    if (!pc && !unwind_read_u64(w, sp - 8, &pc))
        return 0;
    if (unwind_in_interpreter(p, pc) ? fp < sp
                                     : !unwind_in_code_cache(p, pc) || !unwind_find_blob(w, p, pc))
        return 0;
    w->anchored = 1;
    w->wants_thread = 0;
    w->rule.blob = 0;
    w->rule.compile_id = 0;
    unwind_set_rule(w, UNWIND_BASE_ANCHOR, 0, 0, false);
    w->next.pc = pc;
    w->next.sp = sp;
    w->next.fp = fp;
    return 1;
}

/* Any pc in the code cache. */
UNWIND_FUNCTION int unwind_java_rule(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t name, before;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    if (unwind_in_interpreter(p, w->at.pc))
        return unwind_interpreter_rule(w, p);
    if (!unwind_find_blob(w, p, w->exact ? w->at.pc : w->at.pc - 1))
        return UNWIND_END_NO_BLOB;
    name = w->blob_name;
    if (unwind_is_nmethod(name))
        return unwind_compiled_rule(w, p);
    if (name == UNWIND_NAME('S', 't', 'u', 'b', 'R', 'o', 'u', 't')) {
        /* The barrier is returned to but never called from. */
        if (!w->exact && p->vm.virtual_threads && w->at.pc != p->vm.call_stub_return &&
            unwind_read_u64(w, w->at.pc - 8, &before) && !unwind_after_call(before))
            return unwind_barrier_rule(w, p);
        return unwind_stub_rule(w, p);
    }
    if (name == UNWIND_NAME('v', 't', 'a', 'b', 'l', 'e', ' ', 'c') ||
        name == UNWIND_NAME('I', '2', 'C', '/', 'C', '2', 'I', ' ') ||
        name == UNWIND_NAME('a', 'd', 'a', 'p', 't', 'e', 'r', 's') ||
        name == UNWIND_NAME('M', 'e', 't', 'h', 'o', 'd', 'H', 'a') ||
        name == UNWIND_NAME('I', 'n', 'l', 'i', 'n', 'e', 'C', 'a'))
        return unwind_adapter_rule(w, p);
    return unwind_runtime_rule(w, p);
}
