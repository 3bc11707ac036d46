/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What came: reads the head of a request, finds its route, checks its access, its parameters and
 * what it announces of a body. Nothing here blocks.
 */
#include "serve/http.h"

#include "serve/access.h"
#include "serve/body.h"
#include "serve/credentials.h"

#include <strings.h>

struct head {
    struct access_facts access;
    struct span accept, accept_encoding, content_length, content_type, expect, transfer_encoding;
    struct span authorization, cookie;
    size_t authorization_count;
    size_t length_count, encoding_count; /* of Content-Length and Transfer-Encoding */
    bool malformed;                      /* one of them is no header */
    size_t bytes;                        /* of all headers */
};

/* Whether @name is a word, and @value is of one line: RFC 9110, section 5. The library lets others
 * through, such as "Content-Length : 5". */
static bool is_header(const char *name, const char *value)
{
    static const char WORD[] = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

    return name[0] && !name[strspn(name, WORD)] && !value[strcspn(value, "\r\n")];
}

static enum MHD_Result head_header(void *cookie, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct head *h = cookie;
    struct span v = span_of(value ? value : "");

    (void)kind;
    h->bytes += strlen(name) + v.n + strlen(": \r\n");
    h->malformed |= !is_header(name, v.p);
    if (strcasecmp(name, "Host") == 0) {
        h->access.host = v;
        h->access.host_count++;
    } else if (strcasecmp(name, "Origin") == 0) {
        h->access.origin = v;
        h->access.origin_count++;
    } else if (strcasecmp(name, "Sec-Fetch-Site") == 0) {
        h->access.fetch_site = v;
        h->access.fetch_site_count++;
    } else if (strcasecmp(name, "Referer") == 0) {
        h->access.referer = v;
        h->access.referer_count++;
    } else if (strcasecmp(name, "Authorization") == 0) {
        h->authorization = v;
        h->authorization_count++;
    } else if (strcasecmp(name, "Cookie") == 0) {
        h->cookie = v;
    } else if (strcasecmp(name, "Accept") == 0) {
        h->accept = v;
    } else if (strcasecmp(name, "Accept-Encoding") == 0) {
        h->accept_encoding = v;
    } else if (strcasecmp(name, "Content-Length") == 0) {
        h->content_length = v;
        h->length_count++;
    } else if (strcasecmp(name, "Content-Type") == 0) {
        h->content_type = v;
    } else if (strcasecmp(name, "Expect") == 0) {
        h->expect = v;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        h->transfer_encoding = v;
        h->encoding_count++;
    }
    return MHD_YES;
}

static bool has_body(const struct head *h)
{
    return h->transfer_encoding.p ||
           (h->content_length.p && !span_eq_str(span_trim(h->content_length), "0"));
}

/* Who is before us (a proxy) may have seen another end of the body, and in what is behind it
 * another request: RFC 9112, sections 5.1 and 6.3. False: the answer says so, and the connection
 * ends. */
static bool request_has_one_length(struct request *req, const struct head *h)
{
    struct error err = ERROR_NULL;

    if (!h->malformed && h->length_count + h->encoding_count <= 1)
        return true;
    if (h->malformed) {
        error_set(&err, -EINVAL, "the request has a header that is none of HTTP");
        error_remedy(&err, "send each as Name: value, on one line and without space in the name");
    } else {
        error_set(&err, -EINVAL,
                  "the request says more than once where its body ends (Content-Length, "
                  "Transfer-Encoding)");
        error_remedy(&err, "send one Content-Length, or Transfer-Encoding: chunked alone");
    }
    answer_problem(&req->answer, 400, &err, SPAN_NULL);
    answer_header(&req->answer, "Connection", "close");
    return false;
}

/* Whether a body that is not wanted is read all the same. */
static bool drains_body(const struct head *h)
{
    uint64_t length;

    return !h->expect.p && !h->transfer_encoding.p &&
           span_parse_dec(span_trim(h->content_length), &length) && length <= BODY_DRAIN_MAX_BYTES;
}

