/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets over time for one caller of serve/: workers, attaches, the time of answers, and password
 * attempts. */
#include "quota_asks.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/serve_impl.h"
#include "steal_time.h"

#include <crypt.h>
#include <unistd.h>

/* This expression can match a name in so many ways that it takes milliseconds. It takes less than
 * the limit at which it is refused. */
#define EXPENSIVE                                                                                  \
    "/profile?pid=1001&seconds=0.1&format=collapsed&exclude=%5Ba-z.%5D*.*.*%5B0-9%5D%7B9%7D"

/* Each request holds a worker for as long as a regular expression may take. */
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
        ck_assert_uint_eq(quota_status(rounds % 3 == 0   ? client_connect_tcp(port)
                                       : rounds % 3 == 1 ? connect_as(BOB)
                                                         : client_connect_unix(socket_path),
                                       QUICK[rounds % 2]),
                          200);
        worst_ns = MAX(worst_ns, steal_took_ns(&machine));
        quota_assert_soon(client_connect_unix(socket_path), "/profile?pid=1000&from=-1s", 200);
        rounds++;
    }
    ck_assert_msg(worst_ns < QUOTA_SOON_NS, "the slowest of %d took %llu ms", rounds,
                  (unsigned long long)(worst_ns / NSEC_PER_MSEC));
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}
END_TEST

/* The engine does not handle one caller's requests. Workers remain for other callers. */
START_TEST(slow_requests_of_one_caller_hold_up_nobody)
{
    int fds[20];

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = ask_on(client_connect_tcp(port), "GET", "/profile?pid=7&seconds=5", NULL);
    usleep(200000);
    quota_assert_root_and_health();
    quota_assert_soon(connect_as(BOB), "/api/v1/jvms", 200);
    fake_release(&fake);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        close(fds[i]);
}
END_TEST

/* Starts a server with a rule that allows ALICE and BOB to attach, and with a token. */
static void start_attaching(void)
{
    struct access_rules *rules = calloc(1, sizeof(*rules));
    struct serve_opts o = USUAL;

    ck_assert_ptr_nonnull(rules);
    rules->count = 2;
    rules->rules[0] = (struct access_rule){
        .name = "alice", .user = "alice", .uid = ALICE, .role = ROLE_ATTACH, .own = false
    };
    rules->rules[1] = (struct access_rule){
        .name = "bob", .user = "bob", .uid = BOB, .role = ROLE_ATTACH, .own = true
    };
    o.access = rules;
    start_full_with(&o);
}

START_TEST(attaches_come_in_over_time)
{
    static const char ATTACH[] = "/profile?pid=1000&seconds=0.1&symbols=agent";
    _cleanup_reply_ struct reply refused = { 0 };

    for (size_t i = 0; i < QUOTA_ATTACHES_MAX; i++)
        ck_assert_uint_eq(quota_status(connect_as(ALICE), ATTACH), 200);
    for (int i = 0; i < 60; i++) { /* some budget came back during that time */
        reply_deinit(&refused);
        quota_ask(connect_as(ALICE), "GET", ATTACH, &refused);
        if (refused.status != 200)
            break;
    }
    quota_assert_refused(&refused, "has used up its attaches to JVMs, 12 a minute");
    ck_assert_uint_ge(quota_retry_s(&refused), 1);
    ck_assert_uint_le(quota_retry_s(&refused), 6);
    ck_assert_uint_eq(quota_status(connect_as(ALICE), "/profile?pid=1000&seconds=0.1"), 200);
    ck_assert_uint_eq(quota_status(connect_as(BOB), ATTACH), 200);
    ck_assert_uint_eq(quota_status(client_connect_unix(socket_path), ATTACH), 200);
}
END_TEST

/* Begins a capture on @fd, and closes @fd. */
static void begin_capture(int fd, struct reply *ret)
{
    ask_body_on(fd, "POST", "/api/v1/captures", "Content-Type: application/json\r\n",
                "{\"pid\":1000}");
    client_read(fd, /* head_only= */ false, ret);
    close(fd);
}

/* Begins captures until one is refused, with the reply *ret. Returns how many began. */
static size_t begin_captures(uid_t uid, struct reply *ret)
{
    for (size_t n = 0; n < 3 * QUOTA_BEGUN_MAX; n++) {
        begin_capture(connect_as(uid), ret);
        if (ret->status != 201)
            return n;
        reply_deinit(ret);
    }
    ck_abort_msg("captures begin without end");
    return 0;
}

static void assert_begins(int fd)
{
    _cleanup_reply_ struct reply r;

    begin_capture(fd, &r);
    ck_assert_uint_eq(r.status, 201);
}

