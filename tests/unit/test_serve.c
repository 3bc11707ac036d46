/* SPDX-License-Identifier: Apache-2.0 */
/* serve/ over real sockets, against a backend without sampling: answers, errors, access, and
 * clients that are slow, rude, or gone. */
#include "fake_backend.h"
#include "http_client.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "serve/serve.h"

#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zlib.h>

static struct fake fake;
static struct serve *serve;
static uint16_t port;
static char folder[64], socket_path[96];

static void start_with(const struct serve_opts *o)
{
    struct sockaddr_in sa;
    socklen_t n = sizeof(sa);
    struct error err = ERROR_NULL;
    struct serve_opts opts = *o;
    char address[128];
    int fds[2];

    snprintf(folder, sizeof(folder), "/tmp/test_serve.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(socket_path, sizeof(socket_path), "%s/s", folder);
    snprintf(address, sizeof(address), "unix:%s", socket_path);
    ck_assert_msg(listen_open("127.0.0.1:0", &fds[0], &err) == 0, "%s", err.msg);
    ck_assert_msg(listen_open(address, &fds[1], &err) == 0, "%s", err.msg);
    ck_assert_int_eq(getsockname(fds[0], (struct sockaddr *)&sa, &n), 0);
    port = ntohs(sa.sin_port);
    fake_init(&fake);
    opts.listen_fds = fds;
    opts.listen_count = 2;
    opts.version = "1.2.3";
    ck_assert_msg(serve_start(&opts, &fake.backend, &serve, &err) == 0, "%s", err.msg);
}

static const char *const ALLOWED_HOSTS[] = { "other.example.com", "flamed.example.com" };

static const struct serve_opts USUAL = { .allowed_hosts = ALLOWED_HOSTS,
                                         .allowed_host_count = ARRAY_SIZE(ALLOWED_HOSTS),
                                         .connections_max = 32,
                                         .captures_max = 4,
                                         .answer_max_bytes = (size_t)64 << 20,
                                         .idle_timeout_s = 20 };

static void start(void)
{
    start_with(&USUAL);
}

static void stop(void)
{
    fake_release(&fake);
    serve = serve_stop(serve);
    fake_deinit(&fake);
    unlink(socket_path);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* ---- asking ---- */

static void request_text(struct buf *b, const char *method, const char *target, const char *headers)
{
    buf_init(b, (size_t)1 << 20);
    buf_printf(b, "%s %s HTTP/1.1\r\n%s%s\r\n", method, target,
               headers && strstr(headers, "Host:") ? "" : "Host: localhost:7979\r\n",
               headers ? headers : "");
}

static int ask_on(int fd, const char *method, const char *target, const char *headers)
{
    _cleanup_buf_ struct buf b = BUF_NULL;

    request_text(&b, method, target, headers);
    client_send(fd, b.p, b.n);
    return fd;
}

/* One request on a connection of its own. */
static void ask(const char *method, const char *target, const char *headers, struct reply *ret)
{
    _cleanup_close_ int fd = ask_on(client_connect_tcp(port), method, target, headers);

    client_read(fd, strcmp(method, "HEAD") == 0, ret);
}

static const char *header(const struct reply *r, const char *name)
{
    static char value[2048];

    return reply_header(r, name, 0, value, sizeof(value)) ? value : "";
}

static void assert_problem(const struct reply *r, unsigned status, const char *parameter,
                           const char *contains)
{
    json_error_t e;
    json_t *j;

    ck_assert_uint_eq(r->status, status);
    ck_assert_str_eq(header(r, "Content-Type"), "application/problem+json");
    j = json_loadb(r->body.p, r->body.n, 0, &e);
    ck_assert_msg(j != NULL, "%s: %s", e.text, r->body.p);
    ck_assert_int_eq(json_integer_value(json_object_get(j, "status")), (int)status);
    ck_assert_ptr_nonnull(json_string_value(json_object_get(j, "type")));
    ck_assert_ptr_nonnull(json_string_value(json_object_get(j, "title")));
    if (parameter)
        ck_assert_str_eq(json_string_value(json_object_get(j, "parameter")), parameter);
    if (contains)
        ck_assert_msg(strstr(json_string_value(json_object_get(j, "detail")), contains) != NULL,
                      "'%s' is not in %s", contains, r->body.p);
    json_decref(j);
}

/* ---- answers ---- */

START_TEST(gives_a_profile_in_the_format_that_is_asked_for)
{
    static const struct {
        const char *target, *headers, *type, *contains, *extension;
    } CASES[] = {
        { "/profile?pid=1000&seconds=0.1", NULL, "text/html; charset=utf-8", "<!doctype html>",
          ".html" },
        { "/profile?pid=1000&seconds=0.1", "Accept: */*\r\n", "text/html; charset=utf-8", "method1",
          ".html" },
        { "/profile?pid=1000&seconds=0.1",
          "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n",
          "text/html; charset=utf-8", "method1", ".html" },
        { "/profile?pid=1000&seconds=0.1", "Accept: text/plain\r\n", "text/plain; charset=utf-8",
          "java.lang.Thread.run;com.example.Fake.method2;leaf 1", ".txt" },
        { "/profile?pid=1000&seconds=0.1", "Accept: application/json, text/plain, */*\r\n",
          "application/json", "\"java.lang.Thread.run\"", ".json" },
        { "/profile?pid=1000&seconds=0.1&format=collapsed", "Accept: text/html\r\n",
          "text/plain; charset=utf-8", "com.example.Fake.method0;leaf 1", ".txt" },
        { "/profile?pid=1000&seconds=0.1&format=collapsed&names=simple&threads=1", NULL,
          "text/plain; charset=utf-8", "[worker<0> tid=1001];Thread.run;Fake.method1;leaf 1",
          ".txt" },
        { "/profile?pid=1000&seconds=0.1&format=collapsed&include=method2", NULL,
          "text/plain; charset=utf-8", "com.example.Fake.method2;leaf 1", ".txt" },
    };
    _cleanup_reply_ struct reply r;

    ask("GET", CASES[_i].target, CASES[_i].headers, &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_str_eq(header(&r, "Content-Type"), CASES[_i].type);
    ck_assert_msg(strcasestr(r.body.p, CASES[_i].contains) != NULL, "%.2000s", r.body.p);
    ck_assert_ptr_nonnull(
        strstr(header(&r, "Content-Disposition"), "inline; filename=\"flamed-1000-cpu-2"));
    ck_assert_ptr_nonnull(strstr(header(&r, "Content-Disposition"), CASES[_i].extension));
    ck_assert_str_eq(header(&r, "X-Content-Type-Options"), "nosniff");
    ck_assert_str_eq(header(&r, "Cache-Control"), "no-store");
    ck_assert_str_eq(header(&r, "Server"), "");
    ck_assert_ptr_nonnull(strstr(header(&r, "Content-Security-Policy"), "default-src 'none'"));
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 1);
}
END_TEST

START_TEST(says_what_the_profile_is_worth)
{
    _cleanup_reply_ struct reply r, filtered;

    ask("GET", "/profile?pid=1000&seconds=0.1", NULL, &r);
    ck_assert_str_eq(header(&r, "X-Flamed-Samples"), "4");
    ck_assert_str_eq(header(&r, "X-Flamed-Lost"), "3");
    ck_assert_str_eq(header(&r, "X-Flamed-Unknown"), "1");
    ck_assert_str_eq(header(&r, "X-Flamed-Truncated"), "1");
    ck_assert_str_eq(header(&r, "X-Flamed-Symbols"), "memory: read from the JVM???");
    ck_assert_str_eq(header(&r, "X-Flamed-Warning"), "");
    ask("GET", "/profile?pid=1000&seconds=0.1&user=0", NULL, &filtered);
    ck_assert_str_eq(header(&filtered, "X-Flamed-Samples"), "2");
    ck_assert_str_eq(header(&filtered, "X-Flamed-Unknown"), "0");
}
END_TEST

START_TEST(gives_as_many_warnings_as_headers_carry)
{
    _cleanup_reply_ struct reply r;
    char value[1024], last[1024] = "";
    size_t n = 0;

    ask("GET", "/profile?pid=1002&seconds=0.1", NULL, &r);
    ck_assert_uint_eq(r.status, 200);
    while (reply_header(&r, "X-Flamed-Warning", n, value, sizeof(value))) {
        snprintf(last, sizeof(last), "%s", value);
        n++;
    }
    ck_assert_uint_gt(n, 10);
    ck_assert_uint_lt(n, 48);
    ck_assert_ptr_nonnull(strstr(last, "more warnings stand in format=json"));
}
END_TEST

START_TEST(hands_the_request_on)
{
    _cleanup_reply_ struct reply r;

    ask("GET",
        "/profile?container=ab%63def&nspid=7&jvm=%5EMain%24&seconds=0.25&seconds=9&interval=20ms&"
        "symbols=none",
        NULL, &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_uint_eq(fake.last.duration_ns, 250 * NSEC_PER_MSEC);
    ck_assert_uint_eq(fake.last.period_ns, 20 * NSEC_PER_MSEC);
    ck_assert_int_eq(fake.last.symbols, SYMBOLS_NONE);
    ck_assert_int_eq(fake.last.target.ns_pid, 7);
    ck_assert_uint_eq(fake.last.target.pid_count, 0);
    ck_assert_str_eq(fake.last.event, "cpu");
}
END_TEST

START_TEST(compresses_for_who_asks)
{
    _cleanup_reply_ struct reply plain, packed;
    bool gzip = _i == 0;
    char *out = malloc((size_t)1 << 20);
    z_stream z = { 0 };

    ask("GET", "/openapi.json", NULL, &plain);
    ask("GET", "/openapi.json",
        gzip ? "Accept-Encoding: gzip, deflate, br\r\n" : "Accept-Encoding: gzip;q=0, deflate\r\n",
        &packed);
    ck_assert_str_eq(header(&plain, "Content-Encoding"), "");
    ck_assert_str_eq(header(&packed, "Content-Encoding"), gzip ? "gzip" : "deflate");
    ck_assert_ptr_nonnull(strstr(header(&packed, "Vary"), "Accept-Encoding"));
    ck_assert_uint_lt(packed.body.n, plain.body.n / 3);
    ck_assert_int_eq(inflateInit2(&z, gzip ? 15 + 16 : 15), Z_OK);
    z.next_in = (Bytef *)packed.body.p;
    z.avail_in = (uInt)packed.body.n;
    z.next_out = (Bytef *)out;
    z.avail_out = 1 << 20;
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(z.total_out, plain.body.n);
    ck_assert_int_eq(memcmp(out, plain.body.p, plain.body.n), 0);
    inflateEnd(&z);
    free(out);
}
END_TEST

START_TEST(answers_small_routes)
{
    static const struct {
        const char *target;
        unsigned status;
        const char *type, *contains;
    } CASES[] = {
        { "/healthz", 200, "application/json", "\"ok\"" },
        { "/readyz", 503, "application/json", "no BTF" },
        { "/api/v1/events", 200, "application/json", "page-faults" },
        { "/api/v1/jvms", 200, "application/json", "\"jvms\"" },
        { "/api/v1/jvms?pid=1000", 200, "application/json", "\"jvms\"" },
        { "/api/v1/jvms/1000", 200, "application/json", "\"pid\": 1000" },
        { "/%61pi/v1/jvms/1000", 200, "application/json", "\"pid\": 1000" },
        { "/openapi.json", 200, "application/json", "\"openapi\": \"3.1.0\"" },
        { "/", 200, "text/html; charset=utf-8", "ui/app-" },
        { "/?", 200, "text/html; charset=utf-8", "<noscript>" },
        { "http://localhost:7979/api/v1/jvms/1000", 200, "application/json", "\"pid\": 1000" },
        { "http://localhost?", 200, "text/html; charset=utf-8", "<noscript>" },
        { "HTTP://localhost/", 404, "application/problem+json", "nothing at" },
        { "http://evil.example/healthz", 403, "application/problem+json", "evil.example" },
    };
    _cleanup_reply_ struct reply r, head;

    ask("GET", CASES[_i].target, NULL, &r);
    ck_assert_uint_eq(r.status, CASES[_i].status);
    ck_assert_str_eq(header(&r, "Content-Type"), CASES[_i].type);
    ck_assert_msg(strstr(r.body.p, CASES[_i].contains) != NULL, "%s", r.body.p);
    ask("HEAD", CASES[_i].target, NULL, &head);
    ck_assert_uint_eq(head.status, CASES[_i].status);
    ck_assert_str_eq(header(&head, "Content-Type"), CASES[_i].type);
}
END_TEST

START_TEST(head_samples_nothing)
{
    _cleanup_reply_ struct reply r, gone, bad, event;

    ask("HEAD", "/profile?pid=1000&seconds=100&format=json", NULL, &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_str_eq(header(&r, "Content-Type"), "application/json");
    ask("HEAD", "/profile?pid=404", NULL, &gone);
    ck_assert_uint_eq(gone.status, 404);
    ask("HEAD", "/profile?pid=x", NULL, &bad);
    ck_assert_uint_eq(bad.status, 400);
    ask("HEAD", "/profile?pid=1000&event=nonsense", NULL, &event);
    ck_assert_uint_eq(event.status, 400);
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
    ck_assert_uint_eq(fake_get(&fake, &fake.checks), 2);
}
END_TEST

/* ---- errors ---- */

static const struct {
    const char *target;
    unsigned status;
    const char *parameter, *contains;
} BAD_TARGETS[] = {
    { "/profile?pid=0", 400, "pid", "'0' is not a process id" },
    { "/profile?pid=-1", 400, "pid", "'-1'" },
    { "/profile?pid=1e30", 400, "pid", "'1e30'" },
    { "/profile?pid=abc", 400, "pid", "'abc'" },
    { "/profile?pid=1,1", 400, "pid", "twice" },
    { "/profile?pid=1,", 400, "pid", NULL },
    { "/profile?pid=,1", 400, "pid", NULL },
    { "/profile?pid=", 400, "pid", "no value" },
    { "/profile?pid", 400, "pid", "no value" },
    { "/profile?pid=2147483648", 400, "pid", "2147483647" },
    { "/profile?pid=99999999999999999999999", 400, "pid", NULL },
    { "/profile?pid=1&pid=2", 400, "pid", "twice" },
    { "/profile?pid=1%00", 400, NULL, "NUL" },
    { "/profile?pid=%zz", 400, NULL, "'%zz' is not an escape" },
    { "/profile?pid=1%", 400, NULL, "is not an escape" },
    { "/profile?pid=1%2", 400, NULL, "is not an escape" },
    { "/profile?title=%ff%fe", 400, NULL, "UTF-8" },
    { "/profile?title=%ed%a0%80", 400, NULL, "UTF-8" },
    { "/profile%00", 400, NULL, "NUL" },
    { "/profile%2", 400, NULL, "escape" },
    { "/profile?nspid=7", 400, "nspid", "nspid alone" },
    { "/profile?hz=99&interval=10ms", 400, "interval", "hz and interval" },
    { "/profile?hz=0", 400, "hz", "1 to 10000" },
    { "/profile?hz=10001", 400, "hz", NULL },
    { "/profile?hz=-5", 400, "hz", NULL },
    { "/profile?interval=10", 400, "interval", "unit" },
    { "/profile?interval=99us", 400, "interval", NULL },
    { "/profile?interval=2s", 400, "interval", NULL },
    { "/profile?interval=ms", 400, "interval", NULL },
    { "/profile?seconds=0", 400, "seconds", "0.1 to 3600" },
    { "/profile?seconds=0.09", 400, "seconds", NULL },
    { "/profile?seconds=3600.1", 400, "seconds", NULL },
    { "/profile?seconds=1e1", 400, "seconds", NULL },
    { "/profile?seconds=nan", 400, "seconds", NULL },
    { "/profile?seconds=1.", 400, "seconds", NULL },
    { "/profile?seconds=99999999999999999999", 400, "seconds", NULL },
    { "/profile?seconds=", 400, "seconds", "no value" },
    { "/profile?secnods=1", 400, "secnods", "did you mean 'seconds'" },
    { "/profile?bogus=1", 400, "bogus", "no parameter 'bogus'" },
    { "/profile?PID=1", 400, "PID", NULL },
    { "/profile?%22%3Cscript%3E=1", 400, "\"<script>", NULL },
    { "/profile?=1", 400, NULL, "no parameter ''" },
    { "/profile?from=-60s", 503, NULL, "not available here" },
    { "/profile?format=gif", 400, "format", "html, collapsed, summary" },
    { "/profile?threads=yes", 400, "threads", "0 or 1" },
    { "/profile?user=0&kernel=0", 400, "kernel", "nothing" },
    { "/profile?names=long", 400, "names", "full, simple or signature" },
    { "/profile?depth=0", 400, "depth", NULL },
    { "/profile?minwidth=101", 400, "minwidth", NULL },
    { "/profile?minwidth=-1", 400, "minwidth", NULL },
    { "/profile?jvm=(", 400, "jvm", NULL },
    { "/profile?include=(", 400, "include", NULL },
    { "/profile?exclude=%5B", 400, "exclude", NULL },
    { "/profile?event=cpuu", 400, "event", "did you mean 'cpu'" },
    { "/profile?event=c%0Apu", 400, "event", NULL },
    { "/profile?symbols=magic", 400, "symbols", NULL },
    { "/profile?container=", 400, "container", "no value" },
    { "/profile?pid=404", 404, "pid", "no process 404" },
    { "/profile?pid=409", 409, NULL, NULL },
    { "/profile?pid=429", 429, NULL, NULL },
    { "/profile?pid=503", 503, NULL, "BTF" },
    { "/profile?pid=5&seconds=0.1", 500, NULL, "broker was lost" },
    { "/api/v1/jvms?pid=404", 404, "pid", NULL },
    { "/api/v1/jvms?seconds=1", 400, "seconds", NULL },
    { "/api/v1/jvms/404", 404, NULL, NULL },
    { "/api/v1/jvms/abc", 400, "pid", "'abc'" },
    { "/api/v1/jvms/0", 400, "pid", NULL },
    { "/api/v1/jvms/1?x=1", 400, "x", "takes none" },
    { "/api/v1/jvms/", 404, NULL, "did you mean '/api/v1/jvms'" },
    { "/api/v1/jvms/1/2", 404, NULL, NULL },
    { "/api/v1/events?pid=1,2", 400, "pid", "one process" },
    { "/profil", 404, NULL, "did you mean '/profile'" },
    { "/profile/", 404, NULL, "did you mean '/profile'" },
    { "//profile", 404, NULL, NULL },
    { "/nothing", 404, NULL, "nothing at '/nothing'" },
    { "/healthz?a=1", 400, "a", NULL },
};

START_TEST(refuses_with_a_sentence)
{
    _cleanup_reply_ struct reply r;

    ask("GET", BAD_TARGETS[_i].target, NULL, &r);
    assert_problem(&r, BAD_TARGETS[_i].status, BAD_TARGETS[_i].parameter, BAD_TARGETS[_i].contains);
    ck_assert_uint_le(fake_get(&fake, &fake.started), BAD_TARGETS[_i].status == 500);
    if (r.status == 429)
        ck_assert_str_eq(header(&r, "Retry-After"), "1");
}
END_TEST

START_TEST(names_the_methods_that_work)
{
    static const char *const METHODS[] = { "POST",  "PUT",   "DELETE", "OPTIONS",
                                           "PATCH", "TRACE", "get",    "BREW" };
    _cleanup_reply_ struct reply r;

    ask(METHODS[_i], "/profile?pid=1000", NULL, &r);
    assert_problem(&r, 405, NULL, METHODS[_i]);
    ck_assert_str_eq(header(&r, "Allow"), "GET, HEAD");
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
}
END_TEST

START_TEST(takes_no_body)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_reply_ struct reply r, post, empty;

    ask_on(fd, "GET", "/healthz", "Content-Length: 5\r\n");
    client_send(fd, "hello", 5);
    client_read(fd, /* head_only= */ false, &r);
    assert_problem(&r, 413, NULL, "takes no body");
    ask("POST", "/profile", "Content-Length: 1000000000\r\n", &post); /* not waited for */
    assert_problem(&post, 405, NULL, "POST");
    ask("GET", "/healthz", "Content-Length: 0\r\n", &empty);
    ck_assert_uint_eq(empty.status, 200);
}
END_TEST

START_TEST(no_format_fits)
{
    _cleanup_reply_ struct reply r;

    ask("GET", "/profile?pid=1000", "Accept: image/png\r\n", &r);
    assert_problem(&r, 406, NULL, "Accept");
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
}
END_TEST

START_TEST(the_answer_has_a_limit)
{
    struct serve_opts o = USUAL;
    _cleanup_reply_ struct reply r, small;

    o.answer_max_bytes = (size_t)1 << 20;
    start_with(&o);
    ask("GET", "/profile?pid=1001&seconds=0.1&format=collapsed", NULL, &r);
    assert_problem(&r, 413, NULL, "larger than an answer may be (1 MiB)");
    ask("GET", "/profile?pid=1001&seconds=0.1&format=collapsed&include=method7W", NULL, &small);
    ck_assert_uint_eq(small.status, 200);
    stop();
}
END_TEST

/* ---- access ---- */

static const struct {
    const char *headers;
    unsigned status;
} ACCESS[] = {
    { "Host: localhost\r\n", 200 },
    { "Host: localhost:1\r\n", 200 },
    { "Host: LOCALHOST:7979\r\n", 200 },
    { "Host: 127.0.0.1:7979\r\n", 200 },
    { "Host: [::1]:7979\r\n", 200 },
    { "Host: evil.example:7979\r\n", 403 }, /* DNS rebinding */
    { "Host: localhost.evil.example\r\n", 403 },
    { "Host: 127.0.0.1.evil.example\r\n", 403 },
    { "Host: 127.0.0.2\r\n", 403 },
    { "Host: 10.0.0.1\r\n", 403 },
    { "Host: localhost:99999\r\n", 403 },
    { "Host: localhost:x\r\n", 403 },
    { "Host: \r\n", 403 },
    { "Host: localhost\r\nHost: evil.example\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: http://localhost:7979\r\n", 200 },
    { "Host: localhost:7979\r\nOrigin: http://localhost:3000\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: https://evil.example\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: null\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: http://localhost:7979.evil.example\r\n", 403 },
    { "Host: localhost:7979\r\nOrigin: http://localhost:7979\r\nOrigin: http://evil.example\r\n",
      403 },
    /* behind a reverse proxy that passes Host on, and behind one that does not */
    { "Host: flamed.example.com\r\nOrigin: https://flamed.example.com\r\n", 200 },
    { "Host: FLAMED.example.com:8443\r\nOrigin: https://flamed.example.com:8443\r\n", 200 },
    { "Host: 127.0.0.1:7979\r\nOrigin: https://flamed.example.com\r\n", 200 },
    { "Host: flamed.example.com.evil.example\r\n", 403 },
    { "Host: 127.0.0.1:7979\r\nOrigin: https://flamed.example.com.evil.example\r\n", 403 },
    { "Host: 127.0.0.1:7979\r\nOrigin: https://evil.flamed.example.com\r\n", 403 },
    { "Host: flamed.example.com\r\nSec-Fetch-Site: same-site\r\n", 403 },
    { "Host: localhost\r\nSec-Fetch-Site: none\r\n", 200 },
    { "Host: localhost\r\nSec-Fetch-Site: same-origin\r\n", 200 },
    { "Host: localhost\r\nSec-Fetch-Site: same-site\r\n", 403 },
    { "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n", 403 },
};

START_TEST(only_its_own_page_may_ask)
{
    _cleanup_reply_ struct reply r;

    ask("GET", "/profile?pid=1000&seconds=0.1", ACCESS[_i].headers, &r);
    if (ACCESS[_i].status == 200)
        ck_assert_uint_eq(r.status, 200);
    else
        assert_problem(&r, 403, NULL, NULL);
    ck_assert_uint_eq(fake_get(&fake, &fake.started), ACCESS[_i].status == 200);
}
END_TEST

START_TEST(a_unix_socket_takes_any_host)
{
    _cleanup_close_ int a = client_connect_unix(socket_path), b = client_connect_unix(socket_path);
    _cleanup_reply_ struct reply r, foreign;

    ask_on(a, "GET", "/profile?pid=1000&seconds=0.1", "Host: whatever.example\r\n");
    client_read(a, /* head_only= */ false, &r);
    ck_assert_uint_eq(r.status, 200);
    ask_on(b, "GET", "/profile?pid=1000&seconds=0.1",
           "Host: whatever.example\r\nSec-Fetch-Site: cross-site\r\n");
    client_read(b, /* head_only= */ false, &foreign);
    ck_assert_uint_eq(foreign.status, 403);
}
END_TEST

/* ---- rude clients ---- */

START_TEST(a_client_that_leaves_ends_its_sampling)
{
    int fd = _i & 1 ? client_connect_unix(socket_path) : client_connect_tcp(port);
    struct serve_stats stats;

    ask_on(fd, "GET", "/profile?pid=1000&seconds=600", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 1, 5000));
    if (_i & 2) {
        struct linger hard = { .l_onoff = 1 };

        setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); /* a reset in place of an end */
    }
    if (_i & 4)
        ask_on(fd, "GET", "/healthz", NULL); /* unread input does not hide it */
    close(fd);
    ck_assert_msg(fake_wait(&fake, &fake.ended_drop, 1, 1000), "it goes on sampling");
    ck_assert(fake_wait(&fake, &fake.done, 1, 1000));
    serve_stats(serve, &stats);
    ck_assert_uint_eq(stats.clients_left, 1);
    for (int i = 0; i < 100 && stats.connections_now; i++) {
        usleep(10000);
        serve_stats(serve, &stats);
    }
    ck_assert_uint_eq(stats.connections_now, 0);
    ck_assert_uint_eq(stats.captures_now, 0);
}
END_TEST

START_TEST(a_client_that_only_stops_sending_gets_its_answer)
{
    _cleanup_close_ int fd = _i ? client_connect_unix(socket_path) : client_connect_tcp(port);
    _cleanup_reply_ struct reply r;

    ask_on(fd, "GET", "/profile?pid=1000&seconds=0.6&format=collapsed", NULL);
    ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
    client_read(fd, /* head_only= */ false, &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_ptr_nonnull(strstr(r.body.p, "leaf 1"));
    ck_assert_uint_eq(fake_get(&fake, &fake.ended_drop), 0);
}
END_TEST

START_TEST(requests_in_a_row_on_one_connection)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_reply_ struct reply first, second, third;

    ask_on(fd, "GET", "/profile?pid=1000&seconds=0.3&format=collapsed", NULL);
    ask_on(fd, "GET", "/healthz", NULL); /* while the first is being worked on */
    ask_on(fd, "GET", "/profile?pid=404", NULL);
    client_read(fd, /* head_only= */ false, &first);
    client_read(fd, /* head_only= */ false, &second);
    client_read(fd, /* head_only= */ false, &third);
    ck_assert_uint_eq(first.status, 200);
    ck_assert_ptr_nonnull(strstr(first.body.p, "leaf"));
    ck_assert_uint_eq(second.status, 200);
    ck_assert_ptr_nonnull(strstr(second.body.p, "ok"));
    ck_assert_uint_eq(third.status, 404);
}
END_TEST

START_TEST(slow_clients_hold_up_nobody)
{
    static const char HALF[] = "GET /profile?pid=1000 HTTP/1.1\r\nHost: local";
    struct serve_stats stats;
    int fds[200];

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = i % 2 ? client_connect_tcp(port) : client_connect_unix(socket_path);
        client_send(fds[i], HALF, sizeof(HALF) - 1 - i % 40);
        if (i % 50 == 49) {
            _cleanup_reply_ struct reply r;
            uint64_t before_ns = clock_monotonic_ns();

            ask("GET", "/profile?pid=1000&seconds=0.1", NULL, &r);
            ck_assert_uint_eq(r.status, 200);
            ck_assert_uint_lt(clock_monotonic_ns() - before_ns, 3 * NSEC_PER_SEC);
        }
    }
    serve_stats(serve, &stats);
    ck_assert_uint_le(stats.connections_now, 32 + 64);
    ck_assert_uint_ge(stats.evicted, 200 - 32);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}
