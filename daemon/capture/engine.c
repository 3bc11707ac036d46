/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's thread: drains side-band records and samples every 10 ms while captures run (every
 * 100 ms otherwise), runs calls from other threads, and ends when the broker is lost.
 */
#include "capture/engine_impl.h"

#include <poll.h>
#include <sys/eventfd.h>

#define ENGINE_BUSY_TICK_NS (10 * NSEC_PER_MSEC)
#define ENGINE_IDLE_TICK_NS (100 * NSEC_PER_MSEC)
#define ENGINE_DRAIN_MAX 20000 /* samples between two looks at calls and deadlines */
#define ENGINE_FRAMES_MAX ((size_t)4 << 20)
#define ENGINE_STRING_BYTES_MAX ((size_t)512 << 20)

/* ---- calls from other threads ---- */

int engine_call(struct engine *e, int (*fn)(struct engine *e, void *arg), void *arg)
{
    struct engine_call call = { .fn = fn, .arg = arg }, **at;

    pthread_mutex_lock(&e->lock);
    if (e->stopping) {
        pthread_mutex_unlock(&e->lock);
        return -ESHUTDOWN;
    }
    for (at = &e->calls; *at;)
        at = &(*at)->next;
    *at = &call;
    eventfd_write(e->wake_fd, 1);
    while (!call.done)
        pthread_cond_wait(&e->called, &e->lock);
    pthread_mutex_unlock(&e->lock);
    return call.result;
}

/* Runs what is queued. False when the engine is to stop. */
static bool engine_run_calls(struct engine *e)
{
    bool stopping;

    pthread_mutex_lock(&e->lock);
    while (e->calls) {
        struct engine_call *call = e->calls;

        e->calls = call->next;
        pthread_mutex_unlock(&e->lock);
        call->result = call->fn(e, call->arg);
        pthread_mutex_lock(&e->lock);
        call->done = true;
        pthread_cond_broadcast(&e->called);
    }
    stopping = e->stopping;
    pthread_mutex_unlock(&e->lock);
    return !stopping;
}

void engine_sweep(struct engine *e)
{
    uint64_t now = clock_monotonic_ns();

    if (e->swept_ns && now - e->swept_ns < NSEC_PER_SEC)
        return;
    e->swept_ns = now;
    discover_sweep(e->discover);
}

/* ---- the loop ---- */

static void engine_sample(void *cookie, const struct sample_record *rec, const uint64_t *frames)
{
    struct engine *e = cookie;

    e->samples++;
    captures_sample(e, rec, frames);
}

static void engine_tick(struct engine *e)
{
    uint64_t now = clock_monotonic_ns();

    discover_poll(e->discover, now);
    if (e->ring) {
        while (ring_drain(e->ring, ENGINE_DRAIN_MAX, engine_sample, e) == ENGINE_DRAIN_MAX &&
               clock_monotonic_ns() - now < NSEC_PER_SEC)
            ;
    }
    if (e->captures && now - e->reconciled_ns >= ENGINE_IDLE_TICK_NS)
        captures_reconcile(e, now);
    captures_finish_due(e, now);
}

