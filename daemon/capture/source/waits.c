/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of waiting: each sample is a wait. It ends when its thread runs again, or by a flush at
 * the end of the capture. Event wall also has samples of running threads.
 */
#include "capture/capture_impl.h"
#include "capture/yield_windows.h"

struct waits {
    uint32_t flush_no;            /* number of the capture's last flush; 0: not flushed yet */
    bool untracked;               /* a JVM does not list all of its virtual threads */
    bool left_out;                /* there was no room for the virtual threads of a JVM */
    bool unclosed;                /* a look at the end of sampling by probes has missed threads */
    bool unlisted;                /* such a look missed threads because the JVM does not list all */
    uint64_t unlisted_ns;         /* waiting time of all missed threads; 0: unknown */
    uint64_t unbegun_ns;          /* greatest possible time of waits with an unknown begin */
    double missed_ns;             /* waiting time of virtual threads that is in no sample */
    int32_t unlooked;             /* JVMs at which no look has succeeded */
    struct yield_windows windows; /* JVMs with virtual threads that probes sample */
};

/* The sets. Only event wall has RUNNING; only source=probe has PROBED. */
enum { WAITING, RUNNING, PROBED };

/* Returns whether the sample is from the probes of virtual threads. */
static bool is_probed(const struct capture_event *e, const struct sample_record *rec)
{
    return e->sets[PROBED].set == rec->set;
}

/* Returns the part of a wait within the capture, in ns, that the sample may count. */
static uint64_t wait_within(const struct capture_event *e, const struct sample_record *rec)
{
    struct capture *c = e->capture;
    struct waits *w = e->state;
    uint64_t begun = rec->time_ns - MIN(rec->wait_ns, rec->time_ns);
    uint64_t from = MAX(begun, c->start_ns), to = MIN(rec->time_ns, c->end_ns);

    if (sample_is_virtual(rec))
        return yield_window_part(yield_window_find(&w->windows, (int32_t)rec->host_pid),
                                 is_probed(e, rec), from, to);
    return to > from ? to - from : 0;
}

/* Returns the value of a wait's sample: the part of it within the capture. 0: none. */
static uint64_t wait_value(const struct capture_event *e, const struct sample_record *rec)
{
    return (uint64_t)((double)rec->value * ((double)wait_within(e, rec) / (double)rec->wait_ns) /
                          source_share(e, rec) +
                      0.5);
}

/* Returns the number of waits that @rec stands for, as not all are sampled. The number is right on
 * average. */
static uint32_t wait_count(const struct capture_event *e, const struct sample_record *rec)
{
    double waits = (double)rec->value / (double)rec->wait_ns / source_share(e, rec);
    double rest =
        (double)(capture_draw(e->capture, rec) * UINT64_C(0x9e3779b97f4a7c15) >> 11) * 0x1p-53;

    return (uint32_t)MAX(MIN(waits + rest, (double)UINT32_MAX), 1.0);
}

static bool waits_cover(const struct capture_event *e, const struct sample_record *rec)
{
    struct waits *w = e->state;

    if (!rec->wait_ns)
        return capture_spans(e->capture, rec);
    if (is_probed(e, rec))
        return yield_window_takes(yield_window_find(&w->windows, (int32_t)rec->host_pid), rec) &&
               wait_value(e, rec) > 0;
    if (rec->flush ? rec->flush != w->flush_no : w->flush_no && rec->flushed >= w->flush_no)
        return false; /* it is of another capture's flush, or counted already */
    return wait_value(e, rec) > 0;
}

static void waits_weight(struct capture_event *e, const struct sample_record *rec,
                         struct seen_run *run, struct profile_sample *sample)
{
    struct capture *c = e->capture;

    (void)run;
    if (!rec->wait_ns) {
        sample->value = source_value(e, rec);
        return;
    }
    sample->value = wait_value(e, rec);
    sample->time_ns = MIN(rec->time_ns, c->end_ns - 1);
    if (c->wish.counts_objects)
        sample->count = wait_count(e, rec);
}

/* ---- virtual threads by probes ---- */

