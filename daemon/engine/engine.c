/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's thread: drains side-band records and samples every 10 ms while captures run (every
 * 50 ms otherwise), runs calls from other threads, and ends when the broker is lost.
 */
#include "attach/attachment.h"
#include "attach/backoff.h"
#include "base/lent_thread.h"
#include "engine/sampling.h"
#include "engine/scheduled.h"
#include "proc/stall_readers.h"
#include "profile/category.h"

#include <poll.h>
#include <sys/eventfd.h>

#define ENGINE_BUSY_TICK_NS (10 * NSEC_PER_MSEC)
#define ENGINE_IDLE_TICK_NS (50 * NSEC_PER_MSEC) /* the recorder's samples are named in time */
#define ENGINE_RECONCILE_NS (100 * NSEC_PER_MSEC)
#define ENGINE_RELEASE_NS NSEC_PER_SEC /* between two looks at held samples without news */
#define ENGINE_DRAIN_NS NSEC_PER_SEC   /* between two looks at deadlines, however many samples */
/* For this long samples are worked on while a call waits. The first one of a process may take as
 * long again: its mappings are read. */
#define ENGINE_DRAIN_TURN_NS (10 * NSEC_PER_MSEC)

void engine_sweep(struct engine *e)
{
    uint64_t now = clock_monotonic_ns();

    if (e->swept_ns && now - e->swept_ns < NSEC_PER_SEC)
        return;
    e->swept_ns = now;
    discover_sweep(e->discover);
}

/* ---- the loop ---- */

/* @named: as in struct incoming. */
static void name_incoming(struct engine *e, struct incoming *in, int named,
                          const struct code_later *later)
{
    char comm[SAMPLE_COMM_BYTES + 1] = "";
    enum category category;
    struct process *p = in->process;

    memcpy(comm, in->rec->comm, SAMPLE_COMM_BYTES);
    if (later)
        symbolizer_stack_later(e->symbolizer, p, in->rec, in->frames, later, e->stack);
    else
        symbolizer_stack(e->symbolizer, p, in->rec, in->frames, named == 1, e->stack);
    in->waits = in->may_wait && in->named < 0 && e->stack->reads;
    if (in->waits)
        return;
    if (in->named < 0)
        in->thread_name =
            symbolizer_thread_name(e->symbolizer, p, (int32_t)in->rec->host_tid, comm);
    category =
        category_of(e->frames, frame_table_get_string(e->frames, in->thread_name), e->stack->frames,
                    e->stack->count, in->rec->flags & SAMPLE_IN_KERNEL, p->jvm != JVM_NO);
    in->flags = (uint16_t)(category << PROFILE_SAMPLE_CATEGORY_SHIFT |
                           (in->rec->user_end & 15) << PROFILE_SAMPLE_END_SHIFT);
    if (e->stack->unknown)
        in->flags |= PROFILE_SAMPLE_UNKNOWN;
    if (e->stack->truncated)
        in->flags |= PROFILE_SAMPLE_TRUNCATED;
    if (named && !in->counted) {
        in->counted = true;
        e->unknown += e->stack->unknown > 0;
        e->truncated[PROFILE_SAMPLE_END(in->flags)] += e->stack->truncated;
    }
    in->named = named;
}

void incoming_sample(const struct incoming *in, struct profile_sample *ret)
{
    *ret = (struct profile_sample){ .time_ns = in->rec->time_ns,
                                    .count = in->rec->weight,
                                    .flags = in->flags,
                                    .mode = in->rec->flags & SAMPLE_IN_KERNEL ? SAMPLE_MODE_KERNEL
                                                                              : SAMPLE_MODE_USER };
}

void incoming_name(struct engine *e, struct incoming *in, bool java)
{
    if (in->named != java)
        name_incoming(e, in, java, NULL);
}

void incoming_name_later(struct engine *e, struct incoming *in, const struct code_later *later)
{
    name_incoming(e, in, 2, later);
}

/* Gives a sample to each that wants it, until one's naming says that it waits. */
static void engine_deliver(struct engine *e, struct incoming *in)
{
    captures_sample(e, in);
    if (!in->waits && recorder_sets(e) & 1u << in->rec->set)
        recorder_sample(e, in);
    if (in->named >= 0)
        delays_add(&e->delays, clock_monotonic_ns() - in->rec->time_ns);
}

