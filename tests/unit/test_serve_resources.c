/* SPDX-License-Identifier: Apache-2.0 */
/* Captures as resources, the past, live views, diffs and scraping, over real sockets against a
 * backend without sampling. */
#include "fake_backend.h"
#include "http_client.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "serve/serve.h"
#include "serve/time_text.h"

#include <check.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

static struct fake fake;
static struct serve *serve;
static uint16_t port;

static void start(void)
{
    struct serve_opts o = { .connections_max = 64,
                            .captures_max = 4,
                            .answer_max_bytes = (size_t)64 << 20,
                            .idle_timeout_s = 20,
                            .version = "1.2.3" };
    struct error err = ERROR_NULL;
    struct sockaddr_in sa;
    socklen_t n = sizeof(sa);
    int fd;

    ck_assert_msg(listen_open("127.0.0.1:0", &fd, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
    port = ntohs(sa.sin_port);
    fake_init_full(&fake);
    o.listen_fds = &fd;
    o.listen_count = 1;
    ck_assert_msg(serve_start(&o, &fake.backend, &serve, &err) == 0, "%s", err.msg);
}

static void stop(void)
{
    fake_release(&fake);
    serve = serve_stop(serve);
    fake_deinit(&fake);
}

/* ---- asking ---- */

static int ask_on(int fd, const char *method, const char *target, const char *headers,
                  const char *body)
{
    _cleanup_buf_ struct buf b = BUF_NULL;

    buf_init(&b, (size_t)1 << 20);
    buf_printf(&b, "%s %s HTTP/1.1\r\nHost: localhost:7979\r\n%s", method, target,
               headers ? headers : "");
    if (body)
        buf_printf(&b, "Content-Length: %zu\r\n", strlen(body));
    buf_add_str(&b, "\r\n");
    if (body)
        buf_add_str(&b, body);
    client_send(fd, b.p, b.n);
    return fd;
}

static void ask(const char *method, const char *target, const char *headers, const char *body,
                struct reply *ret)
{
    _cleanup_close_ int fd = ask_on(client_connect_tcp(port), method, target, headers, body);

    client_read(fd, strcmp(method, "HEAD") == 0, ret);
}

static const char *header(const struct reply *r, const char *name)
{
    static char value[2048];

    return reply_header(r, name, 0, value, sizeof(value)) ? value : "";
}

/* Reads from a stream until @text has come. False: its end, or @ms, came first. */
static bool read_until(int fd, struct buf *b, const char *text, unsigned ms)
{
    uint64_t until_ns = clock_monotonic_ns() + ms * NSEC_PER_MSEC;

    while (clock_monotonic_ns() < until_ns) {
        struct pollfd p = { .fd = fd, .events = POLLIN };
        char piece[4096];
        ssize_t n;

        if (b->n && strstr(b->p, text))
            return true;
        if (poll(&p, 1, 100) <= 0)
            continue;
        n = recv(fd, piece, sizeof(piece), 0);
        if (n <= 0)
            return false;
        buf_add(b, piece, (size_t)n);
    }
    return false;
}

static void wait_no_captures(void)
{
    struct serve_stats stats;

    serve_stats(serve, &stats);
    for (int i = 0; i < 300 && (stats.captures_now || stats.streams_now); i++) {
        usleep(10000);
        serve_stats(serve, &stats);
    }
    ck_assert_uint_eq(stats.captures_now, 0);
    ck_assert_uint_eq(stats.streams_now, 0);
}

#define JSON "Content-Type: application/json\r\n"

/* ---- a table of requests and answers ---- */

static const struct {
    const char *method, *target, *headers, *body;
    unsigned status;
    const char *type, *contains;
} CASES[] = {
    { "POST", "/api/v1/captures", JSON, "{\"pid\":1000,\"seconds\":2}", 201, "application/json",
      FAKE_ID },
    { "POST", "/api/v1/captures", "Content-Type: Application/JSON; charset=utf-8\r\n", "{}", 201,
      "application/json", "running" },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":[1000,1001],\"include\":[\"a\",\"b\"]}", 201,
      "application/json", FAKE_ID },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":404}", 404, NULL, "no process 404" },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":429}", 429, NULL, "too many" },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":\"x\"}", 400, NULL, "not a process id" },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":-1}", 400, NULL, "'-1'" },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":null}", 400, NULL, "neither" },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":[]}", 400, NULL, "neither" },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":[[1]]}", 400, NULL, "neither" },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":1,\"pid\":2}", 400, NULL, "no JSON" },
    { "POST", "/api/v1/captures", JSON, "{\"seconds\":0}", 400, NULL, "0.1 to 3600" },
    { "POST", "/api/v1/captures", JSON, "{\"from\":\"-5m\"}", 400, NULL, "no parameter 'from'" },
    { "POST", "/api/v1/captures", JSON, "{\"secnods\":1}", 400, NULL, "did you mean 'seconds'" },
    { "POST", "/api/v1/captures", JSON, "{\"event\":\"cpuu\"}", 400, NULL, "did you mean 'cpu'" },
    { "POST", "/api/v1/captures", JSON, "[]", 400, NULL, "no object" },
    { "POST", "/api/v1/captures", JSON, "{", 400, NULL, "no JSON" },
    { "POST", "/api/v1/captures", JSON, "", 400, NULL, "there is none" },
    { "POST", "/api/v1/captures", NULL, NULL, 400, NULL, "there is none" },
    { "POST", "/api/v1/captures?pid=1", JSON, "{}", 400, NULL, "not in the query" },
    { "POST", "/api/v1/captures", "Content-Type: text/plain\r\n", "{}", 415, NULL, "text/plain" },
    { "POST", "/api/v1/captures", "Content-Type: application/jsonx\r\n", "{}", 415, NULL,
      "application/json" },
    { "POST", "/api/v1/captures", NULL, "{}", 201, "application/json", FAKE_ID },
    { "POST", "/api/v1/captures", "Content-Type: application/x-www-form-urlencoded\r\n",
      "{\"pid\":1000}", 201, "application/json", FAKE_ID }, /* curl -d */
    { "POST", "/api/v1/captures", JSON, "{\"event\":\"wall\"}", 503, NULL, "event=wall" },
    { "POST", "/api/v1/captures", "Origin: http://evil.example\r\n" JSON, "{}", 403, NULL, NULL },
    { "POST", "/api/v1/captures", "Sec-Fetch-Site: cross-site\r\n" JSON, "{}", 403, NULL, NULL },
    { "PUT", "/api/v1/captures", NULL, NULL, 405, NULL, "GET, HEAD, POST" },
    { "POST", "/api/v1/captures/" FAKE_ID, NULL, NULL, 405, NULL, "GET, HEAD, DELETE" },
    { "GET", "/api/v1/captures/" FAKE_ID "/stop", NULL, NULL, 405, NULL, "takes POST" },
    { "DELETE", "/profile", NULL, NULL, 405, NULL, "takes GET, HEAD" },
    { "GET", "/api/v1/captures", NULL, NULL, 200, "application/json", "\"limit\": 100" },
    { "GET", "/api/v1/captures?limit=7&state=done&pid=5&event=cpu", NULL, NULL, 200,
      "application/json", "\"state\": \"done\"" },
    { "GET", "/api/v1/captures?limit=0", NULL, NULL, 400, NULL, "1 to 1000" },
    { "GET", "/api/v1/captures?limit=1001", NULL, NULL, 400, NULL, "1 to 1000" },
    { "GET", "/api/v1/captures?state=odd", NULL, NULL, 400, NULL, "running, done or failed" },
    { "GET", "/api/v1/captures/" FAKE_ID, NULL, NULL, 200, "application/json", "running" },
    { "GET", "/api/v1/captures/" FAKE_ID_NONE, NULL, NULL, 404, NULL, "no capture" },
    { "GET", "/api/v1/captures/..%2f..%2fetc", NULL, NULL, 404, NULL, "nothing at" },
    { "GET", "/api/v1/captures/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", NULL, NULL, 404, NULL, NULL },
    { "GET", "/api/v1/captures/" FAKE_ID "/profile?format=collapsed&names=simple", NULL, NULL, 200,
      "text/plain; charset=utf-8", "Thread.run;Fake.method1;leaf 1" },
    { "GET", "/api/v1/captures/" FAKE_ID "/profile?exclude=method1&format=collapsed", NULL, NULL,
      200, "text/plain; charset=utf-8", "method2" },
    { "GET", "/api/v1/captures/" FAKE_ID "/profile?seconds=3", NULL, NULL, 400, NULL, "seconds" },
    { "GET", "/api/v1/captures/" FAKE_ID_FAILED "/profile", NULL, NULL, 409, NULL, "failed" },
    { "GET", "/api/v1/captures/" FAKE_ID_NONE "/profile", NULL, NULL, 404, NULL, NULL },
    { "GET", "/api/v1/captures/" FAKE_ID_NONE "/stream", NULL, NULL, 404, NULL, NULL },
    { "POST", "/api/v1/captures/" FAKE_ID "/stop", NULL, NULL, 200, "application/json", "done" },
    { "POST", "/api/v1/captures/" FAKE_ID_FAILED "/stop", NULL, NULL, 409, NULL, "already" },
    { "DELETE", "/api/v1/captures/" FAKE_ID, NULL, NULL, 204, "", NULL },
    { "DELETE", "/api/v1/captures/" FAKE_ID_NONE, NULL, NULL, 404, NULL, NULL },
    { "GET", "/profile?pid=1000&from=-60s&format=collapsed", NULL, NULL, 200,
      "text/plain; charset=utf-8", "leaf 1" },
    { "GET", "/profile?from=-60s&to=-60s", NULL, NULL, 400, NULL, "before" },
    { "GET", "/profile?from=-60s&to=-2m", NULL, NULL, 400, NULL, "before" },
    { "GET", "/profile?from=-60s&seconds=5", NULL, NULL, 400, NULL, "seconds says how to sample" },
    { "GET", "/profile?from=-60s&hz=5", NULL, NULL, 400, NULL, "hz says how to sample" },
    { "GET", "/profile?from=-60", NULL, NULL, 400, NULL, "-60s" },
    { "GET", "/profile?from=tomorrow", NULL, NULL, 400, NULL, "RFC 3339" },
    { "GET", "/profile?from=1970-01-01T00:00:00Z&to=1990-01-01T00:00:00Z", NULL, NULL, 404, NULL,
      "older than all" },
    { "GET", "/api/v1/query?pid=1000&format=collapsed", NULL, NULL, 200,
      "text/plain; charset=utf-8", "leaf 1" },
    { "GET", "/api/v1/timeline", NULL, NULL, 200, "application/json", "\"seconds\": 600" },
    { "GET", "/api/v1/timeline?from=-60s&buckets=3&by=jvm-category", NULL, NULL, 200,
      "application/json", "\"by\": \"jvm-category\"" },
    { "GET", "/api/v1/timeline?from=-60s&buckets=3&by=category", NULL, NULL, 200,
      "application/json", "\"by\": \"category\"" },
    { "GET", "/api/v1/timeline?buckets=0", NULL, NULL, 400, NULL, "1 to 2000" },
    { "GET", "/api/v1/timeline?from=2200-01-01T00:00:00Z", NULL, NULL, 400, NULL, "future" },
    { "GET", "/api/v1/schedules", NULL, NULL, 503, NULL, "not available" },
    { "POST", "/api/v1/triggers/slow%20shop", NULL, "alerts, whatever they look like", 201,
      "application/json", FAKE_ID },
    { "POST", "/api/v1/triggers/none", NULL, NULL, 404, NULL, "no trigger 'none'" },
    { "POST", "/api/v1/triggers/hot", NULL, NULL, 429, NULL, "a moment ago" },
    { "GET", "/api/v1/triggers/hot", NULL, NULL, 405, NULL, "takes POST" },
    { "GET", "/api/v1/diff?a=" FAKE_ID "&b=" FAKE_ID "&format=collapsed", NULL, NULL, 200,
      "text/plain; charset=utf-8", "com.example.Fake.method1;leaf 1 1" },
    { "GET", "/api/v1/diff?a=-20m..-10m&b=-10m..&pid=1000&format=json", NULL, NULL, 200,
      "application/json", "\"flamed-diff\"" },
    { "GET", "/api/v1/diff?a=" FAKE_ID "&b=-10m..now", NULL, NULL, 200, "text/html; charset=utf-8",
      "<!doctype html>" },
    { "GET", "/api/v1/diff?a=" FAKE_ID "&b=" FAKE_ID "&format=svg", NULL, NULL, 200,
      "image/svg+xml", "<svg " },
    { "GET", "/api/v1/diff?a=" FAKE_ID, NULL, NULL, 400, NULL, "there is no b" },
    { "GET", "/api/v1/diff?a=x&b=y", NULL, NULL, 400, NULL, "a=x is not possible" },
    { "GET", "/api/v1/diff?a=-5m..-10m&b=" FAKE_ID, NULL, NULL, 400, NULL, "a=-5m..-10m" },
    { "GET", "/api/v1/diff?a=" FAKE_ID_NONE "&b=" FAKE_ID, NULL, NULL, 404, NULL, "no capture" },
    { "GET", "/api/v1/diff?a=" FAKE_ID "&b=" FAKE_ID "&format=jfr", NULL, NULL, 400, NULL,
      "html, svg, collapsed or json" },
    { "GET", "/debug/pprof/", NULL, NULL, 200, "text/html; charset=utf-8", "profile" },
    { "GET", "/debug/pprof/heap?gc=1", NULL, NULL, 200, "application/octet-stream", NULL },
    { "GET", "/debug/pprof/profile?pid=1000&seconds=0.1&seconds=99&debug=0&x", NULL, NULL, 200,
      "application/octet-stream", NULL },
    { "GET", "/debug/pprof/profile?pid=x", NULL, NULL, 400, NULL, "not a process id" },
    { "GET", "/debug/pprof/profile?pid=404", NULL, NULL, 404, NULL, NULL },
    { "GET", "/debug/pprof/nonsense", NULL, NULL, 404, NULL, NULL },
    { "GET", "/sd", NULL, NULL, 200, "application/json", "\"__param_pid\": \"1000\"" },
    { "GET", "/sd", NULL, NULL, 200, "application/json", "\"localhost:7979\"" },
    { "GET", "/sd?x=1", NULL, NULL, 400, NULL, NULL },
    { "GET", "/metrics?pid=1000", NULL, NULL, 200, "text/plain; version=0.0.4; charset=utf-8",
      "fake 1\n# HELP flamed_http_requests_total" },
    { "GET", "/top?pid=1000&once=1&interval=500ms&width=60", NULL, NULL, 200,
      "text/plain; charset=utf-8", "leaf" },
    { "GET", "/top?pid=404", NULL, NULL, 404, NULL, "no process 404" },
    { "GET", "/top?interval=10ms", NULL, NULL, 400, NULL, "100ms to 60s" },
    { "GET", "/top?width=39", NULL, NULL, 400, NULL, "40 to 10000" },
    { "GET", "/top?seconds=4", NULL, NULL, 400, NULL, "no parameter 'seconds'" },
};

