/* SPDX-License-Identifier: Apache-2.0 */
/* Captures under way: from the request to the finished profile. */
#include "capture/capture_impl.h"
#include "engine/sampling.h"

#define CAPTURE_PATIENT_NS (5 * NSEC_PER_MSEC) /* up to 200 Hz, what waits is little */

/* Past the end of sampling, for symbols that are being read. */
#define CAPTURE_SYMBOLS_NS (500 * NSEC_PER_MSEC)

static struct capture *capture_free(struct capture *c)
{
    if (!c)
        return NULL;
    target_free(c->target);
    record_free(c->record);
    later_free(c->later);
    inlined_free(c->inlined);
    id_table_deinit(&c->processes);
    id_table_deinit(&c->threads);
    free(c->verdicts);
    free(c->thread_ids);
    free(c);
    return NULL;
}

/* True for a random share of set_period/period: which ones must not depend on anything periodic. A
 * sample that is handed on again, having waited, meets the same answer. */
static bool capture_keeps(const struct capture *c, const struct sample_record *rec)
{
    uint64_t x = rec->time_ns ^ c->random ^ (uint64_t)rec->host_tid << 32;

    if (c->set_period >= c->period)
        return true;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9); /* the mixing of splitmix64 */
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53 < (double)c->set_period / (double)c->period;
}

/* ---- what limited it ---- */

static void capture_warn_process(struct capture *c, const struct process *p)
{
    const char *name = p->main && p->main[0] ? p->main : p->comm;

    if (p->jvm == JVM_UNSUPPORTED)
        record_warn_process(c->record, "Java frames of %d (%s) have no names: %s", p->id.host_pid,
                            name, p->reason);
    else if (p->jvm == JVM_STARTING)
        record_warn_process(c->record,
                            "JVM %d (%s) was still starting: its first Java frames have no names",
                            p->id.host_pid, name);
}

static void capture_note_symbols(struct capture *c, const struct process *p)
{
    char *to = c->meta.symbols;
    size_t size = sizeof(c->meta.symbols);

    if (c->symbols == SYMBOLS_NONE)
        snprintf(to, size, "none: asked for by symbols=none");
    else if (to[0])
        return;
    else if (p && p->jvm == JVM_UNSUPPORTED)
        snprintf(to, size, "none: %.200s", p->reason);
    else if (p && p->jvm == JVM_READY)
        snprintf(to, size, "memory: names are read from the JVM's own memory, nothing is injected");
}

/* ---- samples ---- */

static void capture_name(struct engine *e, struct capture *c, struct incoming *in)
{
    const struct code_later later = { .add = later_add, .cookie = c->later };

    if (!c->later || !proc_id_equal(&in->process->id, &c->attach_id)) {
        incoming_name(e, in, c->symbols != SYMBOLS_NONE);
        return;
    }
    later_set_time(c->later, in->rec->time_ns);
    incoming_name_later(e, in, &later);
}

static void capture_take(struct engine *e, struct capture *c, struct incoming *in)
{
    const struct sample_record *rec = in->rec;
    struct seen_verdict *v = capture_verdict(e, c, in->process, rec->time_ns);
    const uint32_t *frames = e->stack->frames;
    struct profile_sample sample;
    uint32_t thread;

    if ((v ? !v->wanted : !target_matches(c->target, in->process)) || !capture_keeps(c, rec))
        return;
    if (!v) { /* no room for another process */
        record_drop(c->record, rec->weight);
        return;
    }
    capture_name(e, c, in);
    if (in->waits)
        return;
    if (!v->warned) {
        v->warned = true;
        capture_warn_process(c, in->process);
        capture_note_symbols(c, in->process);
    }
    if (capture_thread(c, v->process, in, &thread) < 0) {
        record_drop(c->record, rec->weight);
        return;
    }
    incoming_sample(in, &sample);
    sample.thread = thread;
    if (c->inlined)
        frames = inlined_stack(c->inlined, in->process, e->stack, RECORD_LATER + LATER_PLACES_MAX);
    record_sample(c->record, &sample, frames, e->stack->count);
}

void captures_sample(struct engine *e, struct incoming *in)
{
    for (struct capture *c = e->captures; c && !in->waits; c = c->next) {
        if (c->set == in->rec->set && in->rec->time_ns >= c->start_ns &&
            in->rec->time_ns < c->end_ns)
            capture_take(e, c, in);
    }
}

bool captures_want(const struct engine *e, uint32_t set)
{
    for (const struct capture *c = e->captures; c; c = c->next) {
        if (c->set == set)
            return true;
    }
    return false;
}

