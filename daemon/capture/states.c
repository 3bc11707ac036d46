/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a capture (enum capture_state): how each state begins, and when the next state
 * follows. */
#include "capture/capture_impl.h"

/* The longest turn of finishing captures, while other work waits. */
#define CAPTURES_TURN_NS (50 * NSEC_PER_MSEC)
/* Length of CAPTURE_FLUSHING: threads return to their own code, which completes their stacks. */
#define CAPTURE_LATE_NS (50 * NSEC_PER_MSEC)
/* The longest wait for symbols past the end of sampling. */
#define CAPTURE_SYMBOLS_NS (500 * NSEC_PER_MSEC)
/* Limit of CAPTURE_PREPARING while no event is ready, if a request waits for the capture. Half of
 * the capture's duration is added, so that it runs for at least half. (Other captures have
 * BACKEND_BEGIN_MAX_NS, as the verifier of a slow machine took 14 s.) */
#define CAPTURE_PREPARE_FIRST_NS CAPTURE_LATEST_NS
/* A capture that is shorter by less than this has no warning: its two figures would be equal. */
#define SHORTER_WARNED_NS (50 * NSEC_PER_MSEC)
/* Bounds of the interval between polls. The interval is a quarter of the time that the capture has
 * waited. */
#define PREPARE_POLL_MIN_NS (4 * NSEC_PER_MSEC)
#define PREPARE_POLL_MAX_NS (50 * NSEC_PER_MSEC)

/* ---- what a state begins with ---- */

/* Delivers @r and @err, as in struct capture_begun, if @c is a resource. Returns false if the
 * request that waits for @c has given up. */
static bool capture_answer_begun(struct captures *captures, const struct capture *c, int r,
                                 const struct error *err)
{
    return !c->to.resource ||
           captures->hooks.begun(captures->hooks.begun_cookie,
                                 &(struct capture_begun){ .ticket = c->to.ticket,
                                                          .schedule = c->to.schedule,
                                                          .id = c->meta.id,
                                                          .r = r,
                                                          .err = err });
}

/* Sets the end of @c for a begin now. */
static void capture_set_end(struct capture *c)
{
    if (!c->duration_ns)
        return;
    c->end_ns = c->start_ns + c->duration_ns;
    if (!c->to.waiter.done || c->start_ns - c->asked_ns <= CAPTURE_LATEST_NS)
        return;
    c->end_ns = MAX(c->asked_ns + c->duration_ns + CAPTURE_LATEST_NS, c->start_ns);
    if (c->start_ns + c->duration_ns - c->end_ns < SHORTER_WARNED_NS)
        return;
    record_warn(c->record,
                "installing the programs and probes of this capture took %.1f s, so it is %.1f s "
                "long and not %.1f s; take it again for the whole time",
                (double)(c->start_ns - c->asked_ns) / NSEC_PER_SEC,
                (double)(c->end_ns - c->start_ns) / NSEC_PER_SEC,
                (double)c->duration_ns / NSEC_PER_SEC);
}

/* Starts the time of @c, which has a ready event. */
static void capture_run(struct captures *captures, struct capture *c)
{
    capture_warn_rates(c);
    c->lost.hidden_before = captures_hidden(captures);
    for (size_t i = 0; i < c->event_count; i++) {
        if (c->events[i].source->run)
            c->events[i].source->run(&c->events[i]);
    }
    captures_reconcile(captures, clock_monotonic_ns());
    captures_look_edge(captures); /* later counts belong to @c */
    c->meta.start_realtime_ns = clock_realtime_ns();
    c->start_ns = c->meta.start_ns = clock_monotonic_ns();
    c->random = c->start_ns | 1;
    capture_set_end(c);
    if (c->to.waiter.begun)
        c->to.waiter.begun(c->to.waiter.cookie);
}

/* Flushes waits and other samples under way at the end of @c. Returns the state that its events
 * need next. */
static enum capture_state capture_flush(struct capture *c)
{
    enum capture_state next = CAPTURE_NAMING;

    for (size_t i = 0; i < c->event_count; i++) {
        struct capture_event *event = &c->events[i];

        if (!event->source->flush)
            continue;
        if (event->ready && event->source->flush(event))
            next = CAPTURE_FLUSHING;
        else if (next == CAPTURE_NAMING)
            next = CAPTURE_SETTLING;
    }
    return next;
}

