/* SPDX-License-Identifier: Apache-2.0 */
/* Rights that are withdrawn during use: streams and captures of that caller end, others
 * continue. */
#include "serve_fixture.h"

#include "access/access_rules.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <gnutls/crypto.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TAKEN "the right to this has ended"
#define TOKEN "flamed_token_of_a_test"
#define BEARER "Authorization: Bearer " TOKEN "\r\n"

/* Returns rules that give root @role, and callers with TOKEN @token_role; ROLE_UNSET: no rule. */
static struct access_rules *rules(enum role role, bool own, enum role token_role)
{
    struct access_rules *r = calloc(1, sizeof(*r));
    struct access_rule *token = &r->rules[0], *root = &r->rules[token_role != ROLE_UNSET];

    ck_assert_ptr_nonnull(r);
    if (token_role != ROLE_UNSET) {
        *token =
            (struct access_rule){ .name = "reader", .by = ACCESS_BY_TOKEN, .role = token_role };
        gnutls_hash_fast(GNUTLS_DIG_SHA256, TOKEN, strlen(TOKEN), token->hash);
        r->count++;
    }
    if (role != ROLE_UNSET) {
        *root = (struct access_rule){ .name = "root", .user = "root", .role = role, .own = own };
        r->count++;
    }
    return r;
}

/* Begins a stream at @target. */
static int begin(const char *target, const char *headers, struct buf *b)
{
    int fd = ask_on(client_connect_tcp(port), "GET", target, headers);

    buf_init(b, (size_t)1 << 20);
    ck_assert(client_read_until(fd, b, "\r\n\r\n", CLIENT_TIMEOUT_MS));
    ck_assert_msg(strncmp(b->p, "HTTP/1.1 200", 12) == 0, "%.200s", b->p);
    return fd;
}

/* Returns true if the audit, which root sees without rules, has such a line. @ret: the whole
 * audit. */
static bool is_noted(const char *action, const char *text, struct reply *ret)
{
    json_t *all, *line;
    bool found = false;
    size_t i;

    ask("GET", "/api/v1/audit", NULL, ret);
    ck_assert_uint_eq(ret->status, 200);
    all = json_loadb(ret->body.p, ret->body.n, 0, NULL);
    json_array_foreach(json_object_get(all, "audit"), i, line)
    {
        const char *problem = json_string_value(json_object_get(line, "problem"));

        found |= problem && strstr(problem, text) &&
                 strcmp(json_string_value(json_object_get(line, "action")), action) == 0 &&
                 json_integer_value(json_object_get(line, "status")) == 403;
    }
    json_decref(all);
    return found;
}

/* The line is written a moment after the stream or capture has ended. */
static void assert_noted(const char *action, const char *text)
{
    bool found = false;

    serve_set_access(serve, NULL);
    for (int i = 0; i < 1500 && !found; i++) {
        _cleanup_reply_ struct reply r;

        if (i)
            usleep(10000);
        found = is_noted(action, text, &r);
        ck_assert_msg(found || i < 1499, "%s", r.body.p);
    }
}

static const struct {
    const char *target, *headers;
    const char *action; /* action in the audit */
    enum role role;     /* the role that remains */
    bool own, ends;
} STREAMS[] = {
    { "/top?pid=1000&interval=30s", NULL, "capture", ROLE_VIEW, false, true },
    { "/top?pid=1000&interval=30s", "Accept: text/event-stream\r\n", "capture", ROLE_VIEW, false,
      true },
    { "/top?pid=1000&interval=30s", NULL, "capture", ROLE_HEALTH, false, true },
    { "/top?pid=1000&interval=30s", NULL, "capture", ROLE_MANAGE, true, true },
    { "/top?pid=1000&interval=30s", NULL, NULL, ROLE_ATTACH, false, false },
    { "/profile?pid=1000&seconds=600&symbols=memory", "Accept: text/event-stream\r\n", "capture",
      ROLE_VIEW, false, true },
    { "/profile?pid=1000&seconds=600&symbols=agent", "Accept: text/event-stream\r\n", "attach",
      ROLE_PROFILE, false, true },
    { "/profile?pid=1000&seconds=600&symbols=memory", "Accept: text/event-stream\r\n", NULL,
      ROLE_PROFILE, false, false },
    { "/api/v1/captures/" FAKE_ID "/stream", NULL, "refusal", ROLE_HEALTH, false, true },
    { "/api/v1/captures/" FAKE_ID "/stream", NULL, NULL, ROLE_VIEW, false, false },
};