int captures_rebase_add(const struct engine *e, struct rebase *b)
{
    int r = 0;

    for (const struct capture *c = e->captures; c && r == 0; c = c->next) {
        r = rebase_add_record(b, c->record);
        if (r == 0 && c->later)
            r = later_rebase_add(c->later, b);
        if (r == 0 && c->inlined)
            r = inlined_rebase_add(c->inlined, b);
    }
    return r;
}

void captures_rebase(struct engine *e, const struct rebase *b, struct frame_table *frames)
{
    for (struct capture *c = e->captures; c; c = c->next) {
        record_rebase(c->record, b);
        if (c->later)
            later_rebase(c->later, b, frames);
        if (c->inlined)
            inlined_rebase(c->inlined, b, frames);
    }
}

/* ---- begin and end ---- */

/* In the budget of all. */
static int capture_new_record(struct engine *e, struct record **ret)
{
    int r = record_new(e->frames, e->opts.samples_max, ret);

    if (r == 0)
        record_set_budget(*ret, &e->budget);
    return r;
}

static void capture_warn_rate(struct capture *c)
{
    if (event_is_timed(c->event))
        record_warn(c->record,
                    "%d other rates are in use: a random share of the samples taken at %.6g Hz "
                    "was kept",
                    BROKER_SETS_MAX, 1e9 / (double)c->set_period);
    else
        record_warn(c->record,
                    "%d other rates are in use: a random share of the samples taken every %llu was "
                    "kept",
                    BROKER_SETS_MAX, (unsigned long long)c->set_period);
}

/* A set for @c. If slower captures take all sets, one of those becomes faster for its users. So a
 * caller that takes all rates keeps nobody from another. 0, -EBUSY or -errno with @err. */
static int capture_take_rate(struct engine *e, struct capture *c, struct error *err)
{
    uint32_t before, after;
    int r = rates_take(&e->rates, e->broker, c->event->kind, c->period, &c->set, &c->set_period,
                       err),
        faster;

    if (r != -EBUSY)
        return r;
    faster = rates_speed_up(&e->rates, e->broker, recorder_sets(e), c->event->kind, c->period,
                            &before, &after, err);
    if (faster == -EBUSY)
        return faster;
    captures_filter_stopped(e, before);
    for (struct capture *o = e->captures; o; o = o->next) {
        if (o->set != before)
            continue;
        o->set = after;
        if (faster == 0) {
            o->set_period = c->period;
            capture_warn_rate(o);
        }
    }
    return faster == 0 ? rates_take(&e->rates, e->broker, c->event->kind, c->period, &c->set,
                                    &c->set_period, err)
                       : faster;
}

/* Begins to sample. The capture is in the list, and will be finished and freed from there. */
static int capture_begin(struct engine *e, const struct capture_request *req, bool background,
                         struct capture **ret, struct error *err)
{
    const struct event_info *info = events_find(req->event);
    uint64_t asked_ns = clock_monotonic_ns();
    struct profile_event event;
    struct capture *c;
    int r;

    if (!info)
        return error_set(err, -EINVAL, "there is no event %s", req->event);
    if (!e->ring)
        return sampling_problem(e, err);
    r = capture_admit(e, req, err);
    if (r != 0)
        return r;
    if (req->keep && e->store && keeper_waiting(e->keeper) >= KEEPER_WAITING_MAX) {
        error_set(err, -EAGAIN, "%d finished captures wait to be written to the store",
                  KEEPER_WAITING_MAX);
        error_remedy(err, "ask again in a second, or for fewer captures");
        return BACKEND_TOO_MANY;
    }
    c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    id_table_init(&c->processes, sizeof(struct seen_process), CAPTURE_PROCESSES_MAX);
    id_table_init(&c->threads, sizeof(struct seen_thread), CAPTURE_THREADS_MAX);
    c->keep = req->keep;
    c->patient = req->live && event_is_timed(info) && req->period >= CAPTURE_PATIENT_NS;
    c->symbols = req->symbols;
    c->event = info;
    c->period = req->period;
    c->caller = req->caller;
    c->lasts = capture_lasts(req);
    r = target_new(&req->target, &c->target, err);
    if (r == 0 && !target_is_node(c->target))
        engine_sweep(e);
    if (r == 0)
        r = target_check(c->target, e->discover, e->opts.proc_fd, err);
    if (r == 0)
        r = capture_new_record(e, &c->record);
    if (r == 0)
        r = capture_choose_names(e, c, background, err);
    if (r == 0 && req->lines) {
        r = inlined_new(e->symbolizer, e->frames, &c->inlined);
        capture_defer_names(c);
    }
    if (r == 0)
        r = capture_take_rate(e, c, err);
    if (r != 0) {
        capture_drop_names(e, c);
        capture_free(c);
        return r == -EBUSY ? BACKEND_TOO_MANY : r;
    }
    if (c->set_period < c->period)
        capture_warn_rate(c);
    broker_sample_stats(e->broker, &c->stats_before, NULL);
    event = profile_event_of(info, c->period);
    profile_add_event(&c->meta, &event);
    target_describe(c->target, e->discover, c->meta.target, sizeof(c->meta.target));
    snprintf(c->meta.scope, sizeof(c->meta.scope), "%s", target_scope(c->target));
    c->meta.by_process = target_is_open(c->target);
    if (target_single_pid(c->target))
        capture_note_symbols(c, discover_find(e->discover, target_single_pid(c->target)));
    c->next = e->captures;
    e->captures = c;
    e->capture_count++;
    captures_reconcile(e, clock_monotonic_ns());
    c->meta.start_realtime_ns = clock_realtime_ns();
    c->start_ns = c->meta.start_ns = clock_monotonic_ns();
    c->random = c->start_ns | 1;
    c->prepared_ns = c->start_ns - asked_ns;
    c->end_ns = req->duration_ns ? c->start_ns + req->duration_ns : UINT64_MAX;
    c->handle = ++e->last_handle;
    if (c->keep && e->store)
        store_new_id(c->meta.id);
    *ret = c;
    return 0;
}

