/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes for browsers: login, logout, sessions of cookies, /api/v1/whoami, and the page that
 * reports a refusal.
 */
#include "serve/http.h"
#include "serve/routes/handlers.h"

#include "base/clock.h"
#include "base/text.h"

#define COOKIE_NAME_MAX 32
#define WHOAMI_MATCH_MAX_BYTES ((size_t)40 << 10)

static const char NO_LOGIN[] = "run flamed --login again, as root or as a member of group flamed "
                               "on the machine of flamed, and open the new address at once";

/* ---- the cookie ---- */

static bool is_secure(const struct request *req)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(req->connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    return info && info->tls_session;
}

/* Writes the name of the session cookie. Browsers share cookies among all ports of a host, so the
 * name contains the port: a browser can be logged in to two flameds on forwarded ports of
 * localhost. */
static void cookie_name(const struct request *req, char ret[COOKIE_NAME_MAX])
{
    struct span host = span_of(req->received.host),
                port = span_from(host, span_rfind(host, ':') + 1);
    uint64_t number = 0;

    if (span_find(port, ']') != port.n || !span_parse_dec(port, &number) || number > 65535)
        number = 0;
    snprintf(ret, COOKIE_NAME_MAX, "%sflamed_%u", is_secure(req) ? "__Host-" : "",
             (unsigned)number);
}

bool login_find(struct request *req, struct span cookies)
{
    const struct subject *browser = &req->client->subject; /* subject of the connection, without
                                                            * cookies */
    struct span name, value;
    char wanted[COOKIE_NAME_MAX];

    if (!cookies.n)
        return false;
    cookie_name(req, wanted);
    while (session_cookie(&cookies, &name, &value)) {
        if (!span_eq_str(name, wanted) ||
            !sessions_find(req->serve->sessions, value, browser, clock_monotonic_ns(),
                           &req->who.subject, &req->who.session_left_ns))
            continue;
        span_copy(value, req->who.session, sizeof(req->who.session));
        return true;
    }
    return false;
}

/* ---- login and logout ---- */

bool handle_login_ticket(struct request *req)
{
    struct error err = ERROR_NULL;
    char ticket[SESSION_TEXT];
    json_t *value;
    int r;

    if (!req->client->unix_socket || req->client->subject.kind != SUBJECT_USER) {
        error_set(&err, -EACCES, "an address to log in is made on the Unix socket alone");
        error_remedy(&err, "run flamed --login as root or as a member of group flamed");
        return request_refuse(req, 403, &err);
    }
    r = sessions_ticket(req->serve->sessions, &req->client->subject, clock_monotonic_ns(), ticket);
    if (r != 0) {
        error_set(&err, r, "there are %d unused addresses to log in, the most that there can be",
                  SESSION_TICKETS_MAX);
        error_remedy(&err, "ask again in %u s", (unsigned)(SESSION_TICKET_NS / NSEC_PER_SEC));
        answer_outcome(&req->answer, BACKEND_TOO_MANY, &err, SESSION_TICKET_NS / NSEC_PER_SEC);
        return true;
    }
    value = json_pack("{s:s+, s:i}", "path", "/login?ticket=", ticket, "seconds",
                      (int)(SESSION_TICKET_NS / NSEC_PER_SEC));
    answer_json(&req->answer, 201, value, JSON_INDENT(2));
    json_decref(value);
    explicit_bzero(ticket, sizeof(ticket));
    return true;
}

bool handle_login(struct request *req)
{
    const struct subject *browser = &req->client->subject; /* subject of the connection, without
                                                            * cookies */
    struct error err = ERROR_NULL;
    char secret[SESSION_TEXT], name[COOKIE_NAME_MAX];
    int r;

    if (req->wants.head) { /* HEAD does not consume the ticket */
        req->answer.no_body = true;
        return true;
    }
    r = sessions_login(req->serve->sessions, span_of(req->params.ticket ? req->params.ticket : ""),
                       browser, req->serve->access, clock_monotonic_ns(), secret,
                       &req->who.subject);
    if (r != 0) {
        error_set(&err, -EACCES,
                  r == SESSION_NONE ? "this address was used already, or is too old"
                                    : "other users have all the login sessions that there can be");
        error_remedy(&err, "%s", NO_LOGIN);
        return request_refuse(req, 403, &err);
    }
    span_copy(span_of(secret), req->who.session, sizeof(req->who.session));
    cookie_name(req, name);
    answer_header(&req->answer, "Set-Cookie",
                  "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%u%s", name, secret,
                  (unsigned)(SESSION_NS / NSEC_PER_SEC), is_secure(req) ? "; Secure" : "");
    answer_header(&req->answer, "Location", "./");
    req->answer.status = 303;
    explicit_bzero(secret, sizeof(secret));
    return true;
}