END_TEST

/* Every place is taken by clients that ask for more than their sockets hold, and read none of it.
 */
START_TEST(clients_that_read_nothing_hold_up_nobody)
{
    static const char DOCUMENT[] = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    unsigned status = 0, few_bytes = 4096;
    int fds[150];
    uint64_t end_ns;

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) { /* so many that none of 32 places is idle */
        fds[i] = i % 2 ? client_connect_tcp(port) : client_connect_unix(socket_path);
        setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &few_bytes, sizeof(few_bytes));
        for (size_t k = 0; k < 200; k++)
            client_send(fds[i], DOCUMENT, sizeof(DOCUMENT) - 1);
        usleep(10000);
    }
    end_ns = clock_monotonic_ns() + 10 * NSEC_PER_SEC;
    while (status != 200 && clock_monotonic_ns() < end_ns) {
        _cleanup_reply_ struct reply r;

        ask("GET", "/healthz", NULL, &r);
        status = r.status;
        usleep(100000);
    }
    ck_assert_uint_eq(status, 200);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}
END_TEST

START_TEST(captures_are_not_evicted)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_reply_ struct reply r;
    int idle[100];

    ask_on(fd, "GET", "/profile?pid=1000&seconds=1&format=collapsed", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 1, 5000));
    for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
        idle[i] = client_connect_tcp(port);
    client_read(fd, /* head_only= */ false, &r);
    ck_assert_uint_eq(r.status, 200);
    for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
        close(idle[i]);
}
END_TEST

