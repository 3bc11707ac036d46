/* SPDX-License-Identifier: Apache-2.0 */
/* What one caller of serve/ may have at once, and that it locks nobody else out. */
#include "serve_fixture.h"
#include "steal_time.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/serve_impl.h"

#include <arpa/inet.h>
#include <crypt.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#define ALICE 64111u
#define BOB 64112u
/* Sanitized, beside other tests; jvm_lockout wants 200 ms. */
#define SOON_NS NSEC_PER_SEC
#define STREAM "/api/v1/captures/" FAKE_ID "/stream"

/* A name can be cut by it in so many ways that it costs milliseconds, just not so many that it is
 * refused. */
#define EXPENSIVE                                                                                  \
    "/profile?pid=1001&seconds=0.1&format=collapsed&exclude=%5Ba-z.%5D*.*.*%5B0-9%5D%7B9%7D"

/* A connection from another loopback address, of which anybody has as many as he likes. */
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

/* Asks on @fd, which is closed then. */
static void ask_closing(int fd, const char *method, const char *target, struct reply *ret)
{
    ask_on(fd, method, target, NULL);
    client_read(fd, /* head_only= */ false, ret);
    close(fd);
}

static unsigned status_on(int fd, const char *target)
{
    _cleanup_reply_ struct reply r;

    ask_closing(fd, "GET", target, &r);
    return r.status;
}

/* @target on @fd is answered at once with @status. */
static void assert_soon(int fd, const char *target, unsigned status)
{
    struct steal_watch machine;
    unsigned got;

    steal_begin(&machine);
    got = status_on(fd, target);
    ck_assert_uint_lt(steal_took_ns(&machine), SOON_NS);
    ck_assert_msg(got == status, "%s: %u", target, got);
}

/* Health of everybody, and everything of root, whatever others have taken. */
static void assert_root_and_health(void)
{
    assert_soon(client_connect_tcp(port), "/healthz", 200);
    assert_soon(client_connect_tcp(port), "/readyz", 503); /* as the fake says */
    assert_soon(client_connect_tcp(port), "/metrics", 200);
    assert_soon(client_connect_unix(socket_path), "/healthz", 200);
    assert_soon(client_connect_unix(socket_path), "/api/v1/jvms", 200);
    assert_soon(client_connect_unix(socket_path), "/api/v1/jvms/1000", 200);
}

/* Of the header Retry-After; 0: there is none. */
static uint64_t retry_s(const struct reply *r)
{
    uint64_t seconds = 0;

    span_parse_dec(span_of(header(r, "Retry-After")), &seconds);
    return seconds;
}

static void assert_quota(const struct reply *r, const char *contains)
{
    assert_problem(r, 429, NULL, contains);
    ck_assert_uint_ge(retry_s(r), 1);
}

static void need_root(void)
{
    if (geteuid() != 0)
        exit(77);
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
    assert_quota(&refused, " over TCP has 32 streams");
    assert_root_and_health();
    ck_assert_uint_eq(status_on(client_connect_tcp(port), "/api/v1/jvms"), 200);
    ck_assert_uint_eq(status_on(connect_as(BOB), "/api/v1/jvms"), 200);
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
    await_streams(32); /* one more would be a stream that never ends */
    ask_closing(connect_as(ALICE), "GET", STREAM, &refused);
    assert_quota(&refused, "user 64111 has 32 streams");
    ask_on(of_bob, "GET", "/top?pid=1000&interval=500ms", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 1, 5000));
    assert_root_and_health();
    ask_closing(connect_as(BOB), "GET", "/api/v1/jvms", &bob);
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

/* Waits until an answer stands still since its client does not read. */
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

