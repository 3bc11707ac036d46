/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /profile: checks what only the backend can check, starts the capture, and answers with the
 * finished profile.
 */
#include "event/event_form.h"
#include "event/events.h"
#include "serve/params/values.h"
#include "serve/routes/handlers.h"

#define EVENTS_MAX 64

/* Refuses an unknown event and suggests the nearest name. -EINVAL. */
static int refuse_event(const char *event, struct error *err)
{
    const char *names[EVENTS_MAX], *near = NULL;
    char show[QUERY_SHOW_MAX];
    size_t count;
    const struct event_info *table = events_table(&count);

    count = MIN(count, ARRAY_SIZE(names));
    for (size_t i = 0; i < count; i++)
        names[i] = table[i].name;
    near = value_nearest(span_of(event), names, count);
    query_show(span_of(event), show);
    error_remedy(err, "GET /api/v1/events lists the events that can; the default is %s",
                 events_default()->name);
    return error_parameter(err, "event", -EINVAL, "event=%s cannot be sampled here%s%s%s", show,
                           near ? ": did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Checks that events_find() knows @event. 0 or -EINVAL. */
static int check_name(const char *event, struct error *err)
{
    struct event_form form;

    if (events_find(event))
        return 0;
    return event_form_parse(span_of(event), &form, err) == -EINVAL ? -EINVAL
                                                                   : refuse_event(event, err);
}

int check_event_names(const struct params *p, struct error *err)
{
    int r = 0;

    for (size_t i = 0; i < p->capture.event_count && r == 0; i++)
        r = check_name(p->capture.events[i].name, err);
    return r;
}

bool check_event(struct request *req)
{
    const struct params *p = &req->params;
    struct serve *s = req->serve;
    struct error err = ERROR_NULL;
    int r;

    if (strcmp(p->events.names, events_default()->name) == 0)
        return true;
    r = check_event_names(p, &err) ?: s->be.events_check(s->be.ctx, p->events.names, &err);
    if (r != 0)
        answer_outcome(&req->answer, r, &err, err.parameter ? 0 : 1);
    return r == 0;
}

int check_past(const struct params *p, struct error *err)
{
    if (p->calls.count) {
        error_remedy(err, "leave from= and at= out; /api/v1/query finds calls in stored captures "
                          "of that time");
        return error_parameter(err, "calls", -EINVAL,
                               "calls are found in samples of a capture, and the flight recorder "
                               "looks at each thread only every 1 to 6 s");
    }
    for (int id = 0; id < PARAM_COUNT; id++) {
        if (!(p->given & (PARAMS_SAMPLING | PARAM_BIT(PARAM_REFRESH)) & PARAM_BIT(id)))
            continue;
        error_remedy(err, "leave it out, or from= and at=, which read what was recorded, at once");
        return error_parameter(
            err, param_name((enum param_id)id), -EINVAL,
            "%s says how to sample from now on, and from= or at= asks for the past",
            param_name((enum param_id)id));
    }
    return check_event_names(p, err);
}

void answer_recorded(struct request *req, past_answer_fn answer)
{
    struct error err = ERROR_NULL;
    int r = check_past(&req->params, &err);

    if (r < 0)
        answer_outcome(&req->answer, r, &err, 0);
    else
        answer_past(req, /* stored= */ false, answer);
}

bool handle_profile(struct request *req)
{
    struct capture_request c;
    struct serve *s = req->serve;
    struct error err = ERROR_NULL;
    int r;

    if (req->params.given & PARAMS_RANGE) {
        answer_recorded(req, answer_past_profile);
        return true;
    }
    if (!check_event(req))
        return true;
    if (!req->wants.head) {
        request_describe_capture(req, &c);
        if (req->wants.events && !quota_stream(req))
            return true;
        if (req->wants.events)
            progress_plan(req);
        return request_begin_capture(req, &c);
    }
    r = s->be.target_check(s->be.ctx, &req->params.capture.target, &err);
    if (r != 0) {
        answer_outcome(&req->answer, r, &err, 1);
        return true;
    }
    req->answer.status = 200;
    req->answer.no_body = true;
    if (req->wants.events) {
        req->answer.content_type = STREAM_EVENTS;
        return true;
    }
    answer_describe(req, NULL, req->params.picture.format);
    return true;
}

void finish_profile(struct request *req)
{
    if (req->capture.profile)
        answer_profile(req, req->capture.profile, req->params.picture.format);
    else
        answer_outcome(&req->answer, req->capture.outcome ? req->capture.outcome : -EIO,
                       &req->capture.err, 1);
}
