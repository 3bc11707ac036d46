/* SPDX-License-Identifier: Apache-2.0 */
/* Event nativelive of a capture: its samples wait for the end, and go when their blocks are given
 * back. */
#include "capture/capture_impl.h"
#include "sample/alloc_abi.h"

_Static_assert(NATIVE_LIVE_MAX >= ALLOC_BLOCKS_MAX, "all that the program follows");

int capture_begin_blocks(struct capture *c)
{
    return capture_has(c, EVENT_BLOCKS) ? native_live_new(&c->native_live) : 0;
}

/* Whether nobody will tell when the block of @in is freed. Its probes have gone: they were of an
 * image that an exec replaced, or the process calls too often. */
static bool is_unfollowed(struct captures *captures, const struct incoming *in)
{
    uint64_t since_ns = calls_since_ns(&captures->calls, &in->process->id, in->rec->set);

    return since_ns == UINT64_MAX ? !in->process->exited : in->rec->time_ns < since_ns;
}

void capture_keep_block(struct captures *captures, struct capture *c, const struct incoming *in,
                        const struct profile_sample *s, const uint32_t *frames, size_t n)
{
    const struct sample_record *rec = in->rec;
    struct profile_sample kept = *s;

    if (!c->native_live)
        return;
    if (in->process->replaced)
        native_live_count(c->native_live, s->value, NATIVE_LIVE_REPLACED);
    else if (is_unfollowed(captures, in))
        native_live_count(c->native_live, s->value, NATIVE_LIVE_LOST);
    else if (record_hold(c->record, frames, n, &kept.stack) == 0 &&
             !native_live_keep(c->native_live, rec->object, &in->process->id, &kept))
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
        native_live_count(c->native_live, rec->value, NATIVE_LIVE_LOST);
    else
        native_live_end(c->native_live, rec->object,
                        rec->value ? NATIVE_LIVE_CROWDED : NATIVE_LIVE_FREED, early);
}

/* Those of process @id end, in each capture of set @set. */
static void end_process(struct captures *captures, const struct proc_id *id, uint32_t set,
                        enum native_live_end how)
{
    for (struct capture *c = captures->running; c; c = c->next) {
        if (c->native_live && capture_sets(c) & 1u << set)
            native_live_end_process(c->native_live, id, how);
    }
}

void captures_lose_blocks(struct captures *captures)
{
    struct call_probe *one;

    while ((one = calls_take_cut(&captures->calls)))
        end_process(captures, &one->entry.id, one->entry.set, NATIVE_LIVE_LOST);
}

void captures_replace_blocks(struct captures *captures, const struct proc_id *id)
{
    for (uint32_t set = 0; set < BROKER_SETS_MAX; set++) {
        if (calls_since_ns(&captures->calls, id, set) != UINT64_MAX)
            end_process(captures, id, set, NATIVE_LIVE_REPLACED);
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
                (unsigned long long)(f->ended[NATIVE_LIVE_FREED] + f->live + f->young),
                (unsigned long long)f->ended[NATIVE_LIVE_FREED], (unsigned long long)f->young,
                (double)tail_ns / NSEC_PER_SEC);
    if (f->ended[NATIVE_LIVE_REPLACED])
        record_warn(c->record,
                    "%llu sampled blocks of memory went with a program that an exec replaced: they "
                    "are not in this profile",
                    (unsigned long long)f->ended[NATIVE_LIVE_REPLACED]);
    if (f->ended[NATIVE_LIVE_CROWDED])
        record_warn(c->record,
                    "%llu sampled blocks of memory were not followed. %d can be at a time on this "
                    "node, and a process may have as many as it leaves free; raise interval",
                    (unsigned long long)f->ended[NATIVE_LIVE_CROWDED], NATIVE_LIVE_MAX);
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