/* Every connection that a caller may have has a request under way, which nobody may cut off. */
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
    assert_quota(&refused, " over TCP has 7 requests that wait");
    reply_deinit(&refused);
    await_connections(7);

    fds[7] = client_connect_tcp(port);
    setsockopt(fds[7], SOL_SOCKET, SO_RCVBUF, &few_bytes, sizeof(few_bytes));
    for (size_t k = 0; k < 200; k++) /* of which it reads nothing */
        client_send(fds[7], DOCUMENT, sizeof(DOCUMENT) - 1);
    await_stalled();
    ask("GET", "/api/v1/jvms", NULL, &refused);
    assert_quota(&refused, " over TCP has 8 connections");
    ck_assert_str_eq(header(&refused, "Connection"), "close");
    assert_root_and_health();
    ck_assert_uint_eq(status_on(connect_as(BOB), "/api/v1/jvms"), 200);
    /* Guests that stay make room for newer ones. */
    for (size_t i = 0; i < ARRAY_SIZE(guests); i++)
        guests[i] = client_connect_tcp(port);
    assert_root_and_health();
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
            assert_quota(&tcp, " over TCP, which is the limit");
            ck_assert_uint_ge(retry_s(&tcp), 15); /* until one has ended */
            ck_assert_uint_le(retry_s(&tcp), 21);
        }
    }
    ask_closing(connect_as(ALICE), "GET", "/profile?pid=1000&seconds=0.1", &alice);
    assert_quota(&alice, "no more captures can run"); /* how many others have is not hers */
    ask_closing(client_connect_unix(socket_path), "GET", "/profile?pid=1000&seconds=0.1", &root);
    assert_quota(&root, "13 captures are running"); /* nine are all that root is kept here */
    close(fds[12]);
    ck_assert(fake_wait(&fake, &fake.done, 1, 5000));
    ask_closing(client_connect_unix(socket_path), "GET", "/profile?pid=1000&seconds=0.1", &after);
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

    tcp = status_on(client_connect_tcp(port), "/profile?pid=1000&seconds=0.1");
    c = fake.last.caller;
    ck_assert_uint_eq(tcp, 200);
    ck_assert_int_eq(c.kind, CALLER_TCP_USER);
    ck_assert_uint_eq(status_on(connect_from(0x7f010203), "/profile?pid=1000&seconds=0.1"), 200);
    ck_assert_msg(caller_equal(&c, &fake.last.caller), "all of loopback is one user's");
    ck_assert_uint_eq(status_on(connect_as(ALICE), "/profile?pid=1000&seconds=0.1"), 200);
    ck_assert_int_eq(fake.last.caller.kind, CALLER_USER);
    ck_assert_uint_eq(fake.last.caller.uid, ALICE);
    ck_assert(!caller_is_root(&fake.last.caller));
    ck_assert_uint_eq(status_on(client_connect_unix(socket_path), "/profile?pid=1000&seconds=0.1"),
                      200);
    ck_assert(caller_is_root(&fake.last.caller));
    ck_assert_uint_eq(status_on(client_connect_tcp(port), "/profile?pid=429&seconds=0.1"), 429);
    serve_stats(serve, &stats);
    ck_assert_uint_eq(stats.quota_refused[QUOTA_CAPTURES], 1);
}
END_TEST

/* ---- workers ---- */

/* Each holds a worker for as long as a regular expression may take. */
START_TEST(regular_expressions_of_one_caller_hold_up_nobody)
{
    struct steal_watch machine;
    uint64_t begun_ns = clock_monotonic_ns(), worst_ns = 0;
    int fds[16], rounds = 0;

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = ask_on(client_connect_tcp(port), "GET", EXPENSIVE, NULL);
    ck_assert(fake_wait(&fake, &fake.done, 4, 40000));
    usleep(100000); /* rendering has begun */
    while (clock_monotonic_ns() - begun_ns < 4 * NSEC_PER_SEC) {
        static const char *const QUICK[] = { "/api/v1/jvms", "/api/v1/events" };

        steal_begin(&machine);
        ck_assert_uint_eq(status_on(rounds % 3 == 0   ? client_connect_tcp(port)
                                    : rounds % 3 == 1 ? connect_as(BOB)
                                                      : client_connect_unix(socket_path),
                                    QUICK[rounds % 2]),
                          200);
        worst_ns = MAX(worst_ns, steal_took_ns(&machine));
        assert_soon(client_connect_unix(socket_path), "/profile?pid=1000&from=-1s", 200);
        rounds++;
    }
    ck_assert_msg(worst_ns < SOON_NS, "the slowest of %d took %llu ms", rounds,
                  (unsigned long long)(worst_ns / NSEC_PER_MSEC));
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}
END_TEST

/* An engine that does not come to what one caller asks of it has workers left for others. */
START_TEST(slow_requests_of_one_caller_hold_up_nobody)
{
    int fds[20];

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = ask_on(client_connect_tcp(port), "GET", "/profile?pid=7&seconds=5", NULL);
    usleep(200000);
    assert_root_and_health();
    assert_soon(connect_as(BOB), "/api/v1/jvms", 200);
    fake_release(&fake);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}
