/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks frames by the VM's description of its code: each piece of code has a fixed frame size. The
 * return address of a frame is the word below its caller's stack pointer. The word below that is
 * the caller's frame pointer, which leads to frames of the interpreter.
 */
#include "hotspot/java_stack.h"

#include "hotspot/code/code.h"
#include "unwind/frames.h"
#include "unwind/unwind.h"

#define WORD 8
#define INTERPRETER_BYTES_MAX ((uint64_t)1 << 20) /* of one frame: up to 65,535 words */
#define METHOD_SLOT 3                             /* words below fp */
#define SENDER_SLOT 1

/* ---- words ---- */

static bool word_at(const struct java_walk *w, uint64_t at, uint64_t *ret)
{
    if (at % WORD || at < w->low || at > w->high - WORD || w->high - w->low < WORD)
        return false;
    if (w->words && at > w->words_end - WORD)
        return false;
    if (w->words)
        *ret = w->words[(at - w->low) / WORD];
    else if (memory_u64(&w->vm->memory, at, ret) < 0)
        return false;
    return true;
}

/* Reads an address from the word at @at, in the frame with its fp at @base. */
static bool frame_address(const struct java_walk *w, uint64_t at, uint64_t base, uint64_t *ret)
{
    uint64_t v;

    if (!word_at(w, at, &v))
        return false;
    *ret = w->relative ? base + v * WORD : v;
    return true;
}

static bool put(struct java_walk *w, uint64_t pc, enum unwind_kind kind, int32_t compile_id)
{
    if (w->count == w->max)
        return false;
    w->out[w->count++] = (pc & UNWIND_PC_MASK) |
                         ((uint64_t)compile_id & UNWIND_ID_MASK) << UNWIND_PC_BITS |
                         (uint64_t)kind << UNWIND_KIND_SHIFT;
    return true;
}

/* ---- code ---- */

static void read_code(struct hotspot_vm *vm, struct java_code *c)
{
    struct blob b;
    uint64_t at, end;

    if (codecache_block(vm, c->pc - 1, &at, &end) != 0 || blob_read(vm, at, end, &b) != 0 ||
        c->pc - 1 < b.code_begin || c->pc - 1 >= b.code_end)
        return;
    c->is_method = b.kind != HOTSPOT_CODE_STUB;
    c->frame_words = b.frame_size;
    c->orig_pc_offset = c->is_method ? b.orig_pc_offset : 0;
    c->deopt_handler = c->is_method ? b.deopt_handler : 0;
    c->compile_id = c->is_method ? b.compile_id : 0;
    c->known = true;
}

