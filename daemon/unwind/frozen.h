/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Walks the frozen frames of a mounted virtual thread. These older frames lie in StackChunks in the
 * Java heap until the thread returns into them. Their layout is that of a stack, but stack
 * addresses in them are distances. Only the running thread itself thaws them, so they do not change
 * while it is sampled. Collectors may move the objects that lead to them. So the class of each
 * object is checked, and a chunk must refer back to its continuation.
 */
#pragma once

#include "unwind/forwarding.h"
#include "unwind/oop.h"
#include "unwind/rule_cache.h"

#define UNWIND_CHUNKS_MAX 8
#define UNWIND_CHUNK_WORDS_MAX (1 << 20)
/* A ContinuationEntry, if the VM's tables lack its size: JDK 21 to 25.0.2. It refers to the
 * continuation, without colours. */
#define UNWIND_ENTRY_BYTES 64
#define UNWIND_ENTRY_CONT 16

/* How a function of this file ended. */
enum unwind_frozen_end {
    UNWIND_FROZEN_NONE = 0, /* the end was reached, or there are no frozen frames */
    UNWIND_FROZEN_FOUND = 1,
    UNWIND_FROZEN_BROKEN = 2,
};

/* ---- objects ---- */

/* Looks up w->frozen.object in ZGC's forwarding table at @table. FOUND: w->frozen.object is its new
 * address. */
UNWIND_FUNCTION int unwind_forwarding(struct unwind_walk *w, struct unwind_process *p,
                                      uint64_t table)
{
    struct unwind_frozen_words *f;
    uint64_t offset, index, at;
    uint32_t i;

    if (!w || !p)
        return UNWIND_FROZEN_NONE;
    f = &w->frozen;
    offset = f->object & p->vm.zgc.offset_mask;
    if (!unwind_read(w, &f->forwarding, sizeof(f->forwarding), table) ||
        !unwind_forwarding_index(&f->forwarding, offset, &index))
        return UNWIND_FROZEN_NONE;
    at = unwind_forwarding_hash(index);
    UNWIND_LOOP
    for (i = 0; i < UNWIND_FORWARDING_PROBES; i++, at++) {
        if (!unwind_read_u64(
                w, table + p->vm.zgc.forwarding_bytes + 8 * (at & (f->forwarding.length - 1)),
                &f->word) ||
            !(f->word & UNWIND_ENTRY_POPULATED))
            return UNWIND_FROZEN_NONE;
        if (f->word >> UNWIND_ENTRY_INDEX_SHIFT == index) {
            f->object = unwind_forwarded(&p->vm.zgc, f->object, f->word);
            return UNWIND_FROZEN_FOUND;
        }
    }
    return UNWIND_FROZEN_NONE;
}

/* Turns the coloured reference w->frozen.object into an address. If its colour is bad, looks it up
 * in the forwarding tables. */
UNWIND_INLINE int unwind_uncolour(struct unwind_walk *w, struct unwind_process *p)
{
    struct unwind_frozen_words *f = &w->frozen;
    uint64_t raw = f->object, granule, bad;
    uint32_t i;

    if (!(raw & UNWIND_OOP_COLOURS))
        return UNWIND_FROZEN_BROKEN;
    f->object = unwind_oop(&p->vm.locks, raw);
    if (!p->vm.zgc.bad_mask || !unwind_read_u64(w, p->vm.zgc.bad_mask, &f->word))
        return UNWIND_FROZEN_BROKEN;
    bad = f->word;
    if (!(raw & bad))
        return UNWIND_FROZEN_FOUND;
    granule = (f->object & p->vm.zgc.offset_mask) >> UNWIND_GRANULE_SHIFT;
    if (granule >= p->vm.zgc.granules)
        return UNWIND_FROZEN_BROKEN;
    UNWIND_LOOP
    for (i = 0; i < UNWIND_FORWARDINGS; i++) {
        if (unwind_may_be_moved(true, raw, bad, i) &&
            unwind_read_u64(w, p->vm.zgc.maps[i] + 8 * granule, &f->word) && f->word &&
            unwind_forwarding(w, p, f->word) == UNWIND_FROZEN_FOUND)
            break;
    }
    return UNWIND_FROZEN_FOUND;
}

/* Loads the reference at @at into w->frozen.object. It lies in an object or (@wide) in a handle of
 * the VM. */
