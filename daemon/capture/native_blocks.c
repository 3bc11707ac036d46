/* SPDX-License-Identifier: Apache-2.0 */
/* Event nativelive of a capture: its samples wait for the end, and go when their blocks are given
 * back. */
#include "capture/capture_impl.h"

int capture_begin_blocks(struct capture *c)
{
    return capture_has(c, EVENT_BLOCKS) ? native_live_new(&c->native_live) : 0;
}

void capture_keep_block(struct captures *captures, struct capture *c, const struct incoming *in,
                        const struct profile_sample *s, const uint32_t *frames, size_t n)
{
    const struct sample_record *rec = in->rec;
    struct profile_sample kept = *s;

    if (!c->native_live)
        return;
    /* Taken before the probes went, and nobody will know when it is freed. */
    if (calls_gave_up(&captures->calls, &in->process->id, rec->set))
        native_live_miss(c->native_live, s->value);
    else if (record_hold(c->record, frames, n, &kept.stack) == 0 &&
             !native_live_keep(c->native_live, rec->object, (int32_t)rec->host_pid, &kept))
        record_drop(c->record, 1);
}

void capture_end_block(struct captures *captures, struct capture *c, const struct incoming *in)
{
    const struct sample_record *rec = in->rec;
    const struct seen_verdict *v = capture_verdict(captures, c, in->process, rec->time_ns);
    bool early = pending_has(captures->pending, 1u << rec->set, UINT64_MAX);

    if (!c->native_live || !v || !v->wanted) /* the set has blocks of others' processes, too */
        return;
    if (!rec->object)
        native_live_miss(c->native_live, rec->value);
    else if (rec->value)
        native_live_lose(c->native_live, rec->object, early);
    else
        native_live_give_back(c->native_live, rec->object, early);
}

void captures_lose_blocks(struct captures *captures)
{
    struct called *one;

    while ((one = calls_take_cut(&captures->calls))) {
        for (struct capture *c = captures->running; c; c = c->next) {
            if (c->native_live && capture_sets(c) & 1u << one->set)
                native_live_lose_process(c->native_live, one->id.host_pid);
        }
    }
}

struct settling {
    struct capture *c;
    uint32_t frames[STACK_FRAMES_MAX];
};

static void settle(void *cookie, const struct profile_sample *s)
{
    struct settling *to = cookie;
    size_t n = record_held(to->c->record, s->stack, to->frames, STACK_FRAMES_MAX);

    record_sample(to->c->record, s, to->frames, n);
}

static void warn(struct capture *c, const struct native_live_found *f, uint64_t tail_ns)
{
    record_warn(c->record,
                "of %llu sampled blocks of memory %llu were freed. Left out are %llu that were "
                "allocated in the last %.1f s: whether they stay is not known yet",
                (unsigned long long)(f->given_back + f->live + f->young),
                (unsigned long long)f->given_back, (unsigned long long)f->young,
                (double)tail_ns / NSEC_PER_SEC);
    if (f->missed_bytes)
        record_warn(c->record,
                    "of %.3g %% of the bytes that were allocated nothing is known but that: they "
                    "are not in this profile",
                    100.0 * (double)f->missed_bytes / (double)f->bytes);
    if (f->lost_ends)
        record_warn(c->record, "%llu blocks may have been freed that this profile has",
                    (unsigned long long)f->lost_ends);
}

void capture_settle_blocks(struct capture *c, uint64_t end_ns)
{
    _cleanup_free_ struct settling *to = c->native_live ? calloc(1, sizeof(*to)) : NULL;
    uint64_t tail_ns;
    struct native_live_found found;

    if (!to)
        return;
    end_ns = MIN(end_ns, c->end_ns);
    tail_ns = (end_ns - MIN(c->start_ns, end_ns)) / NATIVE_LIVE_TAIL;
    to->c = c;
    native_live_each(c->native_live, end_ns - tail_ns, settle, to, &found);
    if (found.bytes)
        warn(c, &found, tail_ns);
}