/* The same of a sample that came just now. One that waits for symbols is held until they are read;
 * its Java code was named nevertheless, while it was there, and what was found is remembered. */
static void engine_deliver_or_hold(struct engine *e, struct incoming *in)
{
    in->may_wait = true;
    engine_deliver(e, in);
    if (!in->waits || held_add(&e->held, in->process, in->rec, in->frames, clock_monotonic_ns()))
        return;
    e->held.hurried++;
    in->may_wait = in->waits = false;
    engine_deliver(e, in);
}

struct release {
    struct engine *e;
    uint64_t now_ns, all_until_ns;
};

static bool is_ready(void *cookie, const struct held_sample *s)
{
    struct release *r = cookie;

    if (!symbolizer_reads(r->e->symbolizer, s->process, &s->rec, s->frames, /* java= */ true))
        return true;
    if (r->now_ns - s->since_ns < HELD_NS_MAX && s->rec.time_ns >= r->all_until_ns)
        return false;
    r->e->held.hurried++;
    return true;
}

void engine_release(struct engine *e, uint64_t all_until_ns)
{
    struct release r = { e, clock_monotonic_ns(), all_until_ns };
    struct held_sample **at = NULL, *s;

    e->held_looked_ns = r.now_ns;
    while ((s = held_take(&e->held, &at, is_ready, &r))) {
        struct incoming in = {
            .rec = &s->rec, .frames = s->frames, .process = s->process, .named = -1
        };

        engine_deliver(e, &in);
        held_free(s);
    }
}

static void engine_sample(void *cookie, const struct sample_record *rec, const uint64_t *frames)
{
    struct engine *e = cookie;
    struct incoming in = { .rec = rec, .frames = frames, .named = -1 };
    bool recorded = recorder_sets(e) & 1u << rec->set;
    char comm[SAMPLE_COMM_BYTES + 1] = "";

    e->samples++;
    e->sampled_ns = rec->time_ns;
    if (!recorded && !captures_want(e, rec->set))
        return;
    memcpy(comm, rec->comm, SAMPLE_COMM_BYTES);
    in.process = discover_get(e->discover, (int32_t)rec->host_pid, rec->start_boottime_ns,
                              rec->exec_id, rec->time_ns, comm);
    if (!in.process) {
        e->unmatched++;
        return;
    }
    unwinding_see(e->unwinding, in.process, rec, captures_want(e, rec->set), clock_monotonic_ns());
    if (rec->flags & SAMPLE_WANTS_THREAD)
        anchors_see(e->anchors, in.process, rec, clock_monotonic_ns());
    engine_deliver_or_hold(e, &in);
}

/* Takes what samples there are, one by one: what one of them takes differs a thousandfold. Calls
 * that wait have their turn in between. False: there may be more. */
static bool engine_drain(struct engine *e)
{
    uint64_t begun_ns = clock_monotonic_ns(), took_ns;

    if (!e->ring)
        return true;
    while (ring_drain(e->ring, /* max= */ 1, engine_sample, e)) {
        took_ns = clock_monotonic_ns() - begun_ns;
        if (took_ns >= ENGINE_DRAIN_NS || (took_ns >= ENGINE_DRAIN_TURN_NS && engine_is_called(e)))
            return false;
    }
    return true;
}

/* Ends the captures whose samples were all taken by @now_ns: the ring hands them over in their
 * order. Nobody waits for long for samples that cannot be worked on in time. */
static void engine_finish(struct engine *e, bool drained, uint64_t now_ns)
{
    if (drained)
        e->behind_ns = 0;
    else if (!e->behind_ns)
        e->behind_ns = now_ns;
    if (e->behind_ns && now_ns - e->behind_ns < ENGINE_DRAIN_NS)
        now_ns = MIN(now_ns, e->sampled_ns);
    captures_finish_due(e, now_ns);
}

static void engine_tick(struct engine *e)
{
    uint64_t now = clock_monotonic_ns();
    bool drained;

    capture_memory_tick(e);
    sampling_poll(e, now);
    discover_poll(e->discover, now);
    engine_alive(e);
    unwinding_poll(e->unwinding, e->discover, now);
    if (symbolizer_poll(e->symbolizer) ||
        (e->held.count && now - e->held_looked_ns > ENGINE_RELEASE_NS))
        engine_release(e, /* all_until_ns= */ 0);
    engine_alive(e);
    drained = engine_drain(e);
    if (e->captures && now - e->reconciled_ns >= ENGINE_RECONCILE_NS)
        captures_reconcile(e, now);
    engine_alive(e);
    attachments_poll(e, now);
    engine_alive(e);
    engine_finish(e, drained, now);
    engine_alive(e);
    keeper_hurry(e->keeper, clock_monotonic_ns());
    scheduled_tick(e);
    names_renew(e);
}