UNWIND_FUNCTION int unwind_reference(struct unwind_walk *w, struct unwind_process *p, uint64_t at,
                                     uint32_t wide)
{
    struct unwind_frozen_words *f;
    uint32_t narrow = 0;

    if (!w || !p)
        return UNWIND_FROZEN_BROKEN;
    f = &w->frozen;
    if (!wide && p->vm.locks.oop_bytes == 4) {
        if (!unwind_read_u32(w, at, &narrow))
            return UNWIND_FROZEN_BROKEN;
        f->object = p->vm.locks.oop_base + ((uint64_t)narrow << (p->vm.locks.oop_shift & 31));
        if (!narrow)
            return UNWIND_FROZEN_NONE;
    } else {
        if (!unwind_read_u64(w, at, &f->object))
            return UNWIND_FROZEN_BROKEN;
        /* null may have colours */
        if (!(p->vm.locks.coloured ? f->object >> 16 : f->object))
            return UNWIND_FROZEN_NONE;
        if (p->vm.locks.coloured && unwind_uncolour(w, p) != UNWIND_FROZEN_FOUND)
            return UNWIND_FROZEN_BROKEN;
    }
    return f->object & 7 || f->object & ~UNWIND_PC_MASK ? UNWIND_FROZEN_BROKEN
                                                        : UNWIND_FROZEN_FOUND;
}

/* Returns 1 if the object w->frozen.object has the class word @klass. If its mark word says that it
 * was moved, follows w->frozen.object to the new address first. */
UNWIND_FUNCTION int unwind_is_object(struct unwind_walk *w, struct unwind_process *p,
                                     uint64_t klass)
{
    struct unwind_frozen_words *f;
    uint32_t narrow = 0;

    if (!w || !p || !klass)
        return 0;
    f = &w->frozen;
    if (!unwind_read_u64(w, f->object, &f->word))
        return 0;
    if ((f->word & 3) == 3) {
        f->object = f->word & ~7ULL;
        if (!unwind_read_u64(w, f->object, &f->word))
            return 0;
    }
    if (p->vm.locks.compact)
        return f->word >> (p->vm.frozen.mark_shift & 63) == klass;
    if (p->vm.locks.klass_bytes == 4)
        return unwind_read_u32(w, f->object + p->vm.locks.klass, &narrow) && narrow == klass;
    return unwind_read_u64(w, f->object + p->vm.locks.klass, &f->word) && f->word == klass;
}

/* Loads the reference at @offset of w->frozen.object, which must lead to an object of class
 * @klass. */
UNWIND_INLINE int unwind_follow(struct unwind_walk *w, struct unwind_process *p, uint32_t offset,
                                uint64_t klass)
{
    int r = unwind_reference(w, p, w->frozen.object + offset, 0);

    if (r == UNWIND_FROZEN_FOUND && !unwind_is_object(w, p, klass))
        r = UNWIND_FROZEN_BROKEN;
    return r;
}

/* ---- chunks ---- */

/* Moves to the caller with the stack pointer @sp. Its pc lies right below @above, its fp below
 * that. The fp of an interpreted frame is a distance in words. */
UNWIND_INLINE int unwind_frozen_place(struct unwind_walk *w, uint64_t sp, uint64_t above)
{
    struct unwind_place *to = &w->step.to;

    if (!unwind_stack(w, above - 8, &to->pc) || !unwind_stack(w, above - 16, &to->fp))
        return UNWIND_FROZEN_BROKEN;
    to->pc = unwind_unsigned(to->pc);
    to->fp = above - 16 + 8 * to->fp;
    to->sp = sp;
    w->at = *to;
    return UNWIND_FROZEN_FOUND;
}

/* Enters the chunk w->frozen.object at its youngest frame. NONE: the chunk is empty. */
UNWIND_FUNCTION int unwind_chunk_open(struct unwind_walk *w, struct unwind_process *p)
{
    struct unwind_frozen_words *f;
    uint64_t at, sp;

    if (!w || !p)
        return UNWIND_FROZEN_BROKEN;
    f = &w->frozen;
    if (++f->chunks > UNWIND_CHUNKS_MAX || !unwind_is_object(w, p, p->vm.frozen.chunk_class))
        return UNWIND_FROZEN_BROKEN;
    f->chunk = at = f->object;
    if (!unwind_read(w, &f->size, 4, at + p->vm.frozen.size) ||
        !unwind_read(w, &f->sp, 4, at + p->vm.frozen.sp) ||
        !unwind_read(w, &f->bottom, 4, at + p->vm.frozen.bottom))
        return UNWIND_FROZEN_BROKEN;
    if (p->vm.frozen.argsize)
        f->bottom = f->size - f->bottom;
    if (f->size < 0 || f->size > UNWIND_CHUNK_WORDS_MAX || f->sp < 0 || f->bottom < 0 ||
        f->sp > f->size || f->bottom > f->size)
        return UNWIND_FROZEN_BROKEN;
    if (p->vm.frozen.chunk_cont &&
        (unwind_reference(w, p, at + p->vm.frozen.chunk_cont, 0) != UNWIND_FROZEN_FOUND ||
         !unwind_is_object(w, p, p->vm.frozen.cont_class) || f->object != f->cont))
        return UNWIND_FROZEN_BROKEN;
    if (f->sp >= f->bottom)
        return UNWIND_FROZEN_NONE;
    if (f->sp < 2)
        return UNWIND_FROZEN_BROKEN;
    at += p->vm.frozen.words;
    f->high = at + 8 * (uint64_t)(uint32_t)f->bottom;
    at += 8 * (uint64_t)(uint32_t)f->sp;
    sp = w->at.sp;
    w->at.sp = at;
    if (unwind_frozen_place(w, at, at) == UNWIND_FROZEN_FOUND)
        return UNWIND_FROZEN_FOUND;
    w->at.sp = sp; /* from which the carrier's frames are found */
    return UNWIND_FROZEN_BROKEN;
}

