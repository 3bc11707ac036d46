/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a request: its route, access, parameters, and the announced body. Nothing here blocks.
 */
#include "serve/body.h"
#include "serve/credentials.h"
#include "serve/request_head.h"

#include <strings.h>

bool request_refuse(struct request *req, unsigned status, const struct error *err)
{
    pthread_mutex_lock(&req->serve->lock);
    req->serve->stats.refused_access++;
    pthread_mutex_unlock(&req->serve->lock);
    answer_problem(&req->answer, status, err, SPAN_NULL);
    if (req->wants.html)
        login_page(req, err);
    return true;
}

/* Finds the route. False: the answer says why not. */
static bool request_route(struct request *req, const char *method)
{
    struct span uri = span_of(req->received.uri);
    struct route_args args = { 0 };
    struct error err = ERROR_NULL;
    char show[QUERY_SHOW_MAX], allow[32];
    const char *near;
    int r;

    uri.n = span_find(uri, '?');
    r = query_decode_path(uri, &req->received.path, &err);
    if (r < 0) {
        answer_outcome(&req->answer, r, &err, 0);
        return false;
    }
    r = route_find(span_of(req->received.path), method, &req->route, &args);
    if (r == ROUTE_NONE) {
        near = route_nearest(span_of(req->received.path));
        error_remedy(&err, "GET /openapi.json lists every route; the profile of a JVM is at "
                           "/profile?pid=N");
        query_show(span_of(req->received.path), show);
        if (near)
            error_set(&err, 0, "there is nothing at '%s': did you mean '%s'?", show, near);
        else
            error_set(&err, 0, "there is nothing at '%s'", show);
        answer_problem(&req->answer, 404, &err, SPAN_NULL);
        return false;
    }
    if (r == ROUTE_METHOD) {
        route_allow(req->route, allow, sizeof(allow));
        error_set(&err, 0, "%s is not possible at '%s': it takes %s",
                  query_show(span_of(method), show), req->route->path, allow);
        answer_problem(&req->answer, 405, &err, SPAN_NULL);
        answer_header(&req->answer, "Allow", "%s", allow);
        return false;
    }
    if (r == ROUTE_BAD_PID) {
        error_parameter(&err, "pid", -EINVAL,
                        "'%s' is not a process id: it is a number from 1 to 2147483647",
                        query_show(args.text, show));
        answer_problem(&req->answer, 400, &err, SPAN_NULL);
        return false;
    }
    req->path_pid = args.pid;
    span_copy(args.text, req->path_text, sizeof(req->path_text));
    return true;
}

/* Parses the query or, if the route has BODY_PARAMS, the body into req->query. */
static int request_read_params(struct request *req, struct error *err)
{
    struct span query = span_of(req->received.uri);
    bool in_body = req->route->body == BODY_PARAMS;

    query = span_from(query, span_find(query, '?') + 1);
    if (in_body && query.n) {
        error_remedy(err, "send a body such as {\"pid\": 4242, \"seconds\": 30}");
        return error_set(err, -EINVAL, "'%s' takes its parameters in a JSON body, not in the query",
                         req->route->path);
    }
    return in_body ? body_parse(buf_span(&req->received.body), &req->query, err)
                   : query_parse(query, &req->query, err);
}

/* Returns whether the answer is a stream of events. Of the past, only /top has events. */
static bool wants_stream(const struct request *req, struct span accept)
{
    bool at_once = req->route->negotiates && req->params.given & PARAMS_RANGE;

    return req->route->streams && !at_once && negotiate_events(accept);
}

/* Sets the format that @accept prefers. A stream has the default, as its capture may end before the
 * stream begins. Returns false with an answer if there is none. */
static bool choose_format(struct request *req, struct span accept)
{
    size_t count;
    const struct render_format *formats = render_formats(&count);
    struct error err = ERROR_NULL;

    req->params.picture.format =
        req->wants.events ? &formats[0] : negotiate_format(accept, formats, count);
    if (req->params.picture.format)
        return true;
    error_set(&err, 0, "none of the formats has a type that the Accept header names");
    error_remedy(&err, "send Accept: */*, or say format=, such as format=%s", formats[0].name);
    answer_problem(&req->answer, 406, &err, SPAN_NULL);
    return false;
}