int captures_start(struct engine *e, const struct capture_request *req, capture_done_fn done,
                   void *cookie, uint64_t *ret_handle, struct error *err)
{
    struct capture *c;
    int r = capture_begin(e, req, /* background= */ false, &c, err);

    if (r != 0)
        return r;
    c->done = done;
    c->cookie = cookie;
    *ret_handle = c->handle;
    return 0;
}

int captures_create(struct engine *e, const struct capture_request *req, const char *schedule,
                    uint64_t max_age_s, char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    struct capture_request limited = *req;
    struct capture *c;
    int r;

    if (!e->store) {
        error_set(err, -ENOENT, "captures cannot be kept: flamed runs without a store");
        error_remedy(err, "start it with --store DIR");
        return BACKEND_UNAVAILABLE;
    }
    limited.keep = true;
    if (!limited.duration_ns)
        limited.duration_ns = CAPTURE_SECONDS_MAX * NSEC_PER_SEC;
    r = capture_begin(e, &limited, schedule != NULL, &c, err);
    if (r != 0)
        return r;
    c->resource = true;
    c->max_age_s = max_age_s;
    snprintf(c->schedule, sizeof(c->schedule), "%s", schedule ? schedule : "");
    r = store_put_running(e->store, c->meta.id, &c->meta, schedule, err);
    if (r < 0) {
        captures_end(e, c->handle, /* keep= */ false);
        return BACKEND_UNAVAILABLE;
    }
    memcpy(ret_id, c->meta.id, CAPTURE_ID_BYTES);
    return 0;
}

/* Takes @c out of the list and disarms what only it needed. */
static void capture_unlink(struct engine *e, struct capture *c)
{
    for (struct capture **at = &e->captures; *at; at = &(*at)->next) {
        if (*at == c) {
            *at = c->next;
            e->capture_count--;
            break;
        }
    }
    rates_release(&e->rates, e->broker, c->set);
    capture_drop_names(e, c);
    captures_reconcile(e, clock_monotonic_ns());
}

/* Reports to those that wait for it. A resource's failure is kept, unless it was cancelled. */
static void capture_answer_failure(struct engine *e, struct capture *c, int r,
                                   const struct error *err)
{
    if (c->done)
        c->done(c->cookie, r, NULL, err);
    if (c->resource && r != -ECANCELED)
        store_put_failed(e->store, c->meta.id, &c->meta, err->msg, NULL);
}

/* The facts of a profile that ends at @end_ns, in c->meta. */
static void capture_fill_meta(struct engine *e, struct capture *c, uint64_t end_ns)
{
    c->meta.end_ns = MIN(end_ns, c->end_ns);
    c->meta.by_process = c->meta.by_process || capture_has_several_processes(c);
    if (!c->meta.symbols[0])
        snprintf(c->meta.symbols, sizeof(c->meta.symbols), "none: no JVM was sampled");
    capture_warn_quality(e, c);
}

/* With the names that are known by now. */
static int make_profile(struct capture *c, const struct profile *meta, struct profile **ret)
{
    int r;

    capture_decide_names(c);
    r = record_finish(c->record, meta, ret);
    if (r < 0)
        return r;
    capture_add_names(c, *ret);
    profile_count(*ret);
    return 0;
}