START_TEST(answers_as_the_contract_says)
{
    _cleanup_reply_ struct reply r;

    ask(CASES[_i].method, CASES[_i].target, CASES[_i].headers, CASES[_i].body, &r);
    ck_assert_msg(r.status == CASES[_i].status, "%s: %u %.900s", CASES[_i].target, r.status,
                  r.body.n ? r.body.p : "");
    ck_assert_str_eq(header(&r, "Content-Type"),
                     CASES[_i].type ? CASES[_i].type : "application/problem+json");
    if (CASES[_i].contains)
        ck_assert_msg(strstr(r.body.p, CASES[_i].contains) != NULL, "%s: %.900s", CASES[_i].target,
                      r.body.p);
    if (r.status == 201) {
        ck_assert_str_eq(header(&r, "Location"), "/api/v1/captures/" FAKE_ID);
    } else if (r.status == 405) {
        ck_assert_ptr_nonnull(strstr(r.body.p, header(&r, "Allow")));
    }
}
END_TEST

START_TEST(a_capture_runs_on_without_seconds)
{
    _cleanup_reply_ struct reply without, with;

    ask("POST", "/api/v1/captures", JSON, "{\"pid\":1000}", &without);
    ck_assert_uint_eq(fake.last.duration_ns, 0);
    ask("POST", "/api/v1/captures", JSON, "{\"pid\":\"1000\",\"seconds\":\"2.5\",\"hz\":50}",
        &with);
    ck_assert_uint_eq(fake.last.duration_ns, 2500 * NSEC_PER_MSEC);
    ck_assert_uint_eq(fake.last.period_ns, 20 * NSEC_PER_MSEC);
    ck_assert_int_eq(fake.last.target.pids[0], 1000);
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
}
END_TEST