START_TEST(a_stream_ends_with_the_right_to_it)
{
    bool captures = strncmp(STREAMS[_i].target, "/api", 4) != 0;
    _cleanup_buf_ struct buf b = BUF_NULL;
    _cleanup_close_ int fd = begin(STREAMS[_i].target, STREAMS[_i].headers, &b);

    serve_set_access(serve, rules(STREAMS[_i].role, STREAMS[_i].own, ROLE_UNSET));
    if (STREAMS[_i].ends) {
        ck_assert(client_read_until(fd, &b, TAKEN, CLIENT_TIMEOUT_MS));
        ck_assert(client_read_until(fd, &b, "\r\n0\r\n\r\n", CLIENT_TIMEOUT_MS));
        await_no_captures(CLIENT_TIMEOUT_MS);
        ck_assert_uint_eq(fake_get(&fake, &fake.ended_drop), captures);
        assert_noted(STREAMS[_i].action, TAKEN);
    } else {
        struct serve_stats stats;

        usleep(1500000); /* longer than two passes */
        serve_stats(serve, &stats);
        ck_assert_uint_eq(stats.streams_now, 1);
        ck_assert_uint_eq(stats.captures_now, captures);
    }
}
END_TEST

START_TEST(a_capture_that_is_waited_for_is_refused)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_reply_ struct reply r;

    ask_on(fd, "GET", "/profile?pid=1000&seconds=600", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 1, 15000));
    serve_set_access(serve, rules(ROLE_VIEW, false, ROLE_UNSET));
    client_read(fd, /* head_only= */ false, &r);
    assert_problem(&r, 403, NULL, TAKEN);
    await_no_captures(CLIENT_TIMEOUT_MS);
    ck_assert_uint_eq(fake_get(&fake, &fake.ended_drop), 1);
    assert_noted("capture", TAKEN);
}
END_TEST

START_TEST(a_token_counts_as_long_as_a_rule_has_it)
{
    _cleanup_buf_ struct buf b = BUF_NULL, c = BUF_NULL;
    _cleanup_close_ int fd = -1, root = -1;
    struct access_rules *renamed = rules(ROLE_UNSET, false, ROLE_ATTACH);
    struct serve_stats stats;

    serve_set_access(serve, rules(ROLE_UNSET, false, ROLE_PROFILE));
    fd = begin("/top?pid=1000&interval=30s", BEARER, &b);
    root = begin("/top?pid=1000&interval=30s", NULL, &c);
    span_copy(SPAN("another"), renamed->rules[0].name, sizeof(renamed->rules[0].name));
    serve_set_access(serve, renamed);
    usleep(1500000);
    serve_stats(serve, &stats);
    ck_assert_uint_eq(stats.streams_now, 2);
    serve_set_access(serve, NULL);
    ck_assert(client_read_until(fd, &b, TAKEN, CLIENT_TIMEOUT_MS));
    usleep(300000);
    serve_stats(serve, &stats);
    ck_assert_uint_eq(stats.streams_now, 1);
    ck_assert_ptr_null(strstr(c.p, TAKEN));
}
END_TEST

/* Writes the header of a session of root. */
static void log_in(char *headers, size_t size)
{
    _cleanup_close_ int fd = client_connect_unix(socket_path);
    _cleanup_reply_ struct reply ticket, in;
    char cookie[256];
    json_t *j;

    ask_on(fd, "POST", "/api/v1/logins", NULL);
    client_read(fd, /* head_only= */ false, &ticket);
    ck_assert_uint_eq(ticket.status, 201);
    j = json_loadb(ticket.body.p, ticket.body.n, 0, NULL);
    ask("GET", json_string_value(json_object_get(j, "path")), NULL, &in);
    json_decref(j);
    ck_assert_uint_eq(in.status, 303);
    ck_assert_ptr_nonnull(reply_header(&in, "Set-Cookie", 0, cookie, sizeof(cookie)));
    *strchr(cookie, ';') = '\0';
    snprintf(headers, size, "Cookie: %s\r\nSec-Fetch-Site: same-origin\r\n", cookie);
}

