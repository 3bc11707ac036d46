/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of one caller of serve/: streams, connections and captures at once. They lock out no other
 * caller. */
#include "quota_asks.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/serve_impl.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define STREAM "/api/v1/captures/" FAKE_ID "/stream"

/* Connects from another loopback address: any user may use any number of them. */
static int connect_from(uint32_t address)
{
    struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) }, to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* ---- connections that stay ---- */

/* Waits until @wanted streams are under way. */
static void await_streams(unsigned wanted)
{
    struct serve_stats stats = { 0 };

    for (int i = 0; i < 2000 && stats.streams_now < wanted; i++) {
        usleep(10000);
        serve_stats(serve, &stats);
    }
    ck_assert_uint_ge(stats.streams_now, wanted);
}

START_TEST(streams_of_one_caller_lock_out_nobody)
{
    _cleanup_reply_ struct reply refused, after;
    int fds[128];

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = ask_on(i % 2 ? client_connect_tcp(port) : connect_from(0x7f000001 + (uint32_t)i),
                        "GET", STREAM, NULL);
    await_streams(32); /* half of 64 */
    for (int i = 0; i < 20; i++) {
        struct serve_stats stats;

        serve_stats(serve, &stats);
        ck_assert_uint_le(stats.streams_now, 32);
        usleep(10000);
    }
    ask("GET", STREAM, NULL, &refused);
    quota_assert_refused(&refused, " over TCP has 32 streams");
    quota_assert_root_and_health();
    ck_assert_uint_eq(quota_status(client_connect_tcp(port), "/api/v1/jvms"), 200);
    ck_assert_uint_eq(quota_status(connect_as(BOB), "/api/v1/jvms"), 200);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
    for (int i = 0; i < 300; i++) {
        struct serve_stats stats;

        serve_stats(serve, &stats);
        if (!stats.streams_now)
            break;
        usleep(10000);
    }
    ask("GET", "/top?pid=1000&once=1&interval=500ms", NULL, &after);
    ck_assert_uint_eq(after.status, 200);
}
END_TEST

START_TEST(streams_of_a_user_are_that_users)
{
    _cleanup_reply_ struct reply refused, bob;
    int fds[40], of_bob = connect_as(BOB);

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = ask_on(connect_as(ALICE), "GET", STREAM, NULL);
        usleep(5000);
    }
    await_streams(32); /* one more would be a stream without end */
    quota_ask(connect_as(ALICE), "GET", STREAM, &refused);
    quota_assert_refused(&refused, "user 64111 has 32 streams");
    ask_on(of_bob, "GET", "/top?pid=1000&interval=500ms", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 1, 5000));
    quota_assert_root_and_health();
    quota_ask(connect_as(BOB), "GET", "/api/v1/jvms", &bob);
    ck_assert_uint_eq(bob.status, 200);
    close(of_bob);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}
END_TEST

/* Waits until no more than @wanted connections are left. */
static void await_connections(size_t wanted)
{
    struct serve_stats stats;

    serve_stats(serve, &stats);
    for (int i = 0; i < 2000 && stats.connections_now > wanted; i++) {
        usleep(5000);
        serve_stats(serve, &stats);
    }
    ck_assert_uint_le(stats.connections_now, wanted);
}

/* Waits until an answer is stalled because its client does not read. */
static void await_stalled(void)
{
    bool stalled = false;

    for (int i = 0; i < 2000 && !stalled; i++) {
        usleep(5000);
        pthread_mutex_lock(&serve->lock);
        for (size_t k = 0; k < serve->client_max; k++)
            stalled |= serve->clients[k].used && serve->clients[k].stalled_ns;
        pthread_mutex_unlock(&serve->lock);
    }
    ck_assert(stalled);
}

/* A caller has a request under way on every connection that it may have. These may not be
 * closed. */
START_TEST(a_caller_without_room_is_told_which)
{
    static const char DOCUMENT[] = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct serve_opts o = USUAL;
    _cleanup_reply_ struct reply refused;
    struct serve_stats stats;
    unsigned few_bytes = 4096;
    int fds[8], guests[40];

    o.connections_max = 8;
    o.captures_max = 16;
    start_with(&o);
    for (size_t i = 0; i < 7; i++)
        fds[i] = ask_on(client_connect_tcp(port), "GET", "/profile?pid=1000&seconds=600", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 7, 5000));
    ask("GET", "/profile?pid=1000&seconds=600", NULL, &refused);
    quota_assert_refused(&refused, " over TCP has 7 requests that wait");
    reply_deinit(&refused);
    await_connections(7);

    fds[7] = client_connect_tcp(port);
    setsockopt(fds[7], SOL_SOCKET, SO_RCVBUF, &few_bytes, sizeof(few_bytes));
    for (size_t k = 0; k < 200; k++) /* it reads none of the answers */
        client_send(fds[7], DOCUMENT, sizeof(DOCUMENT) - 1);
    await_stalled();
    ask("GET", "/api/v1/jvms", NULL, &refused);
    quota_assert_refused(&refused, " over TCP has 8 connections");
    ck_assert_str_eq(header(&refused, "Connection"), "close");
    quota_assert_root_and_health();
    ck_assert_uint_eq(quota_status(connect_as(BOB), "/api/v1/jvms"), 200);
    /* Connections of unknown users that stay make room for newer ones. */
    for (size_t i = 0; i < ARRAY_SIZE(guests); i++)
        guests[i] = client_connect_tcp(port);
    quota_assert_root_and_health();
    serve_stats(serve, &stats);
    ck_assert_uint_le(stats.guests_now, 16 + 40);
    ck_assert_uint_ge(stats.quota_refused[QUOTA_CONNECTIONS], 1);
    ck_assert_uint_eq(stats.quota_refused[QUOTA_WAITING], 1);
    for (size_t i = 0; i < ARRAY_SIZE(guests); i++)
        close(guests[i]);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
    stop();
}
END_TEST