/* "http://host/path", as to a proxy: a server takes it too, and its host is the one that counts. */
static void take_authority(struct request *req, struct access_facts *a)
{
    struct span rest = span_of(req->uri);
    size_t n = 0;

    if (!span_take_str(&rest, "http://") && !span_take_str(&rest, "https://"))
        return;
    while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
        n++;
    span_copy((struct span){ rest.p, n }, req->host, sizeof(req->host));
    a->host = span_of(req->host);
    a->host_count = MAX(a->host_count, (size_t)1);
    rest = span_from(rest, n);
    req->uri[0] = '/'; /* where there is none; the scheme left room */
    n = rest.n && rest.p[0] == '/' ? 0 : 1;
    memmove(req->uri + n, rest.p, rest.n + 1);
}

bool request_refuse(struct request *req, unsigned status, const struct error *err)
{
    pthread_mutex_lock(&req->serve->lock);
    req->serve->stats.refused_access++;
    pthread_mutex_unlock(&req->serve->lock);
    answer_problem(&req->answer, status, err, SPAN_NULL);
    if (req->wants_html)
        login_page(req, err);
    return true;
}

/* Finds the route. False: the answer says why not. */
static bool request_route(struct request *req, const char *method)
{
    struct span uri = span_of(req->uri);
    struct route_args args = { 0 };
    struct error err = ERROR_NULL;
    char show[QUERY_SHOW_MAX], allow[32];
    const char *near;
    int r;

    uri.n = span_find(uri, '?');
    r = query_decode_path(uri, &req->path, &err);
    if (r < 0) {
        answer_outcome(&req->answer, r, &err, 0);
        return false;
    }
    r = route_find(span_of(req->path), method, &req->route, &args);
    if (r == ROUTE_NONE) {
        near = route_nearest(span_of(req->path));
        error_remedy(&err, "GET /openapi.json lists every route; the profile of a JVM is at "
                           "/profile?pid=N");
        query_show(span_of(req->path), show);
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

/* Reads the query or, where the parameters are in a body, that. Whichever it is not is empty. */
static int request_read_params(struct request *req, struct span *unknown, struct error *err)
{
    struct span query = span_of(req->uri);
    bool in_body = req->route->body == BODY_PARAMS;
    int r;

    query = span_from(query, span_find(query, '?') + 1);
    if (in_body && query.n) {
        error_remedy(err, "send a body such as {\"pid\": 4242, \"seconds\": 30}");
        return error_set(err, -EINVAL, "'%s' takes its parameters in a JSON body, not in the query",
                         req->route->path);
    }
    r = in_body ? body_parse(buf_span(&req->body), &req->query, err)
                : query_parse(query, &req->query, err);
    return r != 0 ? r : params_parse(&req->query, req->route->params, &req->params, unknown, err);
}

/* A container's root must not use up what there is for the host's. */
static void request_is_foreign(struct request *req)
{
    req->caller = caller_of_container();
    pthread_mutex_lock(&req->serve->lock);
    req->client->caller = req->client->asks = req->caller;
    pthread_mutex_unlock(&req->serve->lock);
}

/* Who is at the other end: worked out once for a connection, if it can be. Before any rule. False:
 * that has to be asked first. */
static bool request_peer(struct request *req)
{
    struct client *c = req->client;
    enum peer_place place;

    if (!c->subject_known) {
        place = req->whose == WHOSE_ANSWERED ? req->place
                                             : peer_place(req->serve->opts.peers, &c->peer);
        if (place == PEER_UNTOLD && req->whose == WHOSE_UNASKED) {
            req->whose = WHOSE_WANTED;
            return false;
        }
        if (place == PEER_FOREIGN && c->peer.known)
            request_is_foreign(req);
        req->whose = WHOSE_ASKED;
        subject_of_peer(&c->peer, place, &c->subject);
        c->subject_known = !c->subject.untold;
    }
    req->subject = c->subject;
    return true;
}

/* A page of another site must not start anything in the name of who has logged in: the browser has
 * to say that it is ours. False: the answer says so. */
static bool request_cookie_may(struct request *req, const struct head *h)
{
    const struct access_facts *a = &h->access; /* access_check() found no foreign one in them */
    struct error err = ERROR_NULL;

    if ((req->route->role < ROLE_PROFILE && !(req->route->methods & METHOD_POST)) ||
        a->fetch_site.p || a->origin.p || span_trim(a->referer).n)
        return true;
    error_set(&err, -EACCES,
              "the browser does not say whose page asked for this, and another site's must not "
              "start anything in your name");
    error_remedy(&err, "use the page of flamed, or a browser that sends Sec-Fetch-Site");
    request_refuse(req, 403, &err);
    return false;
}

/* The rule of the configuration for a user of the machine. */
static void request_rule(struct request *req)
{
    const struct access_rule *rule =
        access_rules_user(req->serve->access, req->subject.uid, req->subject.groups);

    if (req->subject.kind == SUBJECT_USER && rule)
        subject_apply(&req->subject, rule);
}

/* False where the caller may be known in a second, and counts: the answer says so. */
static bool request_is_told(struct request *req)
{
    struct error err = { .retry_s = 1 };

    if (!req->subject.untold || (req->route->role == ROLE_HEALTH && !req->route->cookies_alone))
        return true;
    pthread_mutex_lock(&req->serve->lock);
    req->serve->stats.callers_untold++;
    pthread_mutex_unlock(&req->serve->lock);
    error_set(&err, -ETIMEDOUT, "flamed does not know the caller yet: %s", req->subject.problem);
    error_remedy(&err, "ask once more in a second, or on the Unix socket: curl --unix-socket "
                       "/run/flamed/flamed.sock");
    answer_outcome(&req->answer, BACKEND_UNAVAILABLE, &err, 0);
    return false;
}

/* Finds the caller; for health it need not be known. */
static bool request_subject(struct request *req, const struct head *h)
{
    struct error err = ERROR_NULL;
    enum shown shown;

    if (req->route->role == ROLE_HEALTH && !req->route->waits && !req->route->asks)
        return true;
    shown = req->route->cookies_alone
                ? SHOWN_NOTHING
                : credentials_of(req, h->authorization, h->authorization_count);
    if (shown == SHOWN_WRONG || shown == SHOWN_ASK)
        return false;
    if (shown == SHOWN_NOTHING) {
        if (!request_peer(req))
            return false;
        if (login_find(req, h->cookie) && !request_cookie_may(req, h))
            return false;
        req->base = req->subject;
        request_rule(req);
    }
    quota_set_caller(req);
    if (!request_is_told(req))
        return false;
    if (subject_may(&req->subject, req->route->role, &err))
        return true;
    if (req->subject.kind == SUBJECT_NOBODY && access_rules_have_shown(req->serve->access))
        credentials_challenge(req, err.msg);
    else
        request_refuse(req, 403, &err);
    return false;
}

static bool enters_jvm(enum symbols_source symbols)
{
    return symbols == SYMBOLS_AGENT || symbols == SYMBOLS_PERFMAP;
}

/* Limits what was asked for to what the subject sees. False: the answer says what he may not. */
static bool request_may_sample(struct request *req)
{
    struct params *p = &req->params;
    struct error err = ERROR_NULL;

    p->target.viewer = &req->subject.viewer;
    p->view.hide_kernel = !req->subject.viewer.whole;
    if (req->subject.role >= ROLE_ATTACH)
        return (!enters_jvm(p->symbols) && !enters_jvm(p->map_symbols)) || req->head ||
               quota_attach(req);
    if (p->symbols == SYMBOLS_AUTO) /* which may choose the agent */
        p->symbols = SYMBOLS_MEMORY;
    if (!enters_jvm(p->symbols) && !enters_jvm(p->map_symbols))
        return true;
    subject_may(&req->subject, ROLE_ATTACH, &err);
    err.parameter = "symbols";
    error_remedy(&err, "leave symbols= away, or say symbols=memory, which needs no agent");
    request_refuse(req, 403, &err);
    return false;
}

/* Reads the parameters. False: the answer says what is wrong with them. */
static bool request_params(struct request *req, struct span accept)
{
    struct span unknown = SPAN_NULL;
    struct error err = ERROR_NULL;
    size_t count;
    int r = request_read_params(req, &unknown, &err);

    if (r != 0) {
        answer_outcome(&req->answer, r, &err, 0);
        if (unknown.n)
            answer_problem(&req->answer, req->answer.status, &err, unknown);
        return false;
    }
    if (!request_may_sample(req))
        return false;
    req->wants_events = req->route->streams && negotiate_events(accept);
    if (req->route->negotiates && !req->params.format && !req->wants_events) {
        const struct render_format *formats = render_formats(&count);

        req->params.format = negotiate_format(accept, formats, count);
        if (!req->params.format) {
            error_set(&err, 0, "none of the formats has a type that the Accept header names");
            error_remedy(&err, "send Accept: */*, or say format=, such as format=%s",
                         formats[0].name);
            answer_problem(&req->answer, 406, &err, SPAN_NULL);
            return false;
        }
    }
    return true;
}

static void answer_body_size(struct request *req)
{
    struct error err = ERROR_NULL;

    error_set(&err, -EFBIG, "a body has at most %d bytes", BODY_MAX_BYTES);
    answer_problem(&req->answer, 413, &err, SPAN_NULL);
}

/* JSON by its name, or by what curl -d and programs that do not care call whatever they send. A
 * form of a foreign web page cannot send JSON as either: its text comes escaped, or as text/plain.
 */
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

/* Looks at what is announced before any of it is read. False: the answer says why it is not. */
static bool request_takes_body(struct request *req, const struct head *h)
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
    if (req->route->body == BODY_PARAMS && !may_be_json(h->content_type)) {
        error_set(&err, 0, "'%s' takes a body of the type application/json, not '%s'",
                  req->route->path, query_show(h->content_type, show));
        error_remedy(&err, "send it with: curl -H 'Content-Type: application/json' -d '{...}'");
        answer_problem(&req->answer, 415, &err, SPAN_NULL);
        return false;
    }
    return true;
}

/* Finds the caller, and checks what it wants, of a request whose route is known. */
static bool admit(struct request *req, const struct head *h)
{
    if (!request_subject(req, h) || (req->has_body && !request_takes_body(req, h)))
        return false;
    return req->route->body == BODY_PARAMS || request_params(req, h->accept);
}

bool request_admit(struct request *req)
{
    struct head h = { 0 };

    MHD_get_connection_values(req->connection, MHD_HEADER_KIND, head_header, &h);
    return admit(req, &h);
}

bool request_check(struct request *req, const char *method)
{
    struct error err = ERROR_NULL;
    struct head h = { 0 };
    int r;

    MHD_get_connection_values(req->connection, MHD_HEADER_KIND, head_header, &h);
    pthread_mutex_lock(&req->serve->lock);
    h.access.unix_socket = req->client->unix_socket;
    h.access.tls = req->client->speaks_tls;
    h.access.local_address = req->client->local_address; /* does not change */
    pthread_mutex_unlock(&req->serve->lock);
    req->head = strcmp(method, "HEAD") == 0;
    req->has_body = has_body(&h);
    req->drains = drains_body(&h);
    req->coding = negotiate_coding(h.accept_encoding);

    h.bytes += strlen(method) + strlen(req->uri);
    take_authority(req, &h.access);
    if (h.bytes > SERVE_HEAD_MAX_BYTES) {
        error_set(&err, 0, "the request line and headers have %zu bytes: at most %d are read",
                  h.bytes, SERVE_HEAD_MAX_BYTES);
        answer_problem(&req->answer, 431, &err, SPAN_NULL);
        answer_header(&req->answer, "Connection", "close");
        return false;
    }
    if (!request_has_one_length(req, &h) || !credentials_connection(req))
        return false;
    if (req->client->tls) /* this thread's to change */
        h.access.certificate = tls_names(req->client->tls, &h.access.certificate_count);
    h.access.allowed = req->serve->opts.allowed_hosts;
    h.access.allowed_count = req->serve->opts.allowed_host_count;
    req->wants_html = negotiate_html(h.accept);
    if (h.access.host.p != req->host)
        span_copy(h.access.host, req->host, sizeof(req->host));
    r = access_check(&h.access, &err);
    if (r < 0) {
        request_refuse(req, 403, &err);
        return false;
    }
    return request_route(req, method) && quota_enter(req) && admit(req, &h);
}

bool request_body(struct request *req)
{
    struct error err = ERROR_NULL;

    if (req->route->body != BODY_PARAMS)
        return true;
    if (req->body.error) {
        answer_body_size(req);
        return false;
    }
    if (!req->has_body) {
        error_remedy(&err, "send an object, such as {\"pid\": 4242, \"seconds\": 30}; {} is the "
                           "whole node");
        error_set(&err, -EINVAL, "'%s' takes its parameters in a JSON body, and there is none",
                  req->route->path);
        answer_problem(&req->answer, 400, &err, SPAN_NULL);
        return false;
    }
    return request_params(req, SPAN_NULL);
}
