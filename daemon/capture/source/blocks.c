/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event nativelive: keeps samples of blocks until the end, and drops a sample when its block is
 * freed.
 */
#include "capture/capture_impl.h"
#include "capture/native_live.h"
#include "capture/source/function_calls.h"
#include "sample/alloc_abi.h"

_Static_assert(NATIVE_LIVE_MAX >= ALLOC_BLOCKS_MAX, "all that the program follows");

struct blocks {
    struct native_live *live;
};

static int blocks_begin(struct capture_event *e, struct error *err)
{
    struct blocks *b = e->state;

    (void)err;
    return native_live_new(e->capture->record, &b->live);
}

/* Returns whether no probe reports until the end of @c that the block of @in is freed, as the
 * probes are gone: an exec replaced the image, or the process called too often. */
static bool is_unfollowed(const struct capture *c, const struct incoming *in)
{
    const struct probe_table *calls = &c->captures->calls;
    const struct proc_id *id = &in->process->id;
    uint64_t since_ns = calls_since_ns(calls, id, in->rec->set);

    return since_ns == UINT64_MAX
               ? !in->process->exited && calls_cut_ns(calls, id, in->rec->set) < c->end_ns
               : in->rec->time_ns < since_ns;
}

static void blocks_keep(struct capture_event *e, const struct incoming *in,
                        const struct profile_sample *s, const uint32_t *frames, size_t n)
{
    struct capture *c = e->capture;
    struct native_live *live = ((struct blocks *)e->state)->live;
    struct profile_sample kept = *s;
    uint32_t stack;

    if (in->process->replaced && in->process->exited_ns < c->end_ns)
        native_live_count(live, s->value, NATIVE_LIVE_REPLACED);
    else if (is_unfollowed(c, in))
        native_live_count(live, s->value, NATIVE_LIVE_LOST);
    else if (record_hold(c->record, frames, n, &stack) == 0) {
        kept.stack = stack;
        if (!native_live_keep(live, in->rec->object, &in->process->id, &kept))
            record_drop(c->record, 1);
    }
}

/* Takes a record of SAMPLE_GIVEN_BACK. */
static bool blocks_note(struct capture_event *e, const struct incoming *in)
{
    struct capture *c = e->capture;
    struct captures *captures = c->captures;
    struct native_live *live = ((struct blocks *)e->state)->live;
    const struct sample_record *rec = in->rec;
    const struct seen_verdict *v;
    bool early;

    if (!(rec->flags & SAMPLE_GIVEN_BACK))
        return false;
    v = capture_verdict(captures, c, in->process, rec->time_ns);
    early = pending_has(captures->pending, 1u << rec->set, UINT64_MAX);
    if (!v || !v->wanted) /* the set also has blocks of other processes */
        return true;
    if (!rec->object)
        native_live_count(live, rec->value, NATIVE_LIVE_LOST);
    else
        native_live_end(live, rec->object, rec->value ? NATIVE_LIVE_CROWDED : NATIVE_LIVE_FREED,
                        early);
    return true;
}

/* Ends the blocks of process @id at @time_ns, in each capture of set @set that has not ended by
 * then. */
static void end_process(struct captures *captures, const struct proc_id *id, uint32_t set,
                        enum native_live_end how, uint64_t time_ns)
{
    for (struct capture *c = captures->running; c; c = c->next) {
        for (size_t i = 0; i < c->event_count; i++) {
            const struct capture_event *e = &c->events[i];

            if (e->source == &event_source_blocks && e->sets[0].set == set && time_ns < c->end_ns)
                native_live_end_process(((struct blocks *)e->state)->live, id, how);
        }
    }
}

/* Drops the blocks of processes that have lost their probes since the last call, as no probe
 * reports when these are freed. */
static void blocks_swept(struct captures *captures)
{
    struct proc_id id;
    uint32_t set;

    while (calls_take_cut(&captures->calls, &id, &set))
        end_process(captures, &id, set, NATIVE_LIVE_LOST, clock_monotonic_ns());
}

static void blocks_replaced(struct captures *captures, const struct process *p)
{
    for (uint32_t set = 0; set < BROKER_SETS_MAX; set++) {
        if (calls_since_ns(&captures->calls, &p->id, set) != UINT64_MAX)
            end_process(captures, &p->id, set, NATIVE_LIVE_REPLACED, p->exited_ns);
    }
}

/* Drops all blocks, as the new set follows none of them. */
static void blocks_set_changed(struct capture_event *e)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (now_ns < e->capture->end_ns)
        native_live_lose_all(((struct blocks *)e->state)->live, now_ns);
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
                "of %llu sampled blocks of memory %llu were freed. %llu that were allocated in the "
                "last %.1f s are left out: they may still be freed",
                (unsigned long long)(f->ended[NATIVE_LIVE_FREED] + f->live + f->young),
                (unsigned long long)f->ended[NATIVE_LIVE_FREED], (unsigned long long)f->young,
                (double)tail_ns / NSEC_PER_SEC);
    if (f->ended[NATIVE_LIVE_REPLACED])
        record_warn(c->record,
                    "%llu sampled blocks of memory ended when their process ran another program "
                    "(exec): they are not in this profile",
                    (unsigned long long)f->ended[NATIVE_LIVE_REPLACED]);
    if (f->ended[NATIVE_LIVE_CROWDED])
        record_warn(c->record,
                    "%llu sampled blocks of memory were not followed: a node has room for %d, and "
                    "one process may take at most as many as are then still free; raise interval",
                    (unsigned long long)f->ended[NATIVE_LIVE_CROWDED], NATIVE_LIVE_MAX);
    if (f->missed_bytes)
        record_warn(
            c->record,
            "%.3g %% of the allocated bytes were not followed: they are not in this profile",
            100.0 * (double)f->missed_bytes / (double)f->bytes);
    if (f->lost_ends)
        record_warn(c->record, "%llu blocks in this profile may have been freed",
                    (unsigned long long)f->lost_ends);
}

static void blocks_settle(struct capture_event *e, uint64_t end_ns)
{
    struct capture *c = e->capture;
    _cleanup_free_ struct settling *to = calloc(1, sizeof(*to));
    uint64_t tail_ns = (end_ns - MIN(c->start_ns, end_ns)) / NATIVE_LIVE_TAIL;
    struct native_live_found found;

    if (!to)
        return;
    to->c = c;
    native_live_each(((struct blocks *)e->state)->live, end_ns - tail_ns, settle, to, &found);
    if (found.bytes)
        warn(c, &found, tail_ns);
}

static size_t blocks_kept(const struct capture_event *e)
{
    return native_live_kept(((const struct blocks *)e->state)->live);
}

static void blocks_warn(const struct capture_event *e)
{
    function_calls_warn_mallocs(e, "malloc and free");
}

static void blocks_release(struct capture_event *e)
{
    struct blocks *b = e->state;

    b->live = native_live_free(b->live);
}

const struct event_source event_source_blocks = { .state_bytes = sizeof(struct blocks),
                                                  .at_end = true,
                                                  .begin = blocks_begin,
                                                  .prepare = function_calls_prepare,
                                                  .hold = function_calls_hold,
                                                  .want = function_calls_want,
                                                  .swept = blocks_swept,
                                                  .replaced = blocks_replaced,
                                                  .note = blocks_note,
                                                  .keep = blocks_keep,
                                                  .set_changed = blocks_set_changed,
                                                  .settle = blocks_settle,
                                                  .warn = blocks_warn,
                                                  .empty = { "all that was allocated was freed",
                                                             EMPTY_BYTES_BY_CHANCE },
                                                  .kept = blocks_kept,
                                                  .release = blocks_release };