/* Returns whether the request of @e wants probes. */
static bool by_probes(const struct capture_event *e)
{
    return e->capture->wish.source == ALLOC_SOURCE_PROBE;
}

static bool may_have_virtual(const struct process *p)
{
    return p->jvm == JVM_READY && p->vm && hotspot_vm_jdk(p->vm) >= 21;
}

static void add_probed_set(const struct capture_event *e, enum event_kind kind,
                           struct event_ref *ret)
{
    if (!by_probes(e))
        return;
    ret[PROBED] = event_ref_of(events_row(kind));
    ret[PROBED].way = EVENT_WAY_YIELDS;
}

static void waits_sets(const struct capture_event *e, struct event_ref *ret)
{
    add_probed_set(e, e->info->kind, ret);
}

/* Puts probes into @p, and waits until its yields are counted. Processes that cannot have probes
 * are sampled by looks. */
static int waits_prepare(struct capture_event *e, struct process *p, struct error *err)
{
    struct capture *c = e->capture;
    struct probe_table *t = &c->captures->virtual_threads.yields;
    const struct probe_env env = captures_probe_env(c->captures);
    const struct yields_probe *y;
    struct error why = ERROR_NULL;
    bool described;
    int r;

    if (!by_probes(e) || !p || !may_have_virtual(p))
        return 0;
    described = unwinding_frozen(c->captures->unwinding, p, clock_monotonic_ns());
    r = probe_table_put(t, &env, p, PROBE_NO_SET, /* what= */ NULL,
                        /* until_ns= */ UINT64_MAX, &why);
    yields_described(t, &p->id, described);
    y = yields_find(t, &p->id);
    if ((r == -EINPROGRESS || (r == 0 && !y->since_ns)) &&
        clock_monotonic_ns() - c->asked_ns < CAPTURE_PREPARE_NS)
        return error_set(err, -EINPROGRESS, "%s",
                         r ? why.msg : "the yields of its virtual threads are being counted");
    return 0;
}

static void waits_hold(const struct capture_event *e, const struct proc_id *p)
{
    if (p && by_probes(e))
        probe_table_want(&e->capture->captures->virtual_threads.yields, p, PROBE_NO_SET);
}

/* Ends the sampling of @p by probes. One look samples the threads that wait now. */
static void close_window(struct capture_event *e, struct process *p, struct yield_window *window,
                         uint64_t until_ns)
{
    struct captures *captures = e->capture->captures;
    const struct yields_probe *y = yields_find(&captures->virtual_threads.yields, &p->id);
    struct waits_closing closing = { .set = e->sets[PROBED].set,
                                     .no = ++captures->virtual_threads.closings,
                                     .locks = e->info->kind == EVENT_LOCK,
                                     .missed = !y || y->counts.missed,
                                     .from_ns = window->from_ns };
    struct waits *w = e->state;
    uint64_t at_ns;

    window->until_ns = until_ns;
    window->closing_no = closing.no;
    at_ns = y && y->entry.asked.there && captures->virtual_threads.close
                ? captures->virtual_threads.close(captures->virtual_threads.cookie, p, &closing)
                : 0;
    if (at_ns)
        window->cutoff_ns = at_ns;
    w->unclosed |= !at_ns || closing.incomplete;
    w->unlisted |= closing.untracked;
    w->unbegun_ns += closing.locks ? 0 : closing.unbegun_ns;
    w->unlisted_ns += closing.locks ? 0 : closing.unlisted_ns;
}

static void close_windows(struct capture_event *e)
{
    struct capture *c = e->capture;
    struct waits *w = e->state;

    for (uint32_t i = 0; i < w->windows.count; i++) {
        struct yield_window *window = &w->windows.of[i];
        struct process *p = discover_find(c->captures->discover, window->id.host_pid);

        if (window->until_ns != UINT64_MAX)
            continue;
        if (p && !p->exited && proc_id_equal(&p->id, &window->id))
            close_window(e, p, window, c->end_ns);
        else
            w->unclosed = true;
    }
}

/* Probes @p. Returns whether probes sample its virtual threads now, so that looks are not
 * needed. */
