/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rules for HotSpot code that differ on x86-64: method entries, stubs, adapters. Functions
 * named _rule return 0 and set w->rule, or return an enum unwind_end. The other ones that set
 * w->rule return 1 if they did.
 */
#pragma once

#include "unwind/rules.h"

/* ---- compiled methods ---- */

/* Where code of a JVMCI compiler may save rbp: from UNWIND_SAVE_BEFORE bytes before its frame is
 * complete, in UNWIND_SAVE_WORDS words. C1 pushes rbp before the entry barrier, Graal saves it
 * after that. */
#define UNWIND_SAVE_BEFORE 40
#define UNWIND_SAVE_WORDS 9

/* Returns 1 if the instruction at the beginning of @code saves rbp into a frame of @size bytes. */
UNWIND_FUNCTION int unwind_saves_fp(uint64_t code, int32_t size)
{
    uint32_t at4 = (uint32_t)code, place = (uint32_t)size - 16;

    if (at4 == 0xec834855 || at4 == 0xec814855 || at4 == 0xec8b4855 || at4 == 0xe5894855)
        return true;       /* push rbp; then sub rsp,n or mov rbp,rsp */
    if (at4 == 0x246c8948) /* mov [rsp+d8],rbp: 48 89 6c 24 */
        return (code >> 32 & 0xff) == place;
    return at4 == 0x24ac8948 && (uint32_t)(code >> 32) == place; /* mov [rsp+d32],rbp */
}

/*
 * Sets w->rule.fp to 0 if the code does not save rbp, which then still is the caller's. A JVMCI
 * compiler saves rbp only if the code may stop at a safepoint or be deoptimized. It uses the same
 * slot as C1 and C2. The saving instruction is near the offset where the frame is complete. Returns
 * 1 if the rule changed.
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

/* ---- the interpreter ---- */

/* Bytes at the interpreter's return entry that restore rsp. Up to JDK 21: mov rsp,[rbp-16]; from 22
 * on: mov rcx,[rbp-16]; lea rsp,[rbp+rcx*8] (seen in 17 and 25). No method entry is this close to
 * it. */
#define UNWIND_RETURNED_BYTES 8

/* Returns whether @sender can be the caller's sp of an interpreted frame at @fp: it lies above. */
UNWIND_INLINE bool unwind_sender_fits(uint64_t fp, uint64_t sender)
{
    return sender > fp && sender - fp < 2 * UNWIND_INTERPRETER_BYTES_MAX;
}

/* Returns the caller's sp, which is @sender on x86-64. */
UNWIND_INLINE uint64_t unwind_sender_sp(uint64_t fp, uint64_t sender)
{
    (void)fp;
    return sender;
}

/* Sets the rule for an interpreter frame under construction with the caller @pc, @sp, @fp: its
 * Method* is in rbx. Refuses a thread at @pc or a few bytes after it. Such a thread has returned
 * there from compiled code and not restored rsp yet. r13 and the top word may still be those of the
 * call, and rbx may be anything. */
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

/* Sets the rule if a method is being entered. r13 is the caller's sp until it becomes the
 * bytecode's address. The return address is on top, then in rax while locals are pushed. Then it is
 * pushed again, and rbp after it. */
UNWIND_FUNCTION int unwind_entering(struct unwind_walk *w, struct unwind_process *p)
{
    struct unwind_code code;
    uint64_t pc, fp = 0, r13;

    if (!w || !p || !w->exact)
        return 0;
    r13 = w->registers.bcp;
    if (r13 > w->at.sp && r13 - w->at.sp < UNWIND_INTERPRETER_BYTES_MAX) {
        if (r13 == w->at.sp + 8 && unwind_stack(w, w->at.sp, &pc) &&
            unwind_try_entry(w, p, pc, r13, w->at.fp))
            return 1;
        if (unwind_read_code(w, &code) && UNWIND_BACK(code.before, 1) == 0x55 &&
            unwind_stack(w, w->at.sp, &fp) && unwind_stack(w, w->at.sp + 8, &pc) &&
            unwind_try_entry(w, p, pc, r13, fp))
            return 1;
        if (w->at.fp >= w->at.sp && w->at.fp - w->at.sp <= 8 && unwind_stack(w, w->at.fp, &fp) &&
            unwind_stack(w, w->at.fp + 8, &pc) && unwind_try_entry(w, p, pc, r13, fp))
            return 1;
        if (unwind_try_entry(w, p, w->registers.link, r13, w->at.fp))
            return 1;
        return unwind_stack(w, w->at.sp, &pc) && unwind_try_entry(w, p, pc, r13, w->at.fp);
    }
    /* The frame is begun: the slot of sender_sp is filled, the slot of Method* is not. */
    return w->at.fp - 8 >= w->at.sp && w->at.fp - 24 < w->at.sp &&
           unwind_stack(w, w->at.fp - 8, &pc) && pc > w->at.fp &&
           pc - w->at.fp < 2 * UNWIND_INTERPRETER_BYTES_MAX && unwind_stack(w, w->at.fp, &fp) &&
           unwind_stack(w, w->at.fp + 8, &w->next.pc) && unwind_try_entry(w, p, w->next.pc, pc, fp);
}