/* Returns the facts about the code that returns to @pc. Returns NULL if no code is there. */
static const struct java_code *code_at(struct java_walk *w, uint64_t pc)
{
    struct java_code *c =
        &w->codes->at[(pc * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & (JAVA_CODE_COUNT - 1)];

    if (pc <= w->vm->code.low || pc > w->vm->code.high)
        return NULL;
    if (c->pc != pc || c->turn != w->codes->turn) {
        *c = (struct java_code){ .pc = pc, .turn = w->codes->turn };
        read_code(w->vm, c);
    }
    return c->known ? c : NULL;
}

/* ---- frames ---- */

enum step { STEP_ON, STEP_ROOT, STEP_NO_ROOM, STEP_BROKEN };

/* Moves to the caller with stack pointer @sp. */
static enum step to_caller(struct java_walk *w, uint64_t sp, uint64_t unextended)
{
    if (sp <= w->sp || sp > w->high)
        return STEP_BROKEN;
    if (!word_at(w, sp - WORD, &w->pc) || !w->pc)
        return STEP_BROKEN;
    w->sp = sp;
    w->fp = 0;
    w->unextended = unextended;
    return STEP_ON;
}

/* Finds the frame pointer of the current interpreted frame. */
static bool find_fp(const struct java_walk *w, uint64_t *ret)
{
    uint64_t fp = w->fp;

    if (!fp && !frame_address(w, w->sp - 2 * WORD, w->sp - 2 * WORD, &fp))
        return false;
    *ret = fp;
    return fp % WORD == 0 && fp >= w->sp - 2 * WORD && fp - w->low < w->high - w->low &&
           fp - w->sp + 2 * WORD < INTERPRETER_BYTES_MAX;
}

static enum step step_interpreted(struct java_walk *w)
{
    unsigned bcp_slot = w->vm->layout.jdk == 8 ? UNWIND_BCP_SLOT_8 : UNWIND_BCP_SLOT;
    uint64_t fp, method, bcp, sender, locals;

    if (!find_fp(w, &fp) || !word_at(w, fp - METHOD_SLOT * WORD, &method) ||
        !word_at(w, fp - bcp_slot * WORD, &bcp) || !method || method > UNWIND_PC_MASK)
        return STEP_BROKEN;
    if (w->count + 2 > w->max || !put(w, method, UNWIND_INTERPRETED, 0))
        return STEP_NO_ROOM;
    w->out[w->count++] = bcp;
    /* The outermost frame of a chunk may end at its locals. */
    if (w->relative && (!frame_address(w, fp - UNWIND_LOCALS_SLOT * WORD, fp, &locals) ||
                        locals + WORD >= w->high))
        return STEP_ROOT;
    if (!frame_address(w, fp - SENDER_SLOT * WORD, fp, &sender) ||
        (sender < fp && !UNWIND_SENDER_BELOW) || sender > w->high || sender % WORD)
        return STEP_BROKEN;
    return to_caller(w, fp + 2 * WORD, sender);
}

static enum step step_compiled(struct java_walk *w)
{
    const struct java_code *c = code_at(w, w->pc), *before;
    uint64_t sp = w->unextended ? w->unextended : w->sp, pc = w->pc;

    if (!c || c->frame_words < 2 || (uint64_t)c->frame_words > (w->high - w->low) / WORD + 2)
        return STEP_BROKEN;
    if (c->is_method && pc == c->deopt_handler) { /* deoptimized: the frame keeps its original pc */
        if (c->orig_pc_offset <= 0 || !word_at(w, sp + (uint64_t)c->orig_pc_offset, &pc))
            return STEP_BROKEN;
        before = code_at(w, pc);
        if (!before || before->compile_id != c->compile_id)
            return STEP_BROKEN;
    }
    if (!put(w, pc, c->is_method ? UNWIND_COMPILED : UNWIND_STUB, c->compile_id))
        return STEP_NO_ROOM;
    sp += (uint64_t)c->frame_words * WORD;
    if (w->relative && sp + WORD >= w->high)
        return sp <= w->high + 2 * WORD ? STEP_ROOT : STEP_BROKEN;
    return to_caller(w, sp, 0);
}

/* Steps over the stub by which the VM calls Java. The wrapper of the call has the anchor of the
 * last Java frame before the call. */
static enum step step_entry(struct java_walk *w)
{
    const struct hotspot_layout *l = &w->vm->layout;
    uint64_t fp, wrapper, anchor, sp = 0, pc = 0, base = 0;

    if (!layout_has(l->wrapper_anchor) || l->frame_call_wrapper == LAYOUT_NO_NUMBER ||
        !word_at(w, w->sp - 2 * WORD, &fp) ||
        !word_at(w, fp + (uint64_t)((int64_t)l->frame_call_wrapper * WORD), &wrapper) ||
        wrapper <= w->sp)
        return STEP_BROKEN;
    anchor = wrapper + (uint64_t)l->wrapper_anchor.offset;
    if (!word_at(w, anchor + (uint64_t)l->anchor_sp.offset, &sp) ||
        !word_at(w, anchor + (uint64_t)l->anchor_pc.offset, &pc))
        return STEP_BROKEN;
    if (!sp)
        return STEP_ROOT;
    if (layout_has(l->anchor_fp) && !word_at(w, anchor + (uint64_t)l->anchor_fp.offset, &base))
        return STEP_BROKEN;
    if (sp <= w->sp || sp > w->high || (!pc && !word_at(w, sp - WORD, &pc)))
        return STEP_BROKEN;
    w->sp = sp;
    w->pc = pc;
    w->fp = base;
    w->unextended = 0;
    return STEP_ON;
}

int java_stack_walk(struct java_walk *w)
{
    enum step step = STEP_ON;
    /* True if this frame, or the one that it called, is the stub by which the VM calls Java. */
    bool entry = false, entered;

    while (step == STEP_ON) {
        entered = entry;
        entry = w->pc == w->vm->code.call_stub_return && !w->relative;
        if (w->pc >= w->vm->code.interpreter_start && w->pc < w->vm->code.interpreter_end)
            step = step_interpreted(w);
        else if (entry) /* a Java frame is between two of them */
            step = entered ? STEP_BROKEN : step_entry(w);
        else
            step = step_compiled(w);
    }
    return step == STEP_ROOT      ? JAVA_STACK_WHOLE
           : step == STEP_NO_ROOM ? JAVA_STACK_CUT
                                  : JAVA_STACK_BROKEN;
}
