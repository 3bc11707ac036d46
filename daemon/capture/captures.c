/* SPDX-License-Identifier: Apache-2.0 */
/* Captures under way: from the request to the finished profile. */
#include "capture/capture_impl.h"

#define CAPTURE_PATIENT_NS (5 * NSEC_PER_MSEC) /* up to 200 Hz, what waits is little */

/* For this long captures are finished while others wait for their turn. */
#define CAPTURES_TURN_NS (50 * NSEC_PER_MSEC)
/* Past the end of sampling, for the stacks of waits that have just ended. */
#define CAPTURE_LATE_NS (50 * NSEC_PER_MSEC)

/* Past the end of sampling, for symbols that are being read. */
#define CAPTURE_SYMBOLS_NS (500 * NSEC_PER_MSEC)

/* For the symbols of a JVM that is to be probed, before it is. */
#define CAPTURE_PROBES_NS NSEC_PER_SEC

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
    free(c->runs);
    free(c);
    return NULL;
}

/* The share of samples like @rec that is kept. A wait of d is sampled with a chance of d/I. It is
 * kept so often that this is so with the capture's own interval. */
static double capture_share(const struct capture_event *event, const struct sample_record *rec)
{
    uint64_t from = rec->set == event->on_set ? event->on_period : event->set_period,
             to = event->period;

    if (rec->klass) { /* kept with a chance of value/I, too */
        from = MIN(rec->value, to);
    } else if (rec->wait_ns) {
        from = MAX(from, MIN(rec->wait_ns, to));
        to = MAX(to, from);
    }
    return from >= to ? 1.0 : (double)from / (double)to;
}

/* True for a random share of them: which ones must not depend on anything periodic. A sample that
 * is handed on again, having waited, meets the same answer. */
static bool capture_keeps(const struct capture *c, const struct capture_event *event,
                          const struct sample_record *rec)
{
    uint64_t x = rec->time_ns ^ c->random ^ (uint64_t)rec->host_tid << 32;
    double share = capture_share(event, rec);

    if (share >= 1.0)
        return true;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9); /* the mixing of splitmix64 */
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (double)(x >> 11) * 0x1p-53 < share;
}

/* What a sample with a value of its own is worth: of a wait the part that lies within @c. 0:
 * nothing of it does. */
static uint64_t capture_value(const struct capture *c, const struct capture_event *event,
                              const struct sample_record *rec)
{
    uint64_t begun = rec->time_ns - MIN(rec->wait_ns, rec->time_ns);
    uint64_t from = MAX(begun, c->start_ns), to = MIN(rec->time_ns, c->end_ns);

    if (rec->klass)
        return MAX(rec->value, event->period);
    if (from >= to)
        return 0;
    return (uint64_t)((double)rec->value * ((double)(to - from) / (double)rec->wait_ns) /
                          capture_share(event, rec) +
                      0.5);
}

/* What a sample of a thread that runs is worth: what the thread has run since the one before it.
 * Before its first sample and after its last it has run a period each, on average; the first is
 * worth the one, the second the other besides. So the sum is right for threads that are met once,
 * and exact to a period or two for the others. */
static uint64_t capture_ran(struct seen_run *run, uint64_t period, const struct sample_record *rec)
{
    uint64_t value = period;

    if (run->samples && rec->time_ns < run->time_ns)
        return 1; /* it had to wait: the one after it has its time */
    if (run->samples && rec->run_ns < run->run_ns)
        run->samples = 0; /* another thread of that number */
    if (run->samples)
        value = MAX(rec->run_ns - run->run_ns + (run->samples == 1 ? period : 0), UINT64_C(1));
    run->run_ns = rec->run_ns;
    run->time_ns = rec->time_ns;
    run->samples += run->samples < 2;
    return value;
}

