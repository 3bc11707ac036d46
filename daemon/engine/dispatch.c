/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/dispatch.h"

#include "base/clock.h"
#include "capture/losses.h"
#include "proc/looking.h"
#include "unwind/unwind.h"

/* Hands a sample to the captures, then to the recorder. Stops if naming the sample has to wait for
 * symbols. */
static void dispatch_deliver(struct dispatch *d, struct incoming *in)
{
    captures_sample(d->captures, in);
    if (!in->waits && recorder_takes(*d->recorder, in->rec->set))
        recorder_sample(*d->recorder, in);
    if (in->named >= 0)
        delays_add(&d->delays, clock_monotonic_ns() - in->rec->time_ns);
}

/* Delivers a new sample, or holds it while its symbols are being read. Names Java code of a held
 * sample at once, while the code exists, and keeps the names. */
static void dispatch_deliver_or_hold(struct dispatch *d, struct incoming *in)
{
    in->may_wait = true;
    dispatch_deliver(d, in);
    if (!in->waits ||
        pending_add(&d->pending, in->process, in->rec, in->frames, SPAN_NULL, clock_monotonic_ns()))
        return;
    d->pending.hurried++;
    in->may_wait = in->waits = false;
    dispatch_deliver(d, in);
}

struct release {
    struct dispatch *d;
    uint64_t now_ns, all_until_ns;
};

static bool is_ready(void *cookie, const struct pending_sample *s)
{
    struct release *r = cookie;
    bool reads;

    looking_begin(LOOKING_SAMPLE, &s->process->id, s->process->jvm == JVM_READY);
    reads = symbolizer_reads(r->d->naming.symbolizer, s->process, &s->rec, s->frames,
                             /* java= */ true);
    looking_end();
    if (!reads)
        return true;
    if (r->now_ns - s->since_ns < PENDING_NS_MAX && s->rec.time_ns >= r->all_until_ns)
        return false;
    r->d->pending.hurried++;
    return true;
}

void dispatch_release(struct dispatch *d, uint64_t all_until_ns)
{
    struct release r = { d, clock_monotonic_ns(), all_until_ns };
    struct pending_sample **at = NULL, *s;

    d->pending_looked_ns = r.now_ns;
    while ((s = pending_take(&d->pending, &at, is_ready, &r))) {
        struct incoming in = { .naming = &d->naming,
                               .rec = &s->rec,
                               .frames = s->frames,
                               .process = s->process,
                               .named = -1 };

        looking_begin(LOOKING_SAMPLE, &s->process->id, s->process->jvm == JVM_READY);
        dispatch_deliver(d, &in);
        looking_end();
        pending_free(s);
    }
}

/* Reads the lock of @rec, which was not read in the thread itself. Counts the sample as lost if it
 * is not known whether its thread waits for a lock. Returns as hotspot_lock_read(). */
static int dispatch_read_lock(struct dispatch *d, const struct process *p,
                              const struct sample_record *rec, struct hotspot_lock *ret)
{
    struct loss loss = { .of = { .start_boottime_ns = rec->start_boottime_ns,
                                 .host_pid = rec->host_pid,
                                 .set = rec->set },
                         .count.unread = 1 };
    int r = hotspot_lock_read(p->vm, rec->lock_owner, ret);

    if (r == -EAGAIN)
        captures_add_losses(d->captures, &loss, 1, rec->time_ns);
    return r;
}

/* Returns whether a Java thread may wait in native code. The thread is in a futex since before
 * sampling began. It may wait in native code if it waits for no Java lock and its stack is
 * known. */
static bool dispatch_futex(struct dispatch *d, const struct process *p,
                           const struct sample_record *rec)
{
    struct hotspot_lock now;
    int r;

    if (p->jvm != JVM_READY || !p->vm || !rec->user_count)
        return false;
    r = dispatch_read_lock(d, p, rec, &now);
    return r != 0 && r != -EAGAIN;
}

/* Removes the kernel's frames from a wait for a lock, as they are the same for all locks. Returns
 * false if the wait is not for a lock. */
static bool dispatch_lock(struct dispatch *d, const struct process *p, struct sample_record *rec)
{
    struct hotspot_lock now;

    rec->kernel_count = 0;
    rec->flags &= (uint8_t) ~(SAMPLE_IN_KERNEL | SAMPLE_KERNEL_CUT);
    if (rec->lock == UNWIND_LOCK_FUTEX && rec->lock_owner)
        return dispatch_futex(d, p, rec);
    if (rec->lock != UNWIND_LOCK_UNREAD)
        return true;
    if (p->jvm != JVM_READY || !p->vm || dispatch_read_lock(d, p, rec, &now) != 0)
        return false;
    rec->lock = now.kind;
    rec->lock_class = now.class_word;
    rec->lock_owner = now.owner;
    return true;
}

/* Implements dispatch_known() between looking_begin() and looking_end(). */
static void dispatch_one(struct dispatch *d, struct process *p, const struct sample_record *rec,
                         const uint64_t *frames)
{
    struct incoming in = {
        .naming = &d->naming, .rec = rec, .frames = frames, .process = p, .named = -1
    };
    struct sample_record lock;

    unwinding_see(d->unwinding, p, rec, frames, captures_want(d->captures, rec->set),
                  clock_monotonic_ns());
    if (rec->flags & SAMPLE_WANTS_THREAD)
        anchors_see(d->anchors, p, rec, clock_monotonic_ns());
    if (rec->lock) {
        lock = *rec;
        in.frames += rec->kernel_count;
        in.rec = &lock;
        if (!dispatch_lock(d, p, &lock))
            return;
    }
    dispatch_deliver_or_hold(d, &in);
}

void dispatch_known(struct dispatch *d, struct process *p, const struct sample_record *rec,
                    const uint64_t *frames)
{
    looking_begin(LOOKING_SAMPLE, &p->id, p->jvm == JVM_READY);
    dispatch_one(d, p, rec, frames);
    looking_end();
}

/* Delivers a sample with a user stack that cannot be walked. */
static void dispatch_bare(struct dispatch *d, struct process *p, const struct sample_record *rec,
                          const uint64_t *frames)
{
    struct sample_record bare = *rec;

    bare.flags &= (uint8_t)~SAMPLE_REGISTERS;
    bare.user_count = 0;
    if (rec->set == LOOKS_SET) /* a later look may find the stack readable */
        bare.user_end = UNWIND_END_NO_PROCESS;
    dispatch_known(d, p, &bare, frames);
}

void dispatch_sample(void *cookie, const struct sample_record *rec, const uint64_t *frames)
{
    struct dispatch *d = cookie;

    d->samples++;
    d->sampled_ns = rec->time_ns;
    if (recorder_takes(*d->recorder, rec->set) || captures_want(d->captures, rec->set))
        dispatch_look(d, rec, frames);
}

void dispatch_look(void *cookie, const struct sample_record *rec, const uint64_t *frames)
{
    struct dispatch *d = cookie;
    struct process *p;
    char comm[SAMPLE_COMM_BYTES + 1] = "";

    memcpy(comm, rec->comm, SAMPLE_COMM_BYTES);
    p = discover_get(d->discover, (int32_t)rec->host_pid, rec->start_boottime_ns, rec->exec_id,
                     rec->time_ns, comm);
    if (!p) {
        d->unmatched++;
        return;
    }
    if (!(rec->flags & SAMPLE_REGISTERS))
        dispatch_known(d, p, rec, frames);
    else if (!dispatch_keep_waiting(d, p, rec, frames))
        dispatch_bare(d, p, rec, frames);
}