static void engine_wait(struct engine *e)
{
    struct pollfd fds[] = { { .fd = e->wake_fd, .events = POLLIN },
                            { .fd = broker_fd(e->broker), .events = POLLRDHUP } };
    uint64_t now = clock_monotonic_ns(), wait,
             deadline = MIN(captures_next_deadline(e), scheduled_next_ns(e));
    struct timespec ts;
    eventfd_t woken;

    wait = captures_hurry(e) ? ENGINE_BUSY_TICK_NS : ENGINE_IDLE_TICK_NS;
    if (e->behind_ns || engine_is_called(e))
        wait = 0;
    if (deadline != UINT64_MAX)
        wait = MIN(wait, deadline > now ? deadline - now : 0);
    ts = (struct timespec){ .tv_sec = (time_t)(wait / NSEC_PER_SEC),
                            .tv_nsec = (long)(wait % NSEC_PER_SEC) };
    if (ppoll(fds, ARRAY_SIZE(fds), &ts, NULL) > 0 && fds[0].revents)
        eventfd_read(e->wake_fd, &woken);
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

    if (!e->opts.thread) /* the main thread has the process's name */
        pthread_setname_np(pthread_self(), "flamed-engine");
    readers_use(e->opts.proc_fd);
    while (engine_run_calls(e)) {
        engine_alive(e);
        if (engine_broker_lost(e)) {
            error_set(&err, -EPIPE, "flamed-broker, which holds the privileges, has ended");
            error_remedy(&err, "both are being started again: ask once more in a second");
            captures_fail_all(e, BACKEND_UNAVAILABLE, &err);
            eventfd_write(e->lost_fd, 1);
            break;
        }
        engine_tick(e);
        engine_wait(e);
    }
    pthread_mutex_lock(&e->lock);
    e->stopping = true;
    pthread_mutex_unlock(&e->lock);
    engine_run_calls(e); /* those that came before */
    error_set(&err, -ESHUTDOWN, "flamed is stopping");
    captures_fail_all(e, BACKEND_UNAVAILABLE, &err);
    return NULL;
}

/* ---- start and stop ---- */

/* A process image that nobody needs any more: its names go too. */
static void engine_dropped(void *cookie, struct process *p)
{
    struct engine *e = cookie;

    if (e->symbolizer)
        symbolizer_forget(e->symbolizer, p);
    if (e->unwinding)
        unwinding_forget(e->unwinding, p);
    if (e->anchors)
        anchors_forget(e->anchors, p);
    recorder_forget(e, p);
    history_gone(e->broker, p);
}

static int engine_open(struct engine *e, struct error *err)
{
    struct discover_opts discover_opts = { .proc_fd = e->opts.proc_fd,
                                           .show_arguments = e->opts.show_arguments,
                                           .dropped = engine_dropped,
                                           .dropped_cookie = e };
    struct symbolizer_opts symbolizer_opts = { .proc_fd = e->opts.proc_fd,
                                               .elf_files_max = 256,
                                               .perf_map_max_bytes = (size_t)64 << 20,
                                               .background = true };
    int r;

    e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->stack = malloc(sizeof(*e->stack));
    if (e->wake_fd < 0 || e->lost_fd < 0 || !e->stack)
        return error_set(err, -ENOMEM, "not enough memory or file descriptors to start");
    symbolizer_opts.wake_fd = e->wake_fd;
    r = broker_new(take_fd(&e->opts.broker_fd), &e->broker);
    if (r == 0)
        broker_set_quarantine(e->broker, e->opts.quarantine);
    if (r == 0 && e->opts.max_frames)
        r = broker_unwind_limit(e->broker, e->opts.max_frames, err);
    if (r == 0)
        r = sampling_open(e, err);
    if (r == 0)
        r = names_new(&e->frames);
    if (r == 0)
        r = discover_new(e->broker, &discover_opts, &e->discover, err);
    if (r == 0)
        r = unwinding_new(e->broker, e->wake_fd, &e->unwinding);
    if (r == 0)
        r = anchors_new(e->broker, e->opts.proc_fd, &e->anchors);
    if (r == 0)
        r = symbolizer_new(e->broker, e->frames, &symbolizer_opts, &e->symbolizer, err);
    if (r == 0)
        r = keeper_start(e->store, &e->keeper);
    if (r == 0)
        r = scheduled_new(&e->scheduled);
    if (r == 0)
        r = recorder_start(e, e->opts.recorder_hz, e->opts.recorder_keep_ns,
                           e->opts.recorder_max_bytes, err);
    return r;
}