START_TEST(a_request_has_to_be_whole_in_time)
{
    struct serve_opts o = USUAL;
    uint64_t begun_ns;
    bool closed = false;
    int fd;

    o.idle_timeout_s = 1;
    start_with(&o);
    fd = client_connect_tcp(port);
    begun_ns = clock_monotonic_ns();
    client_send(fd, "GET / HTTP/1.1\r\n", 16);
    while (!closed && clock_monotonic_ns() - begun_ns < 5 * NSEC_PER_SEC) {
        client_send(fd, "X-A: b\r\n", 8); /* one line now and then keeps no connection open */
        closed = client_closed(fd, 300);
    }
    ck_assert(closed);
    close(fd);
    stop();
}
END_TEST

START_TEST(large_heads_are_refused)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    _cleanup_reply_ struct reply path, cookies, fits, after;
    _cleanup_close_ int fd = client_connect_tcp(port);
    char *long_path = malloc(9001);

    memset(long_path, 'a', 9000);
    long_path[0] = '/';
    long_path[9000] = '\0';
    ask("GET", long_path, NULL, &path);
    assert_problem(&path, 404, NULL, "nothing at");
    free(long_path);

    buf_init(&b, (size_t)1 << 20);
    buf_add_str(&b, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nCookie: ");
    for (int i = 0; i < 100 * 1024; i++)
        buf_add_char(&b, 'c');
    buf_add_str(&b, "\r\n\r\n");
    client_send(fd, b.p, b.n);
    if (client_read(fd, /* head_only= */ true, &cookies))
        ck_assert_uint_eq(cookies.status / 100, 4);
    ck_assert(client_closed(fd, 2000));

    buf_clear(&b);
    buf_add_str(&b, "Host: localhost\r\nCookie: ");
    for (int i = 0; i < 8 * 1024; i++)
        buf_add_char(&b, 'c');
    buf_add_str(&b, "\r\n");
    ask("GET", "/profile?pid=1002&seconds=0.1", b.p, &fits);
    ck_assert_uint_eq(fits.status, 200);
    /* Wherever the limit is: an answer comes, a good one or a refusal. */
    for (int kib = 9; kib < 70; kib += 3) {
        _cleanup_reply_ struct reply r;

        buf_clear(&b);
        buf_add_str(&b, "Host: localhost\r\nCookie: ");
        for (int i = 0; i < kib * 1024; i++)
            buf_add_char(&b, 'c');
        buf_add_str(&b, "\r\n");
        ask("GET", "/profile?pid=1002&seconds=0.1", b.p, &r);
        ck_assert_msg(kib < 32 ? r.status == 200 : r.status / 100 == 4, "%d KiB: %u", kib,
                      r.status);
    }
    ask("GET", "/healthz", NULL, &after);
    ck_assert_uint_eq(after.status, 200);
}
END_TEST