START_TEST(a_body_has_a_limit)
{
    static const char CHUNKS[] = "POST /api/v1/captures HTTP/1.1\r\nHost: localhost\r\n" JSON
                                 "Transfer-Encoding: chunked\r\n\r\n";
    _cleanup_close_ int fd = client_connect_tcp(port), split = client_connect_tcp(port);
    _cleanup_reply_ struct reply expected, announced, whole, streamed, pieces;
    char spaces[1000], large[70001];

    ask("POST", "/api/v1/captures", JSON "Content-Length: 65537\r\nExpect: 100-continue\r\n", NULL,
        &expected);
    ck_assert_uint_eq(expected.status, 413);
    ask("POST", "/api/v1/captures", JSON "Content-Length: 99999999\r\n", NULL, &announced);
    ck_assert_uint_eq(announced.status, 413);
    memset(large, ' ', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    ask("POST", "/api/v1/captures", JSON, large, &whole); /* read, so that the sender sees why */
    ck_assert_uint_eq(whole.status, 413);
    memset(spaces, ' ', sizeof(spaces));
    client_send(fd, CHUNKS, sizeof(CHUNKS) - 1);
    for (int i = 0; i < 70; i++) {
        client_send(fd, "3e8\r\n", 5);
        client_send(fd, spaces, sizeof(spaces));
        client_send(fd, "\r\n", 2);
    }
    client_send(fd, "0\r\n\r\n", 5);
    client_read(fd, /* head_only= */ false, &streamed);
    ck_assert_uint_eq(streamed.status, 413);
    client_send(split, CHUNKS, sizeof(CHUNKS) - 1);
    client_send(split, "5\r\n{\"pid\r\n", 10);
    usleep(50000);
    client_send(split, "7\r\n\":1000}\r\n0\r\n\r\n", 17);
    client_read(split, /* head_only= */ false, &pieces);
    ck_assert_uint_eq(pieces.status, 201);
    ck_assert_uint_eq(fake_get(&fake, &fake.created), 1);
}
END_TEST

START_TEST(the_past_is_read_as_asked)
{
    _cleanup_reply_ struct reply profile, query;

    ask("GET", "/profile?from=2026-01-02T03:04:05Z&to=2026-01-02T03:05:05.25%2B00:00", NULL, NULL,
        &profile);
    ck_assert_uint_eq(profile.status, 200);
    ck_assert_uint_eq(fake.last_range.from_ns, UINT64_C(1767323045000000000));
    ck_assert_uint_eq(fake.last_range.to_ns, UINT64_C(1767323105250000000));
    ck_assert(!fake.last_stored);
    ask("GET", "/api/v1/query", NULL, NULL, &query);
    ck_assert_uint_eq(fake.last_range.from_ns, 0);
    ck_assert_uint_eq(fake.last_range.to_ns, UINT64_MAX);
    ck_assert(fake.last_stored);
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
}
END_TEST

/* ---- live ---- */

START_TEST(top_is_drawn_again_until_the_client_leaves)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    int fd = client_connect_tcp(port);
    uint64_t before_ns;

    buf_init(&b, (size_t)1 << 20);
    ask_on(fd, "GET", "/top?pid=1000&interval=500ms&width=40&top=2", NULL, NULL);
    ck_assert(read_until(fd, &b, "sampling", 3000));
    ck_assert(read_until(fd, &b, "leaf", 3000));
    ck_assert_ptr_nonnull(strstr(b.p, "\x1b[H"));
    ck_assert_ptr_nonnull(strstr(b.p, "\x1b[K\n"));
    buf_clear(&b);
    ck_assert(read_until(fd, &b, "\x1b[J", 3000));
    ck_assert_ptr_null(strstr(b.p, "\x1b[2J")); /* no blank screen between two tables */
    ck_assert_uint_ge(fake_get(&fake, &fake.snapshots), 2);
    before_ns = clock_monotonic_ns();
    close(fd);
    ck_assert(fake_wait(&fake, &fake.ended_drop, 1, 2000));
    ck_assert_uint_lt(clock_monotonic_ns() - before_ns, NSEC_PER_SEC);
    wait_no_captures();
}
END_TEST

