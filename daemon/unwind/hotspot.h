/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Picks the rule for any code of a HotSpot VM. At two places the walk continues elsewhere: below a
 * virtual thread, and at the anchor that Java code set before it called native code. Each function
 * finds the caller of w->at, checks it and sets w->rule. Unless its comment says otherwise, it
 * returns 0 or an enum unwind_end.
 */
#pragma once

#include "unwind/java.h"
#include "unwind/stubs.h"

/* Finds the frame below the oldest mounted frame of a virtual thread, by the ContinuationEntry of
 * its JavaThread. Returns whether w->next is that frame. */
UNWIND_INLINE bool unwind_entry_by_thread(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t entry = 0;

    if (!w->registers.thread || !p->vm.thread_cont_entry ||
        !unwind_read_u64(w, w->registers.thread + p->vm.thread_cont_entry, &entry) || (entry & 7) ||
        entry < w->at.sp || entry - w->at.sp > UNWIND_STEP_BYTES_MAX)
        return false;
    entry += p->vm.cont_entry_bytes;
    if (!unwind_read_u64(w, entry, &w->next.fp) || !unwind_read_u64(w, entry + 8, &w->next.pc))
        return false;
    w->next.pc = unwind_unsigned(w->next.pc);
    w->next.sp = entry + 16;
    return unwind_java_return(w, p, w->next.pc) > 0;
}

/* Finds the carrier's frame below a virtual thread that has frozen frames. w->at.pc is the return
 * barrier. */
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
    /* If the JavaThread is not known, look on the stack. The ContinuationEntry is on top, or above
     * a few words of arguments. Its fp and return address follow it. */
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
    w->next.pc = unwind_unsigned(w->next.pc);
    w->next.sp = at + 8;
    return 0;
}

/*
 * Continues a walk that native code stopped, at the last Java frame of the thread. The VM keeps
 * that frame in a JavaFrameAnchor while a thread is outside of Java. An anchor above the stack
 * pointer belongs to this stack. Leaf calls set no anchor. Returns 1 if w->rule leads to the
 * anchor, 0 if there is none.
 */
UNWIND_FUNCTION int unwind_anchor_rule(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t thread, sp = 0, pc = 0, fp = 0;

    if (!w || !p || w->anchored || !p->vm.thread_anchor_sp)
        return 0;
    thread = unwind_java_thread(w);
    w->wants_thread = 1; /* cleared below; stays set if the JavaThread is now another thread's */
    if (!thread || !unwind_read_u64(w, thread + p->vm.thread_anchor_sp, &sp) || (sp & 7) ||
        sp <= w->at.sp || sp - w->at.sp > UNWIND_STEP_BYTES_MAX ||
        !unwind_read_u64(w, thread + p->vm.thread_anchor_pc, &pc) ||
        !unwind_read_u64(w, thread + p->vm.thread_anchor_fp, &fp))
        return 0;
    if (!pc && !unwind_read_u64(w, sp - 8, &pc))
        return 0;
    pc = unwind_unsigned(pc);
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

/* Picks the rule for a pc in the code cache. */
UNWIND_INLINE int unwind_java_rule(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t name, *before = &w->step.word;
    int end;

    if (unwind_in_interpreter(p, w->at.pc))
        return unwind_interpreter_rule(w, p);
    if (!unwind_find_blob(w, p, w->exact ? w->at.pc : w->at.pc - 1))
        return UNWIND_END_NO_BLOB;
    name = w->blob_name;
    if (unwind_is_nmethod(name)) {
        end = unwind_compiled_rule(w, p);
        if (!end && p->vm.jvmci)
            unwind_leave_fp(w, p);
        return end;
    }
    if (name == UNWIND_NAME('S', 't', 'u', 'b', 'R', 'o', 'u', 't')) {
        /* Code returns to the barrier, but the barrier is never called: no call precedes it. */
        if (!w->exact && p->vm.virtual_threads && w->at.pc != p->vm.call_stub_return &&
            unwind_read_u64(w, w->at.pc - 8, before) && !unwind_after_call(*before))
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
