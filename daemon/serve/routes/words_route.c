/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/words: describes a target in a few sentences. */
#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/routes/handlers.h"
#include "serve/words.h"

#define WORDS_DEFAULT_NS (300 * NSEC_PER_SEC)

/* Gets a view of the samples; *ret stays NULL if there are none. Returns 0, an outcome, or -errno
 * with @err if the samples cannot be read. */
static int view_of(const struct request *req, const struct time_range *range, struct view **ret,
                   struct error *err)
{
    _cleanup_(profile_unrefp) struct profile *p = NULL;
    const struct api_backend *be = &req->serve->be;
    struct view_opts o = { .exact = true, .waits = true };
    struct error reason = ERROR_NULL;
    int known = be->target_check(be->ctx, &req->params.capture.target, err), r;

    /* a service that has ended is known by its samples */
    if (known != 0 && !req->params.capture.target.service)
        return known;
    r = be->past(be->ctx, &req->params.capture.target, range, req->params.events.names, PAST_SUMMED,
                 &p, &reason);
    if (r < 0)
        *err = reason;
    if (r != 0)
        return r < 0 ? r : known;
    *err = ERROR_NULL;
    r = shown_event(&req->params, p, &o.event, err);
    return r == 0 ? view_new(p, &o, ret, err) : r;
}

bool handle_words(struct request *req)
{
    _cleanup_(view_freep) struct view *v = NULL;
    struct time_range range = req->params.range;
    struct answer *a = &req->answer;
    struct error err = ERROR_NULL;
    struct words words;
    int r;

    range.to_ns = MIN(range.to_ns, clock_realtime_ns());
    if (!range.from_ns)
        range.from_ns = range.to_ns - MIN(range.to_ns, WORDS_DEFAULT_NS);
    r = check_event_names(&req->params, &err) ?: view_of(req, &range, &v, &err);
    if (r != 0)
        return answer_backend(req, r, NULL, &err);
    words_compose(
        &req->serve->be,
        &(struct words_request){ .target = &req->params.capture.target, .view = v, .range = range },
        &words);
    if (req->wants.text) {
        words_text(&words, &a->body);
        a->status = 200;
        a->content_type = "text/plain; charset=utf-8";
    } else {
        answer_backend(req, 0, words_json(&words), &err);
    }
    words_deinit(&words);
    return true;
}
