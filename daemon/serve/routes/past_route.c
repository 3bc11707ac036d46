/* SPDX-License-Identifier: Apache-2.0 */
/* What was sampled before anybody asked: ranges of time as profiles, and as a timeline. */
#include "serve/routes/handlers.h"

#include "base/clock.h"

#define TIMELINE_BUCKETS_DEFAULT 60
#define TIMELINE_DEFAULT_NS (600 * NSEC_PER_SEC)

static bool is_nothing(int outcome, const struct profile *profile)
{
    return outcome == BACKEND_NOT_FOUND || (outcome == 0 && profile->total == 0);
}

/* Nothing was sampled of the target in that time. What is wrong with the target by itself says more
 * than that; else @outcome stands. */
static int explain_nothing(struct request *req, int outcome, struct error *err)
{
    const struct api_backend *be = &req->serve->be;
    struct error reason = ERROR_NULL;
    int r = be->target_check(be->ctx, &req->params.target, &reason);

    if (r == 0)
        return outcome;
    *err = reason;
    return r;
}

void answer_past(struct request *req, bool stored)
{
    const struct api_backend *be = &req->serve->be;
    const struct params *p = &req->params;
    struct error err = ERROR_NULL;
    struct profile *profile = NULL;
    int r;

    if (!be->past) {
        answer_missing(req, "recorded profiles are");
        return;
    }
    r = be->past(be->ctx, &p->target, &p->range, p->event, stored ? PAST_STORED : PAST_ALL,
                 &profile, &err);
    if (stored && is_nothing(r, profile)) { /* what the recorder holds is better than none */
        profile_unref(profile);
        profile = NULL;
        err = ERROR_NULL;
        r = be->past(be->ctx, &p->target, &p->range, p->event, PAST_ALL, &profile, &err);
    }
    if (is_nothing(r, profile))
        r = explain_nothing(req, r, &err);
    if (r == 0)
        answer_profile(req, profile, p->format);
    else
        answer_outcome(&req->answer, r, &err, 1);
    profile_unref(profile);
}

bool handle_query(struct request *req)
{
    answer_past(req, /* stored= */ true);
    return true;
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
    size_t count = 0;
    int r;

    if (!be->timeline) {
        answer_missing(req, "timelines are");
        return true;
    }
    range.to_ns = MIN(range.to_ns, now);
    if (!(p->given & (PARAM_BIT(PARAM_FROM) | PARAM_BIT(PARAM_AT))))
        range.from_ns = range.to_ns > TIMELINE_DEFAULT_NS ? range.to_ns - TIMELINE_DEFAULT_NS : 0;
    if (range.from_ns >= range.to_ns) {
        error_parameter(&err, "from", -EINVAL, "from lies in the future");
        answer_outcome(&req->answer, -EINVAL, &err, 0);
        return true;
    }
    r = be->timeline(be->ctx, &p->target, &range,
                     p->buckets ? p->buckets : TIMELINE_BUCKETS_DEFAULT, BY[p->by], &value, &count,
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
