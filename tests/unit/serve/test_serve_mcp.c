/* SPDX-License-Identifier: Apache-2.0 */
/* POST /mcp: messages of every kind. test_serve_mcp_tools.c has the calls of tools. */
#include "mcp_client.h"

#include "base/cleanup.h"

#define VERSION "MCP-Protocol-Version: 2026-07-28\r\n"

static char deep[2048], deep_but_good[512];

static const struct {
    const char *headers, *body;
    unsigned status;
    int code;
    const char *contains;
} REFUSED[] = {
    { NULL, "", 400, -32700, "no body" },
    { NULL, "{", 400, -32700, "no JSON" },
    { NULL, "{}{}", 400, -32700, "no JSON" },
    { NULL, "\xff", 400, -32700, "no JSON" },
    { NULL, deep, 400, -32700, "32" },
    { NULL, "{\"id\":1,\"id\":2}", 400, -32700, "duplicate" },
    { NULL, "{\"id\":123456789012345678901234567890}", 400, -32700, "no JSON" },
    { NULL, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}", 400, -32700, NULL },
    { NULL, "[]", 400, -32600, "batch" },
    { NULL, "[" LEGACY("ping", "{}") "]", 400, -32600, "batch" },
    { NULL, "7", 400, -32700, NULL }, /* jansson parses only objects and lists */
    { NULL, "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", 400, -32600, "id" },
    { NULL, "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", 400, -32600, "id" },
    { NULL, "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", 400, -32600, "id" },
    { NULL, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", 400, -32600, "id" },
    { NULL, "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", 400, -32600, "jsonrpc" },
    { NULL, "{\"id\":1,\"method\":\"ping\"}", 400, -32600, "jsonrpc" },
    { NULL, "{\"jsonrpc\":\"2.0\",\"id\":1}", 400, -32600, "method" },
    { NULL, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":3}", 400, -32600, "method" },
    { NULL, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 400, -32600, "method" },
    { NULL, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", 400, -32600,
      "params" },
    { NULL, "{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}", 400, -32600, "id" },
    { NULL, LEGACY("resources/list", "{}"), 200, -32601, "resources/list" },
    { NULL, LEGACY("tools/list", "{\"cursor\":\"a\"}"), 200, -32602, "cursor" },
    { NULL, LEGACY("tools/call", "{}"), 200, -32602, "name" },
    { NULL, LEGACY("tools/call", "{\"name\":3}"), 200, -32602, "name" },
    { NULL, LEGACY("tools/call", "{\"name\":\"drop\"}"), 200, -32602, "'drop'" },
    { NULL, LEGACY("tools/call", "{\"name\":\"top\",\"arguments\":[]}"), 200, -32602, "object" },
    { NULL, LEGACY("tools/call", "{\"name\":\"top\",\"arguments\":{\"symbols\":\"agent\"}}"), 200,
      -32602, "no argument 'symbols'; it takes capture, pid" },
    { NULL, LEGACY("tools/call", "{\"name\":\"top\",\"arguments\":{\"format\":\"html\"}}"), 200,
      -32602, "'format'" },
    { NULL, LEGACY("tools/call", "{\"name\":\"capture\",\"arguments\":{\"secands\":1}}"), 200,
      -32602, "did you mean 'seconds'?" },
    { NULL, LEGACY("tools/call", "{\"name\":\"top\",\"arguments\":{\"pid\":{\"a\":1}}}"), 200,
      -32602, "'pid'" },
    { NULL, LEGACY("tools/call", "{\"name\":\"why\",\"arguments\":{}}"), 200, -32602,
      "'capture' or 'pid'" },
    { NULL, LEGACY("tools/call", "{\"name\":\"why\",\"arguments\":{\"pid\":\"x/../..\"}}"), 200,
      -32602, "not a process id" },
    { NULL, LEGACY("tools/call", "{\"name\":\"why\",\"arguments\":{\"pid\":[1]}}"), 200, -32602,
      "'pid'" },
    { NULL, LEGACY("tools/call", "{\"name\":\"diff\",\"arguments\":{\"a\":\"-2m..-1m\"}}"), 200,
      -32602, "needs the argument 'b'" },
    { NULL,
      LEGACY("tools/call",
             "{\"name\":\"top\",\"arguments\":{\"pid\":1,\"capture\":\"" FAKE_ID "\"}}"),
      200, -32602, "no 'pid' with 'capture'" },
    /* protocol versions */
    { "MCP-Protocol-Version: 1900-01-01\r\n", LEGACY("tools/list", "{}"), 400, -32022,
      "'1900-01-01'" },
    { VERSION, LEGACY("tools/list", "{}"), 400, -32602, "_meta" },
    { NULL, MODERN("tools/list", ""), 400, -32020, "MCP-Protocol-Version is missing" },
    { VERSION, MODERN("tools/list", ""), 400, -32020, "Mcp-Method is missing" },
    { VERSION "Mcp-Method: tools/call\r\n", MODERN("tools/list", ""), 400, -32020,
      "Mcp-Method is 'tools/call', and the body has 'tools/list'" },
    { VERSION "Mcp-Method: tools/list\r\nMcp-Method: tools/list\r\n", MODERN("tools/list", ""), 400,
      -32020, "twice" },
    { "MCP-Protocol-Version: 2025-11-25\r\nMcp-Method: tools/list\r\n", MODERN("tools/list", ""),
      400, -32020, "MCP-Protocol-Version" },
    { VERSION "Mcp-Method: tools/call\r\n", MODERN("tools/call", "\"name\":\"top\","), 400, -32020,
      "Mcp-Name is missing" },
    { VERSION "Mcp-Method: tools/call\r\nMcp-Name: capture\r\n",
      MODERN("tools/call", "\"name\":\"top\","), 400, -32020, "Mcp-Name" },
    { VERSION "Mcp-Method: tools/call\r\nMcp-Name: =?base64?dG9w\r\n",
      MODERN("tools/call", "\"name\":\"top\","), 400, -32020, "Mcp-Name" },
    { VERSION "Mcp-Method: initialize\r\n", MODERN("initialize", ""), 404, -32601, "initialize" },
    { VERSION "Mcp-Method: ping\r\n", MODERN("ping", ""), 404, -32601, "ping" },
    { VERSION "Mcp-Method: tools/list\r\n",
      "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
      "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
      400, -32602, "clientCapabilities" },
    { VERSION "Mcp-Method: tools/list\r\n",
      "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
      "\"io.modelcontextprotocol/protocolVersion\":7}}}",
      400, -32602, "protocolVersion" },
};

START_TEST(wrong_messages_are_refused)
{
    unsigned status;
    json_t *reply = send_mcp(REFUSED[_i].headers, REFUSED[_i].body, &status), *error, *id;

    ck_assert_msg(status == REFUSED[_i].status, "%s: %u", REFUSED[_i].body, status);
    error = json_object_get(reply, "error");
    id = json_object_get(reply, "id");
    ck_assert_msg(json_integer_value(json_object_get(error, "code")) == REFUSED[_i].code, "%s: %s",
                  REFUSED[_i].body, json_dumps(reply, 0));
    if (REFUSED[_i].contains)
        assert_has(json_string_value(json_object_get(error, "message")), REFUSED[_i].contains);
    ck_assert_str_eq(json_string_value(json_object_get(reply, "jsonrpc")), "2.0");
    ck_assert(!id || json_is_integer(id) || json_is_string(id));
    if (REFUSED[_i].code >= -32602 && REFUSED[_i].code != -32600)
        ck_assert_msg(id != NULL, "%s", REFUSED[_i].body);
    ck_assert_uint_eq(fake_get(&fake, &fake.started), 0);
    ck_assert_uint_eq(fake_get(&fake, &fake.pasts), 0);
    json_decref(reply);
}
END_TEST

START_TEST(versions_that_are_spoken_are_named)
{
    unsigned status;
    json_t *reply =
        send_mcp("MCP-Protocol-Version: 2024-11-05\r\n", LEGACY("tools/list", "{}"), &status);
    const json_t *data = json_object_get(json_object_get(reply, "error"), "data");

    ck_assert_str_eq(json_string_value(json_object_get(data, "requested")), "2024-11-05");
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(data, "supported"), 0)),
                     "2026-07-28");
    json_decref(reply);
}
END_TEST