/* Parses the parameters in req->query. Returns false with an answer that names the mistake. */
static bool request_take_params(struct request *req, struct span accept)
{
    struct span unknown = SPAN_NULL;
    struct error err = ERROR_NULL;
    int r = params_parse(&req->query, req->route->params, &req->params, &unknown, &err);

    if (r != 0) {
        answer_outcome(&req->answer, r, &err, 0);
        if (unknown.n)
            answer_problem(&req->answer, req->answer.status, &err, unknown);
        return false;
    }
    if (!request_may_sample(req))
        return false;
    req->wants.text = req->params.list.format == LIST_TEXT ||
                      (req->params.list.format == LIST_UNSAID && negotiate_text(accept));
    req->wants.events = wants_stream(req, accept);
    return !req->route->negotiates || req->params.picture.format || choose_format(req, accept);
}

/* Reads and parses the parameters. Returns false with an answer that names the mistake. */
static bool request_params(struct request *req, struct span accept)
{
    struct error err = ERROR_NULL;
    int r = request_read_params(req, &err);

    if (r == 0)
        return request_take_params(req, accept);
    answer_outcome(&req->answer, r, &err, 0);
    return false;
}

bool request_become(struct request *req, const struct route *route, struct query *q)
{
    req->came_by = req->route;
    req->route = route;
    req->wants.html = false;
    params_deinit(&req->params);
    query_deinit(&req->query);
    req->query = *q;
    *q = (struct query){ .count = 0 };
    return request_may_use_route(req) && request_take_params(req, SPAN_NULL);
}

static void answer_body_size(struct request *req)
{
    struct error err = ERROR_NULL;

    error_set(&err, -EFBIG, "a body has at most %d bytes", BODY_MAX_BYTES);
    answer_problem(&req->answer, 413, &err, SPAN_NULL);
}

/* Returns whether @type may be JSON: its own type, none, or the default type of curl -d and other
 * simple clients. A form of a foreign web page cannot send JSON with these: its text is escaped, or
 * is text/plain. */
static bool may_be_json(struct span type)
{
    static const char *const TYPES[] = { "application/json", "application/x-www-form-urlencoded" };
    struct span name = { type.p, span_find(type, ';') };

    name = span_trim(name);
    for (size_t i = 0; i < ARRAY_SIZE(TYPES); i++) {
        if (strlen(TYPES[i]) == name.n && strncasecmp(name.p, TYPES[i], name.n) == 0)
            return true;
    }
    return name.n == 0;
}

/* Checks an announced body before any of it is read. False: the answer says why it is refused. */
static bool request_takes_body(struct request *req, const struct request_head *h)
{
    struct error err = ERROR_NULL;
    char show[QUERY_SHOW_MAX];
    uint64_t length;

    if (req->route->body == BODY_NONE) {
        error_set(&err, 0, "'%s' takes no body", req->route->path);
        error_remedy(&err, "put the parameters into the query: %s?name=value", req->route->path);
        answer_problem(&req->answer, 413, &err, SPAN_NULL);
        return false;
    }
    if (h->content_length.p && span_parse_dec(span_trim(h->content_length), &length) &&
        length > BODY_MAX_BYTES) {
        answer_body_size(req);
        return false;
    }
    if ((req->route->body == BODY_PARAMS || req->route->body == BODY_MESSAGE) &&
        !may_be_json(h->content_type)) {
        error_set(&err, 0, "'%s' takes a body of the type application/json, not '%s'",
                  req->route->path, query_show(h->content_type, show));
        error_remedy(&err, "send it with: curl -H 'Content-Type: application/json' -d '{...}'");
        answer_problem(&req->answer, 415, &err, SPAN_NULL);
        return false;
    }
    return true;
}

/* Identifies the caller and checks body and parameters of a request with a known route. */
static bool admit(struct request *req, const struct request_head *h)
{
    if (!request_subject(req, h) || (req->received.has_body && !request_takes_body(req, h)))
        return false;
    return req->route->body == BODY_PARAMS || request_params(req, h->accept);
}