START_TEST(captures_begin_over_time)
{
    static const char BRIEF[] = "/profile?pid=1000&seconds=0.1";
    _cleanup_reply_ struct reply refused = { 0 };
    uint64_t began_ns = clock_monotonic_ns();
    size_t begun = begin_captures(BOB, &refused);

    quota_assert_refused(&refused, "the captures that it may begin, 64 at once and one a second");
    ck_assert_uint_ge(begun, QUOTA_BEGUN_MAX);
    ck_assert_uint_le(begun,
                      QUOTA_BEGUN_MAX + 1 + (clock_monotonic_ns() - began_ns) / QUOTA_BEGUN_NS);
    ck_assert_uint_eq(quota_retry_s(&refused), 1);
    ck_assert_uint_eq(quota_status(connect_as(BOB), BRIEF), 429);
    ck_assert_uint_eq(quota_status(connect_as(BOB), "/api/v1/jvms"), 200); /* begins none */
    for (size_t i = 0; i < QUOTA_BEGUN_MAX; i++)                           /* ALICE sees all, */
        assert_begins(connect_as(ALICE));
    sleep(1);
    for (size_t i = 0; i < NSEC_PER_SEC / QUOTA_BEGUN_OF_ALL_NS; i++) /* and may scrape. */
        assert_begins(connect_as(ALICE));
    for (size_t i = 0; i < 2 * QUOTA_BEGUN_MAX; i++) /* may do anything */
        assert_begins(client_connect_unix(socket_path));
    ck_assert_uint_eq(quota_status(connect_as(BOB), BRIEF), 200);
}
END_TEST

START_TEST(the_time_of_answers_comes_in_over_time)
{
    struct caller alice = { .kind = CALLER_USER, .uid = ALICE };
    _cleanup_reply_ struct reply refused;

    pthread_mutex_lock(&serve->lock);
    quota_spend(serve, &alice, QUOTA_RENDER_NS - NSEC_PER_SEC);
    pthread_mutex_unlock(&serve->lock);
    ck_assert_uint_eq(quota_status(connect_as(ALICE), "/profile?pid=1000&seconds=0.1"), 200);
    pthread_mutex_lock(&serve->lock);
    quota_spend(serve, &alice, 10 * NSEC_PER_SEC);
    pthread_mutex_unlock(&serve->lock);
    quota_ask(connect_as(ALICE), "GET", "/profile?pid=1000&seconds=0.1", &refused);
    quota_assert_refused(&refused, "has used up the CPU time of its answers");
    ck_assert_uint_ge(quota_retry_s(&refused), 5);
    ck_assert_uint_le(quota_retry_s(&refused), 21);
    ck_assert_uint_eq(quota_status(connect_as(ALICE), "/api/v1/jvms"), 200); /* costs little */
    ck_assert_uint_eq(quota_status(connect_as(BOB), "/profile?pid=1000&seconds=0.1"), 200);
    ck_assert_uint_eq(
        quota_status(client_connect_unix(socket_path), "/profile?pid=1000&seconds=0.1"), 200);
}
END_TEST

/* What many do leaves budgets for others: the caller with the most left gives its place. */
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
    ck_assert_uint_eq(quota_status(connect_as(ALICE), "/profile?pid=1000&seconds=0.1"), 200);
    ck_assert_uint_eq(
        quota_status(client_connect_unix(socket_path), "/profile?pid=1000&seconds=0.1"), 200);
}
END_TEST

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

/* Sends AT_ONCE requests as ALICE at the same time. Returns how many get @status. */
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
    Suite *s = suite_create("serve_budgets");
    TCase *served = tcase_create("served"), *basic = tcase_create("basic"),
          *attaching = tcase_create("attaching");

    quota_need_root();
    tcase_add_checked_fixture(basic, start_basic, stop);
    tcase_set_timeout(basic, 120);
    tcase_add_test(basic, a_right_password_costs_no_attempt);
    tcase_add_test(basic, wrong_ones_at_once_have_the_same_limit);
    suite_add_tcase(s, basic);
    tcase_add_checked_fixture(served, start_full, stop);
    tcase_set_timeout(served, 60);
    tcase_add_test(served, regular_expressions_of_one_caller_hold_up_nobody);
    tcase_add_test(served, slow_requests_of_one_caller_hold_up_nobody);
    suite_add_tcase(s, served);
    tcase_add_checked_fixture(attaching, start_attaching, stop);
    tcase_set_timeout(attaching, 60);
    tcase_add_test(attaching, attaches_come_in_over_time);
    tcase_add_test(attaching, captures_begin_over_time);
    tcase_add_test(attaching, the_time_of_answers_comes_in_over_time);
    tcase_add_test(attaching, budgets_of_many);
    suite_add_tcase(s, attaching);
    return run_suite(s);
}
