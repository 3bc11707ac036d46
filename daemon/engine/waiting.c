/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the stacks of threads that still waited when a capture ended. A BPF program can read only
 * the memory of the running thread, so for these threads it gives the registers. Stacks are walked
 * in batches of one process. Without BPF, the engine walks the stacks of all samples from copies
 * (sample/perf_rings.h).
 */
#include "base/clock.h"
#include "broker_client/tables.h"
#include "capture/losses.h"
#include "engine/dispatch.h"
#include "unwind/unwind.h"

#define LOOKS_WALK_NS (50 * NSEC_PER_MSEC) /* for the threads of one read of the pass */

bool dispatch_keep_waiting(struct dispatch *d, struct process *p, const struct sample_record *rec,
                           const uint64_t *frames)
{
    return p->jvm == JVM_READY && p->vm && rec->user_count == SAMPLE_REGISTER_COUNT &&
           pending_add(&d->waiting, p, rec, frames, SPAN_NULL, clock_monotonic_ns());
}

static void lose(struct dispatch *d, const struct sample_record *rec)
{
    struct loss loss = { .of = { .host_pid = rec->host_pid, .set = rec->set },
                         .count.unread = rec->weight };

    d->copies_lost++;
    captures_add_losses(d->captures, &loss, 1, rec->time_ns);
}

/* Reduces the user stack of @rec, a sample of a running thread, to its pc, for reason @end. */
static void keep_leaf(struct sample_record *rec, uint64_t *frames, enum unwind_end end)
{
    uint64_t pc = frames[rec->kernel_count + SAMPLE_REGISTER_PC];

    rec->flags &= (uint8_t)~SAMPLE_REGISTERS;
    rec->user_end = end;
    rec->user_count = !(pc & ~UNWIND_PC_MASK);
    frames[rec->kernel_count] = pc;
}

/* Delivers a copied sample with a stack that cannot be walked, for reason @end. */
static void hand_on_leaf(struct dispatch *d, struct process *p, struct sample_record *rec,
                         const uint64_t *copied, enum unwind_end end)
{
    uint64_t frames[SAMPLE_KERNEL_MAX + SAMPLE_REGISTER_COUNT];

    memcpy(frames, copied, ((size_t)rec->kernel_count + rec->user_count) * sizeof(*frames));
    keep_leaf(rec, frames, end);
    dispatch_known(d, p, rec, frames);
}

void dispatch_copied(void *cookie, const struct perf_sample *s)
{
    struct dispatch *d = cookie;
    struct sample_record rec = s->rec;
    struct process *p;

    d->samples++;
    if (!recorder_takes(*d->recorder, rec.set) && !captures_want(d->captures, rec.set))
        return;
    p = discover_get(d->discover, (int32_t)rec.host_pid, /* start_boottime_ns= */ 0,
                     /* exec_id= */ 0, rec.time_ns, "");
    if (!p) {
        /* For the kernel, processes outside flamed's pid namespace have number 0. */
        if (rec.host_pid)
            d->unmatched++;
        else
            d->captures->counts.hidden_copies++;
        return;
    }
    if (!recorder_takes(*d->recorder, rec.set) &&
        !captures_want_process(d->captures, rec.set, p, rec.time_ns))
        return;
    rec.exec_id = p->exec_id;
    proc_read_comm(d->proc_fd, p->id.host_pid, (int32_t)rec.host_tid, rec.comm);
    if (p->kernel_thread)
        rec.flags |= SAMPLE_KERNEL_THREAD;
    if (!(rec.flags & SAMPLE_REGISTERS))
        dispatch_known(d, p, &rec, s->frames);
    else if (!s->stack.n)
        hand_on_leaf(d, p, &rec, s->frames, UNWIND_END_NO_COPY);
    else if (!pending_add(&d->waiting, p, &rec, s->frames, s->stack, clock_monotonic_ns()))
        lose(d, &rec);
}