START_TEST(events_tell_of_progress_and_give_the_link)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_buf_ struct buf b = BUF_NULL;

    buf_init(&b, (size_t)1 << 20);
    ask_on(fd, "GET", "/profile?pid=1000&seconds=1.6&format=collapsed&threads=1",
           "Accept: text/event-stream\r\n", NULL);
    ck_assert(read_until(fd, &b, "event: progress\n", 3000));
    ck_assert(read_until(fd, &b, "event: done\n", 5000));
    ck_assert_ptr_nonnull(strstr(b.p, "Content-Type: text/event-stream"));
    ck_assert(read_until(fd, &b, "\r\n0\r\n\r\n", 3000)); /* the end, cleanly */
    wait_no_captures();
}
END_TEST

START_TEST(events_tell_of_failure)
{
    _cleanup_reply_ struct reply none;
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_buf_ struct buf b = BUF_NULL;

    buf_init(&b, (size_t)1 << 20);
    ask("GET", "/profile?pid=404", "Accept: text/event-stream\r\n", NULL, &none);
    ck_assert_uint_eq(none.status, 404);
    ask_on(fd, "GET", "/profile?pid=5&seconds=0.2", "Accept: text/event-stream\r\n", NULL);
    ck_assert(read_until(fd, &b, "event: failed\n", 5000));
    ck_assert(read_until(fd, &b, "broker was lost", 1000));
    wait_no_captures();
}
END_TEST