static bool want_probed(struct capture_event *e, struct process *p, uint64_t now_ns)
{
    struct captures *captures = e->capture->captures;
    struct probe_table *t = &captures->virtual_threads.yields;
    const struct probe_env env = captures_probe_env(captures);
    struct waits *w = e->state;
    struct error why = ERROR_NULL;
    int r = probe_table_put(t, &env, p, PROBE_NO_SET, /* what= */ NULL, /* until_ns= */ 0, &why);
    const struct yields_probe *y = yields_find(t, &p->id);
    struct yield_window *window = yield_window_find(&w->windows, p->id.host_pid);

    /* Looks sample the new image: its probes have no window. */
    w->unclosed |=
        yield_window_replace(&w->windows, &p->id, p->exec_time_ns ? p->exec_time_ns : now_ns);
    yields_described(t, &p->id, unwinding_frozen(captures->unwinding, p, now_ns));
    if (yields_stand(y)) {
        window = yield_window_begin(&w->windows, &p->id, y->since_ns);
        return window && window->until_ns == UINT64_MAX;
    }
    if (window && window->until_ns == UINT64_MAX)
        close_window(e, p, window, now_ns);
    if (probe_put_failed(r))
        record_warn_process(e->capture->record,
                            "virtual threads of %d (%s) are sampled by looking in %s%s: %s",
                            p->id.host_pid, process_title(p), e->name,
                            window ? ", from some time on" : "", why.msg);
    else if (y && y->unread && y->counts.missed && e->capture->state == CAPTURE_RUNNING)
        record_warn_process(e->capture->record,
                            "virtual threads of %d (%s) are sampled by looking in %s, at least at "
                            "first: the layout of their stacks has not been read yet",
                            p->id.host_pid, process_title(p), e->name);
    return false;
}

/* ---- virtual threads by looks ---- */

/* Requests waits of virtual threads without a carrier, which are read from the JVM
 * (engine/virtual_waits.h). */
static void want_virtual(struct capture_event *e, struct process *p, uint64_t now_ns, bool locks)
{
    const struct virtual_wish *wish;
    struct waits *w = e->state;

    if (!may_have_virtual(p) || e->sets[WAITING].set == NO_SET ||
        e->capture->state > CAPTURE_RUNNING || (by_probes(e) && want_probed(e, p, now_ns)))
        return;
    wish = virtual_wishes_add(&e->capture->captures->virtual_threads.wishes, &p->id,
                              process_payer(p), e->sets[WAITING].set, locks, now_ns);
    w->left_out |= !wish;
    w->untracked |= wish && wish->untracked;
}

static void waits_want(struct capture_event *e, struct process *p, uint64_t now_ns)
{
    want_virtual(e, p, now_ns, /* locks= */ false);
}

static void locks_want(struct capture_event *e, struct process *p, uint64_t now_ns)
{
    want_virtual(e, p, now_ns, /* locks= */ true);
}

/* Returns the part of the missed time @missed of process @host_pid that lies within the capture and
 * outside of sampling by probes. */
static uint64_t missed_within(const struct capture_event *e, int32_t host_pid,
                              const struct virtual_missed *missed)
{
    const struct capture *c = e->capture;
    struct waits *w = e->state;

    return yield_window_part(yield_window_find(&w->windows, host_pid), /* probed= */ false,
                             MAX(missed->from_ns, c->start_ns), MIN(missed->to_ns, c->end_ns));
}

/* Returns whether looks of @wish sample the virtual threads of @p for @e. */
static bool has_looks(const struct capture_event *e, const struct virtual_wish *wish,
                      const struct process *p)
{
    bool locks = e->source->want == locks_want;

    return e->ready && (locks || e->source->want == waits_want) &&
           (locks ? wish->lock_sets : wish->sets) & 1u << e->sets[WAITING].set &&
           (target_is_node(e->capture->target) || target_matches(e->capture->target, p));
}

/* Counts the time of @p from the last look of @wish to the end of the capture, if it is longer than
 * what a look stands for. @times: 1; -1: takes that back, as there was another look. */