static void capture_finish(struct engine *e, struct capture *c, uint64_t end_ns)
{
    struct profile *p = NULL;
    struct error err = ERROR_NULL;
    int r;

    capture_tell_names(c);
    capture_fill_meta(e, c, end_ns);
    r = make_profile(c, &c->meta, &p);
    capture_unlink(e, c);
    if (r < 0) {
        error_set(&err, r, "not enough memory to finish this profile");
        capture_answer_failure(e, c, r, &err);
    } else if (c->keep && e->store) {
        keeper_put(e->keeper, p, c->schedule, c->max_age_s,
                   !c->done                     ? KEEPER_LAST
                   : caller_is_root(&c->caller) ? KEEPER_FIRST
                                                : KEEPER_WAITED,
                   capture_answer_ns(c), c->done, c->cookie);
    } else if (c->done) {
        c->done(c->cookie, 0, p, NULL);
    } else {
        profile_unref(p);
    }
    capture_free(c);
}

/* A copy of a capture is not worth what others need: half as much again may be taken for copies. */
static bool snapshot_has_room(const struct engine *e, const struct capture *c)
{
    return e->budget.used_bytes + profile_counted_bytes() + record_bytes(c->record) <=
           e->budget.max_bytes + e->budget.max_bytes / 2;
}

int captures_snapshot(struct engine *e, struct capture *c, bool reset, struct profile **ret,
                      struct error *err)
{
    uint64_t now = clock_monotonic_ns();
    struct profile meta = c->meta;
    struct record *fresh = NULL;
    int r;

    if (!snapshot_has_room(e, c)) {
        error_set(err, -EBUSY, "the memory for captures (captures_max_bytes, %zu MiB) is used up",
                  e->budget.max_bytes >> 20);
        error_remedy(err, "ask again when captures have ended, or raise captures_max_bytes");
        return -EBUSY;
    }
    meta.end_ns = MIN(now, c->end_ns);
    meta.by_process = meta.by_process || capture_has_several_processes(c);
    r = make_profile(c, &meta, ret);
    if (r < 0 || !reset)
        return r;
    r = capture_new_record(e, &fresh);
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

/* Whether samples of @c, whose end is over, wait for symbols that may still come. */
static bool capture_symbols_wait(struct engine *e, struct capture *c, uint64_t now_ns)
{
    uint64_t hurried = e->held.hurried;

    if (!held_has(&e->held, c->set, c->end_ns))
        return false;
    if (now_ns < c->end_ns + CAPTURE_SYMBOLS_NS)
        return true;
    engine_release(e, /* all_until_ns= */ c->end_ns);
    if (e->held.hurried > hurried)
        record_warn(c->record,
                    "symbols of a file were still being read %d ms after the end: "
                    "functions of it are shown by their address",
                    (int)(CAPTURE_SYMBOLS_NS / NSEC_PER_MSEC));
    return false;
}

void captures_finish_due(struct engine *e, uint64_t now_ns)
{
    uint64_t begun_ns = clock_monotonic_ns();
    struct capture *next;

    for (struct capture *c = e->captures; c; c = next) {
        next = c->next;
        if (c->end_ns > now_ns)
            continue;
        if (clock_monotonic_ns() - begun_ns >= ENGINE_TURN_NS)
            return; /* the others at the next tick, which is due at once */
        c->waits_for_names = capture_symbols_wait(e, c, now_ns) || capture_names_wait(e, c, now_ns);
        if (!c->waits_for_names)
            capture_finish(e, c, now_ns);
    }
}

static void capture_fail(struct engine *e, struct capture *c, int r, const struct error *err)
{
    capture_unlink(e, c);
    capture_answer_failure(e, c, r, err);
    capture_free(c);
}

void captures_end(struct engine *e, uint64_t handle, bool keep)
{
    struct error err = ERROR_NULL;

    for (struct capture *c = e->captures; c; c = c->next) {
        if (c->handle != handle)
            continue;
        if (keep) {
            c->end_ns =
                MIN(c->end_ns, clock_monotonic_ns()); /* the next tick hands over what is left */
        } else {
            error_set(&err, -ECANCELED, "the capture was cancelled");
            capture_fail(e, c, -ECANCELED, &err);
        }
        return;
    }
}

void captures_fail_all(struct engine *e, int r, const struct error *err)
{
    while (e->captures)
        capture_fail(e, e->captures, r, err);
}

bool captures_hurry(const struct engine *e)
{
    for (const struct capture *c = e->captures; c; c = c->next) {
        if (!c->patient)
            return true;
    }
    return false;
}

uint64_t captures_next_deadline(const struct engine *e)
{
    uint64_t deadline = UINT64_MAX;

    for (const struct capture *c = e->captures; c; c = c->next) {
        if (!c->waits_for_names)
            deadline = MIN(deadline, c->end_ns);
    }
    return deadline;
}