/* Connections that announce a body which never comes make room for newer ones. */
START_TEST(a_body_that_never_comes_keeps_no_place)
{
    static const char HEAD[] = "POST /api/v1/captures HTTP/1.1\r\nHost: localhost\r\n"
                               "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n";
    struct serve_opts o = USUAL;
    struct serve_stats stats;
    int fds[8];

    o.connections_max = ARRAY_SIZE(fds);
    o.idle_timeout_s = 60;
    start_with(&o);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = connect_as(ALICE);
        client_send(fds[i], HEAD, sizeof(HEAD) - 1);
        if (i % 2)
            client_send(fds[i], "{", 1);
    }
    for (int i = 0; i < 500; i++) {
        serve_stats(serve, &stats);
        if (stats.requests == ARRAY_SIZE(fds))
            break;
        usleep(10000);
    }
    ck_assert_uint_eq(stats.requests, ARRAY_SIZE(fds));
    for (int i = 0; i < 3; i++)
        ck_assert_uint_eq(quota_status(connect_as(ALICE), "/api/v1/jvms"), 200);
    serve_stats(serve, &stats);
    ck_assert_uint_ge(stats.evicted, 1);
    ck_assert_uint_eq(stats.quota_refused[QUOTA_CONNECTIONS], 0);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
    stop();
}
END_TEST

/* ---- answers that are not read ---- */

/* Returns the bytes of all answers that are not read yet. */
static size_t held_bytes(void)
{
    size_t n = 0;

    pthread_mutex_lock(&serve->lock);
    for (size_t k = 0; k < serve->client_max; k++)
        n += serve->clients[k].used ? serve->clients[k].held_bytes : 0;
    pthread_mutex_unlock(&serve->lock);
    return n;
}

/* Asks as @uid for an answer that takes 4 MiB until it is read, and reads a few bytes. */
static int ask_large(uid_t uid)
{
    int fd = ask_on(connect_as(uid), "GET", "/profile?pid=1003&seconds=0.1&format=json", NULL);
    char first[16];

    ck_assert_int_eq(recv(fd, first, sizeof(first), MSG_WAITALL), sizeof(first));
    ck_assert_msg(memcmp(first, "HTTP/1.1 200", 12) == 0, "%.16s", first);
    return fd;
}

START_TEST(answers_that_are_not_read_take_little_memory)
{
    struct serve_opts o = USUAL;
    _cleanup_reply_ struct reply refused, small, after;
    struct serve_stats stats;
    size_t one;
    int alice, bob;

    o.answer_max_bytes = (size_t)8 << 20;
    o.idle_timeout_s = 60;
    start_with(&o);
    alice = ask_large(ALICE);
    one = held_bytes();
    ck_assert_uint_gt(one, 4 << 20); /* one may be of any size */
    for (int i = 0; i < 3; i++) {
        quota_ask(connect_as(ALICE), "GET", "/profile?pid=1003&seconds=0.1&format=json", &refused);
        quota_assert_refused(&refused, "of answers that it has not read yet");
        ck_assert_str_eq(header(&refused, "Content-Disposition"), "");
        ck_assert_str_eq(header(&refused, "X-Flamed-Samples"), "");
        reply_deinit(&refused);
    }
    quota_ask(connect_as(ALICE), "GET", "/profile?pid=1000&seconds=0.1&format=json", &small);
    ck_assert_uint_eq(small.status, 200);
    for (int i = 0; i < 2000 && held_bytes() != one; i++) /* it is freed after its last byte */
        usleep(1000);
    ck_assert_uint_eq(held_bytes(), one);
    await_stalled();
    bob = -1;
    for (int i = 0; i < 500 && bob < 0; i++) { /* hers is cut once it has stalled for a while */
        _cleanup_reply_ struct reply his;
        int fd = ask_on(connect_as(BOB), "GET", "/profile?pid=1003&seconds=0.1&format=json", NULL);

        client_read(fd, /* head_only= */ true, &his);
        if (his.status == 200) {
            bob = fd;
            break;
        }
        client_read_body(fd, &his);
        close(fd);
        assert_problem(&his, 429, NULL, "too much memory is taken by answers");
        usleep(20000);
    }
    ck_assert_int_ge(bob, 0);
    serve_stats(serve, &stats);
    ck_assert_uint_eq(stats.evicted, 1);
    ck_assert_uint_ge(stats.quota_refused[QUOTA_ANSWERS], 3);
    quota_assert_root_and_health();
    quota_ask(client_connect_unix(socket_path), "GET", "/profile?pid=1003&seconds=0.1&format=json",
              &after);
    ck_assert_uint_eq(after.status, 200);
    close(alice);
    close(bob);
    for (int i = 0; i < 500 && held_bytes(); i++)
        usleep(10000);
    ck_assert_uint_eq(held_bytes(), 0);
    stop();
}
END_TEST