static void engine_free(struct engine *e)
{
    watch_stop(e->watch);
    if (e->keeper)
        scheduled_save(e);
    keeper_stop(e->keeper); /* what is queued is still written */
    held_deinit(&e->held);
    recorder_stop(e);
    scheduled_free(e->scheduled);
    e->symbolizer = symbolizer_free(e->symbolizer);
    e->unwinding = unwinding_free(e->unwinding);
    e->anchors = anchors_free(e->anchors);
    discover_free(e->discover);
    frame_table_free(e->frames);
    ring_close(e->ring);
    broker_free(e->broker);
    id_table_deinit(&e->filtered);
    free(e->stack);
    close_fd(e->wake_fd);
    close_fd(e->lost_fd);
    close_fd(e->opts.broker_fd);
    close_fd(e->opts.proc_fd);
    pthread_mutex_destroy(&e->lock);
    pthread_cond_destroy(&e->called);
    free(e);
}

static unsigned stands_s(void *engine)
{
    return engine_stands_s(engine);
}

int engine_start(const struct engine_opts *o, struct engine **ret, struct error *err)
{
    struct engine *e = calloc(1, sizeof(*e));
    pthread_condattr_t monotonic;
    int r;

    if (!e)
        return error_set(err, -ENOMEM, "not enough memory to start");
    e->opts = *o;
    e->store = o->store;
    e->wake_fd = e->lost_fd = -1;
    held_init(&e->held);
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&e->called, &monotonic);
    pthread_condattr_destroy(&monotonic);
    id_table_init(&e->filtered, sizeof(uint64_t), DISCOVER_PROCESSES_MAX);
    backend_fill(e, &e->backend);
    capture_memory_init(e);
    engine_alive(e);
    r = watch_start(stands_s, e, o->look, o->look_cookie, &e->watch);
    if (r == 0)
        r = engine_open(e, err);
    engine_alive(e);
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
    pthread_mutex_lock(&e->lock);
    e->stopping = true;
    pthread_mutex_unlock(&e->lock);
    eventfd_write(e->wake_fd, 1);
    if (e->thread_started && e->opts.thread)
        lent_join(e->opts.thread);
    else if (e->thread_started)
        pthread_join(e->thread, NULL);
    engine_free(e);
    return NULL;
}

const struct api_backend *engine_backend(const struct engine *e)
{
    return &e->backend;
}

static int call_set_rules(struct engine *e, void *arg)
{
    return scheduled_set_rules(e, arg);
}

int engine_set_rules(struct engine *e, struct rules *rules, struct error *err)
{
    int r = engine_ask(e, call_set_rules, rules, err);

    return r == -ENOMEM ? error_set(err, r, "out of memory") : r;
}

static int call_set_config_problem(struct engine *e, void *arg)
{
    snprintf(e->config_problem, sizeof(e->config_problem), "%s", (const char *)arg);
    return 0;
}

void engine_set_config_problem(struct engine *e, const char *sentence)
{
    engine_ask(e, call_set_config_problem, (void *)(uintptr_t)sentence, NULL);
}

static int call_set_tls_problem(struct engine *e, void *arg)
{
    snprintf(e->tls_problem, sizeof(e->tls_problem), "%s", (const char *)arg);
    return 0;
}

void engine_set_tls_problem(struct engine *e, const char *sentence)
{
    engine_ask(e, call_set_tls_problem, (void *)(uintptr_t)sentence, NULL);
}

int engine_open_config(struct engine *e, enum tls_file which, int *ret_fd, struct error *err)
{
    return broker_config(e->broker, which, ret_fd, err);
}

int engine_open_audit(struct engine *e, int *ret_fd, struct error *err)
{
    return broker_audit_log(e->broker, ret_fd, err);
}

int engine_lost_fd(const struct engine *e)
{
    return e->lost_fd;
}
