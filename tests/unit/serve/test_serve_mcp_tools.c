/* SPDX-License-Identifier: Apache-2.0 */
/* POST /mcp: calls of tools, made as the requests that they stand for. */
#include "mcp_client.h"

#include "access/access_rules.h"
#include "base/cleanup.h"

#include <gnutls/crypto.h>
#include <unistd.h>

#define TOKEN "flamed_token_of_a_test"
#define BEARER "Authorization: Bearer " TOKEN "\r\n"
#define TOO_LONG ((size_t)32 << 10)

static const char *const NAMES[] = { "list_services", "signals", "summary", "changes", "top",
                                     "tree",          "diff",    "locks",   "capture", "why" };

START_TEST(tools_have_schemas_out_of_the_table_of_parameters)
{
    unsigned status;
    json_t *reply = send_mcp(NULL, LEGACY("tools/list", "{}"), &status), *list, *tool;
    size_t i;

    list = json_object_get(json_object_get(reply, "result"), "tools");
    ck_assert_uint_eq(json_array_size(list), ARRAY_SIZE(NAMES));
    json_array_foreach(list, i, tool)
    {
        const json_t *schema = json_object_get(tool, "inputSchema"),
                     *hints = json_object_get(tool, "annotations"), *one;
        bool acts = strcmp(NAMES[i], "capture") == 0;
        const char *name;

        ck_assert_str_eq(json_string_value(json_object_get(tool, "name")), NAMES[i]);
        ck_assert_str_eq(json_string_value(json_object_get(schema, "type")), "object");
        ck_assert(json_is_false(json_object_get(schema, "additionalProperties")));
        ck_assert_int_eq(json_is_true(json_object_get(hints, "readOnlyHint")), !acts);
        ck_assert(json_is_false(json_object_get(hints, "destructiveHint")));
        json_object_foreach(json_object_get(schema, "properties"), name, one)
        {
            ck_assert_msg(json_string_value(json_object_get(one, "type")), "%s.%s", NAMES[i], name);
            ck_assert(json_string_length(json_object_get(one, "description")) > 10);
        }
    }
    ck_assert_int_eq(
        json_integer_value(json_object_get(
            json_object_get(json_object_get(json_object_get(json_array_get(list, 8), "inputSchema"),
                                            "properties"),
                            "seconds"),
            "maximum")),
        50);
    json_decref(reply);
}
END_TEST

static const struct {
    const char *tool, *arguments, *contains, *after; /* in the first and in the second text */
    bool json;
} CALLS[] = {
    { "list_services", "{}", "\"name\":\"shop\"", NULL, true },
    { "signals", "{\"service\":\"shop\",\"pid\":null}", "its limit stopped it", NULL, true },
    { "signals", "{}", "its heap was full", NULL, true },
    { "changes", "{\"pid\":\"1000\",\"a\":\"-2m..-1m\",\"b\":\"-1m..now\"}", "nothing new", NULL,
      true },
    { "summary", "{\"pid\":1000}", "\"sentences\":[", NULL, true },
    { "top", "{\"pid\":1000}", "Total samples", "Graph: http://localhost:7979/profile?", false },
    { "top", "{\"capture\":\"" FAKE_ID "\"}", "100.00%          4  leaf",
      "/api/v1/captures/" FAKE_ID "/profile", false },
    { "top", "{\"from\":\"-1h\",\"idle\":true,\"include\":[\"method1\"]}",
      "100.00%          1  leaf", "&include=method1&", false },
    { "tree", "{\"pid\":1000,\"top\":50}", "\n  25.00%  0.00%  1  [1] com.example.Fake.method1\n",
      "/#/jvm/1000?from=2", false },
    { "diff", "{\"a\":\"" FAKE_ID "\",\"b\":\"" FAKE_ID "\"}", "FUNCTION", "Samples: ", false },
    { "locks", "{\"service\":\"shop\"}", "Total samples", "event=lock", false },
    { "locks", "{\"capture\":\"" FAKE_ID_NONE "\"}", NULL, NULL, false },
    { "capture", "{\"pid\":1000,\"seconds\":0.1}", "100.00%          4  leaf", "", false },
    { "why", "{\"capture\":\"" FAKE_ID "\"}", "\"progress\":0.5", NULL, true },
};

