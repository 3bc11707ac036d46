/* SPDX-License-Identifier: Apache-2.0 */
/* minute_clock: a set clock, a sleep and the end of a JVM in the minutes of the history. */
#include "suite.h"

#include "engine/minute_clock.h"

#define S NSEC_PER_SEC
#define REAL (1790000000 / 60 * 60 * S) /* a full minute of the wall clock */

static struct minute_clock minutes;
static struct clock_times now;

static void begin(void)
{
    minutes = (struct minute_clock){ 0 };
    now = (struct clock_times){ .monotonic_ns = 1000 * S, .boot_ns = 5000 * S, .real_ns = REAL };
    minute_clock_begin(&minutes, &now);
}

static void run(uint64_t ns)
{
    now.monotonic_ns += ns;
    now.boot_ns += ns;
    now.real_ns += ns;
}

static void sleep_for(uint64_t ns)
{
    now.boot_ns += ns;
    now.real_ns += ns;
}

/* Ends the minute, checks its times since REAL, and begins the next one. */
static void check_end(uint64_t start_ns, uint64_t end_ns, int64_t jump_ns)
{
    uint64_t start, end;
    int64_t jump;

    ck_assert(minute_clock_is_over(&minutes, &now));
    minute_clock_end(&minutes, &now, &start, &end, &jump);
    ck_assert_uint_eq(start - REAL, start_ns);
    ck_assert_uint_eq(end - REAL, end_ns);
    ck_assert_int_eq(jump, jump_ns);
    minute_clock_begin(&minutes, &now);
}

START_TEST(minutes_follow_each_other)
{
    run(59 * S);
    ck_assert(!minute_clock_is_over(&minutes, &now));
    run(S);
    check_end(0, 60 * S, 0);
    run(60 * S);
    check_end(60 * S, 120 * S, 0);
}
END_TEST

START_TEST(a_set_clock_ends_a_minute)
{
    run(20 * S);
    now.real_ns += 3600 * S;
    check_end(3600 * S, 3620 * S, 3600 * (int64_t)S);
    run(10 * S);
    now.real_ns -= 1800 * S;
    check_end(1820 * S, 1830 * S, -1800 * (int64_t)S);
    now.real_ns += 3600 * S;
    ck_assert(!minute_clock_is_over(&minutes, &now)); /* it is set all the time */
    run(NSEC_PER_MSEC);
    ck_assert(minute_clock_is_over(&minutes, &now));
}
END_TEST

/* The samples before a sleep have their time, and the sleep is in no minute. The wall clock was not
 * set, unless it shows more than the sleep. */
START_TEST(a_sleep_is_no_set_clock)
{
    const int64_t set_ns = _i * 5 * (int64_t)S;

    run(20 * S);
    sleep_for(_i == 2 ? 3 * S : 7200 * S); /* the first is within the minute */
    now.real_ns += (uint64_t)set_ns;
    check_end((uint64_t)set_ns, 20 * S + (uint64_t)set_ns, set_ns);
    run(NSEC_PER_MSEC);
    ck_assert(!minute_clock_is_over(&minutes, &now));
}
END_TEST

/* The clocks are read one after the other. */
START_TEST(a_moment_between_the_clocks_is_no_sleep)
{
    run(20 * S);
    sleep_for(NSEC_PER_MSEC * 900);
    ck_assert(!minute_clock_is_over(&minutes, &now));
    now.boot_ns -= NSEC_PER_MSEC * 1000;
    ck_assert(!minute_clock_is_over(&minutes, &now));
}
END_TEST

/* A JVM ended in the first minute. Its end stays, though the clock is set and the system sleeps. */
START_TEST(an_end_stays_where_its_minute_is)
{
    const uint64_t ended_ns = 1030 * S;

    run(60 * S);
    check_end(0, 60 * S, 0);
    ck_assert_uint_eq(minute_clock_real_of(&minutes, ended_ns), REAL + 30 * S);
    now.real_ns += 3600 * S;
    run(60 * S);
    check_end(3660 * S, 3720 * S, 3600 * (int64_t)S);
    sleep_for(60 * S);
    run(10 * S);
    check_end(3720 * S, 3730 * S, 0);
    for (int i = 0; i < 75; i++) {
        run(60 * S);
        ck_assert(minute_clock_is_over(&minutes, &now));
        minute_clock_end(&minutes, &now, &(uint64_t){ 0 }, &(uint64_t){ 0 }, &(int64_t){ 0 });
        minute_clock_begin(&minutes, &now);
        ck_assert_uint_eq(minute_clock_real_of(&minutes, ended_ns), REAL + 30 * S);
        ck_assert_uint_eq(minute_clock_real_of(&minutes, 1090 * S), REAL + 3690 * S);
        ck_assert_uint_eq(minute_clock_real_of(&minutes, now.monotonic_ns), now.real_ns);
    }
    ck_assert_uint_eq(minute_clock_real_of(&minutes, 900 * S), REAL - 100 * S);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("minute_clock");

    tcase_add_checked_fixture(tc, begin, NULL);
    tcase_add_test(tc, minutes_follow_each_other);
    tcase_add_test(tc, a_set_clock_ends_a_minute);
    tcase_add_loop_test(tc, a_sleep_is_no_set_clock, 0, 3);
    tcase_add_test(tc, a_moment_between_the_clocks_is_no_sleep);
    tcase_add_test(tc, an_end_stays_where_its_minute_is);
    return suite_run_case("minute_clock", tc);
}
