/* SPDX-License-Identifier: Apache-2.0 */
/* Captures as resources, the past, diffs and scraping. */
#include "serve_fixture.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <unistd.h>

#define JSON "Content-Type: application/json\r\n"
#define EVENTS "Accept: text/event-stream\r\n"

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
    { "POST", "/api/v1/captures", JSON, "{\"pid\":true}", 400, NULL, "not true or false" },
    { "POST", "/api/v1/captures", JSON, "{\"hz\":true}", 400, NULL, "not true or false" },
    { "POST", "/api/v1/captures", JSON, "{\"threads\":true}", 201, "application/json", FAKE_ID },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":1000,\"state\":[\"running\",\"blocked\"]}", 201,
      "application/json", FAKE_ID },
    { "POST", "/api/v1/captures", JSON, "{\"event\":[\"wall\",\"cpu\"]}", 503, NULL,
      "event=wall,cpu cannot" },
    { "POST", "/api/v1/captures", JSON, "{\"jvm\":[\"a\",\"b\"]}", 400, NULL, "given twice" },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":[]}", 400, NULL, "neither" },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":[[1]]}", 400, NULL, "neither" },
    { "POST", "/api/v1/captures", JSON, "{\"pid\":1,\"pid\":2}", 400, NULL, "no JSON" },
    { "POST", "/api/v1/captures", JSON, "{\"seconds\":0}", 400, NULL, "0.1 to 3600" },
    { "POST", "/api/v1/captures", JSON, "{\"from\":\"-5m\"}", 201, "application/json", FAKE_ID },
    { "POST", "/api/v1/captures", JSON, "{\"from\":\"-5m\",\"seconds\":2}", 400, NULL,
      "from now on" },
    { "POST", "/api/v1/captures", JSON,
      "{\"from\":\"1970-01-01T00:00:00Z\",\"to\":\"1990-01-01T00:00:00Z\"}", 404, NULL, "older" },
    { "POST", "/api/v1/captures", JSON,
      "{\"from\":\"1970-01-01T00:00:00Z\",\"to\":\"1990-01-01T00:00:00Z\",\"pid\":404}", 404, NULL,
      "no process 404" },
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
      "{\"pid\":1000}", 201, "application/json", FAKE_ID }, /* the type that curl -d sends */
    { "POST", "/api/v1/captures", JSON, "{\"event\":\"live\"}", 503, NULL, "event=live" },
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
    /* the past is no stream of events */
    { "GET", "/profile?pid=1000&from=-60s", EVENTS, NULL, 406, NULL, "Accept" },
    { "GET", "/profile?pid=1000&at=-60s", EVENTS, NULL, 406, NULL, "Accept" },
    { "HEAD", "/profile?pid=1000&from=-60s", EVENTS, NULL, 406, NULL, NULL },
    { "GET", "/profile?pid=1000&from=-60s&format=collapsed", EVENTS, NULL, 200,
      "text/plain; charset=utf-8", "leaf 1" },
    { "GET", "/profile?pid=1000&from=-60s", "Accept: text/event-stream, */*\r\n", NULL, 200,
      "text/html; charset=utf-8", "<!doctype html>" },
    { "GET", "/top?pid=1000&from=-60s", EVENTS, NULL, 200, "text/event-stream", "event: top" },
    { "GET", "/profile?from=-60s&to=-60s", NULL, NULL, 400, NULL, "before" },
    { "GET", "/profile?from=-60s&to=-2m", NULL, NULL, 400, NULL, "before" },
    { "GET", "/profile?from=-60s&seconds=5", NULL, NULL, 400, NULL, "seconds says how to sample" },
    { "GET", "/profile?from=-60s&hz=5", NULL, NULL, 400, NULL, "hz says how to sample" },
    { "GET", "/profile?from=-60", NULL, NULL, 400, NULL, "-60s" },
    { "GET", "/profile?from=tomorrow", NULL, NULL, 400, NULL, "RFC 3339" },
    { "GET", "/profile?from=1970-01-01T00:00:00Z&to=1990-01-01T00:00:00Z", NULL, NULL, 404, NULL,
      "older than all" },
    { "GET", "/profile?pod=ended&from=1970-01-01T00:00:00Z&to=1990-01-01T00:00:00Z", NULL, NULL,
      404, NULL,
      "give its name, as the UID of a pod that ended is not kept; nearest here: shop-1" },
    { "GET", "/api/v1/query?from=1970-01-01T00:00:00Z&to=1990-01-01T00:00:00Z&event=cpuu", NULL,
      NULL, 400, NULL, "did you mean 'cpu'?" },
    { "GET", "/api/v1/diff?a=1970-01-01T00:00:00Z/1990-01-01T00:00:00Z&b=-60s&event=wal", NULL,
      NULL, 400, NULL, "did you mean 'wall'?" },
    { "GET", "/api/v1/query?pid=1000&format=collapsed", NULL, NULL, 200,
      "text/plain; charset=utf-8", "leaf 1" },
    { "GET", "/api/v1/timeline", NULL, NULL, 200, "application/json", "\"seconds\": 600" },
    { "GET", "/api/v1/timeline?from=-60s&buckets=3&by=jvm-category", NULL, NULL, 200,
      "application/json", "\"by\": \"jvm-category\"" },
    { "GET", "/api/v1/timeline?from=-60s&buckets=3&by=category", NULL, NULL, 200,
      "application/json", "\"by\": \"category\"" },
    /* whole parts of the history */
    { "GET", "/api/v1/timeline?from=-2h", NULL, NULL, 200, "application/json", "\"buckets\": 121" },
    { "GET", "/api/v1/timeline?from=-24h", NULL, NULL, 200, "application/json",
      "\"buckets\": 145" },
    { "GET", "/api/v1/timeline?from=-7d", NULL, NULL, 200, "application/json", "\"buckets\": 169" },
    { "GET", "/api/v1/timeline?from=-24h&buckets=24", NULL, NULL, 200, "application/json",
      "\"seconds\": 86400" },
    { "GET", "/top?pid=1000&from=-60s", NULL, NULL, 200, "text/plain; charset=utf-8", "leaf" },
    { "GET", "/top?pid=1000&at=-2h&once=1", NULL, NULL, 200, "text/plain; charset=utf-8", "leaf" },
    { "GET", "/top?from=-60s&hz=5", NULL, NULL, 400, NULL, "hz says how to sample" },
    { "GET", "/top?at=-60s&interval=2s", NULL, NULL, 400, NULL, "interval says how to sample" },
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
    { "GET", "/api/v1/diff?a=-2h/-1h50m&b=-10m&pid=1000&format=json", NULL, NULL, 200,
      "application/json", "\"" },
    { "GET", "/api/v1/diff?a=-5m..-10m&b=" FAKE_ID, NULL, NULL, 400, NULL, "a=-5m..-10m" },
    { "GET", "/api/v1/diff?a=" FAKE_ID_NONE "&b=" FAKE_ID, NULL, NULL, 404, NULL, "no capture" },
    { "GET", "/api/v1/diff?a=" FAKE_ID "&b=" FAKE_ID_NONE, NULL, NULL, 404, NULL,
      "\"parameter\": \"b\"" },
    { "GET", "/api/v1/diff?a=" FAKE_ID "&b=" FAKE_ID "&format=jfr", NULL, NULL, 400, NULL,
      "html, svg, collapsed, json or text" },
    { "GET", "/debug/pprof/", NULL, NULL, 200, "text/html; charset=utf-8", "profile" },
    { "GET", "/debug/pprof", NULL, NULL, 301, "text/html; charset=utf-8", "profile" },
    { "GET", "/debug/pprof/profile?pid=1000&pid=1001", NULL, NULL, 400, NULL, "given twice" },
    { "GET", "/debug/pprof/mutex?seconds=0.1&debug=0", NULL, NULL, 200, "application/octet-stream",
      NULL },
    { "GET", "/debug/pprof/mutex?seconds=x", NULL, NULL, 400, NULL, "seconds" },
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

    ask_body(CASES[_i].method, CASES[_i].target, CASES[_i].headers, CASES[_i].body, &r);
    ck_assert_msg(r.status == CASES[_i].status, "%s: %u %.900s", CASES[_i].target, r.status,
                  r.body.n ? r.body.p : "");
    ck_assert_str_eq(header(&r, "Content-Type"),
                     CASES[_i].type ? CASES[_i].type : "application/problem+json");
    if (CASES[_i].contains)
        ck_assert_msg(strstr(r.body.p, CASES[_i].contains) != NULL, "%s: %.900s", CASES[_i].target,
                      r.body.p);
    if (r.status == 201) {
        ck_assert_str_eq(header(&r, "Location"), "/api/v1/captures/" FAKE_ID);
    } else if (r.status == 301) {
        ck_assert_str_eq(header(&r, "Location"), "pprof/");
    } else if (r.status == 405) {
        ck_assert_ptr_nonnull(strstr(r.body.p, header(&r, "Allow")));
    }
}
END_TEST