START_TEST(a_stream_follows_a_capture_to_its_end)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_buf_ struct buf b = BUF_NULL;
    _cleanup_reply_ struct reply r;

    buf_init(&b, (size_t)1 << 20);
    ask_on(fd, "GET", "/api/v1/captures/" FAKE_ID "/stream", NULL, NULL);
    ck_assert(read_until(fd, &b, "event: progress\n", 3000));
    ck_assert(read_until(fd, &b, "event: top\n", 3000));
    ask("POST", "/api/v1/captures/" FAKE_ID "/stop", NULL, NULL, &r);
    ck_assert(read_until(fd, &b, "event: done\n", 3000));
    ck_assert(read_until(fd, &b, "\r\n0\r\n\r\n", 3000));
    wait_no_captures();
}
END_TEST

START_TEST(streams_hold_up_nobody)
{
    _cleanup_reply_ struct reply r;
    uint64_t before_ns;
    int fds[20];

    /* None of them reads what it gets. */
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = ask_on(client_connect_tcp(port), "GET",
                        i < 3 ? "/top?interval=500ms" : "/api/v1/captures/" FAKE_ID "/stream", NULL,
                        NULL);
    ck_assert(fake_wait(&fake, &fake.snapshots, 6, 5000));
    before_ns = clock_monotonic_ns();
    ask("GET", "/profile?pid=1000&seconds=0.1", NULL, NULL, &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_uint_lt(clock_monotonic_ns() - before_ns, 3 * NSEC_PER_SEC);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
    wait_no_captures();
}
END_TEST

START_TEST(streams_end_when_the_service_stops)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    uint64_t before_ns;
    int fds[3];

    start();
    buf_init(&b, (size_t)1 << 20);
    fds[0] = ask_on(client_connect_tcp(port), "GET", "/top?interval=30s", NULL, NULL);
    fds[1] =
        ask_on(client_connect_tcp(port), "GET", "/api/v1/captures/" FAKE_ID "/stream", NULL, NULL);
    fds[2] = ask_on(client_connect_tcp(port), "GET", "/profile?pid=1000&seconds=600",
                    "Accept: text/event-stream\r\n", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 2, 5000));
    ck_assert(read_until(fds[0], &b, "sampling", 3000));
    before_ns = clock_monotonic_ns();
    stop();
    ck_assert_uint_lt(clock_monotonic_ns() - before_ns, 4 * NSEC_PER_SEC);
    buf_clear(&b);
    ck_assert(read_until(fds[2], &b, "event: done\n", 1000));
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        ck_assert(client_closed(fds[i], 1000));
        close(fds[i]);
    }
}
END_TEST

