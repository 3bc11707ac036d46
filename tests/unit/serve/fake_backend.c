/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_backend_impl.h"

#include "base/clock.h"

#include <check.h>

struct capture {
    struct fake *fake;
    struct capture_request request;
    struct capture_waiter waiter;
    int32_t pid;
    bool end, keep; /* guarded by fake->lock */
};

static void *capture_run(void *arg)
{
    struct capture *c = arg;
    struct fake *f = c->fake;
    uint64_t end_ns;
    struct timespec until;
    struct error err = ERROR_NULL;
    bool dropped, late = c->pid == FAKE_PID_LATE || c->pid == FAKE_PID_LATE_FAIL;

    pthread_mutex_lock(&f->lock);
    while (late && !f->release)
        pthread_cond_wait(&f->change, &f->lock);
    if (c->pid == FAKE_PID_LATE) {
        pthread_mutex_unlock(&f->lock);
        c->waiter.begun(c->waiter.cookie);
        pthread_mutex_lock(&f->lock);
    }
    end_ns = clock_monotonic_ns() +
             (c->request.duration_ns ? c->request.duration_ns : 3600 * NSEC_PER_SEC);
    until = (struct timespec){ .tv_sec = (time_t)(end_ns / NSEC_PER_SEC),
                               .tv_nsec = (long)(end_ns % NSEC_PER_SEC) };
    if (c->pid == FAKE_PID_STUCK) {
        while (!f->release)
            pthread_cond_wait(&f->change, &f->lock);
    } else if (c->pid != FAKE_PID_LATE_FAIL) {
        while (!c->end && pthread_cond_timedwait(&f->change, &f->lock, &until) == 0)
            ;
    }
    dropped = c->end && !c->keep;
    for (size_t i = 0; i < FAKE_CAPTURES_MAX; i++) {
        if (f->live[i] == c)
            f->live[i] = NULL;
    }
    pthread_mutex_unlock(&f->lock);

    if (dropped) {
        error_set(&err, -ECANCELED, "ended");
        c->waiter.done(c->waiter.cookie, -ECANCELED, NULL, &err);
    } else if (c->pid == FAKE_PID_FAILS) {
        error_set(&err, -EIO, "the broker was lost while sampling");
        error_remedy(&err, "ask again");
        c->waiter.done(c->waiter.cookie, -EIO, NULL, &err);
    } else if (c->pid == FAKE_PID_LATE_CONFLICT) {
        error_set(&err, -EPERM, "the agent could not be loaded");
        c->waiter.done(c->waiter.cookie, BACKEND_CONFLICT, NULL, &err);
    } else if (c->pid == FAKE_PID_LATE_FAIL) {
        error_set(&err, -EINPROGRESS, "the kernel takes long");
        c->waiter.done(c->waiter.cookie, BACKEND_UNAVAILABLE, NULL, &err);
    } else {
        c->waiter.done(c->waiter.cookie, 0, fake_profile(c->pid), NULL);
    }
    pthread_mutex_lock(&f->lock);
    f->done++;
    pthread_cond_broadcast(&f->change);
    pthread_mutex_unlock(&f->lock);
    free(c);
    return NULL;
}

void fake_see(struct fake *f, const struct viewer *v)
{
    pthread_mutex_lock(&f->lock);
    f->seen = v != NULL;
    if (v)
        f->viewer = *v;
    pthread_mutex_unlock(&f->lock);
}

int fake_outcome(const struct target_selector *t, struct error *err)
{
    if (t->pod && strcmp(t->pod, "ended") == 0) {
        error_remedy(err, "nearest here: shop-1");
        return error_parameter(err, "pod", BACKEND_NOT_FOUND, "no process runs in a pod 'ended'");
    }
    switch (t->pid_count ? t->pids[0] : 0) {
    case FAKE_PID_NONE:
        error_remedy(err, "the nearest are 1000, 1001");
        return error_parameter(err, "pid", BACKEND_NOT_FOUND, "there is no process 404");
    case FAKE_PID_CONFLICT:
        return error_set(err, BACKEND_CONFLICT, "not now");
    case FAKE_PID_TOO_MANY:
        return error_set(err, BACKEND_TOO_MANY, "too many");
    case FAKE_PID_UNAVAILABLE:
        return error_set(err, BACKEND_UNAVAILABLE, "the kernel has no BTF");
    default:
        return 0;
    }
}