START_TEST(what_a_session_began_ends_with_it)
{
    _cleanup_buf_ struct buf a = BUF_NULL, b = BUF_NULL, c = BUF_NULL;
    _cleanup_close_ int out = -1, other = -1, root = -1;
    _cleanup_reply_ struct reply r;
    char one[512], two[512];
    struct serve_stats stats;

    log_in(one, sizeof(one));
    log_in(two, sizeof(two));
    out = begin("/top?pid=1000&interval=30s", one, &a);
    other = begin("/top?pid=1000&interval=30s", two, &b);
    root = begin("/top?pid=1000&interval=30s", NULL, &c);
    ask("POST", "/logout", one, &r);
    ck_assert_uint_eq(r.status, 204);
    ck_assert(client_read_until(out, &a, TAKEN, CLIENT_TIMEOUT_MS));
    usleep(300000);
    serve_stats(serve, &stats);
    ck_assert_uint_eq(stats.streams_now, 2);
    assert_noted("capture", "the caller logged out");
}
END_TEST

/* A capture that runs on its own continues: a log-out takes no right from the session's user. */
START_TEST(a_capture_on_its_own_outlives_a_log_out)
{
    _cleanup_reply_ struct reply r, out;
    char session[512];

    log_in(session, sizeof(session));
    ask_body("POST", "/api/v1/captures", session, "{\"pid\":1000,\"seconds\":600}", &r);
    ck_assert_uint_eq(r.status, 201);
    ask("POST", "/logout", session, &out);
    ck_assert_uint_eq(out.status, 204);
    usleep(1500000); /* longer than a pass */
    ck_assert_uint_eq(fake_get(&fake, &fake.stopped), 0);
    serve_set_access(serve, rules(ROLE_VIEW, false, ROLE_UNSET));
    ck_assert(fake_wait(&fake, &fake.stopped, 1, 15000));
}
END_TEST

START_TEST(a_capture_on_its_own_is_stopped)
{
    _cleanup_reply_ struct reply r;

    ask_body("POST", "/api/v1/captures", NULL, "{\"pid\":1000,\"seconds\":600}", &r);
    ck_assert_uint_eq(r.status, 201);
    serve_set_access(serve, rules(ROLE_ATTACH, false, ROLE_UNSET));
    usleep(300000);
    ck_assert_uint_eq(fake_get(&fake, &fake.stopped), 0);
    fake.stalls = (unsigned)_i; /* the engine is stalled at first */
    serve_set_access(serve, rules(ROLE_VIEW, false, ROLE_UNSET));
    ck_assert(fake_wait(&fake, &fake.stopped, 1, 15000));
    assert_noted("stop", TAKEN);
    serve_set_access(serve, rules(ROLE_HEALTH, false, ROLE_UNSET));
    usleep(300000);
    ck_assert_uint_eq(fake_get(&fake, &fake.stopped), 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_review");
    TCase *served = tcase_create("served");

    if (geteuid() != 0)
        return 77;
    tcase_add_checked_fixture(served, start_full, stop);
    tcase_set_timeout(served, 120);
    tcase_add_loop_test(served, a_stream_ends_with_the_right_to_it, 0, ARRAY_SIZE(STREAMS));
    tcase_add_test(served, a_capture_that_is_waited_for_is_refused);
    tcase_add_test(served, a_token_counts_as_long_as_a_rule_has_it);
    tcase_add_test(served, what_a_session_began_ends_with_it);
    tcase_add_test(served, a_capture_on_its_own_outlives_a_log_out);
    tcase_add_loop_test(served, a_capture_on_its_own_is_stopped, 0, 3);
    suite_add_tcase(s, served);
    return run_suite(s);
}
