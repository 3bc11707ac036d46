/* SPDX-License-Identifier: Apache-2.0 */
/* Captures in serve/: their limit, an engine that hangs, and the end of the service. */
#include "serve_fixture.h"
#include "steal_time.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <unistd.h>

START_TEST(captures_at_once_are_limited)
{
    _cleanup_reply_ struct reply refused, healthy, after;
    unsigned retry;
    int fds[4];

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = ask_on(client_connect_tcp(port), "GET", "/profile?pid=1000&seconds=1.5", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 4, 5000));
    ask("GET", "/profile?pid=1000&seconds=1", NULL, &refused);
    assert_problem(&refused, 429, NULL, "4 captures are running");
    retry = (unsigned)(header(&refused, "Retry-After")[0] - '0');
    ck_assert_uint_ge(retry, 1);
    ck_assert_uint_le(retry, 2);
    ask("GET", "/readyz", NULL, &healthy);
    ck_assert_uint_eq(healthy.status, 503);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        _cleanup_reply_ struct reply r;

        client_read(fds[i], /* head_only= */ false, &r);
        ck_assert_uint_eq(r.status, 200);
        close(fds[i]);
    }
    ask("GET", "/profile?pid=1000&seconds=0.1", NULL, &after);
    ck_assert_uint_eq(after.status, 200);
}
END_TEST

START_TEST(an_engine_that_hangs_hangs_no_client)
{
    struct steal_watch machine;
    uint64_t took_ns;
    _cleanup_reply_ struct reply r;

    steal_begin(&machine);
    ask("GET", "/profile?pid=6&seconds=0.5", NULL, &r);
    took_ns = steal_took_ns(&machine);
    assert_problem(&r, 503, NULL, "in time");
    ck_assert_uint_lt(took_ns, 5500 * NSEC_PER_MSEC);
    ck_assert_uint_eq(fake_get(&fake, &fake.ended_keep), 1);
    fake_release(&fake); /* the capture ends after all; no request waits for it */
    ck_assert(fake_wait(&fake, &fake.done, 1, 2000));
}
END_TEST

START_TEST(a_start_that_hangs_hangs_no_client)
{
    struct steal_watch machine;
    struct serve_stats stats;
    uint64_t took_ns;
    _cleanup_reply_ struct reply r;

    steal_begin(&machine);
    ask("GET", _i ? "/profile?pid=8&seconds=0.1" : "/profile?pid=7&seconds=0.1", NULL, &r);
    took_ns = steal_took_ns(&machine);
    assert_problem(&r, 503, NULL, "in time");
    ck_assert_uint_lt(took_ns, 5100 * NSEC_PER_MSEC);
    fake_release(&fake); /* a capture that begins this late is ended at once */
    ck_assert(fake_wait(&fake, &fake.checks, 1, 2000));
    if (_i == 0)
        ck_assert(fake_wait(&fake, &fake.done, 1, 2000));
    serve_stats(serve, &stats);
    for (int i = 0; i < 200 && stats.captures_now; i++) {
        usleep(10000);
        serve_stats(serve, &stats);
    }
    ck_assert_uint_eq(stats.captures_now, 0);
}
END_TEST

START_TEST(a_capture_that_begins_late_has_its_time)
{
    _cleanup_close_ int fd = -1;
    _cleanup_reply_ struct reply r;

    fd = ask_on(client_connect_tcp(port), "GET", "/profile?pid=9&seconds=1", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 1, 5000));
    usleep(3200000); /* longer than a capture that begins at once would take */
    fake_release(&fake);
    client_read(fd, /* head_only= */ false, &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_uint_eq(fake_get(&fake, &fake.ended_keep), 0);
}
END_TEST

START_TEST(stopping_answers_what_is_under_way)
{
    _cleanup_close_ int fd = -1;
    _cleanup_reply_ struct reply r;
    struct steal_watch machine;

    start();
    fd = client_connect_tcp(port);
    ask_on(fd, "GET", "/profile?pid=1000&seconds=600&format=collapsed", NULL);
    ck_assert(fake_wait(&fake, &fake.started, 1, 5000));
    steal_begin(&machine);
    stop();
    ck_assert_uint_lt(steal_took_ns(&machine), 3 * NSEC_PER_SEC);
    client_read(fd, /* head_only= */ false, &r);
    ck_assert_uint_eq(r.status, 200);
    ck_assert_ptr_nonnull(strstr(r.body.p, "leaf 1"));
}
END_TEST

START_TEST(starts_and_stops_with_nothing_to_do)
{
    for (int i = 0; i < 5; i++) {
        start();
        stop();
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("serve_captures");
    TCase *served = tcase_create("served"), *own = tcase_create("own start");

    tcase_add_checked_fixture(served, start, stop);
    tcase_set_timeout(served, 60);
    tcase_set_timeout(own, 60);
    tcase_add_test(served, captures_at_once_are_limited);
    tcase_add_test(served, an_engine_that_hangs_hangs_no_client);
    tcase_add_test(served, a_capture_that_begins_late_has_its_time);
    tcase_add_loop_test(served, a_start_that_hangs_hangs_no_client, 0, 2);
    tcase_add_test(own, stopping_answers_what_is_under_way);
    tcase_add_test(own, starts_and_stops_with_nothing_to_do);
    suite_add_tcase(s, served);
    suite_add_tcase(s, own);
    return run_suite(s);
}