static void engine_wait(struct engine *e)
{
    struct pollfd fds[] = { { .fd = e->wake_fd, .events = POLLIN },
                            { .fd = broker_fd(e->broker), .events = POLLRDHUP } };
    uint64_t now = clock_monotonic_ns(), deadline = captures_next_deadline(e), wait;
    struct timespec ts;
    eventfd_t woken;

    wait = e->captures ? ENGINE_BUSY_TICK_NS : ENGINE_IDLE_TICK_NS;
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

    pthread_setname_np(pthread_self(), "flamed-engine");
    while (engine_run_calls(e)) {
        if (engine_broker_lost(e)) {
            error_set(&err, -EPIPE, "flamed-broker, which holds the privileges, ended meanwhile");
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

/* ---- the backend ---- */

struct start_args {
    const struct capture_request *req;
    capture_done_fn done;
    void *cookie;
    uint64_t handle;
    struct error *err;
};

static int call_start(struct engine *e, void *arg)
{
    struct start_args *a = arg;

    return captures_start(e, a->req, a->done, a->cookie, &a->handle, a->err);
}

/* The outcome of a call; says so when the engine is gone. */
static int engine_ask(struct engine *e, int (*fn)(struct engine *e, void *arg), void *arg,
                      struct error *err)
{
    int r = engine_call(e, fn, arg);

    if (r != -ESHUTDOWN)
        return r;
    error_set(err, r, "flamed is stopping or being started again");
    error_remedy(err, "ask once more in a second");
    return BACKEND_UNAVAILABLE;
}

/* What serve/ holds as a pointer is a number that is never used again: a capture that is ended
 * late, when it has long finished, cannot be mistaken for another. */
static int backend_capture_start(void *ctx, const struct capture_request *req, capture_done_fn done,
                                 void *cookie, struct capture **ret, struct error *err)
{
    struct start_args a = { .req = req, .done = done, .cookie = cookie, .err = err };
    int r = engine_ask(ctx, call_start, &a, err);

    if (r == 0)
        *ret = (struct capture *)(uintptr_t)a.handle;
    return r;
}

struct end_args {
    uint64_t handle;
    bool keep;
};

static int call_end(struct engine *e, void *arg)
{
    struct end_args *a = arg;

    captures_end(e, a->handle, a->keep);
    return 0;
}

static void backend_capture_end(void *ctx, struct capture *c, bool keep)
{
    struct end_args a = { (uintptr_t)c, keep };

    engine_call(ctx, call_end, &a);
}

struct query_args {
    const struct target_selector *target;
    int32_t host_pid;
    json_t **ret;
    struct error *err;
};

static int call_target_check(struct engine *e, void *arg)
{
    struct query_args *a = arg;
    _cleanup_(target_freep) struct target *t = NULL;
    int r = target_new(a->target, &t, a->err);

    return r < 0 ? r : target_check(t, e->discover, e->opts.proc_fd, a->err);
}

static int call_jvms(struct engine *e, void *arg)
{
    struct query_args *a = arg;

    return facts_jvms(e, a->target, a->ret, a->err);
}

static int call_jvm(struct engine *e, void *arg)
{
    struct query_args *a = arg;

    return facts_jvm(e, a->host_pid, a->ret, a->err);
}

static int call_events(struct engine *e, void *arg)
{
    struct query_args *a = arg;

    if (a->host_pid) {
        struct target_selector s = { .pids = { a->host_pid }, .pid_count = 1 };
        struct query_args check = { .target = &s, .err = a->err };
        int r = call_target_check(e, &check);

        if (r != 0)
            return r;
    }
    return facts_events(e, a->ret, a->err);
}

static int call_ready(struct engine *e, void *arg)
{
    struct query_args *a = arg;

    return facts_ready(e, a->ret, a->err);
}

static int backend_target_check(void *ctx, const struct target_selector *t, struct error *err)
{
    return engine_ask(ctx, call_target_check, &(struct query_args){ .target = t, .err = err }, err);
}

static int backend_jvms(void *ctx, const struct target_selector *t, json_t **ret, struct error *err)
{
    return engine_ask(ctx, call_jvms, &(struct query_args){ .target = t, .ret = ret, .err = err },
                      err);
}

static int backend_jvm(void *ctx, int32_t host_pid, json_t **ret, struct error *err)
{
    return engine_ask(ctx, call_jvm,
                      &(struct query_args){ .host_pid = host_pid, .ret = ret, .err = err }, err);
}

static int backend_events(void *ctx, int32_t host_pid, json_t **ret, struct error *err)
{
    return engine_ask(ctx, call_events,
                      &(struct query_args){ .host_pid = host_pid, .ret = ret, .err = err }, err);
}

static int backend_ready(void *ctx, json_t **ret, struct error *err)
{
    return engine_ask(ctx, call_ready, &(struct query_args){ .ret = ret, .err = err }, err);
}

/* ---- start and stop ---- */

/* A process image that nobody needs any more: its names go too. */
static void engine_dropped(void *cookie, struct process *p)
{
    struct engine *e = cookie;

    if (e->symbolizer)
        symbolizer_forget(e->symbolizer, p);
}

static int engine_open_ring(struct engine *e, struct error *err)
{
    _cleanup_close_ int fd = -1;
    size_t bytes;
    int r;

    if (!e->facts.bpf_loaded)
        return 0; /* /readyz says why; the rest works */
    r = broker_ring(e->broker, &fd, &bytes, err);
    return r < 0 ? r : ring_open(fd, bytes, &e->ring, err);
}

static int engine_open(struct engine *e, struct error *err)
{
    struct discover_opts discover_opts = { .proc_fd = e->opts.proc_fd,
                                           .show_arguments = e->opts.show_arguments,
                                           .dropped = engine_dropped,
                                           .dropped_cookie = e };
    struct symbolizer_opts symbolizer_opts = { .elf_files_max = 256,
                                               .perf_map_max_bytes = (size_t)64 << 20 };
    int r;

    e->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    e->stack = malloc(sizeof(*e->stack));
    if (e->wake_fd < 0 || e->lost_fd < 0 || !e->stack)
        return error_set(err, -ENOMEM, "not enough memory or file descriptors to start");
    r = broker_new(take_fd(&e->opts.broker_fd), &e->broker);
    if (r == 0)
        r = broker_facts(e->broker, &e->facts, err);
    if (r == 0)
        r = engine_open_ring(e, err);
    if (r == 0)
        r = frame_table_new(ENGINE_FRAMES_MAX, ENGINE_STRING_BYTES_MAX, &e->frames);
    if (r == 0)
        r = discover_new(e->broker, &discover_opts, &e->discover, err);
    if (r == 0)
        r = symbolizer_new(e->broker, e->frames, &symbolizer_opts, &e->symbolizer, err);
    return r;
}

static void engine_free(struct engine *e)
{
    e->symbolizer = symbolizer_free(e->symbolizer);
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

int engine_start(const struct engine_opts *o, struct engine **ret, struct error *err)
{
    struct engine *e = calloc(1, sizeof(*e));
    int r;

    if (!e)
        return error_set(err, -ENOMEM, "not enough memory to start");
    e->opts = *o;
    e->wake_fd = e->lost_fd = -1;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->called, NULL);
    id_table_init(&e->filtered, sizeof(uint64_t), DISCOVER_PROCESSES_MAX);
    e->backend = (struct api_backend){
        .ctx = e,
        .capture_start = backend_capture_start,
        .capture_end = backend_capture_end,
        .target_check = backend_target_check,
        .jvms = backend_jvms,
        .jvm = backend_jvm,
        .events = backend_events,
        .ready = backend_ready,
    };
    r = engine_open(e, err);
    if (r == 0)
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
    if (e->thread_started)
        pthread_join(e->thread, NULL);
    engine_free(e);
    return NULL;
}

const struct api_backend *engine_backend(const struct engine *e)
{
    return &e->backend;
}

int engine_lost_fd(const struct engine *e)
{
    return e->lost_fd;
}