/* Returns whether a walked stack has Java code. */
static bool runs_java(const struct hotspot_waiting_batch *b, const struct hotspot_waiting *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        uint64_t word = b->words[t->first + i], pc = word & UNWIND_PC_MASK;

        if (pc != word || (pc >= b->process.vm.code_low && pc < b->process.vm.code_high))
            return true;
    }
    return false;
}

/* Delivers the sample of the last walk again, as a wait for @lock. */
static void hand_on_lock(struct dispatch *d, struct process *p, const struct sample_record *rec,
                         const struct hotspot_lock *lock)
{
    struct sample_record of_lock = *rec;

    of_lock.lock = lock->kind;
    of_lock.lock_class = lock->class_word;
    of_lock.lock_owner = lock->owner;
    dispatch_known(d, p, &of_lock, d->frames);
}

/* Delivers @s with the stack @t. NULL: delivers it without a user stack; for a copied sample @end
 * is the reason. */
static void hand_on(struct dispatch *d, struct pending_sample *s, const struct hotspot_waiting *t,
                    enum unwind_end end)
{
    struct sample_record rec = s->rec;

    rec.flags &= (uint8_t)~SAMPLE_REGISTERS;
    rec.user_count = 0;
    if (!t && s->stack.n)
        keep_leaf(&rec, s->frames, end);
    else if (!t && rec.set == LOOKS_SET)
        rec.user_end = UNWIND_END_NO_PROCESS; /* a later pass walks it, once there are tables */
    if (t) {
        memcpy(d->frames, s->frames, rec.kernel_count * sizeof(*d->frames));
        rec.user_count = (uint16_t)t->count;
        rec.user_end = t->end;
        rec.flags |= t->end == UNWIND_END_LIMIT || t->end == UNWIND_END_COPY ? SAMPLE_USER_CUT : 0;
        rec.flags |=
            t->wants_thread || t->lock_unread ||
                    ((t->asks_lock || t->has_context) && !t->java_thread && runs_java(d->batch, t))
                ? SAMPLE_WANTS_THREAD
                : 0;
        memcpy(d->frames + rec.kernel_count, d->batch->words + t->first,
               t->count * sizeof(*d->frames));
    }
    if (t && t->has_context) {
        memcpy(d->frames + rec.kernel_count + rec.user_count, &t->context, sizeof(t->context));
        rec.context_count = CONTEXT_WORDS;
    }
    dispatch_known(d, s->process, &rec, t ? d->frames : s->frames);
    if (t && t->waits_for_lock)
        hand_on_lock(d, s->process, &rec, &t->lock);
    pending_free(s);
}

/* Returns the unwind tables of @p. Requests them first if the process was not sampled yet. NULL:
 * not ready. */
static const struct unwind_process *tables_of(struct dispatch *d, struct process *p,
                                              struct pending_sample *s)
{
    const struct unwind_process *known = unwinding_process(d->unwinding, p, &s->rec);
    struct sample_record leaf = s->rec;
    uint64_t frames[SAMPLE_KERNEL_MAX + SAMPLE_REGISTER_COUNT];

    if (known && s->stack.n && known->vm.frozen.chunk_class)
        anchors_all(d->anchors, p, clock_monotonic_ns()); /* finds carriers of virtual threads */
    if (known || !s->stack.n)
        return known;
    memcpy(frames, s->frames, (leaf.kernel_count + leaf.user_count) * sizeof(*frames));
    keep_leaf(&leaf, frames, UNWIND_END_NO_PROCESS);
    unwinding_see(d->unwinding, p, &leaf, frames, captures_want(d->captures, leaf.set),
                  clock_monotonic_ns());
    return unwinding_process(d->unwinding, p, &s->rec);
}

static struct hotspot_vm *vm_of(const struct process *p)
{
    return p->jvm == JVM_READY ? p->vm : NULL;
}