static const struct {
    const char *headers, *body;
} TAKEN[] = {
    { NULL, LEGACY("tools/list", "{}") },
    { "MCP-Protocol-Version: 2025-06-18\r\nMcp-Session-Id: 1\r\n", LEGACY("tools/list", "{}") },
    { NULL, "{\"jsonrpc\":\"2.0\",\"id\":-1,\"method\":\"tools/list\"}" },
    { NULL, deep_but_good },
    { NULL, LEGACY("ping", "{}") },
    { NULL, LEGACY("server/discover", "{}") },
    { VERSION "Mcp-Method: tools/list\r\n", MODERN("tools/list", "") },
    { VERSION "Mcp-Method: server/discover\r\n", MODERN("server/discover", "") },
    { VERSION "Mcp-Method: tools/call\r\nMcp-Name: signals\r\n",
      MODERN("tools/call", "\"name\":\"signals\",") },
    { VERSION "Mcp-Method: tools/call\r\nMcp-Name: =?base64?c2lnbmFscw==?=\r\n",
      MODERN("tools/call", "\"name\":\"signals\",") },
};

START_TEST(messages_of_both_kinds_are_taken)
{
    unsigned status;
    json_t *reply = send_mcp(TAKEN[_i].headers, TAKEN[_i].body, &status);
    const json_t *result = json_object_get(reply, "result");
    bool modern = strstr(TAKEN[_i].body, "2026-07-28") != NULL;

    ck_assert_msg(status == 200, "%s: %u %s", TAKEN[_i].body, status, json_dumps(reply, 0));
    ck_assert_ptr_nonnull(result);
    ck_assert_int_eq(json_object_get(result, "resultType") != NULL, modern);
    ck_assert_int_eq(json_object_get(result, "_meta") != NULL, modern);
    if (modern)
        ck_assert_int_eq(json_integer_value(json_object_get(reply, "id")), 7);
    json_decref(reply);
}
END_TEST