START_TEST(each_tool_answers_as_its_route)
{
    json_t *result = call(CALLS[_i].tool, CALLS[_i].arguments),
           *value = json_object_get(result, "structuredContent");

    if (!CALLS[_i].contains) {
        ck_assert(is_error(result));
        assert_has(text_of(result, 0), "no capture"); /* or the capture has no event=lock */
        json_decref(result);
        return;
    }
    ck_assert_msg(!is_error(result), "%s: %s", CALLS[_i].tool, text_of(result, 0));
    assert_has(text_of(result, 0), CALLS[_i].contains);
    ck_assert_int_eq(value != NULL, CALLS[_i].json);
    if (CALLS[_i].json) {
        json_t *text = json_loads(text_of(result, 0), 0, NULL);

        ck_assert(json_equal(text, value));
        ck_assert_str_eq(json_string_value(json_object_get(value, "links_begin_with")),
                         "http://localhost:7979");
        json_decref(text);
    } else {
        assert_has(text_of(result, 1), CALLS[_i].after);
    }
    ck_assert_uint_eq(fake_get(&fake, &fake.started), strcmp(CALLS[_i].tool, "capture") == 0);
    ck_assert(fake.seen);
    json_decref(result);
}
END_TEST

static const struct {
    const char *tool, *arguments, *contains;
} FAILURES[] = {
    { "top", "{\"top\":0}", "top" },
    { "top", "{\"pid\":true}", "pid is not true or false" },
    { "top", "{\"from\":\"yesterday\"}", "from" },
    { "signals", "{\"pid\":404}", "there is no process 404; the nearest are 1000, 1001" },
    { "capture", "{\"pid\":404,\"seconds\":0.1}", "there is no process 404" },
    { "capture", "{\"pid\":429,\"seconds\":0.1}", "too many" },
    { "capture", "{\"pid\":503,\"seconds\":0.1}", "no BTF" },
    { "capture", "{\"pid\":5,\"seconds\":0.1}", "the broker was lost while sampling; ask again" },
    { "capture", "{\"pid\":1000,\"seconds\":51}", "50 seconds at most" },
    { "capture", "{\"pid\":1000,\"event\":\"cpuu\"}", "did you mean 'cpu'" },
    { "tree", "{\"capture\":\"../../../etc/passwd\"}", "there is no capture" },
    { "tree", "{\"capture\":\"" FAKE_ID_FAILED "\"}", "failed" },
    { "why", "{\"pid\":1000}", "preflight" },
};

START_TEST(a_route_s_problem_is_a_result_that_says_so)
{
    json_t *result = call(FAILURES[_i].tool, FAILURES[_i].arguments);

    ck_assert(is_error(result));
    assert_has(text_of(result, 0), FAILURES[_i].contains);
    json_decref(result);
}
END_TEST

START_TEST(long_answers_are_cut_and_say_so)
{
    static const char *const CASES[][2] = {
        { "tree", "{\"pid\":1003,\"top\":1000,\"minwidth\":0}" },
        { "locks", "{\"pid\":1003,\"top\":12000}" }, /* kept compressed */
    };
    json_t *result = call(CASES[_i][0], CASES[_i][1]);

    ck_assert(!is_error(result));
    ck_assert_uint_le(strlen(text_of(result, 0)), TOO_LONG);
    ck_assert_uint_gt(strlen(text_of(result, 0)), TOO_LONG / 2);
    ck_assert_int_eq(text_of(result, 0)[strlen(text_of(result, 0)) - 1], '\n');
    assert_has(text_of(result, 1), "Cut: these are the first ");
    json_decref(result);
}
END_TEST