/* Flushes samples with stacks that are still pending. */
static void capture_flush_pending(const struct capture *c)
{
    for (size_t i = 0; i < c->event_count; i++) {
        if (c->events[i].source->lates)
            c->events[i].source->lates(&c->events[i]);
    }
}

/* Ends the sampling of @c. Returns the state that its events need next. */
static enum capture_state capture_end_sampling(struct captures *captures, struct capture *c)
{
    captures_look_edge(captures);
    capture_ask_names(captures, c);
    for (size_t i = 0; i < c->event_count; i++) {
        if (c->events[i].source->ended)
            c->events[i].source->ended(&c->events[i]);
    }
    return capture_flush(c);
}

/* Removes @c from the list, and releases its sets and probes. */
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
    for (size_t i = 0; i < c->event_count; i++) {
        if (c->events[i].source->release)
            c->events[i].source->release(&c->events[i]);
    }
    captures_reconcile(captures, clock_monotonic_ns());
}

void capture_enter(struct captures *captures, struct capture *c, enum capture_state state)
{
    switch (state) {
    case CAPTURE_RUNNING:
        captures_take_losses(captures); /* losses so far are of captures that already run */
        c->state = state;               /* from now on the filter and the counters include @c */
        capture_run(captures, c);
        break;
    case CAPTURE_FLUSHING:
        state = capture_end_sampling(captures, c);
        break;
    case CAPTURE_SETTLING:
        capture_flush_pending(c);
        break;
    default:
        break;
    }
    c->due_ns = clock_monotonic_ns() + (state == CAPTURE_FLUSHING ? CAPTURE_LATE_NS : 0);
    if (state == CAPTURE_NAMING)
        captures_take_losses(captures); /* the last losses of @c */
    c->state = state;
    if (state == CAPTURE_DONE)
        capture_unlink(captures, c);
}

/* ---- when the next state comes ---- */

/* Returns whether samples of @c are held for symbols that may still be read. */
static bool capture_symbols_wait(struct captures *captures, struct capture *c, uint64_t now_ns)
{
    uint64_t hurried = captures->pending->hurried;

    if (!pending_has(captures->pending, capture_sets(c), c->end_ns))
        return false;
    if (now_ns < c->end_ns + CAPTURE_SYMBOLS_NS)
        return true;
    captures->hooks.release(captures->hooks.release_cookie, /* all_until_ns= */ c->end_ns);
    if (captures->pending->hurried > hurried)
        record_warn(c->record,
                    "symbols of a file were still being read %d ms after the end: "
                    "functions of it are shown by their address",
                    (int)(CAPTURE_SYMBOLS_NS / NSEC_PER_MSEC));
    return false;
}

/* Returns the state that @c should have at @now_ns: the next one, or the same. */
static enum capture_state capture_next(struct captures *captures, struct capture *c,
                                       uint64_t now_ns)
{
    switch (c->state) {
    case CAPTURE_RUNNING:
        return now_ns < c->end_ns ? CAPTURE_RUNNING : CAPTURE_FLUSHING;
    case CAPTURE_FLUSHING:
        return now_ns < c->due_ns ? CAPTURE_FLUSHING : CAPTURE_SETTLING;
    case CAPTURE_SETTLING:
        return now_ns < c->due_ns ? CAPTURE_SETTLING : CAPTURE_NAMING;
    case CAPTURE_NAMING:
        return capture_symbols_wait(captures, c, now_ns) || capture_names_wait(captures, c, now_ns)
                   ? CAPTURE_NAMING
                   : CAPTURE_DONE;
    default:
        return c->state;
    }
}

/* ---- the end ---- */

/* Delivers the failure of @c, and frees @c. The store keeps the failure of a capture that is a
 * resource, unless its request gets the failure or it was cancelled. */
static void capture_fail(struct captures *captures, struct capture *c, int r,
                         const struct error *err)
{
    bool began = c->state != CAPTURE_PREPARING;

    capture_enter(captures, c, CAPTURE_DONE);
    if (!began)
        capture_answer_begun(captures, c, r, err);
    if (c->to.ticket)
        store_delete(captures->store, c->meta.id, NULL);
    else if (c->to.waiter.done)
        c->to.waiter.done(c->to.waiter.cookie, r, NULL, err);
    else if (c->to.resource && r != -ECANCELED)
        store_put_failed(captures->store, c->meta.id, &c->meta, err->msg, NULL);
    capture_free(c);
}