/* ---- captures ---- */

START_TEST(captures_of_one_caller_leave_room)
{
    struct serve_opts o = USUAL;
    _cleanup_reply_ struct reply tcp, alice, root, after;
    int fds[13];

    o.captures_max = 8;
    start_with(&o);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = ask_on(i < 8    ? client_connect_tcp(port)
                        : i < 12 ? connect_as(ALICE)
                                 : client_connect_unix(socket_path),
                        "GET", "/profile?pid=1000&seconds=20", NULL);
        ck_assert(fake_wait(&fake, &fake.started, (unsigned)i + 1, 5000));
        if (i == 7) {
            ask("GET", "/profile?pid=1000&seconds=0.1", NULL, &tcp);
            quota_assert_refused(&tcp, " over TCP, which is the limit");
            ck_assert_uint_ge(quota_retry_s(&tcp), 15); /* until a capture has ended */
            ck_assert_uint_le(quota_retry_s(&tcp), 21);
        }
    }
    quota_ask(connect_as(ALICE), "GET", "/profile?pid=1000&seconds=0.1", &alice);
    quota_assert_refused(&alice, "no more captures can run"); /* without the number of others */
    quota_ask(client_connect_unix(socket_path), "GET", "/profile?pid=1000&seconds=0.1", &root);
    quota_assert_refused(&root, "13 captures are running"); /* nine are kept for root */
    close(fds[12]);
    ck_assert(fake_wait(&fake, &fake.done, 1, 5000));
    quota_ask(client_connect_unix(socket_path), "GET", "/profile?pid=1000&seconds=0.1", &after);
    ck_assert_uint_eq(after.status, 200);
    for (size_t i = 0; i < 12; i++)
        close(fds[i]);
    stop();
}
END_TEST

START_TEST(the_backend_is_told_who_asks)
{
    struct serve_stats stats;
    struct caller c;
    unsigned tcp;

    tcp = quota_status(client_connect_tcp(port), "/profile?pid=1000&seconds=0.1");
    c = fake.last.caller;
    ck_assert_uint_eq(tcp, 200);
    ck_assert_int_eq(c.kind, CALLER_TCP_USER);
    ck_assert_uint_eq(quota_status(connect_from(0x7f010203), "/profile?pid=1000&seconds=0.1"), 200);
    ck_assert_msg(caller_equal(&c, &fake.last.caller), "all of loopback is one user's");
    ck_assert_uint_eq(quota_status(connect_as(ALICE), "/profile?pid=1000&seconds=0.1"), 200);
    ck_assert_int_eq(fake.last.caller.kind, CALLER_USER);
    ck_assert_uint_eq(fake.last.caller.uid, ALICE);
    ck_assert(!caller_is_root(&fake.last.caller));
    ck_assert_uint_eq(
        quota_status(client_connect_unix(socket_path), "/profile?pid=1000&seconds=0.1"), 200);
    ck_assert(caller_is_root(&fake.last.caller));
    ck_assert_uint_eq(quota_status(client_connect_tcp(port), "/profile?pid=429&seconds=0.1"), 429);
    serve_stats(serve, &stats);
    ck_assert_uint_eq(stats.quota_refused[QUOTA_CAPTURES], 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_quotas");
    TCase *served = tcase_create("served"), *own = tcase_create("own start");

    quota_need_root();
    tcase_add_checked_fixture(served, start_full, stop);
    tcase_set_timeout(served, 60);
    tcase_set_timeout(own, 60);
    tcase_add_test(served, streams_of_one_caller_lock_out_nobody);
    tcase_add_test(served, streams_of_a_user_are_that_users);
    tcase_add_test(own, a_caller_without_room_is_told_which);
    tcase_add_test(own, a_body_that_never_comes_keeps_no_place);
    tcase_add_test(own, answers_that_are_not_read_take_little_memory);
    tcase_add_test(own, captures_of_one_caller_leave_room);
    tcase_add_test(served, the_backend_is_told_who_asks);
    suite_add_tcase(s, served);
    suite_add_tcase(s, own);
    return run_suite(s);
}
