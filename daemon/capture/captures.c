/* SPDX-License-Identifier: Apache-2.0 */
/* Captures under way, as one list: their memory, their end and the finished profile. */
#include "capture/capture_impl.h"

/* For this long captures are finished while others wait for their turn. */
#define CAPTURES_TURN_NS (50 * NSEC_PER_MSEC)
/* Past the end of sampling, for the stacks of waits that have just ended. */
#define CAPTURE_LATE_NS (50 * NSEC_PER_MSEC)

/* Past the end of sampling, for symbols that are being read. */
#define CAPTURE_SYMBOLS_NS (500 * NSEC_PER_MSEC)

struct capture *capture_free(struct capture *c)
{
    if (!c)
        return NULL;
    target_free(c->target);
    record_free(c->record);
    deferred_free(c->later);
    inlined_free(c->inlined);
    live_free(c->live);
    native_live_free(c->native_live);
    id_table_deinit(&c->processes);
    id_table_deinit(&c->threads);
    free(c->verdicts);
    free(c->thread_ids);
    free(c->runs);
    free(c);
    return NULL;
}

int captures_rebase_add(const struct captures *captures, struct rebase *b)
{
    int r = 0;

    for (const struct capture *c = captures->running; c && r == 0; c = c->next) {
        r = rebase_add_record(b, c->record);
        if (r == 0 && c->later)
            r = deferred_rebase_add(c->later, b);
        if (r == 0 && c->inlined)
            r = inlined_rebase_add(c->inlined, b);
    }
    return r;
}

void captures_rebase(struct captures *captures, const struct rebase *b, struct frame_table *frames)
{
    captures->frames = frames;
    for (struct capture *c = captures->running; c; c = c->next) {
        record_rebase(c->record, b);
        if (c->later)
            deferred_rebase(c->later, b, frames);
        if (c->inlined)
            inlined_rebase(c->inlined, b, frames);
    }
}

/* Takes @c out of the list and disarms what only it needed. */
static void capture_unlink(struct captures *captures, struct capture *c)
{
    for (struct capture **at = &captures->running; *at; at = &(*at)->next) {
        if (*at == c) {
            *at = c->next;
            captures->capture_count--;
            break;
        }
    }
    capture_release_rates(captures, c);
    capture_drop_names(captures, c);
    capture_drop_agent(captures, c);
    captures_reconcile(captures, clock_monotonic_ns());
}

/* Reports to those that wait for it. A resource's failure is kept, unless it was cancelled. */
static void capture_answer_failure(struct captures *captures, struct capture *c, int r,
                                   const struct error *err)
{
    if (c->done)
        c->done(c->cookie, r, NULL, err);
    if (c->resource && r != -ECANCELED)
        store_put_failed(captures->store, c->meta.id, &c->meta, err->msg, NULL);
}

/* The facts of a profile that ends at @end_ns, in c->meta. */
static void capture_fill_meta(struct captures *captures, struct capture *c, uint64_t end_ns)
{
    c->meta.end_ns = MIN(end_ns, c->end_ns);
    c->meta.by_process = c->meta.by_process || capture_has_several_processes(c);
    if (!c->meta.symbols[0])
        snprintf(c->meta.symbols, sizeof(c->meta.symbols), "none: no JVM was sampled");
    capture_warn_quality(captures, c);
}

/* With the names that are known by now. */
static int make_profile(struct capture *c, const struct profile *meta, struct profile **ret)
{
    char selector[TARGET_MAIN_BYTES];
    int r;

    capture_decide_names(c);
    r = record_finish(c->record, meta, ret);
    if (r < 0)
        return r;
    target_main_selector(c->target, selector);
    if (selector[0])
        profile_warn_several(*ret, selector);
    capture_add_names(c, *ret);
    r = capture_weigh(c, *ret);
    if (r < 0) {
        *ret = profile_unref(*ret);
        return r;
    }
    profile_count(*ret);
    return 0;
}