START_TEST(nonsense_harms_nobody)
{
    static const char *const NONSENSE[] = {
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "GET / HTTP/1.1\r\n\r\n",
        "GET  /  HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost localhost\r\n\r\n",
        "GET /\x01\x02 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET ?pid=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    };
    struct serve_opts o = USUAL;
    _cleanup_reply_ struct reply r;

    o.idle_timeout_s = 1;
    start_with(&o);
    for (size_t i = 0; i < ARRAY_SIZE(NONSENSE); i++) {
        int fd = client_connect_tcp(port);

        client_send(fd, NONSENSE[i], strlen(NONSENSE[i]));
        shutdown(fd, SHUT_WR);
        ck_assert_msg(client_closed(fd, 5000), "row %zu", i);
        close(fd);
    }
    ask("GET", "/healthz", NULL, &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
    stop();
}
END_TEST

/* ---- limits of captures, and stopping ---- */

START_TEST(captures_at_once_are_limited)
{
    _cleanup_reply_ struct reply refused, healthy, after;
    unsigned retry;
    int fds[4];

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = ask_on(client_connect_tcp(port), "GET", "/profile?pid=1000&seconds=1.5", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 4, 5000));
    ask("GET", "/profile?pid=1000&seconds=1", NULL, &refused);
    assert_problem(&refused, 429, NULL, "4 captures are running");
    retry = (unsigned)(header(&refused, "Retry-After")[0] - '0');
    ck_assert_uint_ge(retry, 1);
    ck_assert_uint_le(retry, 2);
    ask("GET", "/readyz", NULL, &healthy);
    ck_assert_uint_eq(healthy.status, 503);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        _cleanup_reply_ struct reply r;

        client_read(fds[i], /* head_only= */ false, &r);
        ck_assert_uint_eq(r.status, 200);
        close(fds[i]);
    }
    ask("GET", "/profile?pid=1000&seconds=0.1", NULL, &after);
    ck_assert_uint_eq(after.status, 200);
}
END_TEST

