/* SPDX-License-Identifier: Apache-2.0 */
/* Routes that return what the backend provides, and routes that serve/ answers by itself. */
#include "serve/params/time_text.h"
#include "serve/routes/handlers.h"
#include "serve/routes/list_text.h"

bool answer_backend(struct request *req, int r, json_t *value, const struct error *err)
{
    if (r == 0 && value)
        answer_json(&req->answer, 200, value);
    else
        answer_outcome(&req->answer, r ? r : -EIO, err, 1);
    json_decref(value);
    return true;
}

/* Answers as answer_backend(), or with a table if the client wants text. */
static bool answer_list(struct request *req, int r, json_t *value, const struct error *err,
                        void (*write)(const json_t *list, struct buf *out))
{
    if (r != 0 || !value || !req->wants_text)
        return answer_backend(req, r, value, err);
    write(value, &req->answer.body);
    req->answer.status = 200;
    req->answer.content_type = "text/plain; charset=utf-8";
    json_decref(value);
    return true;
}

void answer_missing(struct request *req, const char *what)
{
    struct error err = ERROR_NULL;

    error_set(&err, -ENOSYS, "%s not available here", what);
    error_remedy(&err, "see /readyz for what is missing");
    answer_outcome(&req->answer, BACKEND_UNAVAILABLE, &err, 0);
}

bool handle_schedules(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r;

    if (!be->schedules) {
        answer_missing(req, "schedules are");
        return true;
    }
    r = be->schedules(be->ctx, &req->subject.viewer, &value, &err);
    return answer_backend(req, r, value, &err);
}

bool handle_audit(struct request *req)
{
    struct answer *a = &req->answer;

    audit_write(req->serve->audit, req->params.limit ? req->params.limit : AUDIT_LIMIT_DEFAULT,
                &a->body);
    a->status = 200;
    a->content_type = "application/json";
    return true;
}

bool handle_jvms(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r = be->jvms(be->ctx, &req->params.target, &value, &err);

    return answer_list(req, r, value, &err, list_text_jvms);
}

bool handle_services(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r = be->services(be->ctx, &req->subject.viewer, &value, &err);

    return answer_list(req, r, value, &err, list_text_services);
}

bool handle_signals(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r = be->signals(be->ctx, &req->params.target, &value, &err);

    return answer_list(req, r, value, &err, list_text_signals);
}

#define CHANGES_LATELY_NS (300 * NSEC_PER_SEC) /* default length of each side */

/* Parses @text into *range; without a text *range stays as it is. 0 or -EINVAL. */
static int changes_side(const char *parameter, const char *text, uint64_t now_ns,
                        struct time_range *range, struct error *err)
{
    char show[QUERY_SHOW_MAX];

    if (!text || range_parse(span_of(text), now_ns, range))
        return 0;
    error_remedy(err, "give a range such as -20m..-10m");
    return error_parameter(err, parameter, -EINVAL,
                           "%s=%s is not possible: it takes a range of time whose begin is before "
                           "its end",
                           parameter, query_show(span_of(text), show));
}

/* Gets both sides. A missing side is derived from the given one. 0 or -EINVAL. */
static int changes_sides(const struct params *p, struct time_range *a, struct time_range *b,
                         struct error *err)
{
    int r;

    *b = (struct time_range){ p->now_ns - CHANGES_LATELY_NS, p->now_ns };
    r = changes_side("b", p->b, p->now_ns, b, err);
    *a = (struct time_range){ b->from_ns - MIN(b->from_ns, b->to_ns - b->from_ns), b->from_ns };
    if (r == 0)
        r = changes_side("a", p->a, p->now_ns, a, err);
    if (r != 0)
        return r;
    if (!p->b && a->from_ns < b->to_ns) /* the default b must begin after a */
        b->from_ns = MIN(MAX(b->from_ns, a->to_ns), b->to_ns - 1);
    if (a->from_ns < b->to_ns && b->from_ns < a->to_ns) {
        error_remedy(err, "give ranges such as a=-20m..-10m&b=-10m..now");
        return error_parameter(err, "a", -EINVAL, "the ranges of a and b overlap");
    }
    return 0;
}

bool handle_changes(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    const struct params *p = &req->params;
    struct time_range a, b;
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r;

    if (!be->changes) {
        answer_missing(req, "changes are");
        return true;
    }
    r = changes_sides(p, &a, &b, &err);
    if (r == 0)
        r = be->changes(be->ctx, &p->target, p->a || p->b ? &a : NULL, p->a || p->b ? &b : NULL,
                        &value, &err);
    return answer_list(req, r, value, &err, list_text_changes);
}

bool handle_push(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r;

    if (!be->push) {
        answer_missing(req, "pushing is");
        return true;
    }
    r = be->push(be->ctx, &req->subject.viewer, &value, &err);
    return answer_backend(req, r, value, &err);
}

bool handle_jvm(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r = be->jvm(be->ctx, &req->subject.viewer, req->path_pid, &value, &err);

    return answer_backend(req, r, value, &err);
}

bool handle_events(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    const struct target_selector *t = &req->params.target;
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r;

    if (t->pid_count > 1) {
        error_parameter(&err, "pid", -EINVAL, "pid takes one process here, not %zu", t->pid_count);
        answer_outcome(&req->answer, -EINVAL, &err, 0);
        return true;
    }
    r = be->events(be->ctx, &req->subject.viewer, t->pid_count ? t->pids[0] : 0, req->params.match,
                   &value, &err);
    return answer_backend(req, r, value, &err);
}

bool handle_ready(struct request *req)
{
    const struct api_backend *be = &req->serve->be;
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r = be->ready(be->ctx, &req->subject.viewer, &value, &err);

    if (value && req->subject.role < ROLE_VIEW) { /* readiness without the reasons */
        json_object_del(value, "problems");
        json_object_del(value, "captures");
    }

    /* The document lists what is missing, so it is the answer in both cases. */
    if (value && (r == 0 || r == BACKEND_UNAVAILABLE)) {
        answer_json(&req->answer, r == 0 ? 200 : 503, value);
        json_decref(value);
        return true;
    }
    return answer_backend(req, r, value, &err);
}

bool handle_health(struct request *req)
{
    answer_fixed(&req->answer, "application/json", SPAN("{\"status\":\"ok\"}\n"));
    return true;
}

bool handle_openapi(struct request *req)
{
    struct span document = serve_openapi();

    if (document.n)
        answer_fixed(&req->answer, "application/json", document);
    else
        answer_outcome(&req->answer, -ENOMEM, NULL, 0);
    return true;
}