static void capture_finish(struct captures *captures, struct capture *c, uint64_t end_ns)
{
    struct profile *p = NULL;
    struct error err = ERROR_NULL;
    int r;

    capture_tell_names(c);
    capture_tell_agent(c);
    capture_settle_live(captures, c);
    capture_settle_blocks(c, end_ns);
    capture_fill_meta(captures, c, end_ns);
    r = make_profile(c, &c->meta, &p);
    capture_unlink(captures, c);
    if (r < 0) {
        error_set(&err, r, "not enough memory to finish this profile");
        capture_answer_failure(captures, c, r, &err);
    } else if (c->keep && captures->store) {
        store_writer_put(captures->store_writer, p, c->schedule, c->max_age_s,
                         !c->done                     ? STORE_WRITER_LAST
                         : caller_is_root(&c->caller) ? STORE_WRITER_FIRST
                                                      : STORE_WRITER_WAITED,
                         capture_answer_ns(c), c->done, c->cookie);
    } else if (c->done) {
        c->done(c->cookie, 0, p, NULL);
    } else {
        profile_unref(p);
    }
    capture_free(c);
}

int capture_new_record(struct captures *captures, struct record **ret)
{
    int r = record_new(captures->frames, captures->opts.samples_max, ret);

    if (r == 0)
        record_set_budget(*ret, &captures->budget);
    return r;
}

/* A copy of a capture is not worth what others need: half as much again may be taken for copies. */
static bool snapshot_has_room(const struct captures *captures, const struct capture *c)
{
    return captures->budget.used_bytes + profile_counted_bytes() + record_bytes(c->record) <=
           captures->budget.max_bytes + captures->budget.max_bytes / 2;
}

int captures_snapshot(struct captures *captures, struct capture *c, bool reset,
                      struct profile **ret, struct error *err)
{
    uint64_t now = clock_monotonic_ns();
    struct profile meta = c->meta;
    struct record *fresh = NULL;
    int r;

    if (reset && (c->live || c->native_live))
        return error_set(err, -EINVAL, "what is alive is known when the capture ends");
    if (!snapshot_has_room(captures, c)) {
        error_set(err, -EBUSY, "the memory for captures (captures_max_bytes, %zu MiB) is used up",
                  captures->budget.max_bytes >> 20);
        error_remedy(err, "ask again when captures have ended, or raise captures_max_bytes");
        return -EBUSY;
    }
    meta.end_ns = MIN(now, c->end_ns);
    meta.by_process = meta.by_process || capture_has_several_processes(c);
    r = make_profile(c, &meta, ret);
    if (r < 0 || !reset)
        return r;
    r = capture_new_record(captures, &fresh);
    if (r < 0)
        return r;
    record_free(c->record);
    c->record = fresh;
    capture_defer_names(c);
    c->meta.start_ns = now;
    c->meta.start_realtime_ns = clock_realtime_ns();
    capture_forget_members(c);
    return 0;
}

/* Has the waits told that are over, but whose thread was not back in its own code before it waited
 * again: on a busy machine it may have to wait for a processor for long. Whether it did, now. */
static bool capture_looks_for_lates(struct captures *captures, struct capture *c)
{
    bool late = c->late;

    for (size_t i = 0; late && i < c->event_count; i++) {
        if (c->events[i].flush_no)
            broker_sample_lates(captures->broker, c->events[i].set, NULL);
    }
    c->late = false;
    return late;
}

/* Has the waits told that were not over at the end of @c, once. Whether samples are still to come.
 */
static bool capture_flushes(struct captures *captures, struct capture *c, uint64_t now_ns)
{
    bool flushed = false;
    uint32_t late;

    if (c->flushed_ns)
        return now_ns < c->flushed_ns || capture_looks_for_lates(captures, c);
    for (size_t i = 0; i < c->event_count; i++) {
        struct capture_event *event = &c->events[i];

        if (!(event->info->flags & EVENT_WAITS))
            continue;
        flushed = true;
        if (broker_sample_flush(captures->broker, event->set, &event->flush_no, &late, NULL) == 0)
            c->late |= late > 0;
    }
    c->flushed_ns = clock_monotonic_ns() + (c->late ? CAPTURE_LATE_NS : 0);
    return flushed;
}