/* Clients that come and leave in the middle of a stream, all at once. */
START_TEST(streams_survive_a_crowd)
{
    for (int round = 0; round < 10; round++) {
        int fds[16];

        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
            fds[i] = ask_on(client_connect_tcp(port), "GET",
                            i % 3 == 0   ? "/top?pid=1000&interval=500ms"
                            : i % 3 == 1 ? "/api/v1/captures/" FAKE_ID "/stream"
                                         : "/profile?pid=1000&seconds=0.2",
                            i % 2 ? "Accept: text/event-stream, text/html\r\n" : NULL, NULL);
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
            if (i % 4 == 1)
                usleep((useconds_t)round * 12000);
            if (i % 5 == 1)
                shutdown(fds[i], SHUT_WR);
            close(fds[i]);
        }
    }
    wait_no_captures();
}
END_TEST

/* ---- what needs no service ---- */

static const struct {
    const char *text;
    bool good;
    uint64_t ns;
} TIMES[] = {
    { "now", true, UINT64_C(1767323045000000000) },
    { "-60s", true, UINT64_C(1767322985000000000) },
    { "-1.5m", true, UINT64_C(1767322955000000000) },
    { "-2h", true, UINT64_C(1767315845000000000) },
    { "-1d", true, UINT64_C(1767236645000000000) },
    { "-106751d", true, 0 }, /* before 1970 */
    { "-0s", true, UINT64_C(1767323045000000000) },
    { "2026-01-02T03:04:05Z", true, UINT64_C(1767323045000000000) },
    { "2026-01-02t03:04:05.5z", true, UINT64_C(1767323045500000000) },
    { "2026-01-02 03:04:05Z", true, UINT64_C(1767323045000000000) },
    { "2026-01-02T05:04:05+02:00", true, UINT64_C(1767323045000000000) },
    { "2026-01-02T05:04:05 02:00", true, UINT64_C(1767323045000000000) }, /* '+' in a query */
    { "2026-01-01T21:34:05-05:30", true, UINT64_C(1767323045000000000) },
    { "1970-01-01T00:00:00Z", true, 0 },
    { "2000-02-29T00:00:00Z", true, UINT64_C(951782400000000000) },
    { "2024-02-29T12:00:00Z", true, UINT64_C(1709208000000000000) },
    { "2261-12-31T23:59:60.999999999Z", true, UINT64_C(9214646400999999999) },
    { "2023-02-29T00:00:00Z", false, 0 },
    { "1900-02-29T00:00:00Z", false, 0 },
    { "2262-01-01T00:00:00Z", false, 0 },
    { "1970-01-01T00:00:00+00:01", false, 0 },
    { "2026-13-01T00:00:00Z", false, 0 },
    { "2026-01-02T24:00:00Z", false, 0 },
    { "2026-01-02T03:04:05", false, 0 },
    { "2026-01-02T03:04:05.Z", false, 0 },
    { "2026-01-02", false, 0 },
    { "2026-01-02T03:04:05Zx", false, 0 },
    { "-60", false, 0 },
    { "60s", false, 0 },
    { "+60s", false, 0 },
    { "--60s", false, 0 },
    { "-s", false, 0 },
    { "-1w", false, 0 },
    { "-99999999999999d", false, 0 },
    { "", false, 0 },
    { "-", false, 0 },
    { "Now", false, 0 },
};