static int fake_capture_start(void *ctx, const struct capture_request *req,
                              const struct capture_waiter *waiter, struct capture **ret,
                              struct error *err)
{
    struct fake *f = ctx;
    struct capture *c;
    pthread_t thread;
    int r = fake_outcome(&req->target, err);

    fake_see(f, req->target.viewer);
    if (r != 0)
        return r;
    if (req->target.pid_count &&
        (req->target.pids[0] == FAKE_PID_SLOW_START || req->target.pids[0] == FAKE_PID_SLOW_FAIL)) {
        pthread_mutex_lock(&f->lock);
        while (!f->release)
            pthread_cond_wait(&f->change, &f->lock);
        f->checks++;
        pthread_cond_broadcast(&f->change);
        pthread_mutex_unlock(&f->lock);
        if (req->target.pids[0] == FAKE_PID_SLOW_FAIL)
            return error_set(err, -EIO, "it failed late");
    }
    c = calloc(1, sizeof(*c));
    *c = (struct capture){ .fake = f,
                           .request = *req,
                           .waiter = *waiter,
                           .pid = req->target.pid_count ? req->target.pids[0] : FAKE_PID_GOOD };
    *ret = c;
    pthread_mutex_lock(&f->lock);
    f->started++;
    f->last = *req;
    for (size_t i = 0; i < FAKE_CAPTURES_MAX; i++) {
        if (!f->live[i]) {
            f->live[i] = c;
            break;
        }
    }
    pthread_cond_broadcast(&f->change);
    pthread_mutex_unlock(&f->lock);
    if (c->pid != FAKE_PID_LATE && c->pid != FAKE_PID_LATE_FAIL)
        waiter->begun(waiter->cookie);
    ck_assert_int_eq(pthread_create(&thread, NULL, capture_run, c), 0);
    pthread_detach(thread);
    return 0;
}

static void fake_capture_end(void *ctx, struct capture *c, bool keep)
{
    struct fake *f = ctx;

    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < FAKE_CAPTURES_MAX; i++) {
        if (f->live[i] == c) { /* else the capture ended by itself in the meantime */
            c->end = true;
            c->keep = keep;
        }
    }
    if (keep)
        f->ended_keep++;
    else
        f->ended_drop++;
    pthread_cond_broadcast(&f->change);
    pthread_mutex_unlock(&f->lock);
}

static int fake_target_check(void *ctx, const struct target_selector *t, struct error *err)
{
    struct fake *f = ctx;

    fake_see(f, t->viewer);
    pthread_mutex_lock(&f->lock);
    f->checks++;
    pthread_mutex_unlock(&f->lock);
    return fake_outcome(t, err);
}

static json_t *fake_jvm_json(int32_t pid)
{
    return json_pack("{s:i, s:s, s:s, s:n, s:n}", "pid", (int)pid, "main", "Fake<script>",
                     "java_version", "25", "container", "pod");
}

static int fake_jvms(struct fake *f, const struct document_query *q, json_t **ret,
                     struct error *err)
{
    int r = fake_outcome(q->target, err);

    fake_see(f, q->viewer);
    if (r == 0)
        *ret = json_pack("{s:[o,o]}", "jvms", fake_jvm_json(1000), fake_jvm_json(1001));
    return r;
}

static int fake_push(struct fake *f, const struct document_query *q, json_t **ret,
                     struct error *err)
{
    (void)err;
    fake_see(f, q->viewer);
    *ret = json_pack("{s:[]}", "targets");
    return 0;
}

static int fake_services(struct fake *f, const struct document_query *q, json_t **ret,
                         struct error *err)
{
    json_t *list = json_array();

    (void)err;
    fake_see(f, q->viewer);
    for (unsigned i = 0; i < MAX(f->services, 1u); i++) {
        json_t *jvms = json_array(), *ended = json_array();

        for (unsigned k = 0; k < f->ended; k++) {
            json_array_append_new(jvms, fake_jvm_json(1000 + (int32_t)k));
            json_array_append_new(ended, fake_jvm_json(2000 + (int32_t)k));
        }
        json_array_append_new(list,
                              json_pack("{s:s, s:[], s:[], s:o, s:o}", "name", "shop", "versions",
                                        "environments", "jvms", jvms, "ended", ended));
    }
    *ret = json_pack("{s:o}", "services", list);
    return 0;
}

