/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's thread: drains side-band records and samples every 10 ms while captures run (every
 * 200 ms otherwise), runs calls from other threads, and ends when the broker is lost.
 */
#include "attach/attachment.h"
#include "base/clock.h"
#include "base/lent_thread.h"
#include "capture/looks_survey.h"
#include "capture/losses.h"
#include "capture/source/source.h"
#include "engine/engine_impl.h"
#include "engine/engine_parts.h"
#include "engine/scheduled.h"
#include "proc/stall_readers.h"

#include <poll.h>
#include <sys/eventfd.h>

#define ENGINE_BUSY_TICK_NS (10 * NSEC_PER_MSEC)
#define ENGINE_PATIENT_TICK_NS (50 * NSEC_PER_MSEC)
#define ENGINE_IDLE_TICK_NS (200 * NSEC_PER_MSEC) /* for the recorder, unless a sample wakes it */
#define ENGINE_RECONCILE_NS (100 * NSEC_PER_MSEC)
#define ENGINE_TRACERS_NS NSEC_PER_SEC /* interval if only the recorder runs */
#define ENGINE_RELEASE_NS NSEC_PER_SEC /* time between checks of held samples without symbols */
#define ENGINE_DRAIN_NS NSEC_PER_SEC   /* the longest drain: deadlines are checked after it */
/* A drain lasts this long while calls wait. The first sample of a process may take as long again,
 * to read its mappings. */
#define ENGINE_DRAIN_TURN_NS (10 * NSEC_PER_MSEC)
#define COPIES_AT_ONCE 32
#define ENGINE_WALK_NS (50 * NSEC_PER_MSEC) /* a walk lasts this long while no call waits */

/* ---- the loop ---- */

/* Implements signals_opts.waits. */
static bool engine_waits(void *cookie, const struct process *p, struct waits_now *ret)
{
    struct engine *e = cookie;
    const struct recorder *rec = e->recorder;

    if (!rec || !rec->looks || !looks_survey(rec->looks, p->id.host_pid, ret))
        return false;
    virtual_wishes_load(&e->virtual_waits.recorded, &p->id, &ret->runnable, &ret->mounted);
    return true;
}

/* Takes one sample. Without BPF takes up to COPIES_AT_ONCE samples and walks their stacks. Returns
 * false if there was no sample. */
static bool take_samples(struct engine *e)
{
    if (e->sampling.ring)
        return ring_drain(e->sampling.ring, /* max= */ 1, dispatch_sample, &e->dispatch);
    if (!perf_rings_drain(e->sampling.perf, COPIES_AT_ONCE, dispatch_copied, &e->dispatch))
        return false;
    e->dispatch.sampled_ns = perf_rings_taken_ns(e->sampling.perf);
    dispatch_waiting(&e->dispatch, clock_monotonic_ns() + ENGINE_WALK_NS);
    return true;
}

/* Drains samples one by one, since their costs differ a thousandfold. Stops after its turn if calls
 * wait. Returns false if there may be more. */
static bool engine_drain(struct engine *e)
{
    uint64_t begun_ns = clock_monotonic_ns(), took_ns;

    if (!sampling_works(&e->sampling))
        return true;
    while (take_samples(e)) {
        took_ns = clock_monotonic_ns() - begun_ns;
        if (took_ns >= ENGINE_DRAIN_NS ||
            (took_ns >= ENGINE_DRAIN_TURN_NS && mailbox_has_calls(&e->mailbox)))
            return false;
    }
    return true;
}

/* Walks the stacks of copied samples for one turn, shorter while calls wait. Returns false if there
 * are more. */
static bool engine_walk(struct engine *e)
{
    dispatch_waiting(&e->dispatch,
                     clock_monotonic_ns() +
                         (mailbox_has_calls(&e->mailbox) ? ENGINE_DRAIN_TURN_NS : ENGINE_WALK_NS));
    return !e->dispatch.waiting.count;
}