END_TEST

/* With a rule by which ALICE and BOB may attach, and a token. */
static void start_attaching(void)
{
    struct access_rules *rules = calloc(1, sizeof(*rules));
    struct serve_opts o = USUAL;

    ck_assert_ptr_nonnull(rules);
    rules->count = 2;
    rules->rules[0] = (struct access_rule){
        .name = "alice", .user = "alice", .uid = ALICE, .role = ROLE_ATTACH, .own = true
    };
    rules->rules[1] = (struct access_rule){
        .name = "bob", .user = "bob", .uid = BOB, .role = ROLE_ATTACH, .own = true
    };
    o.access = rules;
    start_with(&o);
}

START_TEST(attaches_come_in_over_time)
{
    static const char ATTACH[] = "/profile?pid=1000&seconds=0.1&symbols=agent";
    _cleanup_reply_ struct reply refused = { 0 };

    for (size_t i = 0; i < QUOTA_ATTACHES_MAX; i++)
        ck_assert_uint_eq(status_on(connect_as(ALICE), ATTACH), 200);
    for (int i = 0; i < 60; i++) { /* some came in meanwhile */
        reply_deinit(&refused);
        ask_closing(connect_as(ALICE), "GET", ATTACH, &refused);
        if (refused.status != 200)
            break;
    }
    assert_quota(&refused, "has used up its attaches to JVMs, 12 a minute");
    ck_assert_uint_ge(retry_s(&refused), 1);
    ck_assert_uint_le(retry_s(&refused), 6);
    ck_assert_uint_eq(status_on(connect_as(ALICE), "/profile?pid=1000&seconds=0.1"), 200);
    ck_assert_uint_eq(status_on(connect_as(BOB), ATTACH), 200);
    ck_assert_uint_eq(status_on(client_connect_unix(socket_path), ATTACH), 200);
}
END_TEST

START_TEST(the_time_of_answers_comes_in_over_time)
{
    struct caller alice = { .kind = CALLER_USER, .uid = ALICE };
    _cleanup_reply_ struct reply refused;

    pthread_mutex_lock(&serve->lock);
    quota_spend(serve, &alice, QUOTA_RENDER_NS - NSEC_PER_SEC);
    pthread_mutex_unlock(&serve->lock);
    ck_assert_uint_eq(status_on(connect_as(ALICE), "/profile?pid=1000&seconds=0.1"), 200);
    pthread_mutex_lock(&serve->lock);
    quota_spend(serve, &alice, 10 * NSEC_PER_SEC);
    pthread_mutex_unlock(&serve->lock);
    ask_closing(connect_as(ALICE), "GET", "/profile?pid=1000&seconds=0.1", &refused);
    assert_quota(&refused, "has used up the CPU time of its answers");
    ck_assert_uint_ge(retry_s(&refused), 5);
    ck_assert_uint_le(retry_s(&refused), 21);
    ck_assert_uint_eq(status_on(connect_as(ALICE), "/api/v1/jvms"), 200); /* costs little */
    ck_assert_uint_eq(status_on(connect_as(BOB), "/profile?pid=1000&seconds=0.1"), 200);
    ck_assert_uint_eq(status_on(client_connect_unix(socket_path), "/profile?pid=1000&seconds=0.1"),
                      200);
}
END_TEST

/* What many do leaves budgets for others: a caller that has used nothing needs no place. */
START_TEST(budgets_of_many)
{
    struct caller c = { .kind = CALLER_USER };

    pthread_mutex_lock(&serve->lock);
    for (c.uid = 1; c.uid <= 4 * QUOTA_BUDGETS_MAX; c.uid++)
        quota_spend(serve, &c, 1);
    usleep(1000);
    for (c.uid = 1; c.uid <= QUOTA_BUDGETS_MAX; c.uid++)
        quota_spend(serve, &c, QUOTA_RENDER_NS);
    pthread_mutex_unlock(&serve->lock);
    ck_assert_uint_eq(status_on(connect_as(ALICE), "/profile?pid=1000&seconds=0.1"), 429);
    ck_assert_uint_eq(status_on(client_connect_unix(socket_path), "/profile?pid=1000&seconds=0.1"),
                      200);
}
END_TEST