/* Fills in c->meta for a profile that ends at @end_ns. */
static void capture_fill_meta(struct captures *captures, struct capture *c, uint64_t end_ns)
{
    c->meta.end_ns = MIN(end_ns, c->end_ns);
    c->meta.by_process = c->meta.by_process || capture_has_several_processes(c);
    if (!c->meta.symbols[0])
        snprintf(c->meta.symbols, sizeof(c->meta.symbols), "none: no JVM was sampled");
    capture_warn_quality(captures, c);
}

/* Makes the profile of @c, delivers it, and frees @c. */
static void capture_finish(struct captures *captures, struct capture *c, uint64_t end_ns)
{
    struct profile *p = NULL;
    struct error err = ERROR_NULL;
    int r;

    capture_tell_names(c);
    for (size_t i = 0; i < c->event_count; i++) {
        if (c->events[i].source->settle)
            c->events[i].source->settle(&c->events[i], MIN(end_ns, c->end_ns));
    }
    capture_fill_meta(captures, c, end_ns);
    r = capture_make_profile(c, &c->meta, &p);
    if (r < 0) {
        error_set(&err, r, "not enough memory to finish this profile");
        capture_fail(captures, c, r, &err);
        return;
    }
    capture_enter(captures, c, CAPTURE_DONE);
    if (c->to.keep && captures->store)
        store_writer_put(captures->store_writer, p, c->to.schedule, c->to.max_age_s,
                         !c->to.waiter.done           ? STORE_WRITER_LAST
                         : caller_is_root(&c->caller) ? STORE_WRITER_FIRST
                                                      : STORE_WRITER_WAITED,
                         capture_answer_ns(c), c->to.waiter.done, c->to.waiter.cookie);
    else if (c->to.waiter.done)
        c->to.waiter.done(c->to.waiter.cookie, 0, p, NULL);
    else
        profile_unref(p);
    capture_free(c);
}

/* Advances @c as far as possible at @now_ns. */
static void capture_advance(struct captures *captures, struct capture *c, uint64_t now_ns)
{
    enum capture_state next;

    while ((next = capture_next(captures, c, now_ns)) != c->state) {
        if (next == CAPTURE_DONE) {
            capture_finish(captures, c, now_ns);
            return;
        }
        capture_enter(captures, c, next);
        if (c->state == CAPTURE_SETTLING)
            return; /* the next tick reads what was flushed */
    }
}

void captures_finish_due(struct captures *captures, uint64_t now_ns)
{
    uint64_t begun_ns = clock_monotonic_ns();
    struct capture *next;

    for (struct capture *c = captures->running; c; c = next) {
        next = c->next;
        if (c->refusal.code)
            capture_fail(captures, c, BACKEND_CONFLICT, &c->refusal);
        else if (clock_monotonic_ns() - begun_ns < CAPTURES_TURN_NS)
            capture_advance(captures, c, now_ns); /* the other captures follow at the next tick */
    }
}

/* Returns the limit of CAPTURE_PREPARING for @c while none of its events is ready. */
static uint64_t capture_prepare_max_ns(const struct capture *c)
{
    uint64_t max_ns = CAPTURE_PREPARE_FIRST_NS + c->duration_ns / 2;

    return c->to.waiter.done && c->duration_ns ? MIN(max_ns, BACKEND_BEGIN_MAX_NS)
                                               : BACKEND_BEGIN_MAX_NS;
}

/* Schedules the next poll of @c, which began or was requested at @since_ns. */
static void capture_poll_again(struct capture *c, uint64_t since_ns, uint64_t now_ns)
{
    uint64_t took_ns = now_ns - MIN(since_ns, now_ns);

    c->due_ns = now_ns + CLAMP(took_ns / 4, PREPARE_POLL_MIN_NS, PREPARE_POLL_MAX_NS);
}

/* Returns how long after its request @c must begin at the latest. After that, nothing of its
 * duration is left. */
static uint64_t capture_begin_max_ns(const struct capture *c)
{
    return c->to.waiter.done && c->duration_ns ? CAPTURE_LATEST_NS + c->duration_ns : UINT64_MAX;
}

/* Answers the request that created @c; @r is 0 or -EINPROGRESS. Return: 0; -ECANCELED with @err:
 * the request has given up. */
static int capture_answer_created(struct captures *captures, struct capture *c, int r,
                                  struct error *err)
{
    if (!capture_answer_begun(captures, c, r, NULL))
        return error_set(err, -ECANCELED, "no request waits for the capture any more");
    c->to.ticket = 0;
    return 0;
}