bool request_admit(struct request *req)
{
    struct request_head h = { 0 };

    request_head_read(req, &h);
    return admit(req, &h);
}

/* Answers a browser that looks for a new version of a service worker. flamed's page has none, so it
 * is of another program, which listened at this port before. The answer takes its place and removes
 * itself, and its pages become flamed's. */
static void end_service_worker(struct request *req)
{
    static const char SCRIPT[] =
        "addEventListener('install', () => skipWaiting());\n"
        "addEventListener('activate', (event) => event.waitUntil((async () => {\n"
        "    await clients.claim();\n" /* pages that are still loading, too */
        "    await registration.unregister();\n"
        "    await fetch('/', { cache: 'reload', headers: { Accept: 'text/html' } });\n"
        "    for (const page of await clients.matchAll({ type: 'window' }))\n"
        "        await page.navigate('/' + new URL(page.url).hash);\n"
        "})()));\n";

    answer_fixed(&req->answer, "text/javascript", span_of(SCRIPT));
    req->answer.policy = "default-src 'none'; connect-src 'self'";
    answer_header(&req->answer, "Service-Worker-Allowed", "/");
}

bool request_check(struct request *req, const char *method)
{
    struct error err = ERROR_NULL;
    struct request_head h = { 0 };
    int r;

    request_head_read(req, &h);
    pthread_mutex_lock(&req->serve->lock);
    h.access.unix_socket = req->client->unix_socket;
    h.access.tls = req->client->speaks_tls;
    h.access.local_address = req->client->local_address; /* constant */
    pthread_mutex_unlock(&req->serve->lock);
    req->wants.head = strcmp(method, "HEAD") == 0;
    req->received.has_body = request_head_has_body(&h);
    req->received.drains = request_head_drains_body(&h);
    req->wants.coding = negotiate_coding(h.accept_encoding);

    h.bytes += strlen(method) + strlen(req->received.uri);
    request_head_take_authority(&h, req);
    if (h.bytes > SERVE_HEAD_MAX_BYTES) {
        error_set(&err, 0, "the request line and headers have %zu bytes: at most %d are read",
                  h.bytes, SERVE_HEAD_MAX_BYTES);
        answer_problem(&req->answer, 431, &err, SPAN_NULL);
        answer_header(&req->answer, "Connection", "close");
        return false;
    }
    if (!request_head_has_one_length(&h, req) || !credentials_connection(req))
        return false;
    if (req->client->tls) /* only this thread changes it */
        h.access.certificate = tls_names(req->client->tls, &h.access.certificate_count);
    h.access.allowed = req->serve->opts.allowed_hosts;
    h.access.allowed_count = req->serve->opts.allowed_host_count;
    req->wants.html = negotiate_html(h.accept);
    req->wants.openmetrics = negotiate_openmetrics(h.accept);
    if (h.access.host.p != req->received.host)
        span_copy(h.access.host, req->received.host, sizeof(req->received.host));
    h.access.probes_health = req->received.http_1_0 && strcmp(req->received.uri, "/healthz") == 0;
    r = origin_check(&h.access, &err);
    if (r < 0) {
        request_refuse(req, 403, &err);
        return false;
    }
    if (h.is_worker) {
        end_service_worker(req);
        return false;
    }
    return request_route(req, method) && quota_enter(req) && admit(req, &h);
}

bool request_body(struct request *req)
{
    struct error err = ERROR_NULL;

    if (req->route->body != BODY_PARAMS && req->route->body != BODY_MESSAGE)
        return true;
    if (req->received.body.error) {
        answer_body_size(req);
        return false;
    }
    if (req->route->body == BODY_MESSAGE)
        return req->route->receive(req);
    if (!req->received.has_body) {
        error_remedy(&err, "send an object, such as {\"pid\": 4242, \"seconds\": 30}; {} is the "
                           "whole node");
        error_set(&err, -EINVAL, "'%s' takes its parameters in a JSON body, and there is none",
                  req->route->path);
        answer_problem(&req->answer, 400, &err, SPAN_NULL);
        return false;
    }
    return request_params(req, SPAN_NULL);
}
