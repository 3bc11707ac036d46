/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_backend_impl.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/memory_guard.h"

#include <check.h>

static void fake_count(struct fake *f, unsigned *counter)
{
    pthread_mutex_lock(&f->lock);
    ++*counter;
    pthread_cond_broadcast(&f->change);
    pthread_mutex_unlock(&f->lock);
}

static void take_memory(const struct fake *f)
{
    if (f->takes_memory)
        memory_guard_admits(MEMORY_GUARD_FREE + MEMORY_GUARD_PIECE);
}

static int fake_capture_create(void *ctx, const struct capture_request *req,
                               char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    struct fake *f = ctx;
    int r = fake_outcome(&req->target, err);

    fake_see(f, req->target.viewer);
    if (r != 0)
        return r;
    pthread_mutex_lock(&f->lock);
    f->last = *req;
    pthread_mutex_unlock(&f->lock);
    fake_count(f, &f->created);
    memcpy(ret_id, FAKE_ID, CAPTURE_ID_BYTES);
    return 0;
}

static int fake_snapshot(void *ctx, struct capture *c, bool reset, struct profile **ret,
                         struct error *err)
{
    struct fake *f = ctx;
    bool live = false;
    int32_t pid;

    pthread_mutex_lock(&f->lock);
    pid = f->snapshot_pid ? f->snapshot_pid : FAKE_PID_GOOD;
    for (size_t i = 0; i < FAKE_CAPTURES_MAX; i++)
        live = live || f->live[i] == c;
    pthread_mutex_unlock(&f->lock);
    if (!live)
        return error_set(err, BACKEND_NOT_FOUND, "it has ended");
    ck_assert(reset);
    fake_count(f, &f->snapshots);
    take_memory(f);
    if (pid == FAKE_PID_CONFLICT)
        return error_set(err, -ENOMEM, "no memory for a profile");
    *ret = fake_profile(pid);
    return 0;
}

static int fake_captures(void *ctx, const struct captures_query *q, json_t **ret, struct error *err)
{
    fake_see(ctx, q->target.viewer);
    (void)err;
    *ret = json_pack("{s:[{s:s}], s:n, s:i, s:s?, s:s?, s:i}", "captures", "id", FAKE_ID, "next",
                     "limit", (int)q->limit, "state", q->state, "event", q->event, "pid",
                     q->target.pid_count ? (int)q->target.pids[0] : 0);
    return *ret ? 0 : -ENOMEM;
}

static int fake_capture_facts(void *ctx, const struct viewer *v, const char *id, json_t **ret,
                              bool *ret_running, struct error *err)
{
    struct fake *f = ctx;
    bool failed = strcmp(id, FAKE_ID_FAILED) == 0, over = failed || fake_get(f, &f->stopped) > 0;

    fake_see(f, v);
    if (strcmp(id, FAKE_ID_NONE) == 0 || fake_get(f, &f->deleted))
        return error_set(err, BACKEND_NOT_FOUND, "there is no capture '%s'", id);
    if (ret_running)
        *ret_running = !over;
    *ret =
        json_pack("{s:s, s:s, s:f, s:s?}", "id", id, "state",
                  failed ? "failed"
                  : over ? "done"
                         : "running",
                  "progress", over ? 1.0 : 0.5, "failure", failed ? "the broker was lost" : NULL);
    return 0;
}

static int fake_capture_profile(void *ctx, const struct viewer *v, const char *id,
                                struct profile **ret, struct error *err)
{
    fake_see(ctx, v);
    if (strcmp(id, FAKE_ID_NONE) == 0)
        return error_set(err, BACKEND_NOT_FOUND, "there is no capture '%s'", id);
    if (strcmp(id, FAKE_ID_FAILED) == 0)
        return error_set(err, BACKEND_CONFLICT, "capture %s failed", id);
    *ret = fake_profile(FAKE_PID_GOOD);
    return 0;
}

static bool fake_stalls(struct fake *f)
{
    LOCK_SCOPE(&f->lock);

    return f->stalls && f->stalls--;
}

static int fake_capture_stop(void *ctx, const struct viewer *v, const char *id, struct error *err)
{
    struct fake *f = ctx;

    fake_see(f, v);
    if (strcmp(id, FAKE_ID_NONE) == 0)
        return error_set(err, BACKEND_NOT_FOUND, "there is no capture '%s'", id);
    if (strcmp(id, FAKE_ID) != 0)
        return error_set(err, BACKEND_CONFLICT, "it has ended already");
    if (fake_stalls(f))
        return error_set(err, BACKEND_UNAVAILABLE, "flamed is stalled");
    fake_count(f, &f->stopped);
    return 0;
}

