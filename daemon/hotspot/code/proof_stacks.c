/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the layout of stacks. Walks the Java frames of threads that left Java for native code or
 * the VM, up to the call stub, by the frame sizes of code and the frame pointers of the
 * interpreter. A thread that runs while its stack is read does not count: its anchor must be the
 * same at the end.
 */
#include "hotspot/code/code.h"
#include "hotspot/proof.h"

#define THREADS_MAX 64 /* threads to check */
#define FRAMES_MAX 512 /* frames of one thread */

struct frame {
    uint64_t sp, fp, pc;
};

struct stacks_proof {
    struct check *stacks;
    unsigned threads;
};

static int read_anchor(struct hotspot_vm *vm, uint64_t thread, struct frame *ret)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t at = thread + (uint64_t)l->thread_anchor.offset;
    int r = field_u64(vm, at, l->anchor_sp, &ret->sp) ?: field_u64(vm, at, l->anchor_pc, &ret->pc);

    if (r == 0 && layout_has(l->anchor_fp))
        r = field_u64(vm, at, l->anchor_fp, &ret->fp);
    if (r == 0 && ret->sp && !ret->pc)
        r = memory_u64(&vm->memory, ret->sp - 8, &ret->pc);
    return r;
}

static bool is_interpreted(const struct hotspot_vm *vm, uint64_t pc)
{
    return pc >= vm->code.interpreter_start && pc < vm->code.interpreter_end;
}

/* Steps to the caller of @f by the frame pointer. */
static int step_interpreted(struct hotspot_vm *vm, struct frame *f)
{
    uint64_t frame[3]; /* words from the one below the frame pointer: the caller's sp, fp and pc */
    int r = memory_read(&vm->memory, f->fp - 8, frame, sizeof(frame));

    if (r == 0 && frame[0] <= f->sp)
        return -EBADMSG;
    *f = (struct frame){ frame[0], frame[1], frame[2] };
    return r;
}

/* Steps to the caller of @f by the frame size of its code. */
static int step_compiled(struct hotspot_vm *vm, struct frame *f)
{
    uint64_t blob, end, words[2]; /* the last two words of the frame: fp and pc of the caller */
    struct blob b;
    int r = codecache_block(vm, f->pc - 1, &blob, &end) ?: blob_read(vm, blob, end, &b);

    if (r == 0 && (b.frame_size < 2 || f->pc < b.code_begin || f->pc > b.code_end))
        r = -EBADMSG;
    if (r < 0)
        return r;
    f->sp += (uint64_t)b.frame_size * 8;
    r = memory_read(&vm->memory, f->sp - 16, words, sizeof(words));
    if (r == 0 && b.deopt_handler && words[1] == b.deopt_handler)
        r = -EBADMSG;
    f->fp = words[0];
    f->pc = words[1];
    return r;
}

/* Returns 1 if the stack ends at the call stub, 0 if it does not, or -ESRCH. */
static int walk(struct hotspot_vm *vm, struct frame f)
{
    for (unsigned i = 0; i < FRAMES_MAX; i++) {
        int r;

        if (f.pc == vm->code.call_stub_return)
            return 1;
        r = is_interpreted(vm, f.pc) ? step_interpreted(vm, &f) : step_compiled(vm, &f);
        if (r < 0)
            return r == -ESRCH ? r : 0;
    }
    return 0;
}

static int see_thread(void *cookie, struct hotspot_vm *vm, uint64_t thread)
{
    struct stacks_proof *p = cookie;
    struct frame first = { 0 }, after = { 0 };
    int r = read_anchor(vm, thread, &first), whole;

    if (r < 0 || !first.sp)
        return r == -ESRCH ? r : 0;
    whole = walk(vm, first);
    if (whole == -ESRCH)
        return whole;
    memory_begin(&vm->memory);
    if (!whole && (read_anchor(vm, thread, &after) < 0 || after.sp != first.sp))
        return 0; /* the thread ran during the read */
    check_add(p->stacks, whole);
    return ++p->threads >= THREADS_MAX;
}

struct visit {
    struct hotspot_vm *vm;
    struct stacks_proof *proof;
};

static int visit_thread(void *cookie, uint64_t thread)
{
    const struct visit *v = cookie;

    return see_thread(v->proof, v->vm, thread);
}

int proof_stacks(struct hotspot_vm *vm, struct check *stacks)
{
    struct stacks_proof p = { .stacks = stacks };
    struct visit v = { vm, &p };
    int r = threads_visit(vm, visit_thread, &v);

    return r == -ESRCH ? r : 0;
}