START_TEST(long_lists_are_shortened_and_say_so)
{
    json_t *result, *value;
    size_t kept;

    fake.services = 2000;
    result = call("list_services", "{}");
    value = json_object_get(result, "structuredContent");
    kept = json_array_size(json_object_get(value, "services"));
    ck_assert_uint_gt(kept, 300);
    ck_assert_uint_lt(kept, 2000);
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_object_get(value, "left_out"), "services")),
        (json_int_t)(2000 - kept));
    ck_assert_uint_le(strlen(text_of(result, 0)), TOO_LONG);
    json_decref(result);
}
END_TEST

static json_int_t left_out(const json_t *value, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(value, "left_out"), name));
}

START_TEST(the_past_of_a_service_gives_way_before_the_service)
{
    json_t *result, *value, *service;
    size_t ended;

    fake.ended = 300;
    result = call("list_services", "{}");
    value = json_object_get(result, "structuredContent");
    service = json_array_get(json_object_get(value, "services"), 0);
    ended = json_array_size(json_object_get(service, "ended"));
    ck_assert_uint_eq(json_array_size(json_object_get(service, "jvms")), 300);
    ck_assert_uint_ge(ended, 4);
    ck_assert_uint_lt(ended, 300);
    ck_assert_int_eq(left_out(value, "services.ended"), (json_int_t)(300 - ended));
    ck_assert_int_eq(left_out(value, "services"), 0);
    ck_assert_uint_le(strlen(text_of(result, 0)), TOO_LONG);
    json_decref(result);
}
END_TEST

START_TEST(a_service_of_many_jvms_stays_with_some)
{
    json_t *result, *value, *service;
    size_t jvms;

    fake.ended = 2000;
    fake.services = 2;
    result = call("list_services", "{}");
    value = json_object_get(result, "structuredContent");
    ck_assert_uint_eq(json_array_size(json_object_get(value, "services")), 2);
    service = json_array_get(json_object_get(value, "services"), 1);
    jvms = json_array_size(json_object_get(service, "jvms"));
    ck_assert_uint_ge(jvms, 4);
    ck_assert_uint_eq(json_array_size(json_object_get(service, "ended")), 4);
    ck_assert_int_eq(left_out(value, "services.ended"), 2 * (2000 - 4));
    ck_assert_uint_le(strlen(text_of(result, 0)), TOO_LONG);
    json_decref(result);
}
END_TEST

START_TEST(the_most_severe_signals_stay)
{
    json_t *result, *value, *list;

    fake.services = 1000;
    result = call("signals", "{}");
    value = json_object_get(result, "structuredContent");
    list = json_object_get(value, "signals");
    ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(list, 0), "severity")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(list, 1), "pid")), 1000);
    ck_assert_int_eq(left_out(value, "signals"), (json_int_t)(1000 - json_array_size(list)));
    ck_assert_int_eq(left_out(value, "past"), 1); /* what is on has the room */
    json_decref(result);
}
END_TEST

START_TEST(lists_of_texts_keep_what_there_is_room_for)
{
    json_t *result, *value;
    size_t kept;

    fake.services = 4000;
    result = call("changes", "{\"pid\":1000}");
    value = json_object_get(result, "structuredContent");
    kept = json_array_size(json_object_get(value, "sentences"));
    ck_assert_uint_gt(kept, 2000);
    ck_assert_int_eq(left_out(value, "sentences"), (json_int_t)(4000 - kept));
    json_decref(result);
}
END_TEST

/* ---- rights ---- */

static void set_token(enum role role)
{
    struct access_rules *r = calloc(1, sizeof(*r));

    r->rules[0] = (struct access_rule){ .name = "model", .by = ACCESS_BY_TOKEN, .role = role };
    gnutls_hash_fast(GNUTLS_DIG_SHA256, TOKEN, strlen(TOKEN), r->rules[0].hash);
    r->count = 1;
    serve_set_access(serve, r);
}