/* Prepares the batch for @p, except for the threads. Returns false if no stack can be walked. */
static bool begin_batch(struct dispatch *d, struct process *p, struct pending_sample *s)
{
    const struct unwind_process *known = tables_of(d, p, s);
    struct hotspot_waiting_batch *b = d->batch;

    if (!known || (!s->stack.n && !vm_of(p)))
        return false;
    if (!b)
        b = d->batch = calloc(1, sizeof(*b) + HOTSPOT_STACKS_BYTES_MAX);
    if (!d->frames)
        d->frames = calloc(SAMPLE_KERNEL_MAX + SAMPLE_USER_MAX + CONTEXT_WORDS, sizeof(*d->frames));
    if (!b || !d->frames || broker_rows(d->broker, &b->rows, NULL) < 0)
        return false;
    b->row_count = BROKER_ROWS_MAX;
    b->proc_fd = d->proc_fd;
    b->max_words = d->max_words;
    b->process = *known;
    captures_context_path(d->captures, p, &b->path);
    b->count = b->stacks_bytes = 0;
    return true;
}

/* Adds @s to the batch. Returns false if there is no room for its stack. */
static bool add_to_batch(struct dispatch *d, struct process *p, const struct pending_sample *s)
{
    struct hotspot_waiting_batch *b = d->batch;
    struct hotspot_waiting *t = &b->threads[b->count];

    if (s->stack.n > HOTSPOT_STACKS_BYTES_MAX - b->stacks_bytes)
        return false;
    *t = (struct hotspot_waiting){ .host_tid = (int32_t)s->rec.host_tid,
                                   .stack_at = b->stacks_bytes,
                                   .stack_bytes = (uint32_t)s->stack.n };
    t->java_thread = anchors_thread(d->anchors, p, t->host_tid, &t->ns_tid);
    t->asks_lock = s->rec.set == LOOKS_SET;
    memcpy(t->registers, s->frames + s->rec.kernel_count, sizeof(t->registers));
    memcpy(hotspot_waiting_stacks(b) + b->stacks_bytes, s->stack.p, s->stack.n);
    b->stacks_bytes += t->stack_bytes;
    b->count++;
    return true;
}

static void walk_and_hand_on(struct dispatch *d, struct process *p, struct pending_sample **s,
                             size_t count)
{
    enum unwind_end end = UNWIND_END_NO_PROCESS;
    size_t from = 0;

    while (from < count && begin_batch(d, p, s[from])) {
        struct hotspot_waiting_batch *b = d->batch;

        for (size_t i = from; i < count && add_to_batch(d, p, s[i]); i++)
            ;
        if (hotspot_walk_waiting(vm_of(p), &d->batch) != 0) {
            end = UNWIND_END_REFUSED;
            break;
        }
        for (size_t i = 0; i < b->done && from < count; i++)
            hand_on(d, s[from++], &b->threads[i], UNWIND_END_ROOT);
    }
    for (; from < count; from++)
        hand_on(d, s[from], NULL, end);
}

static bool is_of(void *process, const struct pending_sample *s)
{
    return !process || s->process == process;
}

void dispatch_waiting(struct dispatch *d, uint64_t until_ns)
{
    while (d->waiting.count && clock_monotonic_ns() < until_ns) {
        struct pending_sample *taken[HOTSPOT_WAITING_MAX], **at = NULL;
        struct process *p = NULL;
        size_t n = 0;

        while (n < HOTSPOT_WAITING_MAX && (taken[n] = pending_take(&d->waiting, &at, is_of, p)))
            p = taken[n++]->process;
        if (n == 0)
            return;
        process_pin(p);
        walk_and_hand_on(d, p, taken, n);
        process_unpin(p);
    }
}

void dispatch_walk_looks(void *cookie)
{
    dispatch_waiting(cookie, clock_monotonic_ns() + LOOKS_WALK_NS);
}

void dispatch_waiting_deinit(struct dispatch *d)
{
    pending_deinit(&d->waiting);
    free(d->batch);
    free(d->frames);
}
