/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of flamed and the JVMs, for Prometheus. The backend's part costs some 400 us, so scrapes
 * in quick succession share it. Only clients that see the whole node share it, and only until
 * another request comes: the next scrape then includes that request. The counters of serve/ are
 * never shared.
 */
#include "base/clock.h"
#include "base/lock.h"
#include "serve/routes/handlers.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_SHARED_NS (100 * NSEC_PER_MSEC)

/* Copies the backend's text of a recent scrape. False: there is none. */
static bool take_shared(struct request *req, struct buf *out)
{
    struct serve *s = req->serve;
    const struct shared_metrics *m = &s->metrics;
    bool fresh;

    if (!req->who.subject.viewer.whole)
        return false;
    LOCK_SCOPE(&s->lock);
    fresh = m->text.n && m->changes == s->changes &&
            clock_monotonic_ns() - m->asked_ns < METRICS_SHARED_NS;
    if (fresh)
        buf_add_span(out, buf_span(&m->text));
    return fresh;
}

/* Gets the metrics of the backend, and stores them for sharing if the client sees the whole
 * node. */
static int ask_backend(struct request *req, struct buf *out, struct error *err)
{
    struct serve *s = req->serve;
    const struct viewer *v = &req->who.subject.viewer;
    uint64_t asked_ns = clock_monotonic_ns(), changes;
    int r;

    pthread_mutex_lock(&s->lock);
    changes = s->changes;
    pthread_mutex_unlock(&s->lock);
    r = s->be.metrics(s->be.ctx, v, out, err);
    if (r != 0 || out->error || !v->whole)
        return r != 0 ? r : out->error;
    pthread_mutex_lock(&s->lock);
    buf_clear(&s->metrics.text);
    buf_add_span(&s->metrics.text, buf_span(out));
    if (s->metrics.text.error)
        buf_clear(&s->metrics.text);
    s->metrics.asked_ns = asked_ns;
    s->metrics.changes = changes;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

/* Appends the counters of serve/ and of the audit. */
static int add_own(struct request *req, struct buf *out)
{
    struct serve *s = req->serve;
    struct answer_counts *counts;
    struct serve_stats stats;

    if (!req->who.subject.viewer.whole)
        return out->error;
    counts = malloc(sizeof(*counts));
    if (!counts)
        return -ENOMEM;
    serve_stats(s, &stats);
    pthread_mutex_lock(&s->lock);
    *counts = s->counts;
    pthread_mutex_unlock(&s->lock);
    stats_write(counts, &stats, out);
    audit_metrics(s->audit, out);
    free(counts);
    return out->error;
}

static void answer_metrics(struct request *req, int r, const struct error *err)
{
    if (r == 0)
        r = add_own(req, &req->answer.body);
    if (r != 0) {
        answer_reset(&req->answer);
        answer_outcome(&req->answer, r, err, 1);
        return;
    }
    req->answer.status = 200;
    req->answer.content_type = METRICS_TYPE;
}

bool metrics_at_once(struct request *req)
{
    struct error err = ERROR_NULL;

    if (!take_shared(req, &req->answer.body))
        return false;
    answer_metrics(req, 0, &err);
    return true;
}

bool handle_metrics(struct request *req)
{
    struct error err = ERROR_NULL;
    struct buf *out = &req->answer.body;

    answer_metrics(req, take_shared(req, out) ? 0 : ask_backend(req, out, &err), &err);
    return true;
}