/* Enters the next chunk behind w->frozen.chunk that is not empty. NONE: there are no more
 * chunks. */
UNWIND_FUNCTION int unwind_chunk_next(struct unwind_walk *w, struct unwind_process *p)
{
    int r = UNWIND_FROZEN_NONE;
    uint32_t i;

    if (!w || !p)
        return UNWIND_FROZEN_BROKEN;
    UNWIND_LOOP
    for (i = 0; i < UNWIND_CHUNKS_MAX && r == UNWIND_FROZEN_NONE; i++) {
        r = unwind_reference(w, p, w->frozen.chunk + p->vm.frozen.parent, 0);
        if (r != UNWIND_FROZEN_FOUND)
            return r;
        r = unwind_chunk_open(w, p);
    }
    return r == UNWIND_FROZEN_FOUND ? r : UNWIND_FROZEN_BROKEN;
}

/* ---- the thread ---- */

/* Returns the JavaThread of the sampled thread; 0: not known. The thread pointer takes precedence:
 * the thread's number may belong to an earlier thread. */
UNWIND_FUNCTION uint64_t unwind_own_thread(struct unwind_walk *w, struct unwind_process *p)
{
    const struct unwind_locks *l;
    uint64_t thread, at;
    uint32_t word = 0;

    if (!w || !p)
        return 0;
    l = &p->vm.locks;
    at = w->pointer;
    if (!l->thread_vtable || !at)
        return unwind_java_thread(w);
    if (l->current_module &&
        (!unwind_read_u64(w, at + UNWIND_DTV_AT, &at) ||
         !unwind_read_u64(w, at + (uint64_t)l->current_module * UNWIND_DTV_BYTES, &at)))
        return 0;
    if (!unwind_read_u64(w, at + (uint64_t)l->current_word * 8, &thread) ||
        !unwind_read_u32(w, thread, &word) || word != l->thread_vtable)
        return 0;
    return thread;
}

/* Finds the virtual thread that is mounted on the JavaThread @thread. FOUND: it is
 * w->frozen.object. */
UNWIND_INLINE int unwind_mounted(struct unwind_walk *w, struct unwind_process *p, uint64_t thread)
{
    if (!w || !p || !p->vm.frozen.chunk_class || !p->vm.locks.klass_bytes)
        return UNWIND_FROZEN_NONE;
    thread += p->vm.locks.thread_object;
    if (p->vm.locks.thread_handle && !unwind_read_u64(w, thread, &thread))
        return UNWIND_FROZEN_NONE;
    if (unwind_reference(w, p, thread, 1) != UNWIND_FROZEN_FOUND ||
        !unwind_is_object(w, p, p->vm.frozen.thread_class))
        return UNWIND_FROZEN_NONE;
    return UNWIND_FROZEN_FOUND;
}

/* Follows the virtual thread w->frozen.object to its continuation. FOUND: it is
 * w->frozen.object. */
UNWIND_INLINE int unwind_continuation(struct unwind_walk *w, struct unwind_process *p)
{
    return unwind_follow(w, p, p->vm.frozen.cont, p->vm.frozen.cont_class);
}

/* Finds the continuation by the ContinuationEntry on the stack, which ends below the carrier's
 * frame w->next. While a virtual thread acts as its carrier, as to begin a timed wait, the
 * JavaThread does not refer to it. FOUND: it is w->frozen.object. */
