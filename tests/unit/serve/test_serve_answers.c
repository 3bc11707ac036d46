/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of serve/: formats, headers, compression, the small routes. */
#include "serve_fixture.h"

#include "base/clock.h"

#include <zlib.h>

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
    ck_assert_ptr_nonnull(strstr(header(&r, "X-Flamed-Warning"), "4 samples are few"));
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
    ck_assert_uint_eq(fake.last.events[0].period, 20 * NSEC_PER_MSEC);
    ck_assert_int_eq(fake.last.symbols, SYMBOLS_NONE);
    ck_assert_int_eq(fake.last.target.ns_pid, 7);
    ck_assert_uint_eq(fake.last.target.pid_count, 0);
    ck_assert_uint_eq(fake.last.event_count, 1);
    ck_assert_str_eq(fake.last.events[0].name, "cpu");
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

static const struct {
    const char *target;
    unsigned status;
    const char *type, *contains;
} SMALL_ROUTES[] = {
    { "/healthz", 200, "application/json", "\"ok\"" },
    { "/readyz", 503, "application/json", "no BTF" },
    { "/api/v1/events", 200, "application/json", "page-faults" },
    { "/api/v1/jvms", 200, "application/json", "\"jvms\"" },
    { "/api/v1/jvms?pid=1000", 200, "application/json", "\"jvms\"" },
    { "/api/v1/jvms?format=text", 200, "text/plain; charset=utf-8", "Fake<script>" },
    { "/api/v1/services?format=text", 200, "text/plain; charset=utf-8", "shop" },
    { "/api/v1/signals?service=shop", 200, "application/json", "\"cpu-limit\"" },
    { "/api/v1/signals?format=text", 200, "text/plain; charset=utf-8",
      "2  cpu-limit          shop, pid 1000: its limit stopped it\n"
      "   since 2026-11-26T12:00:00Z; see " },
    { "/api/v1/signals?format=text", 200, "text/plain; charset=utf-8",
      "was on until 2026-11-26T11:40:00Z: heap-full shop, pid 1000: its heap was full\n"
      "   since 2026-11-26T11:00:00Z, 2 times; see /api/v1/jvms/1000/heap\n   give it more\n" },
    { "/api/v1/changes?service=shop", 200, "application/json", "\"sentences\"" },
    { "/api/v1/changes?format=text&a=-20m..-10m&b=-10m..now", 200, "text/plain; charset=utf-8",
      "nothing new\n" },
    { "/api/v1/changes?a=-20s..-10s", 200, "application/json", "\"sentences\"" },
    { "/api/v1/changes?a=-7m..-2m", 200, "application/json", "\"sentences\"" },
    { "/api/v1/changes?a=-5m..now", 400, "application/problem+json", "overlap" },
    { "/api/v1/changes?a=-10m", 400, "application/problem+json", "overlap" },
    { "/api/v1/changes?a=-20m..-9m&b=-10m..now", 400, "application/problem+json", "overlap" },
    { "/api/v1/changes?a=now..-5m", 400, "application/problem+json", "a=now..-5m" },
    { "/api/v1/signals?pid=404", 404, "application/problem+json", "no process 404" },
    { "/api/v1/words?pid=1000", 200, "application/json", "cpu-limit: its limit stopped it" },
    { "/api/v1/words?pid=1000&format=text", 200, "text/plain; charset=utf-8",
      "samples: too few to tell" },
    { "/api/v1/words?pid=1000&event=wal", 400, "application/problem+json", "did you mean 'wall'" },
    { "/api/v1/words?pid=404", 404, "application/problem+json", "no process 404" },
    { "/api/v1/jvms/1000", 200, "application/json", "\"pid\": 1000" },
    { "/%61pi/v1/jvms/1000", 200, "application/json", "\"pid\": 1000" },
    { "/openapi.json", 200, "application/json", "\"openapi\": \"3.1.0\"" },
    { "/", 200, "text/plain; charset=utf-8", "curl -N 'http://localhost:7979/top?pid=10" },
    { "/?", 200, "text/plain; charset=utf-8", "2 JVMs here, the busiest first:" },
    { "http://localhost:7979/api/v1/jvms/1000", 200, "application/json", "\"pid\": 1000" },
    { "http://localhost?", 200, "text/plain; charset=utf-8", "/api/v1/services'" },
    { "HTTP://localhost/", 404, "application/problem+json", "nothing at" },
    { "http://evil.example/healthz", 403, "application/problem+json", "evil.example" },
};