/* ---- stubs ---- */

/* Returns 1 if the word at @sp follows a direct call of the stub that holds w->at.pc. The calling
 * code must have a caller itself. The stub begins at or above @low. Returns 2 if the stub also
 * pushes rbp first. */
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
 * Sets the rule for digests and ciphers. They allocate and align stack and use rbp as a general
 * register. Their return address is the first word that unwind_stub_return() accepts. Words that
 * earlier calls left are passed over.
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

/* Finds the rule for stubs without a frame size: call_stub, copies, digests, barriers. */
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
    unwind_set_stub(w);
    fp_near = unwind_fp_near(w);
    if (fp_near && unwind_stack(w, w->at.fp + 8, &s->by_fp) && s->by_fp == ~0ULL) {
        /* The method entry barrier has a cookie below its return address. */
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
    /* Is there a frame at rbp? Of both possible callers, the one with the call target nearest below
     * the pc is right. */
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
        w->rule.fp = 0; /* the word below belongs to the stub: it is not rbp */
        return 0;
    }
    /* libjvm called the stub. */
    if (fp_near && s->by_fp && unwind_find_mapping(w, p, s->by_fp) > 0) {
        unwind_set_rule(w, UNWIND_BASE_FP, 16, -16, false);
        return 0;
    }
    unwind_set_rule(w, UNWIND_BASE_SP, 8, 0, false);
    return unwind_find_mapping(w, p, s->by_sp) > 0 ? 0 : UNWIND_END_STUB;
}

/* ---- adapters ---- */

/* The layout that HotSpot's push_CPU_state() leaves at sp: the FPU's registers (fewer in JDK 8),
 * the general registers, a word of padding and the flags. */
#define UNWIND_CPU_STATE_FPU 2688
#define UNWIND_CPU_STATE_FPU_8 512
#define UNWIND_CPU_STATE_R13 16 /* bytes above the FPU's registers */
#define UNWIND_CPU_STATE_RAX 120
#define UNWIND_CPU_STATE_BYTES 144

/*
 * Sets the rule for an adapter that calls the VM to change the call that led here
 * (SharedRuntime::fixup_callers_callsite). All registers are saved on the stack, the general ones
 * above @fpu bytes of FPU state. Among them are r13 (the adapter's own stack pointer) and rax (the
 * return address that lies there).
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

/* Sets the rule for an interrupted adapter: r13 is the stack pointer before the adapter moved it.
 * If the adapter leads into the interpreter, its frame is output as the interpreted method. */
UNWIND_FUNCTION int unwind_exact_adapter(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t rax, r13, ra = 0;

    if (!w || !p)
        return 0;
    rax = w->registers.link;
    r13 = w->registers.bcp;
    if (unwind_java_return(w, p, rax) <= 0)
        return 0;
    if (r13 < w->at.sp || r13 - w->at.sp >= 4096 || (r13 & 7)) {
        /* the return address was popped, to make room for the interpreter's arguments */
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

/* Finds the rule for adapters and for vtable and itable stubs. They have no frame, at most some
 * words pushed again. */
UNWIND_FUNCTION int unwind_adapter_rule(struct unwind_walk *w, struct unwind_process *p)
{
    bool adapter;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    unwind_set_stub(w);
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