UNWIND_FUNCTION int unwind_entry_continuation(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t bytes;

    if (!w || !p)
        return UNWIND_FROZEN_NONE;
    bytes = p->vm.cont_entry_bytes ? p->vm.cont_entry_bytes : UNWIND_ENTRY_BYTES;
    if (!unwind_read_u64(w, w->next.sp - 16 - bytes + UNWIND_ENTRY_CONT, &w->frozen.object) ||
        !w->frozen.object || w->frozen.object & 7 || w->frozen.object & ~UNWIND_PC_MASK ||
        !unwind_is_object(w, p, p->vm.frozen.cont_class))
        return UNWIND_FROZEN_NONE;
    return UNWIND_FROZEN_FOUND;
}

/* Enters the first chunk of the continuation w->frozen.object. FOUND: w->at is a frame of a
 * chunk. */
UNWIND_INLINE int unwind_frozen_enter(struct unwind_walk *w, struct unwind_process *p)
{
    struct unwind_frozen_words *f;
    int r;

    if (!w || !p)
        return UNWIND_FROZEN_NONE;
    f = &w->frozen;
    f->cont = f->object;
    if (unwind_reference(w, p, f->cont + p->vm.frozen.tail, 0) != UNWIND_FROZEN_FOUND)
        return UNWIND_FROZEN_NONE;
    r = unwind_chunk_open(w, p);
    if (r == UNWIND_FROZEN_NONE)
        r = unwind_chunk_next(w, p);
    if (r == UNWIND_FROZEN_FOUND) {
        w->exact = 0;
        w->guessed = 0;
    } else {
        f->high = 0;
    }
    return r;
}

/* Enters the first chunk of the mounted virtual thread. The walk will continue at w->next behind
 * the chunks. FOUND: w->at is a frame of a chunk. */
UNWIND_FUNCTION int unwind_frozen_begin(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t thread;

    if (!w || !p || w->frozen.chunks || !p->vm.frozen.chunk_class || !p->vm.locks.klass_bytes)
        return UNWIND_FROZEN_NONE;
    w->frozen.resume = w->next;
    thread = unwind_own_thread(w, p);
    if ((!thread || unwind_mounted(w, p, thread) != UNWIND_FROZEN_FOUND ||
         unwind_continuation(w, p) != UNWIND_FROZEN_FOUND) &&
        unwind_entry_continuation(w, p) != UNWIND_FROZEN_FOUND) {
        w->wants_thread |= !thread;
        return UNWIND_FROZEN_NONE;
    }
    return unwind_frozen_enter(w, p);
}

/* ---- frames ---- */

/* Sets w->rule for the frame w->at of a chunk. Returns 0 or an enum unwind_end. */
UNWIND_FUNCTION int unwind_frozen_rule(struct unwind_walk *w, struct unwind_process *p)
{
    int32_t size, complete, original;
    uint64_t pc;

    if (!w || !p)
        return UNWIND_END_NO_PROCESS;
    if (unwind_in_interpreter(p, w->at.pc)) {
        w->rule.kind = UNWIND_INTERPRETED;
        w->rule.blob = 0;
        w->rule.compile_id = 0;
        unwind_set_rule(w, UNWIND_BASE_INTERPRETER, 0, 0, false);
        return 0;
    }
    if (!unwind_in_code_cache(p, w->at.pc) || w->at.pc & ~UNWIND_PC_MASK)
        return UNWIND_END_RETURN;
    if (unwind_recall(w, p, unwind_key(w)) && w->rule.base == UNWIND_BASE_SP &&
        w->rule.kind == UNWIND_COMPILED)
        return 0;
    if (!unwind_find_blob(w, p, w->at.pc - 1) || !unwind_frame_facts(w, p, &size, &complete) ||
        size < 16)
        return UNWIND_END_NO_BLOB;
    unwind_set_stub(w);
    unwind_set_rule(w, UNWIND_BASE_SP, size, -16, false);
    if (!unwind_is_nmethod(w->blob_name))
        return 0;
    w->rule.kind = UNWIND_COMPILED;
    w->rule.blob = w->blob;
    if (!unwind_read_u32(w, w->blob + p->vm.nmethod_compile_id, &w->rule.compile_id))
        return UNWIND_END_NO_BLOB;
    if (unwind_is_deopt(w, p, w->at.pc)) { /* its pc before it was deoptimized */
        if (!unwind_read(w, &original, 4, w->blob + p->vm.nmethod_orig_pc) || original <= 0 ||
            original >= size || !unwind_stack(w, w->at.sp + (uint64_t)original, &pc) ||
            pc <= w->blob || pc - w->blob >= (64u << 20))
            return UNWIND_END_COMPILED;
        w->at.pc = pc;
    } else if (unwind_java_return(w, p, w->at.pc) <= 0) {
        return UNWIND_END_COMPILED;
    } else {
        unwind_remember(w, unwind_key(w));
    }
    return 0;
}