bool handle_logout(struct request *req)
{
    char name[COOKIE_NAME_MAX];

    sessions_end(req->serve->sessions, span_of(req->who.session));
    review_soon(req->serve);
    cookie_name(req, name);
    answer_header(&req->answer, "Set-Cookie", "%s=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0%s",
                  name, is_secure(req) ? "; Secure" : "");
    req->answer.status = 204;
    return true;
}

/* ---- whoami ---- */

static const char *known_by(const struct request *req)
{
    if (req->who.session[0])
        return "cookie";
    return subject_known_by(&req->who.subject);
}

static json_t *roles_up_to(enum role role)
{
    json_t *list = json_array();

    for (int i = ROLE_HEALTH; i <= (int)role; i++)
        json_array_append_new(list, json_string(role_name((enum role)i)));
    return list;
}

bool handle_whoami(struct request *req)
{
    const struct subject *s = &req->who.subject;
    struct error err = ERROR_NULL;
    char name[SUBJECT_NAME_BYTES];
    json_t *value =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:s}", "subject", subject_name(s, name), "known_by",
                  known_by(req), "via", req->client->unix_socket ? "unix socket" : "TCP", "role",
                  role_name(s->role), "may", roles_up_to(s->role), "sees", subject_sees(s));

    if (value && s->kind == SUBJECT_USER)
        json_object_set_new(value, "uid", json_integer((json_int_t)s->uid));
    if (value && s->viewer.seen) {
        _cleanup_buf_ struct buf text = BUF_UPTO(WHOAMI_MATCH_MAX_BYTES);

        matchers_write(s->viewer.seen, &text);
        json_object_set_new(value, "match", json_string(text.error ? "{...}" : text.p));
    }
    if (value && req->who.session[0])
        json_object_set_new(
            value, "session",
            json_pack("{s:I}", "seconds", (json_int_t)(req->who.session_left_ns / NSEC_PER_SEC)));
    if (value && !request_has_role(req, s->limited ? ROLE_MANAGE : ROLE_VIEW, &err)) {
        json_object_set_new(value, s->limited ? "limit" : "problem", json_string(err.msg));
        json_object_set_new(value, "remedy", json_string(err.remedy));
    }
    return answer_backend(req, value ? 0 : -ENOMEM, value, &err);
}

/* ---- the page of a refusal ---- */

static void add_paragraph(struct buf *out, const char *text)
{
    buf_add_str(out, "<p>");
    text_add_html(out, span_of(text));
    buf_add_str(out, ".</p>\n");
}

void login_page(struct request *req, const struct error *err)
{
    struct answer *a = &req->answer;
    char name[SUBJECT_NAME_BYTES];

    buf_clear(&a->body);
    a->content_type = "text/html; charset=utf-8";
    buf_add_str(&a->body,
                "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<meta name=\"color-scheme\" content=\"light dark\">\n"
                "<title>Access refused · flamed</title>\n"
                "<style>body{font:13px/1.5 system-ui,sans-serif;max-width:36em;margin:12vh auto;"
                "padding:0 16px;overflow-wrap:anywhere}h1{font-size:18px}code{font-size:13px}"
                "</style>\n"
                "<h1>Access refused</h1>\n");
    add_paragraph(&a->body, err->msg);
    buf_add_str(&a->body,
                "<p>To log in with this browser, run <code>sudo flamed --login</code> on the "
                "machine of flamed, and open the address that it prints. It is good once, for two "
                "minutes.</p>\n");
    if (err->remedy[0])
        add_paragraph(&a->body, err->remedy);
    buf_add_str(&a->body, "<p>You are: ");
    text_add_html(&a->body, span_of(subject_name(&req->who.subject, name)));
    buf_add_str(&a->body, ".</p>\n</html>\n");
}