START_TEST(an_engine_that_hangs_hangs_no_client)
{
    uint64_t before_ns = clock_monotonic_ns(), took_ns;
    _cleanup_reply_ struct reply r;

    ask("GET", "/profile?pid=6&seconds=0.5", NULL, &r);
    took_ns = clock_monotonic_ns() - before_ns;
    assert_problem(&r, 503, NULL, "in time");
    ck_assert_uint_lt(took_ns, 5500 * NSEC_PER_MSEC);
    ck_assert_uint_eq(fake_get(&fake, &fake.ended_keep), 1);
    fake_release(&fake); /* it comes to its end after all: nobody waits for that any more */
    ck_assert(fake_wait(&fake, &fake.done, 1, 2000));
}
END_TEST

START_TEST(a_start_that_hangs_hangs_no_client)
{
    uint64_t before_ns = clock_monotonic_ns();
    struct serve_stats stats;
    _cleanup_reply_ struct reply r;

    ask("GET", _i ? "/profile?pid=8&seconds=0.1" : "/profile?pid=7&seconds=0.1", NULL, &r);
    assert_problem(&r, 503, NULL, "in time");
    ck_assert_uint_lt(clock_monotonic_ns() - before_ns, 5100 * NSEC_PER_MSEC);
    fake_release(&fake); /* what it starts after all is ended at once */
    ck_assert(fake_wait(&fake, &fake.checks, 1, 2000));
    if (_i == 0)
        ck_assert(fake_wait(&fake, &fake.done, 1, 2000));
    serve_stats(serve, &stats);
    for (int i = 0; i < 200 && stats.captures_now; i++) {
        usleep(10000);
        serve_stats(serve, &stats);
    }
    ck_assert_uint_eq(stats.captures_now, 0);
}
END_TEST