START_TEST(a_capture_runs_on_without_seconds)
{
    _cleanup_reply_ struct reply without, with;

    ask_body("POST", "/api/v1/captures", JSON, "{\"pid\":1000}", &without);
    ck_assert_uint_eq(fake.last.duration_ns, 0);
    ask_body("POST", "/api/v1/captures", JSON, "{\"pid\":\"1000\",\"seconds\":\"2.5\",\"hz\":50}",
             &with);
    ck_assert_uint_eq(fake.last.duration_ns, 2500 * NSEC_PER_MSEC);
    ck_assert_uint_eq(fake.last.events[0].period, 20 * NSEC_PER_MSEC);
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

    ask("POST", "/api/v1/captures", JSON "Content-Length: 65537\r\nExpect: 100-continue\r\n",
        &expected);
    ck_assert_uint_eq(expected.status, 413);
    ask("POST", "/api/v1/captures", JSON "Content-Length: 99999999\r\n", &announced);
    ck_assert_uint_eq(announced.status, 413);
    memset(large, ' ', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    ask_body("POST", "/api/v1/captures", JSON, large,
             &whole); /* the body is read, so that the sender sees the answer */
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
    _cleanup_reply_ struct reply profile, query, timed;

    ask("GET", "/profile?from=2026-01-02T03:04:05Z&to=2026-01-02T03:05:05.25%2B00:00", NULL,
        &profile);
    ck_assert_uint_eq(profile.status, 200);
    ck_assert_uint_eq(fake.last_range.from_ns, UINT64_C(1767323045000000000));
    ck_assert_uint_eq(fake.last_range.to_ns, UINT64_C(1767323105250000000));
    ck_assert_int_eq(fake.last_from, PAST_SUMMED); /* html shows no times */
    ask("GET", "/profile?from=-60s&format=heatmap", NULL, &timed);
    ck_assert_int_eq(fake.last_from, PAST_ALL);
    ask("GET", "/api/v1/query", NULL, &query);
    ck_assert_uint_eq(fake.last_range.from_ns, 0);
    ck_assert_uint_eq(fake.last_range.to_ns, UINT64_MAX);
    ck_assert_int_eq(fake.last_from, PAST_STORED);
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
}
END_TEST

START_TEST(top_of_the_past_shows_the_first_event)
{
    _cleanup_reply_ struct reply lock, cpu;

    ask("GET", "/top?pid=1004&from=-60s&event=lock,cpu", NULL, &lock);
    ck_assert_uint_eq(lock.status, 200);
    ck_assert_msg(strstr(lock.body.p, "parked") && !strstr(lock.body.p, "leaf"), "%s", lock.body.p);
    ask("GET", "/top?pid=1004&from=-60s&event=cpu,lock", NULL, &cpu);
    ck_assert_msg(!strstr(cpu.body.p, "parked") && strstr(cpu.body.p, "leaf"), "%s", cpu.body.p);
}
END_TEST

/* A JVM may turn out only later to be one without the event. Only CPU time is never missing. */
START_TEST(pprof_of_an_impossible_event_is_empty)
{
    _cleanup_reply_ struct reply now, later, cpu;

    fake.locks = true;
    ask("GET", "/debug/pprof/block?pid=409&seconds=0.1", NULL, &now);
    ck_assert_uint_eq(now.status, 409); /* its target is refused */
    ask("GET", "/debug/pprof/block?pid=11&seconds=0.1", NULL, &later);
    ck_assert_uint_eq(later.status, 200);
    ck_assert_str_eq(header(&later, "Content-Type"), "application/octet-stream");
    ck_assert_str_eq(header(&later, "X-Flamed-Warning"), "the agent could not be loaded");
    ck_assert_uint_gt(later.body.n, 0);
    ask("GET", "/debug/pprof/profile?pid=11&seconds=0.1", NULL, &cpu);
    assert_problem(&cpu, 409, NULL, "the agent could not be loaded");
}
END_TEST

START_TEST(a_diff_is_text_for_a_terminal)
{
    _cleanup_reply_ struct reply text, page, browser;

    ask("GET", "/api/v1/diff?a=" FAKE_ID "&b=" FAKE_ID, "Accept: text/html, text/plain;q=0.5\r\n",
        &browser);
    ck_assert_str_eq(header(&browser, "Content-Type"), "text/html; charset=utf-8");
    ask("GET", "/api/v1/diff?a=" FAKE_ID "&b=" FAKE_ID, "Accept: text/plain\r\n", &text);
    ck_assert_str_eq(header(&text, "Content-Type"), "text/plain; charset=utf-8");
    ck_assert_ptr_nonnull(strstr(text.body.p, "A SELF %"));
    ask("GET", "/api/v1/diff?a=" FAKE_ID "&b=" FAKE_ID "&format=html", "Accept: text/plain\r\n",
        &page);
    ck_assert_str_eq(header(&page, "Content-Type"), "text/html; charset=utf-8");
}
END_TEST

static const struct {
    const char *query, *warning;
} DIFFS[] = {
    { "a=" FAKE_ID "&b=" FAKE_ID, NULL },
    { "a=" FAKE_ID "&b=" FAKE_ID "&pid=1000", "a and b are captures, which are compared whole" },
    { "a=" FAKE_ID "&b=" FAKE_ID "&service=shop", "a and b are captures" },
    { "a=" FAKE_ID "&b=-10m..now", NULL },
    { "a=" FAKE_ID "&b=-10m..now&pid=1000", "the target is for b alone" },
    { "a=-10m..now&b=" FAKE_ID "&pid=1000", "the target is for a alone" },
    { "a=-20m..-10m&b=-10m..now&pid=1000", NULL },
};

START_TEST(a_diff_warns_of_a_target_without_effect)
{
    _cleanup_reply_ struct reply r;
    char path[256];

    snprintf(path, sizeof(path), "/api/v1/diff?format=json&%s", DIFFS[_i].query);
    ask("GET", path, NULL, &r);
    ck_assert_uint_eq(r.status, 200);
    if (DIFFS[_i].warning)
        ck_assert_msg(strstr(header(&r, "X-Flamed-Warning"), DIFFS[_i].warning) &&
                          strstr(r.body.p, DIFFS[_i].warning),
                      "%s: %s", path, header(&r, "X-Flamed-Warning"));
    else
        ck_assert_ptr_null(strstr(r.body.p, "compared whole"));
}
END_TEST

/* A capture may have other events than a range of time. */
START_TEST(a_diff_of_two_events_says_so)
{
    _cleanup_reply_ struct reply r;

    ask("GET", "/api/v1/diff?format=text&a=" FAKE_ID "&b=-10m..now&pid=1004&event=lock,cpu", NULL,
        &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_ptr_nonnull(
        strstr(header(&r, "X-Flamed-Warning"), "a shows event=cpu and b event=lock"));
    ck_assert_ptr_nonnull(strstr(r.body.p, "\nwarning: a shows event=cpu and b event=lock"));
    ck_assert_ptr_nonnull(strstr(header(&r, "Content-Disposition"), "-lock-"));
}
END_TEST

START_TEST(a_time_without_samples_has_the_name_that_was_given)
{
    _cleanup_reply_ struct reply at, kept, from;

    ask("GET", "/profile?pid=1000&at=1999-01-02T03:04", NULL, &at);
    assert_problem(&at, 404, "at", "older than all data");
    ask_body("POST", "/api/v1/captures", JSON, "{\"at\":\"1999-01-02T03:04\"}", &kept);
    assert_problem(&kept, 404, "at", "older than all data");
    ask("GET", "/profile?pid=1000&from=1999-01-02T03:04&to=1999-01-02T03:05", NULL, &from);
    assert_problem(&from, 404, "from", "older than all data");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_resources");
    TCase *served = tcase_create("served");

    tcase_add_checked_fixture(served, start_full, stop);
    tcase_set_timeout(served, 60);
    tcase_add_loop_test(served, answers_as_the_contract_says, 0, ARRAY_SIZE(CASES));
    tcase_add_test(served, a_capture_runs_on_without_seconds);
    tcase_add_test(served, a_body_has_a_limit);
    tcase_add_test(served, the_past_is_read_as_asked);
    tcase_add_test(served, a_time_without_samples_has_the_name_that_was_given);
    tcase_add_test(served, top_of_the_past_shows_the_first_event);
    tcase_add_test(served, pprof_of_an_impossible_event_is_empty);
    tcase_add_test(served, a_diff_is_text_for_a_terminal);
    tcase_add_loop_test(served, a_diff_warns_of_a_target_without_effect, 0, ARRAY_SIZE(DIFFS));
    tcase_add_test(served, a_diff_of_two_events_says_so);
    suite_add_tcase(s, served);
    return run_suite(s);
}