/* Whether the time of a sample is one of @c. */
static bool capture_covers(const struct capture *c, const struct capture_event *event,
                           const struct sample_record *rec)
{
    uint32_t no = event->flush_no;

    if (!rec->wait_ns)
        return rec->time_ns >= c->start_ns && rec->time_ns < c->end_ns;
    if (rec->flush ? rec->flush != no : no && rec->flushed >= no)
        return false; /* of another capture's flush; or the own one had it already */
    return capture_value(c, event, rec) > 0;
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

static void capture_name(struct capture *c, struct incoming *in)
{
    const struct code_later later = { .add = later_add, .cookie = c->later };

    if (!c->later || !proc_id_equal(&in->process->id, &c->attach_id)) {
        incoming_name(in, c->symbols != SYMBOLS_NONE);
        return;
    }
    later_set_time(c->later, in->rec->time_ns);
    incoming_name_later(in, &later);
}

static void capture_take(struct captures *e, struct capture *c, const struct capture_event *event,
                         struct incoming *in)
{
    const struct sample_record *rec = in->rec;
    struct seen_verdict *v = capture_verdict(e, c, in->process, rec->time_ns);
    const uint32_t *frames = in->naming->stack->frames;
    struct profile_sample sample;
    struct seen_run *run;
    uint32_t thread;

    if ((v ? !v->wanted : !target_matches(c->target, in->process)) || !capture_keeps(c, event, rec))
        return;
    if (!v) { /* no room for another process */
        record_drop(c->record, rec->weight);
        return;
    }
    capture_name(c, in);
    if (in->waits)
        return;
    if (!v->warned) {
        v->warned = true;
        capture_warn_process(c, in->process);
        capture_note_symbols(c, in->process);
    }
    if (capture_thread(c, v->process, in, &thread, &run) < 0) {
        record_drop(c->record, rec->weight);
        return;
    }
    incoming_sample(in, &sample);
    sample.thread = thread;
    sample.event = (uint8_t)(event - c->events);
    if (rec->wait_ns || rec->klass) {
        sample.value = capture_value(c, event, rec);
        sample.time_ns = MIN(rec->time_ns, c->end_ns - 1);
    } else if (rec->set == event->on_set) {
        sample.value = capture_ran(run, event->period, rec);
    }
    if (c->inlined)
        frames = inlined_stack(c->inlined, in->process, in->naming->stack,
                               RECORD_LATER + LATER_PLACES_MAX);
    record_sample(c->record, &sample, frames, in->naming->stack->count);
}

void captures_sample(struct captures *e, struct incoming *in)
{
    for (struct capture *c = e->captures; c; c = c->next) {
        for (size_t i = 0; i < c->event_count && !in->waits; i++) {
            const struct capture_event *event = &c->events[i];

            if (capture_event_sets(event) & 1u << in->rec->set && capture_covers(c, event, in->rec))
                capture_take(e, c, event, in);
        }
    }
}

bool captures_want(const struct captures *e, uint32_t set)
{
    for (const struct capture *c = e->captures; c; c = c->next) {
        if (capture_sets(c) & 1u << set)
            return true;
    }
    return false;
}

int captures_rebase_add(const struct captures *e, struct rebase *b)
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

void captures_rebase(struct captures *e, const struct rebase *b, struct frame_table *frames)
{
    e->frames = frames;
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
static int capture_new_record(struct captures *e, struct record **ret)
{
    int r = record_new(e->frames, e->opts.samples_max, ret);

    if (r == 0)
        record_set_budget(*ret, &e->budget);
    return r;
}

/* Of a capture of allocations: says what it cannot see, and has its one process probed before it
 * begins. 0, BACKEND_CONFLICT. */
static int capture_probe(struct captures *e, struct capture *c, struct error *err)
{
    int32_t pid = target_single_pid(c->target);
    struct process *p = pid ? discover_find(e->discover, pid) : NULL;
    struct error why = ERROR_NULL;
    int r;

    if (!capture_has(c, EVENT_ALLOC))
        return 0;
    record_warn(c->record, "allocations are sampled where a thread's buffer (TLAB) is full, as JFR "
                           "does: a loop that always allocates the same sequence may show only "
                           "some of its places");
    if (!p)
        return 0;
    r = probes_put(&e->probes, e->broker, e->symbolizer, p,
                   clock_monotonic_ns() + CAPTURE_PROBES_NS, &why);
    if (r == -EAGAIN)
        record_warn(c->record, "the JVM was still starting, or symbols of its libjvm.so were being "
                               "read: what it allocated at first is not in this profile");
    if (r == 0 || r == -EAGAIN)
        return 0;
    error_set(err, r, "what process %d allocates cannot be sampled: %s", pid, why.msg);
    error_remedy(err, "%s", why.remedy);
    return BACKEND_CONFLICT;
}

/* The events of @req, in @c and in its facts. */
static int capture_set_events(struct capture *c, const struct capture_request *req,
                              struct error *err)
{
    c->event_count = req->event_count;
    c->patient = req->live;
    for (size_t i = 0; i < req->event_count; i++) {
        const struct wanted_event *wanted = &req->events[i];
        const struct event_info *info = events_find(wanted->name);
        struct profile_event event;

        if (!info)
            return error_set(err, -EINVAL, "there is no event %s", wanted->name);
        c->events[i] = (struct capture_event){
            .info = info, .period = wanted->period, .set = NO_SET, .on_set = NO_SET
        };
        c->patient = c->patient && event_is_timed(info) && wanted->period >= CAPTURE_PATIENT_NS;
        snprintf(c->events[i].name, sizeof(c->events[i].name), "%s", wanted->name);
        event = profile_event_of(info, wanted->period);
        snprintf(event.name, sizeof(event.name), "%s", wanted->name);
        profile_add_event(&c->meta, &event);
    }
    return 0;
}

/* Begins to sample. The capture is in the list, and will be finished and freed from there. */
static int capture_begin(struct captures *e, const struct capture_request *req, bool background,
                         struct capture **ret, struct error *err)
{
    uint64_t asked_ns = clock_monotonic_ns();
    struct capture *c;
    int r;

    if (!e->sampling->ring)
        return sampling_problem(e->sampling, err);
    r = capture_admit(e, req, err);
    if (r != 0)
        return r;
    if (req->keep && e->store &&
        store_writer_waiting(e->store_writer) >= STORE_WRITER_WAITING_MAX) {
        error_set(err, -EAGAIN, "%d finished captures wait to be written to the store",
                  STORE_WRITER_WAITING_MAX);
        error_remedy(err, "ask again in a second, or for fewer captures");
        return BACKEND_TOO_MANY;
    }
    c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    id_table_init(&c->processes, sizeof(struct proc_id), CAPTURE_PROCESSES_MAX);
    id_table_init(&c->threads, sizeof(struct seen_thread), CAPTURE_THREADS_MAX);
    c->keep = req->keep;
    c->symbols = req->symbols;
    c->caller = req->caller;
    c->lasts = capture_lasts(req);
    r = capture_set_events(c, req, err);
    if (r == 0)
        r = target_new(&req->target, &c->target, err);
    if (r == 0 && !target_is_node(c->target))
        discover_sweep_if_old(e->discover);
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
        r = capture_take_rates(e, c, err);
    if (r == 0) {
        r = capture_probe(e, c, err);
        if (r != 0)
            capture_release_rates(e, c);
    }
    if (r != 0) {
        capture_drop_names(e, c);
        capture_free(c);
        return r == -EBUSY ? BACKEND_TOO_MANY : r;
    }
    capture_warn_rates(c);
    broker_sample_stats(e->broker, &c->stats_before, NULL);
    for (size_t i = 0; i < c->event_count; i++) {
        if (c->events[i].info->kind == EVENT_NATIVEMEM)
            c->huge_faults_before = captures_huge_faults(e);
    }
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

int captures_start(struct captures *e, const struct capture_request *req, capture_done_fn done,
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

int captures_create(struct captures *e, const struct capture_request *req, const char *schedule,
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
static void capture_unlink(struct captures *e, struct capture *c)
{
    for (struct capture **at = &e->captures; *at; at = &(*at)->next) {
        if (*at == c) {
            *at = c->next;
            e->capture_count--;
            break;
        }
    }
    capture_release_rates(e, c);
    capture_drop_names(e, c);
    captures_reconcile(e, clock_monotonic_ns());
}

/* Reports to those that wait for it. A resource's failure is kept, unless it was cancelled. */
static void capture_answer_failure(struct captures *e, struct capture *c, int r,
                                   const struct error *err)
{
    if (c->done)
        c->done(c->cookie, r, NULL, err);
    if (c->resource && r != -ECANCELED)
        store_put_failed(e->store, c->meta.id, &c->meta, err->msg, NULL);
}

/* The facts of a profile that ends at @end_ns, in c->meta. */
static void capture_fill_meta(struct captures *e, struct capture *c, uint64_t end_ns)
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

static void capture_finish(struct captures *e, struct capture *c, uint64_t end_ns)
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
        store_writer_put(e->store_writer, p, c->schedule, c->max_age_s,
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

/* A copy of a capture is not worth what others need: half as much again may be taken for copies. */
static bool snapshot_has_room(const struct captures *e, const struct capture *c)
{
    return e->budget.used_bytes + profile_counted_bytes() + record_bytes(c->record) <=
           e->budget.max_bytes + e->budget.max_bytes / 2;
}

int captures_snapshot(struct captures *e, struct capture *c, bool reset, struct profile **ret,
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

/* Has the waits told that were not over at the end of @c, once. Whether samples are still to come.
 */
static bool capture_flushes(struct captures *e, struct capture *c, uint64_t now_ns)
{
    bool flushed = false;
    uint32_t late, any_late = 0;

    if (c->flushed_ns)
        return now_ns < c->flushed_ns;
    for (size_t i = 0; i < c->event_count; i++) {
        struct capture_event *event = &c->events[i];

        if (!event->info->valued || event->info->kind == EVENT_ALLOC)
            continue;
        flushed = true;
        if (broker_sample_flush(e->broker, event->set, &event->flush_no, &late, NULL) == 0)
            any_late |= late;
    }
    c->flushed_ns = clock_monotonic_ns() + (any_late ? CAPTURE_LATE_NS : 0);
    return flushed;
}

/* Whether samples of @c, whose end is over, wait for symbols that may still come. */
static bool capture_symbols_wait(struct captures *e, struct capture *c, uint64_t now_ns)
{
    uint64_t hurried = e->pending->hurried;

    if (!pending_has(e->pending, capture_sets(c), c->end_ns))
        return false;
    if (now_ns < c->end_ns + CAPTURE_SYMBOLS_NS)
        return true;
    e->release(e->release_cookie, /* all_until_ns= */ c->end_ns);
    if (e->pending->hurried > hurried)
        record_warn(c->record,
                    "symbols of a file were still being read %d ms after the end: "
                    "functions of it are shown by their address",
                    (int)(CAPTURE_SYMBOLS_NS / NSEC_PER_MSEC));
    return false;
}

void captures_finish_due(struct captures *e, uint64_t now_ns)
{
    uint64_t begun_ns = clock_monotonic_ns();
    struct capture *next;

    for (struct capture *c = e->captures; c; c = next) {
        next = c->next;
        if (c->end_ns > now_ns)
            continue;
        if (clock_monotonic_ns() - begun_ns >= CAPTURES_TURN_NS)
            return; /* the others at the next tick, which is due at once */
        if (capture_flushes(e, c, now_ns))
            continue;
        c->waits_for_names = capture_symbols_wait(e, c, now_ns) || capture_names_wait(e, c, now_ns);
        if (!c->waits_for_names)
            capture_finish(e, c, now_ns);
    }
}

static void capture_fail(struct captures *e, struct capture *c, int r, const struct error *err)
{
    capture_unlink(e, c);
    capture_answer_failure(e, c, r, err);
    capture_free(c);
}

void captures_end(struct captures *e, uint64_t handle, bool keep)
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

void captures_fail_all(struct captures *e, int r, const struct error *err)
{
    while (e->captures)
        capture_fail(e, e->captures, r, err);
}

bool captures_hurry(const struct captures *e)
{
    for (const struct capture *c = e->captures; c; c = c->next) {
        if (!c->patient)
            return true;
    }
    return false;
}

uint64_t captures_next_deadline(const struct captures *e)
{
    uint64_t deadline = UINT64_MAX;

    for (const struct capture *c = e->captures; c; c = c->next) {
        if (!c->waits_for_names)
            deadline = MIN(deadline, c->end_ns);
    }
    return deadline;
}
