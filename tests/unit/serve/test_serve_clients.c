/* SPDX-License-Identifier: Apache-2.0 */
/* Slow, hostile, numerous and vanished clients of serve/. */
#include "serve_fixture.h"
#include "steal_time.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <sys/socket.h>
#include <unistd.h>

START_TEST(a_client_that_leaves_ends_its_sampling)
{
    int fd = _i & 1 ? client_connect_unix(socket_path) : client_connect_tcp(port);
    struct steal_watch machine;
    struct serve_stats stats;
    bool ended;

    ask_on(fd, "GET", "/profile?pid=1000&seconds=600", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 1, 5000));
    if (_i & 2) {
        struct linger hard = { .l_onoff = 1 };

        setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)); /* closes by a reset */
    }
    if (_i & 4)
        ask_on(fd, "GET", "/healthz", NULL); /* unread input must not hide the end */
    steal_begin(&machine);
    close(fd);
    ended = fake_wait(&fake, &fake.ended_drop, 1, 10000);
    ck_assert_uint_lt(steal_took_ns(&machine), NSEC_PER_SEC);
    ck_assert_msg(ended, "it goes on sampling");
    steal_begin(&machine);
    ck_assert(fake_wait(&fake, &fake.done, 1, 10000));
    ck_assert_uint_lt(steal_took_ns(&machine), NSEC_PER_SEC);
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

START_TEST(a_client_of_http_1_0_that_only_stops_sending_gets_its_answer)
{
    static const char *const TARGETS[] = { "/", "/healthz", "/nothing", "/api/v1/jvms/1000",
                                           "/profile?pid=1000&seconds=1.3&format=collapsed" };
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_reply_ struct reply r;
    char head[128];

    snprintf(head, sizeof(head), "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", TARGETS[_i]);
    client_send(fd, head, strlen(head));
    ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
    client_read(fd, /* head_only= */ false, &r);
    ck_assert_uint_eq(r.status, _i == 2 ? 404 : 200);
    ck_assert_uint_eq(fake_get(&fake, &fake.ended_drop), 0);
}
END_TEST

/* It has no interim response that would show whether the client is there. */
START_TEST(a_client_of_http_1_0_that_stops_sending_later_has_left)
{
    static const char HEAD[] =
        "GET /profile?pid=1000&seconds=60 HTTP/1.0\r\nHost: localhost\r\n\r\n";
    _cleanup_close_ int fd = client_connect_tcp(port);

    client_send(fd, HEAD, strlen(HEAD));
    ck_assert(fake_wait(&fake, &fake.started, 1, 10000));
    usleep(1100000);
    ck_assert_uint_eq(fake_get(&fake, &fake.ended_drop), 0);
    ck_assert_int_eq(shutdown(fd, SHUT_WR), 0);
    ck_assert(fake_wait(&fake, &fake.ended_drop, 1, 10000));
    ck_assert(client_closed(fd, 10000));
}
END_TEST

START_TEST(requests_in_a_row_on_one_connection)
{
    _cleanup_close_ int fd = client_connect_tcp(port);
    _cleanup_reply_ struct reply first, second, third;

    ask_on(fd, "GET", "/profile?pid=1000&seconds=0.3&format=collapsed", NULL);
    ask_on(fd, "GET", "/healthz", NULL); /* while the first request is handled */
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
            struct steal_watch machine;

            steal_begin(&machine);
            ask("GET", "/profile?pid=1000&seconds=0.1", NULL, &r);
            ck_assert_uint_lt(steal_took_ns(&machine), 3 * NSEC_PER_SEC);
            ck_assert_uint_eq(r.status, 200);
        }
    }
    serve_stats(serve, &stats);
    ck_assert_uint_le(stats.connections_now, 32 + 64);
    ck_assert_uint_ge(stats.evicted, 200 - callers_limit(32, /* root= */ true));
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}
END_TEST

/* Clients take every slot. They request more than their sockets hold, and read none of it. */
START_TEST(clients_that_read_nothing_hold_up_nobody)
{
    static const char DOCUMENT[] = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    unsigned status = 0, few_bytes = 4096;
    int fds[150];
    uint64_t end_ns;

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) { /* enough to leave none of the 32 slots idle */
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
        client_send(fd, "X-A: b\r\n", 8); /* a line now and then does not keep a connection open */
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
    /* Wherever the limit lies, an answer comes: success or a refusal. */
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

/* Many clients connect, send requests and leave in the middle, all at once. Any order of events
 * must work. */
START_TEST(survives_a_crowd)
{
    struct serve_opts o = USUAL;
    struct serve_stats stats;

    o.connections_max = 128; /* room for clients that left unnoticed */
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

int main(void)
{
    Suite *s = suite_create("serve_clients");
    TCase *served = tcase_create("served"), *own = tcase_create("own start");

    tcase_add_checked_fixture(served, start, stop);
    tcase_set_timeout(served, 60);
    tcase_set_timeout(own, 60);
    tcase_add_loop_test(served, a_client_that_leaves_ends_its_sampling, 0, 8);
    tcase_add_loop_test(served, a_client_that_only_stops_sending_gets_its_answer, 0, 2);
    tcase_add_loop_test(served, a_client_of_http_1_0_that_only_stops_sending_gets_its_answer, 0, 5);
    tcase_add_test(served, a_client_of_http_1_0_that_stops_sending_later_has_left);
    tcase_add_test(served, requests_in_a_row_on_one_connection);
    tcase_add_test(served, slow_clients_hold_up_nobody);
    tcase_add_test(served, clients_that_read_nothing_hold_up_nobody);
    tcase_add_test(served, captures_are_not_evicted);
    tcase_add_test(own, a_request_has_to_be_whole_in_time);
    tcase_add_test(served, large_heads_are_refused);
    tcase_add_test(own, nonsense_harms_nobody);
    tcase_add_test(own, survives_a_crowd);
    suite_add_tcase(s, served);
    suite_add_tcase(s, own);
    return run_suite(s);
}