/* ---- passwords ---- */

#define AT_ONCE 16
#define RIGHT "Authorization: Basic YWxpY2U6c2VzYW1l\r\n" /* alice:sesame */
#define WRONG "Authorization: Basic YWxpY2U6c2VzYW0=\r\n" /* alice:sesam */

/* With one that takes some 10 ms to check. */
static void start_basic(void)
{
    struct access_rules *rules = calloc(1, sizeof(*rules));
    char salt[64];

    ck_assert_ptr_nonnull(rules);
    rules->count = 1;
    rules->rules[0] = (struct access_rule){
        .name = "a", .by = ACCESS_BY_BASIC, .shown = "alice", .role = ROLE_MANAGE
    };
    ck_assert_ptr_nonnull(crypt_gensalt_rn("$2b$", 8, "0123456789abcdef", 16, salt, sizeof(salt)));
    span_copy(span_of(crypt("sesame", salt)), rules->rules[0].bcrypt,
              sizeof(rules->rules[0].bcrypt));
    start_full();
    serve_set_access(serve, rules);
}

/* Asks AT_ONCE times at the same time as ALICE. How many have the status @status. */
static size_t count_at_once(const char *headers, unsigned status)
{
    size_t n = 0;
    int fds[AT_ONCE];

    for (size_t i = 0; i < AT_ONCE; i++)
        fds[i] = connect_as(ALICE);
    for (size_t i = 0; i < AT_ONCE; i++)
        ask_on(fds[i], "GET", "/openapi.json", headers);
    for (size_t i = 0; i < AT_ONCE; i++) {
        _cleanup_reply_ struct reply r;

        client_read(fds[i], /* head_only= */ false, &r);
        n += r.status == status;
        close(fds[i]);
    }
    return n;
}

START_TEST(a_right_password_costs_no_attempt)
{
    ck_assert_uint_eq(count_at_once(RIGHT, 200), AT_ONCE);
    ck_assert_uint_eq(count_at_once(RIGHT, 200), AT_ONCE);
}
END_TEST

START_TEST(wrong_ones_at_once_have_the_same_limit)
{
    struct serve_stats stats;
    size_t wrong = count_at_once(WRONG, 401);

    ck_assert_uint_ge(wrong, ATTEMPTS_AT_ONCE);
    ck_assert_uint_le(wrong, ATTEMPTS_AT_ONCE + 1); /* 6 s may have passed */
    serve_stats(serve, &stats);
    ck_assert_uint_eq(stats.quota_refused[QUOTA_ATTEMPTS], AT_ONCE - wrong);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_quotas");
    TCase *served = tcase_create("served"), *own = tcase_create("own start"),
          *basic = tcase_create("basic"), *attaching = tcase_create("attaching");

    need_root();
    tcase_add_checked_fixture(served, start_full, stop);
    tcase_set_timeout(served, 60);
    tcase_set_timeout(own, 60);
    tcase_add_checked_fixture(basic, start_basic, stop);
    tcase_set_timeout(basic, 120);
    tcase_add_test(basic, a_right_password_costs_no_attempt);
    tcase_add_test(basic, wrong_ones_at_once_have_the_same_limit);
    suite_add_tcase(s, basic);
    tcase_add_test(served, streams_of_one_caller_lock_out_nobody);
    tcase_add_test(served, streams_of_a_user_are_that_users);
    tcase_add_test(own, a_caller_without_room_is_told_which);
    tcase_add_test(own, captures_of_one_caller_leave_room);
    tcase_add_test(served, the_backend_is_told_who_asks);
    tcase_add_test(served, regular_expressions_of_one_caller_hold_up_nobody);
    tcase_add_test(served, slow_requests_of_one_caller_hold_up_nobody);
    suite_add_tcase(s, served);
    tcase_add_checked_fixture(attaching, start_attaching, stop);
    tcase_set_timeout(attaching, 60);
    tcase_add_test(attaching, attaches_come_in_over_time);
    tcase_add_test(attaching, the_time_of_answers_comes_in_over_time);
    tcase_add_test(attaching, budgets_of_many);
    suite_add_tcase(s, own);
    suite_add_tcase(s, attaching);
    return run_suite(s);
}