START_TEST(a_client_of_before_begins_with_initialize)
{
    static const struct {
        const char *wanted, *given;
    } CASES[] = { { "2025-06-18", "2025-06-18" },
                  { "2025-11-25", "2025-11-25" },
                  { "2024-11-05", "2025-11-25" },
                  { "2026-07-28", "2025-11-25" } };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        char body[256];
        unsigned status;
        json_t *reply, *result;

        snprintf(body, sizeof(body), LEGACY("initialize", "{\"protocolVersion\":\"%s\"}"),
                 CASES[i].wanted);
        reply = send_mcp(NULL, body, &status);
        result = json_object_get(reply, "result");
        ck_assert_uint_eq(status, 200);
        ck_assert_str_eq(json_string_value(json_object_get(result, "protocolVersion")),
                         CASES[i].given);
        ck_assert_ptr_nonnull(json_object_get(json_object_get(result, "capabilities"), "tools"));
        json_decref(reply);
    }
}
END_TEST

START_TEST(notifications_get_no_reply)
{
    unsigned status;

    ck_assert_ptr_null(
        send_mcp(NULL, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", &status));
    ck_assert_uint_eq(status, 202);
}
END_TEST

START_TEST(it_is_off_unless_the_configuration_has_it)
{
    _cleanup_reply_ struct reply r;

    ask_body("POST", "/mcp", TYPE, LEGACY("tools/list", "{}"), &r);
    assert_problem(&r, 404, NULL, "does not answer programs of language models");
    assert_has(r.body.p, "mcp: yes");
}
END_TEST

START_TEST(other_methods_and_bodies_are_refused_as_everywhere)
{
    _cleanup_reply_ struct reply get, type, large, query, foreign;
    char *body = calloc(1, 70001);

    memset(body, ' ', 70000);
    ask("GET", "/mcp", NULL, &get);
    ck_assert_uint_eq(get.status, 405);
    ck_assert_str_eq(header(&get, "Allow"), "POST");
    ask_body("POST", "/mcp", "Content-Type: text/plain\r\n", LEGACY("ping", "{}"), &type);
    ck_assert_uint_eq(type.status, 415);
    ask_body("POST", "/mcp", TYPE, body, &large);
    ck_assert_uint_eq(large.status, 413);
    ask_body("POST", "/mcp?pid=1", TYPE, LEGACY("ping", "{}"), &query);
    ck_assert_uint_eq(query.status, 400);
    ask_body("POST", "/mcp", TYPE "Origin: https://evil.example\r\n", LEGACY("ping", "{}"),
             &foreign);
    ck_assert_uint_eq(foreign.status, 403);
    free(body);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_mcp");
    TCase *tc = in_case("mcp", start_mcp), *off = in_case("off", start_full);

    memset(deep, '[', sizeof(deep) - 1);
    snprintf(deep_but_good, sizeof(deep_but_good), "%s",
             LEGACY("ping",
                    "{\"a\":[[[[[[[[[[[[[[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[[\"]]]]]]]]]]"
                    "]]]]}"));
    tcase_add_loop_test(tc, wrong_messages_are_refused, 0, ARRAY_SIZE(REFUSED));
    tcase_add_test(tc, versions_that_are_spoken_are_named);
    tcase_add_loop_test(tc, messages_of_both_kinds_are_taken, 0, ARRAY_SIZE(TAKEN));
    tcase_add_test(tc, a_client_of_before_begins_with_initialize);
    tcase_add_test(tc, notifications_get_no_reply);
    tcase_add_test(tc, other_methods_and_bodies_are_refused_as_everywhere);
    tcase_add_test(off, it_is_off_unless_the_configuration_has_it);
    suite_add_tcase(s, tc);
    suite_add_tcase(s, off);
    return run_suite(s);
}