START_TEST(reads_points_in_time)
{
    uint64_t t = 0, now = UINT64_C(1767323045000000000);

    ck_assert_msg(time_parse(span_of(TIMES[_i].text), now, &t) == TIMES[_i].good, "%s",
                  TIMES[_i].text);
    ck_assert_msg(t == TIMES[_i].ns, "%s: %llu", TIMES[_i].text, (unsigned long long)t);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("serve_resources");
    TCase *served = tcase_create("served"), *own = tcase_create("own start");

    tcase_add_checked_fixture(served, start, stop);
    tcase_set_timeout(served, 60);
    tcase_set_timeout(own, 60);
    tcase_add_loop_test(served, answers_as_the_contract_says, 0, ARRAY_SIZE(CASES));
    tcase_add_test(served, a_capture_runs_on_without_seconds);
    tcase_add_test(served, a_body_has_a_limit);
    tcase_add_test(served, the_past_is_read_as_asked);
    tcase_add_test(served, top_is_drawn_again_until_the_client_leaves);
    tcase_add_test(served, events_tell_of_progress_and_give_the_link);
    tcase_add_test(served, events_tell_of_failure);
    tcase_add_test(served, a_stream_follows_a_capture_to_its_end);
    tcase_add_test(served, streams_hold_up_nobody);
    tcase_add_test(own, streams_end_when_the_service_stops);
    tcase_add_test(served, streams_survive_a_crowd);
    tcase_add_loop_test(own, reads_points_in_time, 0, ARRAY_SIZE(TIMES));
    suite_add_tcase(s, served);
    suite_add_tcase(s, own);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    int failed;

    signal(SIGPIPE, SIG_IGN);
    log_init("test_serve_resources", getenv("TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
