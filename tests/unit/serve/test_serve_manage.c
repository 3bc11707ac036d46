/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that need the role manage. The kernel's word for a user gives that role only on the Unix
 * socket. */
#include "serve_fixture.h"

#include "base/cleanup.h"

#include <unistd.h>

#define CAPTURE "/api/v1/captures/" FAKE_ID
#define JSON "Content-Type: application/json\r\n"

static const struct {
    const char *method, *target, *headers;
    unsigned over_tcp, on_unix; /* status of the answer to root */
} CASES[] = {
    { "GET", "/api/v1/audit", NULL, 403, 200 },
    { "POST", "/api/v1/triggers/none", NULL, 403, 404 },
    { "POST", CAPTURE "/stop", NULL, 403, 200 },
    { "DELETE", CAPTURE, NULL, 403, 204 },
    { "POST", "/api/v1/captures/" FAKE_ID_NONE "/stop", NULL, 404, 404 },
    { "DELETE", "/api/v1/captures/" FAKE_ID_NONE, NULL, 404, 404 },
    { "GET", CAPTURE, NULL, 200, 200 },
    { "GET", "/api/v1/captures", NULL, 200, 200 },
    { "GET", "/profile?pid=1000&seconds=0.1", NULL, 200, 200 },
    { "GET", "/profile?pid=1000&seconds=0.1&symbols=agent", NULL, 200, 200 },
};

START_TEST(root_manages_on_the_unix_socket_alone)
{
    _cleanup_close_ int tcp = client_connect_tcp(port), on_unix = client_connect_unix(socket_path);
    _cleanup_reply_ struct reply first, second;

    ask_on(tcp, CASES[_i].method, CASES[_i].target, CASES[_i].headers);
    client_read(tcp, /* head_only= */ false, &first);
    ck_assert_msg(first.status == CASES[_i].over_tcp, "%s over TCP: %u", CASES[_i].target,
                  first.status);
    if (first.status == 403) {
        assert_problem(&first, 403, NULL, "over TCP");
        ck_assert_ptr_nonnull(strstr(first.body.p, "--unix-socket"));
        ck_assert_ptr_nonnull(strstr(first.body.p, "flamed --login"));
    }
    ask_on(on_unix, CASES[_i].method, CASES[_i].target, CASES[_i].headers);
    client_read(on_unix, /* head_only= */ false, &second);
    ck_assert_msg(second.status == CASES[_i].on_unix, "%s on the Unix socket: %u", CASES[_i].target,
                  second.status);
}
END_TEST

START_TEST(whoami_says_so)
{
    _cleanup_close_ int on_unix = client_connect_unix(socket_path);
    _cleanup_reply_ struct reply tcp, other;

    ask("GET", "/api/v1/whoami", NULL, &tcp);
    ck_assert_ptr_nonnull(strstr(tcp.body.p, "\"role\": \"attach\""));
    ck_assert_ptr_nonnull(strstr(tcp.body.p, "\"sees\": \"all\""));
    ck_assert_ptr_nonnull(strstr(tcp.body.p, "\"limit\""));
    ck_assert_ptr_nonnull(strstr(tcp.body.p, "--unix-socket"));
    ck_assert_msg(strstr(tcp.body.p, socket_path), "the one that it listens on");
    ask_on(on_unix, "GET", "/api/v1/whoami", NULL);
    client_read(on_unix, /* head_only= */ false, &other);
    ck_assert_ptr_nonnull(strstr(other.body.p, "\"role\": \"manage\""));
    ck_assert_ptr_null(strstr(other.body.p, "\"limit\""));
}
END_TEST

/* Captures that root made over TCP may be deleted over TCP. Those made on the Unix socket belong to
 * another caller. */
START_TEST(one_s_own_captures_may_be_removed)
{
    static const char BODY[] = "{\"pid\": 1000, \"seconds\": 1}";
    _cleanup_reply_ struct reply made, stopped, removed;

    ask_body("POST", "/api/v1/captures", JSON, BODY, &made);
    ck_assert_uint_eq(made.status, 201);
    ask("POST", CAPTURE "/stop", NULL, &stopped);
    ck_assert_uint_eq(stopped.status, 200);
    ask("DELETE", CAPTURE, NULL, &removed);
    ck_assert_uint_eq(removed.status, 204);
}
END_TEST

START_TEST(another_s_may_not)
{
    _cleanup_close_ int on_unix = client_connect_unix(socket_path);
    _cleanup_reply_ struct reply made, removed;
    static const char POST[] = "POST /api/v1/captures HTTP/1.1\r\nHost: localhost\r\n" JSON
                               "Content-Length: 14\r\n\r\n{\"pid\": 1000 }";

    ck_assert_int_eq(write(on_unix, POST, sizeof(POST) - 1), sizeof(POST) - 1);
    client_read(on_unix, /* head_only= */ false, &made);
    ck_assert_uint_eq(made.status, 201);
    ask("DELETE", CAPTURE, NULL, &removed);
    assert_problem(&removed, 403, NULL, "over TCP");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_manage");
    TCase *tc = tcase_create("manage");

    if (geteuid() != 0)
        return 77;
    tcase_add_checked_fixture(tc, start_full_by_default, stop);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, root_manages_on_the_unix_socket_alone, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, whoami_says_so);
    tcase_add_test(tc, one_s_own_captures_may_be_removed);
    tcase_add_test(tc, another_s_may_not);
    suite_add_tcase(s, tc);
    return run_suite(s);
}
