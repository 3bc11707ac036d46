/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An environment of the unwinder (unwind/state.h): walks the stacks of waiting threads from the
 * memory of a running process. Afterwards it reads from the kernel how often each thread got a
 * processor. If that number is unchanged, the thread has not run, and its stack is of one moment.
 * Without BPF it walks copies of stacks that the kernel made at the moment of a sample. The code
 * and data of the VM are then read a little later than the stack.
 */
#include "base/array.h"
#include "hotspot/vm.h"

#include "unwind/state.h"

#define WAITING_KNOWN_COUNT 256 /* cached pcs of one batch; a power of two */

struct home {
    struct unwind_walk walk; /* first: the argument of unwind_read() and the others */
    struct hotspot_vm *vm;   /* NULL: the memory is unreadable */
    struct hotspot_waiting_batch *batch;
    uint64_t java_thread;
    uint64_t sp; /* stack pointer of the thread, where its copy begins */
    const uint8_t *copy;
    uint32_t copy_bytes; /* 0: there is no copy */
    bool beyond;         /* the walk reached the part of the stack behind the copy */
    struct unwind_known known[WAITING_KNOWN_COUNT];
};

/* Returns whether code is mapped at @at, by the tables of the process. */
static bool is_code(const struct unwind_process *p, uint64_t at)
{
    size_t n = array_first(MIN(p->mapping_count, (uint32_t)UNWIND_MAPPINGS_MAX), i,
                           p->mappings[i].start <= at);

    return (at >= p->vm.code_low && at < p->vm.code_high) || (n && at < p->mappings[n - 1].end);
}

/* Returns whether @from lies on the stack but outside the copy; other data may be there by now. The
 * limit is UNWIND_STEP_BYTES_MAX, the most bytes of a frame, so no walk steps over that much. */
static bool is_beyond(const struct home *h, uint64_t from)
{
    return from - h->sp < (uint64_t)h->copy_bytes + UNWIND_STEP_BYTES_MAX &&
           !is_code(&h->batch->process, from);
}

static bool unwind_read(struct unwind_walk *w, void *to, uint32_t bytes, uint64_t from)
{
    struct home *h = (struct home *)w;
    uint64_t at = from - h->sp;

    w->reads++;
    if (h->copy_bytes && at < h->copy_bytes && bytes <= h->copy_bytes - at) {
        memcpy(to, h->copy + at, bytes);
        return true;
    }
    if (h->copy_bytes && is_beyond(h, from)) {
        h->beyond = true;
        return false;
    }
    return h->vm && memory_read(&h->vm->memory, from, to, bytes) == 0;
}

static bool unwind_row(struct unwind_walk *w, uint32_t index, struct unwind_row *ret)
{
    const struct hotspot_waiting_batch *b = ((struct home *)w)->batch;

    if (index >= b->row_count)
        return false;
    *ret = b->rows[index];
    return true;
}

static struct unwind_known *unwind_known_at(struct unwind_walk *w, uint32_t index)
{
    return &((struct home *)w)->known[index & (WAITING_KNOWN_COUNT - 1)];
}

static uint64_t unwind_java_thread(struct unwind_walk *w)
{
    return ((struct home *)w)->java_thread;
}

#define UNWIND_OUT_TYPE uint64_t *
#define UNWIND_OUT(out, i, word) ((out)[i] = (word))

#include "unwind/step.h"

static void walk(struct home *h, struct hotspot_waiting_batch *b, struct hotspot_waiting *t)
{
    struct unwind_walk *w = &h->walk;
    uint32_t limit = MIN(b->max_words, HOTSPOT_WAITING_WORDS - b->word_count);
    uint64_t *out = b->words + b->word_count;
    int outcome = UNWIND_GO_ON;

    h->java_thread = t->java_thread;
    h->sp = t->registers[SAMPLE_REGISTER_SP];
    h->copy = hotspot_waiting_stacks(b) + t->stack_at;
    h->copy_bytes = t->stack_bytes;
    h->beyond = false;
    unwind_start(w, t->registers[SAMPLE_REGISTER_PC], t->registers[SAMPLE_REGISTER_SP],
                 t->registers[SAMPLE_REGISTER_FP], b->process.slot, /* tick= */ 1, limit);
    w->registers = (struct unwind_registers){ .thread = t->registers[SAMPLE_REGISTER_THREAD],
                                              .link = t->registers[SAMPLE_REGISTER_LINK],
                                              .method = t->registers[SAMPLE_REGISTER_METHOD],
                                              .bcp = t->registers[SAMPLE_REGISTER_BCP] };
    for (uint32_t i = 0; i < limit * UNWIND_STEPS_PER_WORD && outcome != UNWIND_STOP; i++) {
        outcome = unwind_fast_steps(w, &b->process, out);
        if (outcome == UNWIND_SLOWLY)
            outcome = unwind_step(w, &b->process, out);
    }
    t->end = w->end == UNWIND_END_MEMORY && h->beyond ? UNWIND_END_COPY : w->end;
    t->wants_thread = w->wants_thread;
    t->first = b->word_count;
    t->count = w->words;
    b->word_count += w->words;
}