static int fake_signals(struct fake *f, const struct document_query *q, json_t **ret,
                        struct error *err)
{
    int r = fake_outcome(q->target, err);

    fake_see(f, q->viewer);
    if (r != 0)
        return r;
    *ret =
        json_pack("{s:[], s:[{s:s, s:i, s:s, s:i, s:s, s:f, s:s, s:s, s:s, s:s, s:s, s:i}]}",
                  "signals", "past", "signal", "heap-full", "severity", 3, "service", "shop", "pid",
                  1000, "since", "2026-11-26T11:00:00.000012345Z", "value", 99.0, "unit", "percent",
                  "sentence", "its heap was full", "evidence", "/api/v1/jvms/1000/heap", "remedy",
                  "give it more", "until", "2026-11-26T11:40:00.5Z", "times", 2);
    for (unsigned i = 0; i < MAX(f->services, 1u); i++) /* the last service has a severe signal */
        json_array_append_new(
            json_object_get(*ret, "signals"),
            json_pack("{s:s, s:i, s:s, s:i, s:s, s:f, s:s, s:s, s:s, s:s}", "signal", "cpu-limit",
                      "severity", i > 0 && i + 1 == f->services ? 3 : 2, "service", "shop", "pid",
                      1000 + (int)i, "since", "2026-11-26T12:00:00.656618538Z", "value", 97.0,
                      "unit", "percent", "sentence", "its limit stopped it", "evidence",
                      "/profile?pid=1000", "remedy", "raise it"));
    return 0;
}

static int fake_changes(struct fake *f, const struct document_query *q, json_t **ret,
                        struct error *err)
{
    int r = fake_outcome(q->target, err);

    fake_see(f, q->viewer);
    ck_assert(!q->a == !q->b);
    ck_assert(!q->a || (q->a->from_ns < q->a->to_ns && q->b->from_ns < q->b->to_ns));
    if (r != 0)
        return r;
    *ret = json_pack("{s:[], s:b, s:[], s:{s:i, s:i}, s:{s:i, s:i}, s:{s:i, s:i}, s:s, s:{s:{s:s, "
                     "s:s}, s:{s:s, s:s}}}",
                     "changes", "enough", 1, "sentences", "minutes", "a", 5, "b", 5, "samples", "a",
                     5700, "b", 5700, "needed", "samples", 300, "seconds", 45, "times", "asked",
                     "ranges", "a", "from", "2026-11-26T03:00:00.000000000Z", "to",
                     "2026-11-26T03:05:00.000000000Z", "b", "from",
                     "2026-11-26T03:05:00.000000000Z", "to", "2026-11-26T03:10:00.000000000Z");
    for (unsigned i = 0; i < MAX(f->services, 1u); i++)
        json_array_append_new(json_object_get(*ret, "sentences"), json_string("nothing new"));
    return 0;
}

static int fake_jvm(struct fake *f, const struct document_query *q, json_t **ret, struct error *err)
{
    fake_see(f, q->viewer);

    struct target_selector t = { .pids = { q->host_pid }, .pid_count = 1 };
    int r = fake_outcome(&t, err);

    if (r == 0)
        *ret = fake_jvm_json(q->host_pid);
    return r;
}

static int fake_jvms_each(void *ctx, const struct target_selector *t, jvm_facts_fn fn, void *cookie,
                          struct error *err)
{
    struct jvm_facts f = { .main = "Fake<script>",
                           .java_version = "25",
                           .service = "fake",
                           .container_id = "",
                           .container_runtime = "",
                           .container_name = "",
                           .pod_uid = "",
                           .pod_name = "",
                           .pod_namespace = "" };
    const unsigned *severity =
        ((struct fake *)ctx)->severities ?: (unsigned[]){ 0, 0, FAKE_NO_MORE };
    int r = fake_outcome(t, err);

    fake_see(ctx, t->viewer);
    for (int i = 0; r == 0 && severity[i] != FAKE_NO_MORE && (i == 0 || !t->pid_count); i++) {
        f.host_pid = t->pid_count ? t->pids[0] : 1000 + i;
        f.severity = severity[i];
        f.signals = f.severity ? "lock-contention" : "";
        f.release = severity[i] == 3 ? "since 2.4.1: +6.1 \u00b10.4 % CPU, shop.Rules.match" : "";
        f.service = severity[i] == 3 ? "fake's" : "fake";
        f.cpu_percent = i;
        fn(cookie, &f);
    }
    return r;
}