/* Finishes captures after all their samples up to @now_ns were taken; the ring is in the order of
 * time. A capture waits for unread samples for ENGINE_DRAIN_NS at most. */
static void engine_finish(struct engine *e, bool drained, uint64_t now_ns)
{
    if (drained)
        e->behind_ns = 0;
    else if (!e->behind_ns)
        e->behind_ns = now_ns;
    if (e->behind_ns && now_ns - e->behind_ns < ENGINE_DRAIN_NS)
        now_ns = MIN(now_ns, e->dispatch.sampled_ns);
    e->captures.taken_ns = drained ? UINT64_MAX : e->dispatch.sampled_ns;
    captures_finish_due(&e->captures, now_ns);
}

static void engine_reconcile(struct engine *e, uint64_t now_ns)
{
    uint64_t since_ns = now_ns - e->captures.filter.reconciled_ns;

    if (e->captures.running ? since_ns >= ENGINE_RECONCILE_NS
                            : (e->captures.recording.requests || e->captures.recording.allocs.on) &&
                                  since_ns >= ENGINE_TRACERS_NS)
        captures_reconcile(&e->captures, now_ns);
}

static void engine_tick(struct engine *e)
{
    uint64_t begun_ns = clock_monotonic_ns(), now = begun_ns;
    bool drained, walked;

    engine_memory_tick(&e->captures, &e->memory, e->frames);
    sampling_poll(&e->sampling, e->broker, now);
    engine_want_recorder(e, now);
    discover_poll(e->discover, now);
    mailbox_alive(&e->mailbox);
    unwinding_poll(e->unwinding, e->discover, now);
    if (symbolizer_poll(e->symbolizer) ||
        (e->dispatch.pending.count && now - e->dispatch.pending_looked_ns > ENGINE_RELEASE_NS))
        dispatch_release(&e->dispatch, /* all_until_ns= */ 0);
    mailbox_alive(&e->mailbox);
    drained = engine_drain(e);
    recorder_tick(e->recorder, now);
    walked = engine_walk(e);
    event_sources_drain(&e->captures);
    now = clock_monotonic_ns(); /* draining may have taken a second */
    virtual_waits_tick(&e->virtual_waits, &e->captures.virtual_threads.wishes, &e->dispatch, now);
    captures_look(&e->captures, now);
    captures_losses_tick(&e->captures, now);
    engine_reconcile(e, now);
    mailbox_alive(&e->mailbox);
    attachments_poll(&e->attaching, now);
    captures_poll(&e->captures, now);
    mailbox_alive(&e->mailbox);
    if (walked)
        engine_finish(e, drained, begun_ns);
    mailbox_alive(&e->mailbox);
    spill_tick(e->spill);
    store_writer_hurry(e->store_writer, clock_monotonic_ns());
    scheduled_tick(e->scheduled);
    signals_poll(e->signals, now);
    mailbox_alive(&e->mailbox);
    names_renew(e);
}

/* Returns the longest time between two ticks. */
static uint64_t tick_ns(const struct engine *e)
{
    /* Rings of copied stacks fill fast, so they need short ticks. */
    if (captures_hurry(&e->captures) || (e->sampling.perf && e->captures.running))
        return ENGINE_BUSY_TICK_NS;
    return e->captures.running || sampling_wake_fd(&e->sampling) < 0 || e->sampling.woken ||
                   discover_hurries(e->discover)
               ? ENGINE_PATIENT_TICK_NS
               : ENGINE_IDLE_TICK_NS;
}

