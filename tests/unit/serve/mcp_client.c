/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_client.h"

#include "base/cleanup.h"

void start_mcp(void)
{
    struct serve_opts o = USUAL;

    o.mcp = true;
    start_full_with(&o);
}

/* Sends @body. Returns the reply, which the caller owns; NULL: no body. */
static json_t *send_as(int fd, const char *headers, const char *body, unsigned *ret_status)
{
    _cleanup_buf_ struct buf all = BUF_NULL;
    _cleanup_reply_ struct reply r = { 0 };
    json_t *j;

    buf_init(&all, 4096);
    buf_printf(&all, TYPE "Accept: application/json, text/event-stream\r\n%s",
               headers ? headers : "");
    ask_body_on(fd, "POST", "/mcp", all.p, body);
    ck_assert(client_read(fd, /* head_only= */ false, &r));
    *ret_status = r.status;
    j = json_loadb(r.body.p ? r.body.p : "", r.body.n, 0, NULL);
    ck_assert_msg(j || !r.body.n, "%.200s", r.body.p);
    return j;
}

json_t *send_mcp(const char *headers, const char *body, unsigned *ret_status)
{
    _cleanup_close_ int fd = client_connect_tcp(port);

    return send_as(fd, headers, body, ret_status);
}

json_t *call_on(int fd, const char *headers, const char *tool, const char *arguments)
{
    _cleanup_close_ int own = fd < 0 ? client_connect_tcp(port) : -1;
    _cleanup_buf_ struct buf body = BUF_NULL;
    json_t *reply, *result;
    unsigned status;

    buf_init(&body, 65536);
    buf_printf(&body, LEGACY("tools/call", "{\"name\":\"%s\",\"arguments\":%s}"), tool, arguments);
    reply = send_as(fd < 0 ? own : fd, headers, body.p, &status);
    ck_assert_uint_eq(status, 200);
    ck_assert_str_eq(json_string_value(json_object_get(reply, "id")), "x");
    result = json_incref(json_object_get(reply, "result"));
    ck_assert_msg(result != NULL, "%s", json_dumps(reply, 0));
    json_decref(reply);
    return result;
}

json_t *call(const char *tool, const char *arguments)
{
    return call_on(-1, NULL, tool, arguments);
}

const char *text_of(const json_t *result, size_t block)
{
    const json_t *one = json_array_get(json_object_get(result, "content"), block);

    ck_assert_str_eq(json_string_value(json_object_get(one, "type")), "text");
    return json_string_value(json_object_get(one, "text"));
}

bool is_error(const json_t *result)
{
    return json_is_true(json_object_get(result, "isError"));
}

void assert_has(const char *text, const char *part)
{
    ck_assert_msg(text && strstr(text, part), "'%s' is not in %s", part, text ? text : "nothing");
}

TCase *in_case(const char *name, void (*begin)(void))
{
    TCase *tc = tcase_create(name);

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, begin, stop);
    return tc;
}