/* Moves from the compiled frame w->at to its caller. NONE: it is the last frame of the chunk. */
UNWIND_INLINE int unwind_frozen_compiled(struct unwind_walk *w)
{
    uint64_t sp = w->at.sp + (uint64_t)(int64_t)w->rule.cfa, high = w->frozen.high;

    if (sp & 7 || sp <= w->at.sp)
        return UNWIND_FROZEN_BROKEN;
    if (sp + 8 >= high)
        return sp <= high + 16 ? UNWIND_FROZEN_NONE : UNWIND_FROZEN_BROKEN;
    return unwind_frozen_place(w, sp, sp);
}

/* Moves from the interpreted frame w->at to its caller and sets both output words in w->step. The
 * end of its locals may be the end of the chunk. */
UNWIND_INLINE int unwind_frozen_interpreted(struct unwind_walk *w, struct unwind_process *p)
{
    uint64_t fp = w->at.fp, sp = w->at.sp, locals = 0, sender = 0, high = w->frozen.high;
    struct unwind_step_words *s = &w->step;

    if (fp & 7 || fp < sp - 16 || fp >= high || fp - sp + 16 >= UNWIND_STEP_BYTES_MAX ||
        !unwind_stack(w, fp - 24, &s->method) || !s->method || s->method & ~UNWIND_PC_MASK ||
        !unwind_stack(w, fp - 8 * (uint64_t)p->vm.bcp_slot, &s->second) ||
        !unwind_stack(w, fp - 8 * UNWIND_LOCALS_SLOT, &locals) || !unwind_stack(w, fp - 8, &sender))
        return UNWIND_FROZEN_BROKEN;
    s->word = s->method | (uint64_t)UNWIND_INTERPRETED << UNWIND_KIND_SHIFT;
    if (fp + 8 * locals + 8 >= high)
        return UNWIND_FROZEN_NONE;
    sender = fp + 8 * sender;
    if (!unwind_sender_fits(fp, sender))
        return UNWIND_FROZEN_BROKEN;
    sender = unwind_sender_sp(fp, sender);
    if (sender > high || sender <= sp)
        return UNWIND_FROZEN_BROKEN;
    return unwind_frozen_place(w, sender, fp + 16);
}

/* Sets the output words of the chunk's current frame in w->step. Then moves to its caller, to the
 * next chunk, or to the carrier's frames. If the rest cannot be read, its output is a mark. */
UNWIND_FUNCTION int unwind_frozen_frame(struct unwind_walk *w, struct unwind_process *p)
{
    struct unwind_step_words *s;
    struct unwind_frozen_words *f;
    int r;

    if (!w || !p)
        return 0;
    s = &w->step;
    f = &w->frozen;
    s->second = 0;
    r = f->broken || unwind_frozen_rule(w, p) ? UNWIND_FROZEN_BROKEN : UNWIND_FROZEN_FOUND;
    if (r == UNWIND_FROZEN_FOUND && w->rule.kind == UNWIND_INTERPRETED) {
        r = unwind_frozen_interpreted(w, p);
    } else if (r == UNWIND_FROZEN_FOUND) {
        s->word = unwind_word(w);
        r = unwind_frozen_compiled(w);
    }
    if (r == UNWIND_FROZEN_BROKEN) {
        w->rule.kind = UNWIND_MARK;
        s->word = unwind_mark(UNWIND_MARK_FROZEN);
        r = UNWIND_FROZEN_NONE;
    } else if (r == UNWIND_FROZEN_NONE) {
        r = unwind_chunk_next(w, p);
    }
    f->broken = r == UNWIND_FROZEN_BROKEN;
    if (r == UNWIND_FROZEN_NONE) {
        f->high = 0;
        w->at = f->resume;
    }
    return 0;
}

/* Walks one frame of a chunk, as unwind_try_step() walks a frame of the stack. */
UNWIND_INLINE int unwind_frozen_step(struct unwind_walk *w, struct unwind_process *p,
                                     UNWIND_OUT_TYPE out)
{
    uint32_t i;

    if (w->reads > UNWIND_READS_MAX || w->words + 2 > w->max_words) {
        w->end = UNWIND_END_LIMIT;
        return UNWIND_STOP;
    }
    unwind_frozen_frame(w, p);
    i = w->words;
    UNWIND_OUT(out, i, w->step.word);
    w->words++;
    if (w->rule.kind == UNWIND_INTERPRETED) {
        i = w->words;
        UNWIND_OUT(out, i, w->step.second);
        w->words++;
    }
    return UNWIND_GO_ON;
}