START_TEST(stopping_answers_what_is_under_way)
{
    _cleanup_close_ int fd = -1;
    _cleanup_reply_ struct reply r;
    uint64_t before_ns;

    start();
    fd = client_connect_tcp(port);
    ask_on(fd, "GET", "/profile?pid=1000&seconds=600&format=collapsed", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 1, 5000));
    before_ns = clock_monotonic_ns();
    stop();
    ck_assert_uint_lt(clock_monotonic_ns() - before_ns, 3 * NSEC_PER_SEC);
    client_read(fd, /* head_only= */ false, &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_ptr_nonnull(strstr(r.body.p, "leaf 1"));
}
END_TEST

START_TEST(starts_and_stops_with_nothing_to_do)
{
    for (int i = 0; i < 5; i++) {
        start();
        stop();
    }
}
END_TEST

/* Many clients that come, ask, leave in the middle, all at once: no order of events may break it.
 */
START_TEST(survives_a_crowd)
{
    struct serve_opts o = USUAL;
    struct serve_stats stats;

    o.connections_max = 128; /* room for those whose leaving is not noticed yet */
    start_with(&o);
    for (int round = 0; round < 15; round++) {
        int fds[24];

        for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
            fds[i] = i % 2 ? client_connect_tcp(port) : client_connect_unix(socket_path);
            ask_on(fds[i], "GET", i % 3 ? "/profile?pid=1000&seconds=0.1" : "/api/v1/jvms", NULL);
        }
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
            if (i % 4 == 0) {
                _cleanup_reply_ struct reply r;

                client_read(fds[i], /* head_only= */ false, &r);
                ck_assert_msg(r.status == 200 || r.status == 429, "status %u", r.status);
            } else if (i % 4 == 1) {
                usleep(1000 * (useconds_t)round * 8); /* some leave as their capture ends */
            }
            close(fds[i]);
        }
    }
    serve_stats(serve, &stats);
    for (int i = 0; i < 300 && (stats.connections_now || stats.captures_now); i++) {
        usleep(10000);
        serve_stats(serve, &stats);
    }
    ck_assert_uint_eq(stats.connections_now, 0);
    ck_assert_uint_eq(stats.captures_now, 0);
    stop();
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("serve");
    TCase *served = tcase_create("served"), *own = tcase_create("own start");

    tcase_add_checked_fixture(served, start, stop);
    tcase_set_timeout(served, 60);
    tcase_set_timeout(own, 60);
    tcase_add_loop_test(served, gives_a_profile_in_the_format_that_is_asked_for, 0, 8);
    tcase_add_test(served, says_what_the_profile_is_worth);
    tcase_add_test(served, gives_as_many_warnings_as_headers_carry);
    tcase_add_test(served, hands_the_request_on);
    tcase_add_loop_test(served, compresses_for_who_asks, 0, 2);
    tcase_add_loop_test(served, answers_small_routes, 0, 14);
    tcase_add_test(served, head_samples_nothing);
    tcase_add_loop_test(served, refuses_with_a_sentence, 0, ARRAY_SIZE(BAD_TARGETS));
    tcase_add_loop_test(served, names_the_methods_that_work, 0, 8);
    tcase_add_test(served, takes_no_body);
    tcase_add_test(served, no_format_fits);
    tcase_add_test(own, the_answer_has_a_limit);
    tcase_add_loop_test(served, only_its_own_page_may_ask, 0, ARRAY_SIZE(ACCESS));
    tcase_add_test(served, a_unix_socket_takes_any_host);
    tcase_add_loop_test(served, a_client_that_leaves_ends_its_sampling, 0, 8);
    tcase_add_loop_test(served, a_client_that_only_stops_sending_gets_its_answer, 0, 2);
    tcase_add_test(served, requests_in_a_row_on_one_connection);
    tcase_add_test(served, slow_clients_hold_up_nobody);
    tcase_add_test(served, clients_that_read_nothing_hold_up_nobody);
    tcase_add_test(served, captures_are_not_evicted);
    tcase_add_test(own, a_request_has_to_be_whole_in_time);
    tcase_add_test(served, large_heads_are_refused);
    tcase_add_test(own, nonsense_harms_nobody);
    tcase_add_test(served, captures_at_once_are_limited);
    tcase_add_test(served, an_engine_that_hangs_hangs_no_client);
    tcase_add_loop_test(served, a_start_that_hangs_hangs_no_client, 0, 2);
    tcase_add_test(own, stopping_answers_what_is_under_way);
    tcase_add_test(own, starts_and_stops_with_nothing_to_do);
    tcase_add_test(own, survives_a_crowd);
    suite_add_tcase(s, served);
    suite_add_tcase(s, own);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    int failed;

    signal(SIGPIPE, SIG_IGN);
    log_init("test_serve", getenv("TEST_LOG") ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