/* Returns the names of the tools that a client with @headers sees. */
static size_t tools_of(const char *headers, char *names, size_t size)
{
    unsigned status;
    json_t *reply = send_mcp(headers, LEGACY("tools/list", "{}"), &status), *list, *tool;
    size_t i, count;

    names[0] = '\0';
    list = json_object_get(json_object_get(reply, "result"), "tools");
    count = json_array_size(list);
    json_array_foreach(list, i, tool) snprintf(names + strlen(names), size - strlen(names), " %s",
                                               json_string_value(json_object_get(tool, "name")));
    json_decref(reply);
    return count;
}

START_TEST(a_reader_captures_nothing)
{
    char names[256];
    json_t *result;

    set_token(ROLE_VIEW);
    ck_assert_uint_eq(tools_of(BEARER, names, sizeof(names)), ARRAY_SIZE(NAMES) - 1);
    ck_assert_ptr_null(strstr(names, "capture"));
    result = call_on(-1, BEARER, "capture", "{\"pid\":1000,\"seconds\":0.1}");
    ck_assert(is_error(result));
    assert_has(text_of(result, 0), "it takes the role 'profile'");
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
    json_decref(result);
    /* the route for readers reads an existing capture */
    result = call_on(-1, BEARER, "top", "{\"pid\":1000}");
    ck_assert(!is_error(result));
    assert_has(text_of(result, 1), "/api/v1/query?");
    ck_assert_msg(fake.last_from != PAST_STORED, "a capture of that time is not all of it");
    json_decref(result);
    set_token(ROLE_PROFILE);
    ck_assert_uint_eq(tools_of(BEARER, names, sizeof(names)), ARRAY_SIZE(NAMES));
    result = call_on(-1, BEARER, "capture", "{\"pid\":1000,\"seconds\":0.1}");
    ck_assert(!is_error(result));
    json_decref(result);
    result = call_on(-1, BEARER, "capture", "{\"pid\":1000,\"seconds\":0.1,\"event\":\"live\"}");
    ck_assert_msg(is_error(result), "it enters the JVM");
    json_decref(result);
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 1);
}
END_TEST

START_TEST(who_has_no_role_gets_no_message_through)
{
    unsigned status;
    json_t *reply;

    set_token(ROLE_HEALTH);
    reply = send_mcp(BEARER, LEGACY("tools/list", "{}"), &status);
    ck_assert_uint_eq(status, 403);
    json_decref(reply);
    reply = send_mcp("Authorization: Bearer wrong\r\n", LEGACY("tools/list", "{}"), &status);
    ck_assert_uint_eq(status, 401);
    json_decref(reply);
}
END_TEST

START_TEST(a_tool_sees_what_its_caller_sees)
{
    for (size_t i = 0; i < ARRAY_SIZE(CALLS); i++) {
        _cleanup_close_ int fd = connect_as(12345);
        json_t *result;

        fake.seen = false; /* set by the call before */
        fake.viewer = VIEWER_WHOLE;
        result = call_on(fd, NULL, CALLS[i].tool, CALLS[i].arguments);
        ck_assert_msg(fake.seen, "%s", CALLS[i].tool);
        ck_assert_msg(!fake.viewer.whole && fake.viewer.uid == 12345, "%s", CALLS[i].tool);
        json_decref(result);
    }
}
END_TEST

START_TEST(a_call_is_noted_and_counted_as_what_it_does)
{
    _cleanup_reply_ struct reply audit, metrics;

    set_token(ROLE_VIEW);
    json_decref(call("capture", "{\"pid\":1000,\"seconds\":0.1}"));
    json_decref(call("signals", "{}"));
    json_decref(call_on(-1, BEARER, "capture", "{\"pid\":1000,\"seconds\":0.1}"));
    ask("GET", "/api/v1/audit", NULL, &audit);
    assert_has(audit.body.p, "\"action\":\"capture\"");
    assert_has(audit.body.p, "\"route\":\"/profile\",\"tool\":\"capture\"");
    assert_has(audit.body.p, "\"action\":\"refusal\",\"subject\":\"token model\"");
    ck_assert_ptr_null(strstr(audit.body.p, "signals"));
    ck_assert_ptr_null(strstr(audit.body.p, "/mcp"));
    ask("GET", "/metrics", NULL, &metrics);
    assert_has(metrics.body.p,
               "flamed_http_requests_total{route=\"/profile\",method=\"GET\",status=\"200\"} 1\n");
    assert_has(metrics.body.p,
               "flamed_http_requests_total{route=\"/profile\",method=\"GET\",status=\"403\"} 1\n");
}
END_TEST

