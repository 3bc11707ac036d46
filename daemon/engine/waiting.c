/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of threads that still waited when a capture ended. A BPF program can read the memory
 * of the thread that runs alone. So it gives these threads' registers, and flamed walks the stacks
 * itself, some of a process at a time.
 */
#include "base/clock.h"
#include "broker_client/tables.h"
#include "engine/dispatch.h"
#include "unwind/unwind.h"

bool dispatch_keep_waiting(struct dispatch *d, struct process *p, const struct sample_record *rec,
                           const uint64_t *frames)
{
    return p->jvm == JVM_READY && p->vm && rec->user_count == SAMPLE_REGISTER_COUNT &&
           pending_add(&d->waiting, p, rec, frames, clock_monotonic_ns());
}

/* Whether a stack that was walked has Java code. */
static bool runs_java(const struct hotspot_waiting_batch *b, const struct hotspot_waiting *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        uint64_t word = b->words[t->first + i], pc = word & UNWIND_PC_MASK;

        if (pc != word || (pc >= b->process.vm.code_low && pc < b->process.vm.code_high))
            return true;
    }
    return false;
}

/* Hands on the same once more, as a wait for the lock of @t. */
static void hand_on_lock(struct dispatch *d, struct process *p, const struct sample_record *rec,
                         const struct hotspot_lock *lock)
{
    struct sample_record of_lock = *rec;

    of_lock.lock = lock->kind;
    of_lock.lock_class = lock->class_word;
    of_lock.lock_owner = lock->owner;
    dispatch_known(d, p, &of_lock, d->frames);
}

/* Hands on @s with the stack @t; NULL: with none. */
static void hand_on(struct dispatch *d, struct pending_sample *s, const struct hotspot_waiting *t)
{
    struct sample_record rec = s->rec;

    rec.flags &= (uint8_t)~SAMPLE_REGISTERS;
    rec.user_count = 0;
    if (!t && rec.set == LOOKS_SET)
        rec.user_end = UNWIND_END_NO_PROCESS; /* it is walked again once there are tables */
    if (t) {
        memcpy(d->frames, s->frames, rec.kernel_count * sizeof(*d->frames));
        rec.user_count = (uint16_t)t->count;
        rec.user_end = t->end;
        rec.flags |= t->end == UNWIND_END_LIMIT ? SAMPLE_USER_CUT : 0;
        rec.flags |= t->wants_thread || ((t->asks_lock || t->has_context) && !t->java_thread &&
                                         runs_java(d->batch, t))
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

/* What the batch must hold besides threads. False: nothing can be walked. */
static bool begin_batch(struct dispatch *d, struct process *p, const struct sample_record *rec)
{
    const struct unwind_process *known = unwinding_process(d->unwinding, p, rec);
    struct hotspot_waiting_batch *b = d->batch;

    if (!known || p->jvm != JVM_READY || !p->vm)
        return false;
    if (!b)
        b = d->batch = calloc(1, sizeof(*b));
    if (!d->frames)
        d->frames = calloc(SAMPLE_KERNEL_MAX + SAMPLE_USER_MAX + CONTEXT_WORDS, sizeof(*d->frames));
    if (!b || !d->frames || broker_rows(d->broker, &b->rows, NULL) < 0)
        return false;
    b->row_count = BROKER_ROWS_MAX;
    b->proc_fd = d->proc_fd;
    b->max_words = d->max_words;
    b->process = *known;
    captures_context_path(d->captures, p, &b->path);
    b->count = 0;
    return true;
}

static void walk_and_hand_on(struct dispatch *d, struct process *p, struct pending_sample **s,
                             size_t count)
{
    size_t from = 0;

    while (from < count && begin_batch(d, p, &s[from]->rec)) {
        struct hotspot_waiting_batch *b = d->batch;

        for (size_t i = from; i < count; i++) {
            struct hotspot_waiting *t = &b->threads[b->count++];

            *t = (struct hotspot_waiting){ .host_tid = (int32_t)s[i]->rec.host_tid };
            t->java_thread = anchors_thread(d->anchors, p, t->host_tid);
            t->asks_lock = s[i]->rec.set == LOOKS_SET;
            memcpy(t->registers, s[i]->frames + s[i]->rec.kernel_count, sizeof(t->registers));
        }
        if (hotspot_walk_waiting(p->vm, b) != 0)
            break;
        for (size_t i = 0; i < b->done && from < count; i++)
            hand_on(d, s[from++], &b->threads[i]);
    }
    for (; from < count; from++)
        hand_on(d, s[from], NULL);
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

void dispatch_waiting_deinit(struct dispatch *d)
{
    pending_deinit(&d->waiting);
    free(d->batch);
    free(d->frames);
}