static int fake_capture_delete(void *ctx, const struct viewer *v, const char *id, struct error *err)
{
    struct fake *f = ctx;

    fake_see(f, v);
    if (strcmp(id, FAKE_ID) != 0)
        return error_set(err, BACKEND_NOT_FOUND, "there is no capture '%s'", id);
    fake_count(f, &f->deleted);
    return 0;
}

static int fake_past(void *ctx, const struct target_selector *t, const struct time_range *range,
                     const char *event, enum past_from from, struct profile **ret,
                     struct error *err)
{
    int32_t one = t->pid_count ? t->pids[0] : 0;
    struct fake *f = ctx;

    fake_see(f, t->viewer);
    pthread_mutex_lock(&f->lock);
    f->last_range = *range;
    f->last_from = from;
    pthread_mutex_unlock(&f->lock);
    fake_count(f, &f->pasts);
    take_memory(f);
    if (f->past_fails)
        return f->past_fails;
    if (range->to_ns < UINT64_C(1000000000) * NSEC_PER_SEC)
        return error_parameter(err, "from", BACKEND_NOT_FOUND, "older than all data");
    *ret = fake_profile(one == FAKE_PID_LONG || one == FAKE_PID_TWO ? one : FAKE_PID_GOOD);
    if (strcmp(event, "lock") == 0)
        span_copy(span_of(event), (*ret)->events[0].name, sizeof((*ret)->events[0].name));
    return 0;
}

static int fake_past_keep(void *ctx, const struct target_selector *t,
                          const struct time_range *range, const char *event,
                          char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    struct profile *p = NULL;
    int r = fake_past(ctx, t, range, event, PAST_ALL, &p, err);

    profile_unref(p);
    memcpy(ret_id, FAKE_ID, CAPTURE_ID_BYTES);
    return r;
}

static int fake_timeline(void *ctx, const struct target_selector *t, const struct time_range *range,
                         size_t buckets, const char *by, json_t **ret, size_t *ret_count,
                         struct error *err)
{
    fake_see(ctx, t->viewer);
    *ret_count = 0;
    (void)err;
    *ret = json_pack("{s:i, s:s, s:I}", "buckets", (int)buckets, "by", by, "seconds",
                     (json_int_t)((range->to_ns - range->from_ns) / NSEC_PER_SEC));
    return 0;
}

static int fake_trigger(void *ctx, const char *name, char ret_id[CAPTURE_ID_BYTES],
                        struct error *err)
{
    (void)ctx;
    if (strcmp(name, "hot") == 0) {
        err->retry_s = 17;
        return error_set(err, BACKEND_TOO_MANY, "it was pulled a moment ago");
    }
    if (strcmp(name, "slow shop") != 0)
        return error_set(err, BACKEND_NOT_FOUND, "there is no trigger '%s'", name);
    memcpy(ret_id, FAKE_ID, CAPTURE_ID_BYTES);
    return 0;
}

static int fake_metrics(void *ctx, const struct viewer *v, bool exemplars, struct buf *out,
                        struct error *err)
{
    struct fake *f = ctx;

    fake_see(ctx, v);
    (void)err;
    pthread_mutex_lock(&f->lock);
    f->scrapes++;
    pthread_mutex_unlock(&f->lock);
    buf_add_str(out, "# TYPE fake gauge\n");
    buf_add_str(out, v->whole ? "fake 1\n" : "fake_own 1\n");
    if (exemplars)
        buf_add_str(out,
                    "# TYPE fake_work_total counter\nfake_work_total 2 # {flamed_url=\"x\"} 1\n");
    return 0;
}

static int fake_no_past(void *ctx, const struct target_selector *t, const struct time_range *range,
                        const char *event, enum past_from from, struct profile **ret,
                        struct error *err)
{
    (void)ctx;
    (void)t;
    (void)range;
    (void)event;
    (void)from;
    (void)ret;
    return error_set(err, BACKEND_UNAVAILABLE, "recorded profiles are not available here");
}

void fake_add_resources(struct api_backend *b)
{
    b->capture_create = fake_capture_create;
    b->capture_snapshot = fake_snapshot;
    b->captures = fake_captures;
    b->capture = fake_capture_facts;
    b->capture_profile = fake_capture_profile;
    b->capture_stop = fake_capture_stop;
    b->capture_delete = fake_capture_delete;
    b->past = fake_past;
    b->past_keep = fake_past_keep;
    b->timeline = fake_timeline;
    b->trigger = fake_trigger;
    b->metrics = fake_metrics;
}

void fake_without_past(struct api_backend *b)
{
    b->past = fake_no_past;
}