static void count_tail(struct capture_event *e, const struct virtual_wish *wish,
                       const struct process *p, int times)
{
    struct virtual_missed tail = { .from_ns = MAX(wish->looked_ns, p->exec_time_ns),
                                   .to_ns = p->exited ? p->exited_ns : UINT64_MAX };
    uint64_t tail_ns = missed_within(e, p->id.host_pid, &tail);
    struct waits *w = e->state;

    if (tail_ns <= VIRTUAL_LOOK_NS)
        return;
    w->missed_ns +=
        times * (double)tail_ns * (e->source->want == locks_want ? wish->lockers : wish->threads);
    w->unlooked += wish->looked_ns ? 0 : times;
}

static void count_tails(struct capture_event *e)
{
    struct captures *captures = e->capture->captures;
    const struct virtual_wishes *wishes = &captures->virtual_threads.wishes;

    for (uint32_t i = 0; i < wishes->count; i++) {
        const struct virtual_wish *wish = &wishes->of[i];
        const struct process *p = discover_find(captures->discover, wish->id.host_pid);

        if (p && proc_id_equal(&p->id, &wish->id) && has_looks(e, wish, p))
            count_tail(e, wish, p, 1);
    }
}

void waits_miss_virtual(struct captures *captures, const struct virtual_wish *wish,
                        const struct process *p, const struct virtual_missed *missed)
{
    for (struct capture *c = captures->running; c; c = c->next) {
        for (size_t i = 0; i < c->event_count; i++) {
            struct capture_event *e = &c->events[i];
            struct waits *w = e->state;

            if (!has_looks(e, wish, p))
                continue;
            if (c->state > CAPTURE_RUNNING) /* waits_flush() has counted until the end */
                count_tail(e, wish, p, -1);
            w->missed_ns += (double)missed_within(e, p->id.host_pid, missed) *
                            (e->source->want == locks_want ? missed->lockers : missed->threads);
        }
    }
}

bool waits_take_virtual(const struct captures *captures, uint32_t set, bool locks)
{
    for (const struct capture *c = captures->running; c; c = c->next) {
        for (size_t i = 0; i < c->event_count; i++) {
            const struct capture_event *e = &c->events[i];

            if (e->ready && e->sets[WAITING].set == set &&
                e->source->want == (locks ? locks_want : waits_want))
                return true;
        }
    }
    return false;
}

/* ---- the end ---- */

static bool waits_flush(struct capture_event *e)
{
    struct waits *w = e->state;
    uint32_t pending;

    close_windows(e);
    count_tails(e);
    return broker_sample_flush(e->capture->captures->broker, e->sets[WAITING].set, &w->flush_no,
                               &pending, NULL) == 0 &&
           pending > 0;
}

/* Flushes pending stacks: on a busy machine, their threads may wait for a processor for long. */
static void waits_lates(const struct capture_event *e)
{
    const struct waits *w = e->state;

    if (w->flush_no)
        broker_sample_lates(e->capture->captures->broker, e->sets[WAITING].set, NULL);
}

static void waits_warn(const struct capture_event *e)
{
    const struct waits *w = e->state;
    char figure[64] = "", most[80] = "";

    if (w->unbegun_ns)
        snprintf(most, sizeof(most), "; waits of an unknown begin are %.1f s at most",
                 (double)w->unbegun_ns / 1e9);
    if (w->unlisted_ns)
        snprintf(figure, sizeof(figure), "; they have waited for at least %.1f s",
                 (double)w->unlisted_ns / 1e9);
    if (w->untracked)
        record_warn(e->capture->record,
                    "virtual threads that no executor has started are missing in %s: the JVM runs "
                    "with -Djdk.trackAllThreads=false",
                    e->name);
    if (w->left_out)
        record_warn(
            e->capture->record,
            "virtual threads without a carrier are missing in %s of some JVMs: it has those "
            "of %u JVMs at most",
            e->name, VIRTUAL_JVMS_MAX);
    if (w->unclosed)
        record_warn(e->capture->record,
                    "virtual threads that still waited when their sampling by probes ended may be "
                    "missing in %s: they could not be looked at, or the begin of their waits is "
                    "unknown%s%s",
                    e->name, w->unlisted ? "" : figure, most);
    if (w->unlisted)
        record_warn(e->capture->record,
                    "virtual threads that no executor has started and that still waited at the end "
                    "are missing in %s: the JVM runs with -Djdk.trackAllThreads=false%s",
                    e->name, figure);
    if (w->windows.count)
        record_warn(e->capture->record,
                    "the time of a virtual thread from its start to its first run is in no sample "
                    "of %s with source=probe",
                    e->name);
    if (w->unlooked > 0)
        record_warn(
            e->capture->record,
            "virtual threads without a carrier may be missing in %s of %d JVM%s: no look at "
            "them succeeded",
            e->name, w->unlooked, w->unlooked > 1 ? "s" : "");
    if (w->missed_ns > 0)
        record_warn(e->capture->record,
                    "%.1f s of waits of virtual threads are missing in %s: looks at their JVMs "
                    "were more than a second apart; profile fewer JVMs at a time",
                    w->missed_ns / 1e9, e->name);
}