static int fake_events(struct fake *f, const struct document_query *q, json_t **ret,
                       struct error *err)
{
    fake_see(f, q->viewer);
    (void)err;
    *ret = json_pack("{s:[{s:s},{s:s}]}", "events", "name", "cpu", "name", "page-faults");
    return 0;
}

static int fake_events_check(void *ctx, const char *names, struct error *err)
{
    const struct fake *f = ctx;

    if (strcmp(names, "cpu") == 0 || strcmp(names, "page-faults") == 0 ||
        (f->locks && strcmp(names, "lock") == 0))
        return 0;
    return error_set(err, BACKEND_UNAVAILABLE, "event=%s cannot be sampled here", names);
}

static int fake_ready(struct fake *f, const struct document_query *q, json_t **ret,
                      struct error *err)
{
    fake_see(f, q->viewer);
    (void)err;
    *ret = json_pack("{s:s, s:[{s:s}]}", "status", "unavailable", "problems", "detail", "no BTF");
    return BACKEND_UNAVAILABLE;
}

static int fake_document(void *ctx, enum backend_document which, const struct document_query *q,
                         json_t **ret, struct error *err)
{
    static int (*const MAKERS[DOCUMENTS])(struct fake * f, const struct document_query *q,
                                          json_t **ret, struct error *err) = {
        [DOCUMENT_JVMS] = fake_jvms,         [DOCUMENT_JVM] = fake_jvm,
        [DOCUMENT_SERVICES] = fake_services, [DOCUMENT_SIGNALS] = fake_signals,
        [DOCUMENT_EVENTS] = fake_events,     [DOCUMENT_READY] = fake_ready,
        [DOCUMENT_CHANGES] = fake_changes,   [DOCUMENT_PUSH] = fake_push,
    };
    static const char *const MISSING[DOCUMENTS] = { [DOCUMENT_SCHEDULES] = "the list of schedules",
                                                    [DOCUMENT_PREFLIGHT] = "the preflight",
                                                    [DOCUMENT_HEAP] = "the heap" };

    return MAKERS[which]
               ? MAKERS[which](ctx, q, ret, err)
               : error_set(err, BACKEND_UNAVAILABLE, "%s is not available here", MISSING[which]);
}

void fake_init_full(struct fake *f)
{
    pthread_condattr_t monotonic;

    *f = (struct fake){ .backend = { .ctx = f,
                                     .capture_start = fake_capture_start,
                                     .capture_end = fake_capture_end,
                                     .target_check = fake_target_check,
                                     .document = fake_document,
                                     .jvms_each = fake_jvms_each,
                                     .events_check = fake_events_check } };
    fake_add_resources(&f->backend);
    pthread_mutex_init(&f->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&f->change, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void fake_init(struct fake *f)
{
    fake_init_full(f);
    fake_without_past(&f->backend);
}

void fake_release(struct fake *f)
{
    pthread_mutex_lock(&f->lock);
    f->release = true;
    pthread_cond_broadcast(&f->change);
    pthread_mutex_unlock(&f->lock);
}

void fake_deinit(struct fake *f)
{
    fake_release(f);
    pthread_mutex_lock(&f->lock);
    while (f->done < f->started)
        pthread_cond_wait(&f->change, &f->lock);
    pthread_mutex_unlock(&f->lock);
    pthread_cond_destroy(&f->change);
    pthread_mutex_destroy(&f->lock);
}

bool fake_wait(struct fake *f, const unsigned *counter, unsigned value, unsigned ms)
{
    uint64_t end_ns = clock_monotonic_ns() + ms * NSEC_PER_MSEC;
    struct timespec until = { .tv_sec = (time_t)(end_ns / NSEC_PER_SEC),
                              .tv_nsec = (long)(end_ns % NSEC_PER_SEC) };
    bool reached;

    pthread_mutex_lock(&f->lock);
    while (*counter < value && pthread_cond_timedwait(&f->change, &f->lock, &until) == 0)
        ;
    reached = *counter >= value;
    pthread_mutex_unlock(&f->lock);
    return reached;
}

unsigned fake_get(struct fake *f, const unsigned *counter)
{
    unsigned v;

    pthread_mutex_lock(&f->lock);
    v = *counter;
    pthread_mutex_unlock(&f->lock);
    return v;
}
