/* SPDX-License-Identifier: Apache-2.0 */
/* Routes that return what the backend provides, and routes that serve/ answers by itself. */
#include "serve/params/time_text.h"
#include "serve/routes/handlers.h"
#include "serve/routes/list_text.h"

bool answer_backend(struct request *req, int r, json_t *value, const struct error *err)
{
    if (r == 0 && value)
        answer_json(&req->answer, 200, value, JSON_INDENT(2));
    else
        answer_outcome(&req->answer, r ? r : -EIO, err, 1);
    json_decref(value);
    return true;
}

/* Gets the document @which of @q, of the subject's part of the node. Result as document() of struct
 * api_backend. */
static int document_of(const struct request *req, enum backend_document which,
                       struct document_query q, json_t **ret, struct error *err)
{
    const struct api_backend *be = &req->serve->be;

    q.viewer = &req->who.subject.viewer;
    q.target = &req->params.capture.target;
    return be->document(be->ctx, which, &q, ret, err);
}

/* Answers with the document @which, or with a table of it if the client wants text. */
static bool answer_document(struct request *req, enum backend_document which,
                            struct document_query q)
{
    static void (*const TABLES[DOCUMENTS])(const json_t *list, struct buf *out) = {
        [DOCUMENT_JVMS] = list_text_jvms,
        [DOCUMENT_SERVICES] = list_text_services,
        [DOCUMENT_SIGNALS] = list_text_signals,
        [DOCUMENT_CHANGES] = list_text_changes,
    };
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r = document_of(req, which, q, &value, &err);

    if (r != 0 || !value || !TABLES[which] || !req->wants.text)
        return answer_backend(req, r, value, &err);
    TABLES[which](value, &req->answer.body);
    req->answer.status = 200;
    req->answer.content_type = "text/plain; charset=utf-8";
    json_decref(value);
    return true;
}

bool handle_document(struct request *req)
{
    return answer_document(req, req->route->document,
                           (struct document_query){ .host_pid = req->path_pid });
}

bool handle_audit(struct request *req)
{
    struct answer *a = &req->answer;

    audit_write(req->serve->audit,
                req->params.list.limit ? req->params.list.limit : AUDIT_LIMIT_DEFAULT, &a->body);
    a->status = 200;
    a->content_type = "application/json";
    return true;
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
    r = changes_side("b", p->diff.b, p->now_ns, b, err);
    *a = (struct time_range){ b->from_ns - MIN(b->from_ns, b->to_ns - b->from_ns), b->from_ns };
    if (r == 0)
        r = changes_side("a", p->diff.a, p->now_ns, a, err);
    if (r != 0)
        return r;
    if (!p->diff.b && a->to_ns < b->to_ns) /* the default b must begin after a */
        b->from_ns = MAX(b->from_ns, a->to_ns);
    if (a->from_ns < b->to_ns && b->from_ns < a->to_ns) {
        error_remedy(err, "give ranges such as a=-20m..-10m&b=-10m..now");
        return error_parameter(err, "a", -EINVAL, "the ranges of a and b overlap");
    }
    return 0;
}

bool handle_changes(struct request *req)
{
    const struct params *p = &req->params;
    bool given = p->diff.a || p->diff.b;
    struct time_range a, b;
    struct error err = ERROR_NULL;
    int r = changes_sides(p, &a, &b, &err);

    return r != 0 ? answer_backend(req, r, NULL, &err)
                  : answer_document(
                        req, DOCUMENT_CHANGES,
                        (struct document_query){ .a = given ? &a : NULL, .b = given ? &b : NULL });
}

bool handle_events(struct request *req)
{
    const struct target_selector *t = &req->params.capture.target;
    struct error err = ERROR_NULL;

    if (t->pid_count > 1) {
        error_parameter(&err, "pid", -EINVAL, "pid takes one process here, not %zu", t->pid_count);
        return answer_backend(req, -EINVAL, NULL, &err);
    }
    return answer_document(req, DOCUMENT_EVENTS,
                           (struct document_query){ .host_pid = t->pid_count ? t->pids[0] : 0,
                                                    .match = req->params.list.match });
}

bool handle_ready(struct request *req)
{
    struct error err = ERROR_NULL;
    json_t *value = NULL;
    int r = document_of(req, DOCUMENT_READY, (struct document_query){}, &value, &err);

    if (value && req->who.subject.role < ROLE_VIEW) { /* readiness without the reasons */
        json_object_del(value, "problems");
        json_object_del(value, "captures");
    }

    /* The document lists what is missing, so it is the answer in both cases. */
    if (value && (r == 0 || r == BACKEND_UNAVAILABLE)) {
        answer_json(&req->answer, r == 0 ? 200 : 503, value, JSON_INDENT(2));
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
    struct error err = ERROR_NULL;

    if (document.n)
        answer_fixed(&req->answer, "application/json", document);
    else
        answer_outcome(&req->answer, -ENOMEM, &err, 0);
    return true;
}