/* Whether samples of @c, whose end is over, wait for symbols that may still come. */
static bool capture_symbols_wait(struct captures *captures, struct capture *c, uint64_t now_ns)
{
    uint64_t hurried = captures->pending->hurried;

    if (!pending_has(captures->pending, capture_sets(c), c->end_ns))
        return false;
    if (now_ns < c->end_ns + CAPTURE_SYMBOLS_NS)
        return true;
    captures->release(captures->release_cookie, /* all_until_ns= */ c->end_ns);
    if (captures->pending->hurried > hurried)
        record_warn(c->record,
                    "symbols of a file were still being read %d ms after the end: "
                    "functions of it are shown by their address",
                    (int)(CAPTURE_SYMBOLS_NS / NSEC_PER_MSEC));
    return false;
}

static void capture_fail(struct captures *captures, struct capture *c, int r,
                         const struct error *err)
{
    capture_unlink(captures, c);
    capture_answer_failure(captures, c, r, err);
    capture_free(c);
}

void captures_finish_due(struct captures *captures, uint64_t now_ns)
{
    uint64_t begun_ns = clock_monotonic_ns();
    struct capture *next;

    for (struct capture *c = captures->running; c; c = next) {
        next = c->next;
        if (c->end_ns > now_ns)
            continue;
        if (c->refused.code) {
            capture_fail(captures, c, BACKEND_CONFLICT, &c->refused);
            continue;
        }
        if (clock_monotonic_ns() - begun_ns >= CAPTURES_TURN_NS)
            return; /* the others at the next tick, which is due at once */
        if (!c->counted)
            captures_look_edge(captures);
        c->counted = true;
        capture_look_live(captures, c);
        if (capture_flushes(captures, c, now_ns))
            continue;
        if (!c->lost.over)
            captures_take_losses(captures);
        c->lost.over = true;
        c->waits_for_names =
            capture_symbols_wait(captures, c, now_ns) || capture_names_wait(captures, c, now_ns);
        if (!c->waits_for_names)
            capture_finish(captures, c, now_ns);
    }
}

void captures_poll_agents(struct captures *captures, uint64_t now_ns)
{
    struct capture *next;

    for (struct capture *c = captures->running; c; c = next) {
        struct error err = ERROR_NULL;
        int r = c->end_ns > now_ns ? capture_poll_agent(captures, c, now_ns, &err) : 0;

        next = c->next;
        if (r != 0)
            capture_fail(captures, c, r, &err);
    }
}

void captures_end(struct captures *captures, uint64_t handle, bool keep)
{
    struct error err = ERROR_NULL;

    for (struct capture *c = captures->running; c; c = c->next) {
        if (c->handle != handle)
            continue;
        if (keep) {
            c->end_ns =
                MIN(c->end_ns, clock_monotonic_ns()); /* the next tick hands over what is left */
        } else {
            error_set(&err, -ECANCELED, "the capture was cancelled");
            capture_fail(captures, c, -ECANCELED, &err);
        }
        return;
    }
}

void captures_fail_all(struct captures *captures, int r, const struct error *err)
{
    while (captures->running)
        capture_fail(captures, captures->running, r, err);
}

bool captures_hurry(const struct captures *captures)
{
    for (const struct capture *c = captures->running; c; c = c->next) {
        if (!c->patient)
            return true;
    }
    return false;
}

uint64_t captures_next_deadline(const struct captures *captures)
{
    uint64_t deadline = UINT64_MAX;

    for (const struct capture *c = captures->running; c; c = c->next) {
        if (!c->waits_for_names)
            deadline = MIN(deadline, MAX(c->end_ns, c->flushed_ns));
    }
    return deadline;
}