/* Polls @c in CAPTURE_PREPARING. Returns 0 if @c runs or has to be polled again, else the reason
 * why it fails. */
static int capture_poll_preparing(struct captures *captures, struct capture *c, uint64_t now_ns,
                                  struct error *err)
{
    uint64_t took_ns = now_ns - c->asked_ns;
    int r = capture_prepare(captures, c, err);

    if (r == -EINPROGRESS && took_ns >= CAPTURE_PREPARE_NS && capture_samples(c))
        r = 0;
    if (r == 0 && took_ns < capture_begin_max_ns(c)) {
        capture_enter(captures, c, CAPTURE_RUNNING);
        return capture_answer_created(captures, c, 0, err); /* it samples from now on */
    }
    if (r != 0 && r != -EINPROGRESS)
        return r;
    capture_poll_again(c, c->asked_ns, now_ns);
    if (r != 0 && took_ns < capture_prepare_max_ns(c))
        return 0;
    if (r == 0)
        error_set(err, -EINPROGRESS,
                  "installing the programs and probes of this capture took %.1f s, and nothing is "
                  "left of its %.1f s",
                  (double)took_ns / NSEC_PER_SEC, (double)c->duration_ns / NSEC_PER_SEC);
    err->retry_s = 1;
    error_remedy(err, "ask again in a second: programs that are loaded by then stay loaded, as do "
                      "symbols that are read; or ask for more seconds");
    return BACKEND_UNAVAILABLE;
}

/* Polls @c in CAPTURE_RUNNING. Returns as capture_poll_preparing(). */
static int capture_poll_running(struct captures *captures, struct capture *c, uint64_t now_ns,
                                struct error *err)
{
    int r = 0;

    if (capture_is_coming(c) && now_ns >= c->due_ns) {
        if (capture_prepare_late(captures, c, now_ns))
            captures_reconcile(captures, now_ns);
        capture_poll_again(c, c->start_ns, now_ns);
    }
    for (size_t i = 0; i < c->event_count && r == 0; i++) {
        if (c->events[i].source->poll)
            r = c->events[i].source->poll(&c->events[i], now_ns, err);
    }
    return r;
}

void captures_poll(struct captures *captures, uint64_t now_ns)
{
    struct capture *next;

    for (struct capture *c = captures->running; c; c = next) {
        struct error err = ERROR_NULL;
        int r = 0;

        next = c->next;
        if (c->state == CAPTURE_PREPARING && now_ns >= c->due_ns)
            r = capture_poll_preparing(captures, c, now_ns, &err);
        else if (c->state == CAPTURE_RUNNING && now_ns < c->end_ns)
            r = capture_poll_running(captures, c, now_ns, &err);
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
        if (keep && c->state != CAPTURE_PREPARING) {
            c->end_ns = MIN(c->end_ns, clock_monotonic_ns()); /* the next tick finishes it */
        } else if (keep) {
            error_set(&err, -EINPROGRESS, "the capture was ended before it could begin");
            error_remedy(&err, "ask again: its programs and probes may be installed by then");
            capture_fail(captures, c, BACKEND_UNAVAILABLE, &err);
        } else if (c->to.ticket) {
            error_set(&err, -ECANCELED, "the capture was removed before it could begin");
            error_remedy(&err, "begin another one if it is still wanted");
            capture_fail(captures, c, BACKEND_CONFLICT, &err);
        } else {
            error_set(&err, -ECANCELED, "the capture was cancelled");
            capture_fail(captures, c, -ECANCELED, &err);
        }
        return;
    }
}

void captures_stop_preparing(struct captures *captures)
{
    struct capture *next;
    struct error err = ERROR_NULL;

    captures->stopping = true;
    capture_stopping(&err);
    for (struct capture *c = captures->running; c; c = next) {
        next = c->next;
        if (c->state == CAPTURE_PREPARING)
            capture_fail(captures, c, BACKEND_UNAVAILABLE, &err);
    }
}

void captures_fail_all(struct captures *captures, int r, const struct error *err)
{
    while (captures->running)
        capture_fail(captures, captures->running, r, err);
}

/* ---- deadlines ---- */

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
        if (c->refusal.code)
            return 0;
        if (c->state == CAPTURE_RUNNING)
            deadline = MIN(deadline, capture_is_coming(c) ? MIN(c->end_ns, c->due_ns) : c->end_ns);
        else if (c->state != CAPTURE_NAMING)
            deadline = MIN(deadline, c->due_ns);
    }
    return deadline;
}