#define WAITS                                                                                      \
    .state_bytes = sizeof(struct waits), .covers = waits_cover, .flush = waits_flush,              \
    .lates = waits_lates
#define BY_PROBES .prepare = waits_prepare, .hold = waits_hold

const struct event_source event_source_offcpu = { WAITS,
                                                  BY_PROBES,
                                                  .sets = waits_sets,
                                                  .weight = waits_weight,
                                                  .want = waits_want,
                                                  .warn = waits_warn,
                                                  .empty = { "no thread of the target waited",
                                                             EMPTY_BY_CHANCE } };
const struct event_source event_source_lock = {
    WAITS,
    BY_PROBES,
    .sets = waits_sets,
    .weight = waits_weight,
    .want = locks_want,
    .warn = waits_warn,
    .reads_threads = true,
    .empty = { "no Java thread of the target waited for a lock or a condition", EMPTY_BY_CHANCE }
};
const struct event_source event_source_nativelock = {
    WAITS, .weight = waits_weight, .reads_threads = true,
    .empty = { "no native code of the target waited for a futex", EMPTY_BY_CHANCE }
};

/* ---- event wall ---- */

static void wall_sets(const struct capture_event *e, struct event_ref *ret)
{
    ret[WAITING] = event_ref_of(events_row(EVENT_OFFCPU));
    ret[RUNNING] = event_ref_of(events_row(EVENT_CPU));
    add_probed_set(e, EVENT_OFFCPU, ret);
}

/* Returns the value of a sample of a running thread: its CPU time since its previous sample. On
 * average, the thread has run one period before its first sample and one period after its last
 * sample. The first sample counts one of these periods, and the second sample adds the other. So
 * the sum is right for threads with one sample, and exact to a period or two for others. */
static uint64_t ran(struct seen_run *run, uint64_t period, const struct sample_record *rec)
{
    uint64_t value = period;

    if (run->samples && rec->time_ns < run->time_ns)
        return 1; /* this sample was held; the later sample already has its time */
    if (run->samples && rec->run_ns < run->run_ns)
        run->samples = 0; /* another thread with the same id */
    if (run->samples)
        value = MAX(rec->run_ns - run->run_ns + (run->samples == 1 ? period : 0), UINT64_C(1));
    run->run_ns = rec->run_ns;
    run->time_ns = rec->time_ns;
    run->samples += run->samples < 2;
    return value;
}

static void wall_weight(struct capture_event *e, const struct sample_record *rec,
                        struct seen_run *run, struct profile_sample *sample)
{
    if (!rec->wait_ns && rec->set == e->sets[RUNNING].set)
        sample->value = ran(run, e->period, rec);
    else
        waits_weight(e, rec, run, sample);
}

static void wall_warn(const struct capture_event *e)
{
    waits_warn(e);
    if (e->sets[RUNNING].set != NO_SET)
        capture_warn_dropped(e->capture, e->sets[RUNNING].period);
}

const struct event_source event_source_wall = { WAITS,
                                                BY_PROBES,
                                                .sets = wall_sets,
                                                .weight = wall_weight,
                                                .want = waits_want,
                                                .warn = wall_warn,
                                                .empty = { "no thread of the target ran or waited",
                                                           EMPTY_BY_CHANCE } };
