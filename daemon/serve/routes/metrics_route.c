/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of flamed and the JVMs, for Prometheus, as text 0.0.4 or OpenMetrics. The backend's part
 * costs some 400 us, so scrapes in quick succession share it. Only clients that see the whole node
 * share it, and only until another request comes: the next scrape then includes that request. The
 * counters of serve/ are never shared.
 */
#include "base/clock.h"
#include "base/lock.h"
#include "serve/openmetrics.h"
#include "serve/routes/handlers.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_SHARED_NS (100 * NSEC_PER_MSEC)

/* Copies the backend's text of a recent scrape. False: there is none. */
static bool take_shared(struct request *req, struct buf *out)
{
    struct serve *s = req->serve;
    const struct shared_metrics *m = &s->metrics[req->wants.openmetrics];
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

/* Appends the backend's metrics in the form that the client wants. */
static int get_metrics(struct request *req, struct buf *out, struct error *err)
{
    const struct serve *s = req->serve;
    const struct viewer *v = &req->who.subject.viewer;
    _cleanup_buf_ struct buf text = BUF_UPTO(s->opts.answer_max_bytes);
    int r;

    if (!req->wants.openmetrics)
        return s->be.metrics(s->be.ctx, v, /* exemplars= */ false, out, err);
    r = s->be.metrics(s->be.ctx, v, /* exemplars= */ true, &text, err);
    if (r == 0)
        openmetrics_add(out, buf_span(&text));
    return r ? r : text.error;
}

/* Gets the metrics of the backend, and stores them for sharing if the client sees the whole
 * node. */
static int ask_backend(struct request *req, struct buf *out, struct error *err)
{
    struct serve *s = req->serve;
    struct shared_metrics *m = &s->metrics[req->wants.openmetrics];
    uint64_t asked_ns = clock_monotonic_ns(), changes;
    int r;

    pthread_mutex_lock(&s->lock);
    changes = s->changes;
    pthread_mutex_unlock(&s->lock);
    r = get_metrics(req, out, err);
    if (r != 0 || out->error || !req->who.subject.viewer.whole)
        return r != 0 ? r : out->error;
    pthread_mutex_lock(&s->lock);
    buf_clear(&m->text);
    buf_add_span(&m->text, buf_span(out));
    if (m->text.error)
        buf_clear(&m->text);
    m->asked_ns = asked_ns;
    m->changes = changes;
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

/* Ends the answer with the metrics that scrapes never share. */
static int add_rest(struct request *req, struct buf *out)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(req->serve->opts.answer_max_bytes);
    int r;

    if (!req->wants.openmetrics)
        return add_own(req, out);
    r = add_own(req, &text);
    openmetrics_add(out, buf_span(&text));
    buf_add_str(out, OPENMETRICS_END);
    return r ? r : out->error;
}

static void answer_metrics(struct request *req, int r, const struct error *err)
{
    if (r == 0)
        r = add_rest(req, &req->answer.body);
    if (r != 0) {
        answer_reset(&req->answer);
        answer_outcome(&req->answer, r, err, 1);
        return;
    }
    req->answer.status = 200;
    req->answer.content_type = req->wants.openmetrics ? OPENMETRICS_TYPE : METRICS_TYPE;
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