static void engine_wait(struct engine *e)
{
    struct pollfd fds[] = { { .fd = e->wake_fd, .events = POLLIN },
                            { .fd = broker_fd(e->broker), .events = POLLRDHUP },
                            { .fd = sampling_wake_fd(&e->sampling), .events = POLLIN } };
    uint64_t now = clock_monotonic_ns(), wait,
             deadline = MIN(captures_next_deadline(&e->captures), scheduled_next_ns(e->scheduled));
    struct timespec ts;
    eventfd_t woken;

    wait = tick_ns(e);
    e->sampling.woken = false;
    if (e->behind_ns || mailbox_has_calls(&e->mailbox))
        wait = 0;
    if (deadline != UINT64_MAX)
        wait = MIN(wait, deadline > now ? deadline - now : 0);
    ts = clock_timespec(wait);
    if (ppoll(fds, ARRAY_SIZE(fds), &ts, NULL) <= 0)
        return;
    if (fds[0].revents)
        eventfd_read(e->wake_fd, &woken);
    if (fds[2].revents)
        sampling_woken(&e->sampling);
}

static bool engine_broker_lost(struct engine *e)
{
    struct pollfd fd = { .fd = broker_fd(e->broker), .events = POLLRDHUP };

    return broker_lost(e->broker) ||
           (poll(&fd, 1, 0) > 0 && fd.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

static void *engine_main(void *arg)
{
    struct engine *e = arg;
    struct error err = ERROR_NULL;

    if (!e->opts.thread) /* a lent thread is the main thread and has the process's name */
        pthread_setname_np(pthread_self(), "flamed-engine");
    readers_use(e->opts.proc_fd);
    while (mailbox_run(&e->mailbox)) {
        mailbox_alive(&e->mailbox);
        if (engine_broker_lost(e)) {
            error_set(&err, -EPIPE, "flamed-broker, which holds the privileges, has ended");
            error_remedy(&err, "both are being started again: ask again in a second");
            err.retry_s = 1;
            captures_fail_all(&e->captures, BACKEND_UNAVAILABLE, &err);
            eventfd_write(e->lost_fd, 1);
            break;
        }
        engine_tick(e);
        engine_wait(e);
    }
    mailbox_stop(&e->mailbox);
    mailbox_run(&e->mailbox); /* calls queued before the stop */
    error_set(&err, -ESHUTDOWN, "flamed is stopping");
    captures_fail_all(&e->captures, BACKEND_UNAVAILABLE, &err);
    return NULL;
}

/* ---- start and stop ---- */

/* Forgets the names and tables of a process image that discover drops. */
static void engine_dropped(void *cookie, struct process *p)
{
    struct engine *e = cookie;

    if (e->symbolizer)
        symbolizer_forget(e->symbolizer, p);
    if (e->unwinding)
        unwinding_forget(e->unwinding, p);
    if (e->anchors)
        anchors_forget(e->anchors, p);
    recorder_forget(e->recorder, p);
    spill_ended(e->spill, p);
    backoff_gone(&e->attaching.backoff, e->broker, p);
}

/* Implements captures_virtual.close. */
static uint64_t close_waits(void *cookie, struct process *p, struct waits_closing *closing)
{
    struct engine *e = cookie;

    return virtual_waits_close(&e->virtual_waits, &e->dispatch, p, closing);
}

static void release_held(void *cookie, uint64_t all_until_ns)
{
    dispatch_release(cookie, all_until_ns);
}

/* Reports the start or failure of a capture to its rule and to the waiting request. Returns false
 * if that request has gone. */
static bool engine_begun(void *engine, const struct capture_begun *b)
{
    struct engine *e = engine;
    struct capture_begun result = *b;
    struct error gone = ERROR_NULL;
    bool heard = !b->ticket || mailbox_answer(&e->mailbox, b->ticket, b->r, b->err);

    if (!heard && b->r == 0) { /* the capture will be cancelled */
        result.r = error_set(&gone, -ECANCELED, "no request waited for the capture any more");
        result.err = &gone;
    }
    if (b->schedule[0])
        scheduled_begun(e->scheduled, &result);
    return heard;
}

/* Gives each part its pointers to the others. */
static void engine_join(struct engine *e)
{
    struct captures *c = &e->captures;
    struct dispatch *d = &e->dispatch;

    e->attaching.broker = e->broker;
    e->attaching.discover = e->discover;
    e->attaching.memory = &e->memory.code_maps;
    e->attaching.proc_fd = e->opts.proc_fd;
    e->attaching.allow_injection = e->opts.allow_injection;
    e->attaching.allow_mounts = e->opts.allow_mounts;
    c->broker = e->broker;
    c->discover = e->discover;
    c->symbolizer = e->symbolizer;
    c->unwinding = e->unwinding;
    c->anchors = e->anchors;
    c->frames = e->frames;
    c->store = e->store;
    c->store_writer = e->store_writer;
    c->attaching = &e->attaching;
    c->sampling = &e->sampling;
    c->pending = &e->dispatch.pending;
    c->hooks.release = release_held;
    c->hooks.release_cookie = &e->dispatch;
    c->hooks.begun = engine_begun;
    c->hooks.begun_cookie = e;
    c->virtual_threads.close = close_waits;
    c->virtual_threads.cookie = e;
    d->discover = e->discover;
    d->unwinding = e->unwinding;
    d->anchors = e->anchors;
    d->broker = e->broker;
    d->proc_fd = e->opts.proc_fd;
    d->max_words = e->opts.max_frames ? e->opts.max_frames : SAMPLE_USER_MAX;
    d->captures = c;
    d->recorder = &e->recorder;
    d->naming.symbolizer = e->symbolizer;
    d->naming.frames = e->frames;
}

static int engine_open(struct engine *e, struct error *err)
{
    struct discover_opts discover_opts = { .proc_fd = e->opts.proc_fd,
                                           .show_arguments = e->opts.show_arguments,
                                           .dropped = engine_dropped,
                                           .dropped_cookie = e };
    struct symbolizer_opts symbolizer_opts = { .proc_fd = e->opts.proc_fd,
                                               .elf_files_max = 256,
                                               .memory = &e->memory,
                                               .perf_map_max_bytes = (size_t)64 << 20,
                                               .background = true };
    int r;

    e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->dispatch.naming.stack = malloc(sizeof(*e->dispatch.naming.stack));
    if (e->wake_fd < 0 || e->lost_fd < 0 || !e->dispatch.naming.stack)
        return error_set(err, -ENOMEM, "not enough memory or file descriptors to start");
    e->mailbox.wake_fd = symbolizer_opts.wake_fd = e->wake_fd;
    r = broker_new(take_fd(&e->opts.broker_fd), &e->broker);
    if (r < 0)
        return r;
    broker_set_quarantine(e->broker, e->opts.quarantine);
    r = (e->opts.max_frames ? broker_unwind_limit(e->broker, e->opts.max_frames, err) : 0) ?:
        sampling_open(&e->sampling, e->broker, err) ?: names_new(e, &e->frames) ?:
        discover_new(e->broker, &discover_opts, &e->discover, err) ?:
        unwinding_new(e->broker, e->wake_fd, &e->memory, &e->unwinding) ?:
        anchors_new(e->broker, e->opts.proc_fd, &e->anchors) ?:
        (e->opts.namer_fd > 0 ? namer_new(e->opts.namer_fd, e->wake_fd, &e->namer) : 0);
    if (r < 0)
        return r;
    symbolizer_opts.namer = e->namer;
    r = symbolizer_new(e->broker, e->frames, &symbolizer_opts, &e->symbolizer, err) ?:
        store_writer_start(e->store, &e->store_writer) ?:
        scheduled_new(&(struct scheduled_env){ .captures = &e->captures,
                                               .discover = e->discover,
                                               .store = e->store,
                                               .store_writer = e->store_writer,
                                               .node = e->opts.node },
                      &e->scheduled) ?:
        signals_new(&(struct signals_opts){ .proc_fd = e->opts.proc_fd,
                                            .discover = e->discover,
                                            .broker = e->broker,
                                            .waits = engine_waits,
                                            .cookie = e },
                    &e->signals);
    if (r < 0)
        return r;
    engine_join(e);
    return sampling_works(&e->sampling) ? engine_start_recorder(e, err) : 0;
}

static void engine_free(struct engine *e)
{
    watch_stop(e->watch);
    if (e->store_writer)
        scheduled_save(e->scheduled);
    store_writer_stop(e->store_writer); /* writes the queued data */
    pending_deinit(&e->dispatch.pending);
    dispatch_waiting_deinit(&e->dispatch);
    virtual_waits_deinit(&e->virtual_waits);
    e->spill = spill_stop(e->spill);
    e->captures.recording.recorder = e->recorder = recorder_stop(e->recorder);
    scheduled_free(e->scheduled);
    e->signals = signals_free(e->signals);
    e->symbolizer = symbolizer_free(e->symbolizer);
    namer_free(e->namer);
    e->unwinding = unwinding_free(e->unwinding);
    e->anchors = anchors_free(e->anchors);
    discover_free(e->discover);
    frame_table_free(e->frames);
    sampling_close(&e->sampling);
    broker_free(e->broker);
    captures_deinit(&e->captures);
    free(e->dispatch.naming.stack);
    close_fd(e->wake_fd);
    close_fd(e->lost_fd);
    close_fd(e->opts.broker_fd);
    close_fd(e->opts.proc_fd);
    mailbox_deinit(&e->mailbox);
    free(e);
}

static unsigned stalled_s(void *engine)
{
    return mailbox_stalled_s(&((struct engine *)engine)->mailbox);
}

int engine_start(const struct engine_opts *o, struct engine **ret, struct error *err)
{
    struct engine *e = calloc(1, sizeof(*e));
    int r;

    if (!e)
        return error_set(err, -ENOMEM, "not enough memory to start");
    e->opts = *o;
    e->store = o->store;
    e->wake_fd = e->lost_fd = -1;
    memory_budget_init(&e->memory);
    pending_init(&e->dispatch.pending, &e->memory.waiting);
    pending_init(&e->dispatch.waiting, &e->memory.waiting);
    mailbox_init(&e->mailbox);
    captures_init(&e->captures,
                  &(struct captures_opts){ .proc_fd = o->proc_fd,
                                           .captures_max = o->captures_max,
                                           .samples_max = o->samples_max,
                                           .captures_max_bytes = o->captures_max_bytes });
    mailbox_alive(&e->mailbox);
    r = watch_start(stalled_s, e, o->look, o->look_cookie, &e->watch) ?: engine_open(e, err);
    mailbox_alive(&e->mailbox);
    if (r == 0 && e->opts.thread)
        lent_start(e->opts.thread, engine_main, e);
    else if (r == 0)
        r = -pthread_create(&e->thread, NULL, engine_main, e);
    if (r < 0) {
        engine_free(e);
        return r;
    }
    e->thread_started = true;
    *ret = e;
    return 0;
}

struct engine *engine_stop(struct engine *e)
{
    if (!e)
        return NULL;
    mailbox_stop(&e->mailbox);
    eventfd_write(e->wake_fd, 1);
    if (e->thread_started && e->opts.thread)
        lent_join(e->opts.thread);
    else if (e->thread_started)
        pthread_join(e->thread, NULL);
    engine_free(e);
    return NULL;
}

struct engine_parts engine_parts(struct engine *e)
{
    return (struct engine_parts){ .mailbox = &e->mailbox,
                                  .opts = &e->opts,
                                  .broker = e->broker,
                                  .store = e->store,
                                  .store_writer = e->store_writer,
                                  .history = e->opts.history,
                                  .spill = &e->spill,
                                  .discover = e->discover,
                                  .symbolizer = e->symbolizer,
                                  .namer = e->namer,
                                  .attaching = &e->attaching,
                                  .captures = &e->captures,
                                  .scheduled = e->scheduled,
                                  .signals = e->signals,
                                  .recorder = &e->recorder,
                                  .dispatch = &e->dispatch,
                                  .sampling = &e->sampling,
                                  .problems = e->problems };
}