START_TEST(a_client_that_leaves_ends_its_capture)
{
    int fd = ask_body_on(client_connect_tcp(port), "POST", "/mcp", TYPE,
                         LEGACY("tools/call", "{\"name\":\"capture\",\"arguments\":{\"pid\":1000,"
                                              "\"seconds\":50}}"));

    ck_assert(fake_wait(&fake, &fake.started, 1, 5000));
    close(fd);
    ck_assert(fake_wait(&fake, &fake.done, 1, 5000));
    await_no_captures(5000);
}
END_TEST

START_TEST(one_caller_s_captures_are_limited)
{
    int fds[8];
    json_t *result;

    for (size_t i = 0; i < USUAL.captures_max; i++)
        fds[i] = ask_body_on(
            client_connect_tcp(port), "POST", "/mcp", TYPE BEARER,
            LEGACY("tools/call",
                   "{\"name\":\"capture\",\"arguments\":{\"pid\":1000,\"seconds\":50}}"));
    ck_assert(fake_wait(&fake, &fake.started, USUAL.captures_max, 5000));
    result = call_on(-1, BEARER, "capture", "{\"pid\":1000,\"seconds\":1}");
    ck_assert(is_error(result));
    assert_has(text_of(result, 0), "which is the limit for one caller; ask again in ");
    json_decref(result);
    for (size_t i = 0; i < USUAL.captures_max; i++)
        close(fds[i]);
    await_no_captures(5000);
}
END_TEST

static void start_small(void)
{
    struct serve_opts o = USUAL;

    o.mcp = true;
    o.answer_max_bytes = 1 << 20;
    start_full_with(&o);
}

static void start_with_token(void)
{
    start_mcp();
    set_token(ROLE_PROFILE);
}

int main(void)
{
    Suite *s = suite_create("serve_mcp_tools");
    TCase *tc = in_case("tools", start_mcp), *tokens = in_case("tokens", start_with_token),
          *small = in_case("small", start_small);

    tcase_add_test(tc, tools_have_schemas_out_of_the_table_of_parameters);
    tcase_add_loop_test(tc, each_tool_answers_as_its_route, 0, ARRAY_SIZE(CALLS));
    tcase_add_loop_test(tc, a_route_s_problem_is_a_result_that_says_so, 0, ARRAY_SIZE(FAILURES));
    tcase_add_loop_test(small, long_answers_are_cut_and_say_so, 0, 2);
    tcase_add_test(tc, long_lists_are_shortened_and_say_so);
    tcase_add_test(tc, the_past_of_a_service_gives_way_before_the_service);
    tcase_add_test(tc, a_service_of_many_jvms_stays_with_some);
    tcase_add_test(tc, the_most_severe_signals_stay);
    tcase_add_test(tc, lists_of_texts_keep_what_there_is_room_for);
    tcase_add_test(tc, a_reader_captures_nothing);
    tcase_add_test(tc, who_has_no_role_gets_no_message_through);
    tcase_add_test(tc, a_tool_sees_what_its_caller_sees);
    tcase_add_test(tc, a_call_is_noted_and_counted_as_what_it_does);
    tcase_add_test(tc, a_client_that_leaves_ends_its_capture);
    tcase_add_test(tokens, one_caller_s_captures_are_limited);
    suite_add_tcase(s, tc);
    suite_add_tcase(s, tokens);
    suite_add_tcase(s, small);
    return run_suite(s);
}
