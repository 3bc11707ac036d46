/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals of serve/: each problem has its status, its parameter and a sentence. */
#include "serve_fixture.h"

#include "base/cleanup.h"
#include "base/memory_guard.h"
#include "serve/answer.h"

#include <microhttpd.h>

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
    { "/profile?names=long", 400, "names", "full, simple, signature or merged" },
    { "/profile?depth=0", 400, "depth", NULL },
    { "/profile?minwidth=101", 400, "minwidth", NULL },
    { "/profile?minwidth=-1", 400, "minwidth", NULL },
    { "/profile?jvm=(", 400, "jvm", NULL },
    { "/profile?include=(", 400, "include", NULL },
    { "/profile?exclude=%5B", 400, "exclude", NULL },
    { "/profile?event=cpuu", 400, "event", "did you mean 'cpu'" },
    { "/profile?event=c%0Apu", 400, "event", NULL },
    { "/profile?symbols=magic", 400, "symbols", NULL },
    { "/profile?source=tlab", 400, "source", "an agent in the JVM does" },
    { "/profile?container=", 400, "container", "no value" },
    { "/profile?pid=404", 404, "pid", "no process 404" },
    { "/profile?pid=1000&to=-10s", 400, "to", "no range" },
    { "/top?pid=1000&to=-10s", 400, "to", "no range" },
    { "/debug/pprof/heap?pid=404", 404, "pid", "no process 404" },
    { "/debug/pprof/block?pid=404", 404, "pid", "no process 404" },
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
    ask("POST", "/profile", "Content-Length: 1000000000\r\n", &post); /* the body is not awaited */
    assert_problem(&post, 405, NULL, "POST");
    ask("GET", "/healthz", "Content-Length: 0\r\n", &empty);
    ck_assert_uint_eq(empty.status, 200);
}
END_TEST

/* Checks that a request with these headers gets 400, and that bytes behind its body are no
 * request. */
static void assert_refused_with_body(const char *headers, const char *says)
{
    static const char BODY[] = "{}GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_reply_ struct reply r;

    ask_on(fd, "POST", "/api/v1/captures", headers);
    client_send(fd, BODY, strlen(BODY));
    client_read(fd, /* head_only= */ false, &r);
    assert_problem(&r, 400, NULL, says);
    ck_assert(client_closed(fd, 5000));
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
}

START_TEST(a_body_ends_in_one_place)
{
    static const struct {
        const char *headers, *says;
    } CASES[] = {
        { "Content-Length: 2\r\nContent-Length: 7\r\n", "more than once" },
        { "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "more than once" },
        { "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", "more than once" },
        { "Content-Length : 2\r\n", "none of HTTP" },
        { "Content-Length\t: 2\r\n", "none of HTTP" },
        { "Transfer-Encoding : chunked\r\n", "none of HTTP" },
        { "X: a\rContent-Length: 2\r\n", "none of HTTP" },
        { "Transfer-Encoding: xchunked\r\n", "not understood" },
        { "Transfer-Encoding: identity\r\n", "not understood" },
        { "Transfer-Encoding: gzip, chunked\r\n", "not understood" },
        { "Transfer-Encoding: \vchunked\r\n", "not understood" },
        { "Transfer-Encoding:\r\n", "not understood" },
    };

    assert_refused_with_body(CASES[_i].headers, CASES[_i].says);
}
END_TEST

START_TEST(a_header_is_one_line)
{
    static const char *const CASES[] = {
        "Content-Length: 2\r\nTransfer-Encoding:\r\n chunked\r\n",
        "Transfer-Encoding:\r\n\tchunked\r\nContent-Length: 2\r\n",
        "Transfer-Encoding:     \r\n c\r\n hunked\r\nContent-Length: 2\r\n",
        "Transfer-Encoding: chunked\r\n \r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nX: a\r\n Transfer-Encoding: chunked\r\n",
        "Content-Length: 2\r\nTransfer-Enc: chunked\r\n oding\r\n",
    };

    if (MHD_get_version()[0] == '0') /* later versions join the lines, as RFC 9112 requires */
        assert_refused_with_body(CASES[_i], "none of HTTP");
}
END_TEST

/* Sends the first @n bytes of @text, a request that gets 400. */
static void assert_refused_text(const char *text, size_t n, const char *says)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_reply_ struct reply r;

    client_send(fd, text, n);
    client_read(fd, /* head_only= */ false, &r);
    assert_problem(&r, 400, NULL, says);
    ck_assert(client_closed(fd, 5000));
}

START_TEST(old_http_has_no_chunks)
{
    static const char TEXT[] = "POST /api/v1/captures HTTP/1.0\r\nHost: localhost\r\n"
                               "Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "2\r\n{}\r\n0\r\n\r\n";

    assert_refused_text(TEXT, sizeof(TEXT) - 1, "not understood");
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
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
    ask("GET", "/profile?pid=1001&seconds=0.1&format=jfr", NULL, &r);
    assert_problem(&r, 413, NULL, "larger than an answer may be (1 MiB)");
    ask("GET", "/profile?pid=1001&seconds=0.1&format=collapsed&include=method7W", NULL, &small);
    ck_assert_uint_eq(small.status, 200);
    stop();
}
END_TEST

/* A text that only grows is kept compressed. It may be longer than the limit of kept bytes. */
START_TEST(a_long_text_is_packed_until_it_is_sent)
{
    struct serve_opts o = USUAL;
    _cleanup_reply_ struct reply whole, packed;

    start_with(&o);
    ask("GET", "/profile?pid=1001&seconds=0.1&format=collapsed", NULL, &whole);
    stop();
    ck_assert_uint_eq(whole.status, 200);
    ck_assert_uint_gt(whole.body.n, (size_t)1 << 20);
    o.answer_max_bytes = (size_t)1 << 20;
    start_with(&o);
    ask("GET", "/profile?pid=1001&seconds=0.1&format=collapsed", NULL, &packed);
    ck_assert_uint_eq(packed.status, 200);
    ck_assert_uint_eq(packed.body.n, whole.body.n);
    ck_assert_int_eq(memcmp(packed.body.p, whole.body.p, whole.body.n), 0);
    stop();
}
END_TEST

