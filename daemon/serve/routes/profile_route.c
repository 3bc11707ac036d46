/* SPDX-License-Identifier: Apache-2.0 */
/* GET /profile: checks what only the backend can know, starts the capture, and makes the finished
 * profile into the answer. */
#include "event/event_form.h"
#include "event/events.h"
#include "serve/params/values.h"
#include "serve/routes/handlers.h"

#define EVENTS_MAX 64

/* Whether @event, which is not listed, is one of the contract's that is not built yet, or has the
 * form of one (group:name, LIB:SYMBOL, mem:ADDR): then it is no mistake of the client's. */
static bool is_known(const char *event)
{
    return strcmp(event, "live") == 0 || strchr(event, ':') != NULL;
}

static void refuse_event(const char *event, const char *const *names, size_t count,
                         struct error *err)
{
    bool known = is_known(event);
    const char *near = known ? NULL : value_nearest(span_of(event), names, count);
    char show[QUERY_SHOW_MAX];

    query_show(span_of(event), show);
    error_remedy(err, "GET /api/v1/events lists the events that can; the default is %s",
                 events_default()->name);
    error_parameter(err, "event", known ? -EOPNOTSUPP : -EINVAL,
                    "event=%s cannot be sampled here%s%s%s", show, near ? ": did you mean '" : "",
                    near ? near : "", near ? "'?" : "");
}

/* Whether @listed, as the backend lists it, can be had. 0; else @err says why not:
 * BACKEND_UNAVAILABLE, or -EINVAL where the caller has asked for what there is not. */
static int check_had(const json_t *listed, struct error *err)
{
    const char *reason = json_string_value(json_object_get(listed, "reason"));

    if (!json_is_false(json_object_get(listed, "available")))
        return 0;
    if (reason && json_is_true(json_object_get(listed, "bad_filter")))
        return error_parameter(err, "filter", -EINVAL, "%s", reason);
    error_remedy(err, "GET /api/v1/events lists the events that can be sampled here");
    error_parameter(err, "event", -EOPNOTSUPP, "%s",
                    reason && reason[0] ? reason : "the event cannot be sampled here");
    return BACKEND_UNAVAILABLE;
}

/* Fails with the nearest name when @list, the backend's, lacks @event; with the reason where it
 * cannot be had. 0, -EINVAL or BACKEND_UNAVAILABLE. */
static int check_listed(const json_t *list, const char *event, struct error *err)
{
    const char *names[EVENTS_MAX];
    struct event_form form;
    json_t *one, *found = NULL;
    size_t i, count = 0, rows;
    const struct event_info *table = events_table(&rows);

    json_array_foreach(json_object_get(list, "events"), i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));

        if (name && strcmp(name, event) == 0)
            found = one;
    }
    while (count < rows && count < EVENTS_MAX) {
        names[count] = table[count].name;
        count++;
    }
    if (found)
        return check_had(found, err);
    if (event_form_parse(span_of(event), &form, err) == -EINVAL)
        return -EINVAL;
    refuse_event(event, names, count, err);
    return is_known(event) ? BACKEND_UNAVAILABLE : -EINVAL;
}

/* Whether each of req's events can be had, or needs no looking up; else the answer says why not. */
bool check_event(struct request *req)
{
    const struct params *p = &req->params;
    struct serve *s = req->serve;
    struct error err = ERROR_NULL;
    json_t *list = NULL;
    int r;

    if (strcmp(p->event, events_default()->name) == 0)
        return true;
    r = s->be.events(s->be.ctx, &req->subject.viewer, 0, p->event, /* match= */ NULL, &list, &err);
    if (r != 0) {
        answer_outcome(&req->answer, r, &err, 1);
        return false;
    }
    for (size_t i = 0; i < p->event_count && r == 0; i++)
        r = check_listed(list, p->events[i].name, &err);
    json_decref(list);
    if (r != 0)
        answer_outcome(&req->answer, r, &err, 0);
    return r == 0;
}

/* What a running sampling would take has no meaning for what is past. */
static int check_past(const struct params *p, struct error *err)
{
    for (int id = 0; id < PARAM_COUNT; id++) {
        if (!(p->given & PARAMS_SAMPLING & PARAM_BIT(id)))
            continue;
        error_remedy(err, "leave one of them out: from= reads what was recorded, at once");
        return error_parameter(err, param_name((enum param_id)id), -EINVAL,
                               "%s says how to sample from now on, and from= asks for the past",
                               param_name((enum param_id)id));
    }
    return 0;
}

/* Out of the flight recorder. */
static void answer_recorded(struct request *req)
{
    struct error err = ERROR_NULL;
    int r = check_past(&req->params, &err);

    if (r < 0)
        answer_outcome(&req->answer, r, &err, 0);
    else
        answer_past(req, /* stored= */ false);
}

bool handle_profile(struct request *req)
{
    struct capture_request c;
    struct serve *s = req->serve;
    struct error err = ERROR_NULL;
    int r;

    if (req->params.given & PARAMS_RANGE) {
        answer_recorded(req);
        return true;
    }
    if (!check_event(req))
        return true;
    if (!req->head) {
        request_describe_capture(req, &c);
        if (req->wants_events && !quota_stream(req))
            return true;
        if (req->wants_events)
            progress_plan(req);
        return request_begin_capture(req, &c);
    }
    r = s->be.target_check(s->be.ctx, &req->params.target, &err);
    if (r != 0) {
        answer_outcome(&req->answer, r, &err, 1);
        return true;
    }
    req->answer.status = 200;
    req->answer.no_body = true;
    if (req->wants_events) {
        req->answer.content_type = STREAM_EVENTS;
        return true;
    }
    answer_describe(req, NULL, req->params.format);
    return true;
}

void finish_profile(struct request *req)
{
    if (req->profile)
        answer_profile(req, req->profile, req->params.format);
    else
        answer_outcome(&req->answer, req->outcome ? req->outcome : -EIO, &req->err, 1);
}