START_TEST(answers_small_routes)
{
    _cleanup_reply_ struct reply r, head;

    ask("GET", SMALL_ROUTES[_i].target, NULL, &r);
    ck_assert_uint_eq(r.status, SMALL_ROUTES[_i].status);
    ck_assert_str_eq(header(&r, "Content-Type"), SMALL_ROUTES[_i].type);
    ck_assert_msg(strstr(r.body.p, SMALL_ROUTES[_i].contains) != NULL, "%s", r.body.p);
    ask("HEAD", SMALL_ROUTES[_i].target, NULL, &head);
    ck_assert_uint_eq(head.status, SMALL_ROUTES[_i].status);
    ck_assert_str_eq(header(&head, "Content-Type"), SMALL_ROUTES[_i].type);
}
END_TEST

/* HEAD reads no threads, but says what GET would answer. */
START_TEST(head_of_threads_names_the_type)
{
    _cleanup_reply_ struct reply text, json;

    ask("HEAD", "/api/v1/jvms/1000/threads?format=text", NULL, &text);
    ck_assert_uint_eq(text.status, 200);
    ck_assert_str_eq(header(&text, "Content-Type"), "text/plain; charset=utf-8");
    ck_assert_str_eq(header(&text, "Content-Disposition"), "inline; filename=\"threads-1000.txt\"");
    ask("HEAD", "/api/v1/jvms/1000/threads", NULL, &json);
    ck_assert_str_eq(header(&json, "Content-Type"), "application/json");
}
END_TEST

START_TEST(a_browser_gets_the_page)
{
    _cleanup_reply_ struct reply r, any;

    ask("GET", "/", "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n", &r);
    ck_assert_str_eq(header(&r, "Content-Type"), "text/html; charset=utf-8");
    ck_assert_ptr_nonnull(strstr(r.body.p, "ui/app-"));
    ck_assert_ptr_nonnull(strstr(r.body.p, "<noscript>"));
    ask("GET", "/", "Accept: */*\r\n", &any);
    ck_assert_str_eq(header(&any, "Content-Type"), "text/plain; charset=utf-8");
}
END_TEST

/* JVMs with problems come before busier ones; what costs little is none. */
START_TEST(the_index_begins_with_problems)
{
    static const unsigned SEVERITIES[] = { 2, 0, 3, 0, 2, 1, 0, 0, FAKE_NO_MORE };
    static const char *const ORDER[] = { "1002 ", "1004 ", "1000 ", "1007 ", "1006 ", "1005 " };
    _cleanup_reply_ struct reply r;
    const char *at;

    fake.severities = SEVERITIES;
    ask("GET", "/", NULL, &r);
    at = strstr(r.body.p, "8 JVMs here: those with problems, then the busiest:\n");
    for (size_t i = 0; at && i < ARRAY_SIZE(ORDER); i++)
        at = strstr(at, ORDER[i]);
    ck_assert_msg(at != NULL, "%s", r.body.p);
    ck_assert_ptr_nonnull(strstr(r.body.p, "Fake<script>  ! lock-contention  since 2.4.1: +6.1 "
                                           "\u00b10.4 % CPU, shop.Rules.match\n"));
    ck_assert_ptr_nonnull(strstr(at, "/profile?seconds=10&pid=1002'"));
    ck_assert_ptr_nonnull(
        strstr(at, "curl 'http://localhost:7979/api/v1/changes?format=text&service=fake%27s'"));
    ck_assert_ptr_nonnull(strstr(at, "/api/v1/signals?format=text'"));
    ck_assert_ptr_null(strstr(r.body.p, "1003 "));
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

int main(void)
{
    Suite *s = suite_create("serve_answers");
    TCase *served = tcase_create("served");

    tcase_add_checked_fixture(served, start, stop);
    tcase_set_timeout(served, 60);
    tcase_add_loop_test(served, gives_a_profile_in_the_format_that_is_asked_for, 0, 8);
    tcase_add_test(served, says_what_the_profile_is_worth);
    tcase_add_test(served, gives_as_many_warnings_as_headers_carry);
    tcase_add_test(served, hands_the_request_on);
    tcase_add_loop_test(served, compresses_for_who_asks, 0, 2);
    tcase_add_loop_test(served, answers_small_routes, 0, ARRAY_SIZE(SMALL_ROUTES));
    tcase_add_test(served, head_of_threads_names_the_type);
    tcase_add_test(served, a_browser_gets_the_page);
    tcase_add_test(served, the_index_begins_with_problems);
    tcase_add_test(served, head_samples_nothing);
    suite_add_tcase(s, served);
    return run_suite(s);
}