/* ---- base/memory_guard.h ---- */

static void without_memory(bool is_so)
{
    ck_assert_int_eq(memory_guard_open(is_so ? 1 : UINT64_MAX / 2), 0);
    fake.takes_memory = is_so;
}

/* The backend goes on without the memory that it was refused, so parts may be missing. */
START_TEST(no_answer_is_made_of_a_part)
{
    static const char *const TARGETS[] = {
        "/api/v1/query?pid=1000&format=collapsed", "/api/v1/query?pid=1000&format=html",
        "/api/v1/words?pid=1000", "/api/v1/diff?pid=1000&a=-20m..-10m&b=-10m..now&format=json"
    };
    _cleanup_reply_ struct reply whole, refused;

    without_memory(false);
    ask("GET", TARGETS[_i], NULL, &whole);
    ck_assert_uint_eq(whole.status, 200);
    without_memory(true);
    ask("GET", TARGETS[_i], NULL, &refused);
    without_memory(false);
    assert_problem(&refused, 503, NULL, "too little memory for this answer now");
    ck_assert_ptr_nonnull(strstr(refused.body.p, "ask again later, or for less"));
    ck_assert_str_eq(header(&refused, "X-Flamed-Samples"), "");
}
END_TEST

/* That samples cannot be read does not mean that there are none. */
START_TEST(unread_samples_are_not_none)
{
    static const int ERRORS[] = { -ENOMEM, -EBUSY };
    _cleanup_reply_ struct reply r;

    fake.past_fails = ERRORS[_i];
    ask("GET", "/api/v1/words?service=shop", NULL, &r);
    fake.past_fails = 0;
    assert_problem(&r, 503, NULL, NULL);
}
END_TEST

START_TEST(a_live_table_without_memory_ends)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_buf_ struct buf b = BUF_UPTO((size_t)1 << 20);

    without_memory(true);
    ask_on(fd, "GET", "/top?pid=1000&interval=500ms", NULL);
    ck_assert(client_read_until(fd, &b, "\r\n0\r\n\r\n", 10000));
    without_memory(false);
    ck_assert_ptr_nonnull(strstr(b.p, "too little memory for this table now"));
    ck_assert_ptr_null(strstr(b.p, "leaf"));
    await_no_captures(3000);
}
END_TEST

static bool no_document;

struct span __real_serve_openapi(void);
struct span __wrap_serve_openapi(void);
struct span __wrap_serve_openapi(void)
{
    return no_document ? SPAN_NULL : __real_serve_openapi();
}

START_TEST(the_description_without_memory_is_refused)
{
    _cleanup_reply_ struct reply r, again;

    no_document = true;
    ask("GET", "/openapi.json", NULL, &r);
    ck_assert_uint_eq(r.status, 503);
    ck_assert_ptr_nonnull(strstr(r.body.p, "too little memory"));
    no_document = false;
    ask("GET", "/openapi.json", NULL, &again);
    ck_assert_uint_eq(again.status, 200);
}
END_TEST

START_TEST(json_without_memory_is_refused)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(32 << 20);
    static const char piece[1 << 20];
    struct answer a;
    json_t *value;

    for (size_t i = 0; i < 16; i++)
        buf_add(&text, piece, sizeof(piece));
    memset(text.p, 'x', text.n);
    value = json_pack("[s#]", text.p, (int)text.n);
    answer_init(&a, 64 << 20);
    without_memory(true);
    memory_guard_thread(true);
    answer_json(&a, 200, value, 0);
    memory_guard_thread(false);
    without_memory(false);
    ck_assert_uint_eq(a.status, 503);
    ck_assert_ptr_nonnull(strstr(a.body.p, "too little memory"));
    answer_deinit(&a);
    json_decref(value);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_errors");
    TCase *served = tcase_create("served"), *own = tcase_create("own start"),
          *memory = tcase_create("memory");

    tcase_add_checked_fixture(served, start, stop);
    tcase_set_timeout(served, 60);
    tcase_set_timeout(own, 60);
    tcase_add_loop_test(served, refuses_with_a_sentence, 0, ARRAY_SIZE(BAD_TARGETS));
    tcase_add_loop_test(served, names_the_methods_that_work, 0, 8);
    tcase_add_test(served, takes_no_body);
    tcase_add_loop_test(served, a_body_ends_in_one_place, 0, 12);
    tcase_add_loop_test(served, a_header_is_one_line, 0, 6);
    tcase_add_test(served, old_http_has_no_chunks);
    tcase_add_test(served, no_format_fits);
    tcase_add_test(own, the_answer_has_a_limit);
    tcase_add_test(own, a_long_text_is_packed_until_it_is_sent);
    tcase_add_checked_fixture(memory, start_full, stop);
    tcase_set_timeout(memory, 60);
    tcase_add_loop_test(memory, no_answer_is_made_of_a_part, 0, 4);
    tcase_add_loop_test(memory, unread_samples_are_not_none, 0, 2);
    tcase_add_test(memory, a_live_table_without_memory_ends);
    tcase_add_test(memory, the_description_without_memory_is_refused);
    tcase_add_test(memory, json_without_memory_is_refused);
    suite_add_tcase(s, served);
    suite_add_tcase(s, own);
    suite_add_tcase(s, memory);
    return run_suite(s);
}
