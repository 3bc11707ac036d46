/* SPDX-License-Identifier: Apache-2.0 */
/* Routes of the past: ranges of time as profiles, and as a timeline. */
#include "serve/routes/handlers.h"

#include "base/clock.h"

#define TIMELINE_BUCKETS_DEFAULT 60
#define TIMELINE_BUCKETS_MAX 2000
#define TIMELINE_DEFAULT_NS (600 * NSEC_PER_SEC)

/* Default length of a bucket for ranges longer than over_ns. It equals the length of a part of the
 * history, so that a bucket has whole parts. Shorter ranges have TIMELINE_BUCKETS_DEFAULT
 * buckets. */
static const struct {
    uint64_t over_ns, step_ns;
} TIMELINE_STEPS[] = {
    { 48 * 3600 * NSEC_PER_SEC, 3600 * NSEC_PER_SEC },
    { 4 * 3600 * NSEC_PER_SEC, 600 * NSEC_PER_SEC },
    { 3600 * NSEC_PER_SEC, 60 * NSEC_PER_SEC },
};

static bool is_nothing(int outcome, const struct profile *profile)
{
    return outcome == BACKEND_NOT_FOUND || (outcome == 0 && profile->total == 0);
}

int explain_nothing(struct request *req, int outcome, struct error *err)
{
    const struct api_backend *be = &req->serve->be;
    struct error reason = ERROR_NULL;
    int r = be->target_check(be->ctx, &req->params.capture.target, &reason)
                ?: check_event_names(&req->params, &reason);

    if (r == 0) {
        if (err->parameter && req->params.given & PARAM_BIT(PARAM_AT))
            err->parameter = param_name(PARAM_AT); /* the backend knows ranges only */
        return outcome;
    }
    *err = reason;
    if (reason.parameter && strcmp(reason.parameter, param_name(PARAM_POD)) == 0)
        error_remedy(err, "give its name, as the UID of a pod that ended is not kept; %.150s",
                     reason.remedy);
    return r;
}

/* Gets the samples that the parameters of @req select. 0; else as past() of struct api_backend. */
static int get_past(struct request *req, bool stored, struct profile **ret, struct error *err)
{
    const struct api_backend *be = &req->serve->be;
    const struct params *p = &req->params;
    enum past_from all = p->picture.format && p->picture.format->times ? PAST_ALL : PAST_SUMMED;
    int r = be->past(be->ctx, &p->capture.target, &p->range, p->events.names,
                     stored ? PAST_STORED : all, ret, err);

    if (stored && !p->calls.count && is_nothing(r, *ret)) { /* fall back to the flight recorder */
        *ret = profile_unref(*ret);
        *err = ERROR_NULL;
        r = be->past(be->ctx, &p->capture.target, &p->range, p->events.names, all, ret, err);
    }
    return is_nothing(r, *ret) ? explain_nothing(req, r, err) : r;
}

void answer_past(struct request *req, bool stored, past_answer_fn answer)
{
    struct error err = ERROR_NULL;
    struct profile *profile = NULL;
    int r;

    r = get_past(req, stored, &profile, &err);
    if (r == 0)
        answer(req, profile);
    else
        answer_outcome(&req->answer, r, &err, 1);
    profile_unref(profile);
}

void answer_past_profile(struct request *req, struct profile *profile)
{
    answer_profile(req, profile, req->params.picture.format);
}

bool handle_query(struct request *req)
{
    req->params.view.joined = true;
    /* A tool's result is for the whole range, which a short stored capture does not cover. */
    answer_past(req, /* stored= */ !req->mcp.tool, answer_past_profile);
    return true;
}

/* Returns the number of buckets, and widens @range to whole buckets. */
static size_t plan_buckets(const struct params *p, struct time_range *range)
{
    uint64_t length_ns = range->to_ns - range->from_ns, step_ns = 0;

    if (p->list.buckets)
        return p->list.buckets;
    for (size_t i = 0; i < ARRAY_SIZE(TIMELINE_STEPS) && !step_ns; i++)
        step_ns = length_ns > TIMELINE_STEPS[i].over_ns ? TIMELINE_STEPS[i].step_ns : 0;
    if (!step_ns)
        return TIMELINE_BUCKETS_DEFAULT;
    step_ns *= length_ns / step_ns / TIMELINE_BUCKETS_MAX + 1;
    range->from_ns -= range->from_ns % step_ns;
    range->to_ns += step_ns - 1 - (range->to_ns - 1) % step_ns;
    return (size_t)((range->to_ns - range->from_ns) / step_ns);
}

bool handle_timeline(struct request *req)
{
    static const char *const BY[] = { [TIMELINE_BY_JVM] = "jvm",
                                      [TIMELINE_BY_CATEGORY] = "category",
                                      [TIMELINE_BY_JVM_CATEGORY] = "jvm-category" };
    const struct api_backend *be = &req->serve->be;
    const struct params *p = &req->params;
    struct time_range range = p->range;
    struct error err = ERROR_NULL;
    uint64_t now = clock_realtime_ns();
    json_t *value = NULL;
    size_t buckets, count = 0;
    int r;

    range.to_ns = MIN(range.to_ns, now);
    if (!(p->given & (PARAM_BIT(PARAM_FROM) | PARAM_BIT(PARAM_AT))))
        range.from_ns = range.to_ns > TIMELINE_DEFAULT_NS ? range.to_ns - TIMELINE_DEFAULT_NS : 0;
    if (range.from_ns >= range.to_ns) {
        error_parameter(&err, "from", -EINVAL, "from lies in the future");
        answer_outcome(&req->answer, -EINVAL, &err, 0);
        return true;
    }
    buckets = plan_buckets(p, &range);
    r = be->timeline(be->ctx, &p->capture.target, &range, buckets, BY[p->list.by], &value, &count,
                     &err);
    if (r == 0 && count == 0)
        r = explain_nothing(req, 0, &err);
    if (r != 0) {
        json_decref(value);
        value = NULL;
    }
    answer_backend(req, r, value, &err);
    return true;
}