/* Returns whether @t has run since its registers were taken. */
static bool has_run(const struct hotspot_waiting_batch *b, int32_t host_pid,
                    const struct hotspot_waiting *t)
{
    uint64_t runs;

    return proc_read_runs(b->proc_fd, host_pid, t->host_tid, &runs) != 0 ||
           runs != t->registers[SAMPLE_REGISTER_RUNS];
}

/* Returns whether the stack of @t is complete and native: the thread runs no Java code. */
static bool is_native(const struct hotspot_waiting_batch *b, const struct hotspot_waiting *t)
{
    if (t->end != UNWIND_END_ROOT || t->wants_thread)
        return false;
    for (uint32_t i = 0; i < t->count; i++) {
        unsigned kind = (unsigned)(b->words[t->first + i] >> UNWIND_KIND_SHIFT);

        if (kind != UNWIND_NATIVE && kind != UNWIND_SIGNAL)
            return false;
    }
    return true;
}

/* Reads the request of @t. */
static void read_context(struct hotspot_vm *vm, struct hotspot_waiting_batch *b,
                         struct hotspot_waiting *t)
{
    vm_context(vm, &b->path, &b->process, t->java_thread, &t->context);
    if (!t->java_thread && b->path.ids != CONTEXT_IDS_RECORD && is_native(b, t))
        t->context.state = CONTEXT_NO_REQUEST;
}

/* Drops the JavaThread of @t if it is that of another thread: the kernel gives the ids of ended
 * threads to new ones. */
static void check_thread(struct hotspot_vm *vm, struct hotspot_waiting *t)
{
    int32_t tid;

    if (t->ns_tid && (thread_tid(vm, t->java_thread, &tid) < 0 || tid != t->ns_tid))
        t->java_thread = 0;
}

/* Reads the lock that @t waits for. */
static void read_lock(struct hotspot_vm *vm, struct hotspot_waiting *t)
{
    int r = t->asks_lock && t->java_thread ? vm_lock(vm, t->java_thread, &t->lock) : -ENOENT;

    t->waits_for_lock = r == 0;
    t->lock_unread = r == -EAGAIN;
}

static int run_waiting(struct hotspot_vm *vm, void *arg)
{
    struct hotspot_waiting_batch *b = arg;
    struct home *h = calloc(1, sizeof(*h));

    if (!h)
        return -ENOMEM;
    if (vm)
        memory_begin(&vm->memory);
    h->vm = vm;
    h->batch = b;
    /* The last threads have less room than a stack may need, so the next batch gets them. */
    for (b->done = 0;
         b->done < b->count && (!b->done || HOTSPOT_WAITING_WORDS - b->word_count >= b->max_words);
         b->done++) {
        struct hotspot_waiting *t = &b->threads[b->done];

        if (vm && t->java_thread)
            check_thread(vm, t);
        walk(h, b, t);
        if (!vm || t->stack_bytes) /* memory has no lock or request of that sample */
            continue;
        read_lock(vm, t);
        t->has_context = b->path.step_count > 0;
        if (t->has_context)
            read_context(vm, b, t);
        if (has_run(b, vm->id.host_pid, t)) {
            t->end = UNWIND_END_NOT_TAKEN;
            b->word_count -= t->count;
            t->count = 0;
            t->waits_for_lock = t->lock_unread = t->has_context = false;
        }
    }
    if (vm && !b->stacks_bytes) /* for naming the stacks later */
        unloads_keep(vm);
    free(h);
    return 0;
}

int hotspot_walk_waiting(struct hotspot_vm *vm, struct hotspot_waiting_batch **b)
{
    void *arg = *b;
    int r;

    (*b)->done = (*b)->word_count = 0;
    if (!vm)
        return run_waiting(NULL, *b);
    r = vm_call_given(vm, run_waiting, &arg, (*b)->stacks_bytes > 0);
    *b = arg;
    return r;
}
