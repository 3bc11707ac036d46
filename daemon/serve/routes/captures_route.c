/* SPDX-License-Identifier: Apache-2.0 */
/* Captures as resources: create, list, show, render, stop, delete. */
#include "serve/routes/handlers.h"

#define CAPTURES_LIMIT_DEFAULT 100

bool is_capture_id(const char *id)
{
    return strlen(id) == CAPTURE_ID_BYTES - 1 &&
           strspn(id, "0123456789abcdef") == CAPTURE_ID_BYTES - 1;
}

/* Returns the id in the path. NULL: the answer reports an unknown capture. */
static const char *path_id(struct request *req)
{
    struct error err = ERROR_NULL;
    char show[QUERY_SHOW_MAX];

    if (is_capture_id(req->path_text))
        return req->path_text;
    error_set(&err, -ENOENT, "there is no capture '%s': an id has %d hexadecimal digits",
              query_show(span_of(req->path_text), show), CAPTURE_ID_BYTES - 1);
    error_remedy(&err, "GET /api/v1/captures lists them");
    answer_outcome(&req->answer, BACKEND_NOT_FOUND, &err, 0);
    return NULL;
}

/* Answers 201 with the location of the created capture. */
static void answer_created(struct request *req, const char *id)
{
    json_t *value = json_pack("{s:s, s:s}", "id", id, "state", "running");

    span_copy(span_of(id), req->capture_id, sizeof(req->capture_id));
    answer_json(&req->answer, 201, value, JSON_INDENT(2));
    answer_header(&req->answer, "Location", "/api/v1/captures/%s", id);
    json_decref(value);
}

/* Stores a range of the past as a capture. Returns as past_keep() of the backend. */
static int keep_past(struct request *req, char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    const struct api_backend *be = &req->serve->be;
    const struct params *p = &req->params;
    int r = check_past(p, err);

    if (r == 0)
        r = be->past_keep(be->ctx, &p->capture.target, &p->range, p->events.names, ret_id, err);
    return r == BACKEND_NOT_FOUND ? explain_nothing(req, r, err) : r;
}

static int begin_capture(struct request *req, char ret_id[CAPTURE_ID_BYTES], struct error *err)
{
    const struct api_backend *be = &req->serve->be;
    struct capture_request c;
    int r;

    request_describe_capture(req, &c);
    if (!(req->params.given & PARAM_BIT(PARAM_SECONDS)))
        c.duration_ns = 0;
    r = be->capture_create(be->ctx, &c, ret_id, err);
    quota_note_capture(req->serve, r);
    if (r == 0)
        review_add(req, ret_id);
    return r;
}

bool handle_capture_create(struct request *req)
{
    bool is_past = req->params.given & PARAMS_RANGE;
    struct error err = ERROR_NULL;
    char id[CAPTURE_ID_BYTES];
    int r;

    if ((!is_past && !check_event(req)) || !quota_begin(req))
        return true;
    r = is_past ? keep_past(req, id, &err) : begin_capture(req, id, &err);
    if (r == 0) {
        quota_begun(req);
        own_captures_add(req, id);
        answer_created(req, id);
    } else {
        answer_outcome(&req->answer, r, &err, 1);
    }
    return true;
}

bool handle_trigger(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    char id[CAPTURE_ID_BYTES];
    int r;

    r = be->trigger(be->ctx, req->path_text, id, &err);
    if (r == 0)
        answer_created(req, id);
    else
        answer_outcome(&req->answer, r, &err, 1);
    return true;
}

bool handle_captures(struct request *req)
{
    static const char *const STATES[] = {
        [CAPTURES_RUNNING] = "running", [CAPTURES_DONE] = "done", [CAPTURES_FAILED] = "failed"
    };
    const struct api_backend *be = &req->serve->be;
    const struct params *p = &req->params;
    struct captures_query q = {
        .target = p->capture.target,
        .range = p->range,
        .event = p->given & PARAM_BIT(PARAM_EVENT) ? p->events.names : NULL,
        .state = STATES[p->list.state],
        .schedule = p->list.schedule,
        .cursor = p->list.cursor,
        .limit = p->list.limit ? p->list.limit : CAPTURES_LIMIT_DEFAULT,
    };
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r;

    if (p->capture.event_count > 1) {
        error_parameter(&err, "event", -EINVAL, "a list of captures can be limited to one event");
        answer_outcome(&req->answer, -EINVAL, &err, 0);
        return true;
    }
    r = be->captures(be->ctx, &q, &value, &err);
    return answer_backend(req, r, value, &err);
}

bool handle_capture(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    const char *id = path_id(req);
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r;

    if (!id)
        return true;
    r = be->capture(be->ctx, &req->who.subject.viewer, id, &value, /* ret_running= */ NULL, &err);
    return answer_backend(req, r, value, &err);
}

/* Returns whether the caller may change capture @id. False: the answer is complete. A caller who
 * sees all captures sees those of others, too. */
static bool may_change(struct request *req, const char *id)
{
    const struct api_backend *be = &req->serve->be;
    struct error refused = ERROR_NULL, missing = ERROR_NULL;
    json_t *value = NULL;
    int r;

    if (!req->who.subject.viewer.whole || own_captures_has(req, id) ||
        request_has_role(req, ROLE_MANAGE, &refused))
        return true;
    r = be->capture(be->ctx, &req->who.subject.viewer, id, &value, /* ret_running= */ NULL,
                    &missing);
    json_decref(value);
    if (r == BACKEND_NOT_FOUND)
        answer_outcome(&req->answer, r, &missing, 0);
    else
        answer_problem(&req->answer, 403, &refused, SPAN_NULL);
    return false;
}

/* Calls @fn, which changes a capture. False: it succeeded; true: the answer is complete. */
static bool change_capture(struct request *req, int (*fn)(void *ctx, const struct viewer *v,
                                                          const char *id, struct error *err))
{
    const char *id = path_id(req);
    struct error err = ERROR_NULL;
    int r;

    if (!id)
        return true;
    span_copy(span_of(id), req->capture_id, sizeof(req->capture_id));
    if (!may_change(req, id))
        return true;
    r = fn(req->serve->be.ctx, &req->who.subject.viewer, id, &err);
    if (r == 0)
        return false;
    answer_outcome(&req->answer, r, &err, 1);
    return true;
}

bool handle_capture_delete(struct request *req)
{
    if (!change_capture(req, req->serve->be.capture_delete))
        req->answer.status = 204;
    return true;
}

bool handle_capture_stop(struct request *req)
{
    return change_capture(req, req->serve->be.capture_stop) || handle_capture(req);
}

bool handle_capture_profile(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    const char *id = path_id(req);
    struct profile *profile = NULL;
    struct error err = ERROR_NULL;
    int r;

    if (!id)
        return true;
    r = be->capture_profile(be->ctx, &req->who.subject.viewer, id, &profile, &err);
    if (r == 0) {
        /* The file name contains the event, which the profile has. */
        if (!(req->params.given & PARAM_BIT(PARAM_EVENT)))
            span_copy(span_of(profile->events[0].name), req->params.events.names,
                      sizeof(req->params.events.names));
        answer_profile(req, profile, req->params.picture.format);
    } else {
        answer_outcome(&req->answer, r, &err, 1);
    }
    profile_unref(profile);
    return true;
}
