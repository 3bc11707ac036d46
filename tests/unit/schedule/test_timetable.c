/* SPDX-License-Identifier: Apache-2.0 */
/* The timetable of schedules, on the test's own clocks. */
#include "suite.h"

#include "schedule/timetable.h"

#define S NSEC_PER_SEC
#define MS NSEC_PER_MSEC
#define HOUR (3600 * S)

/* The clocks of a machine, which a test sets as it likes. */
static struct clocks at(uint64_t monotonic_ns, uint64_t real_ns)
{
    return (struct clocks){ monotonic_ns, real_ns };
}

static struct clocks later(struct clocks c, uint64_t ns)
{
    return (struct clocks){ c.monotonic_ns + ns, c.real_ns + ns };
}

#define BOOT (100 * S)
#define EPOCH (UINT64_C(1700000000) * S)

START_TEST(spreads_phases)
{
    unsigned buckets[10] = { 0 };
    char node[32];

    for (int i = 0; i < 1000; i++) {
        uint64_t phase;

        snprintf(node, sizeof(node), "node-%d", i);
        phase = timetable_phase(span_of(node), "checkout-cpu", 300 * S);
        ck_assert_uint_lt(phase, 300 * S);
        ck_assert_uint_eq(phase, timetable_phase(span_of(node), "checkout-cpu", 300 * S));
        buckets[phase / (30 * S)]++;
    }
    for (int i = 0; i < 10; i++) /* 100 in each; six standard deviations */
        ck_assert_msg(buckets[i] > 43 && buckets[i] < 157, "bucket %d: %u", i, buckets[i]);
    /* Schedules of one node also differ. Moving text from one name to the next changes the
     * result. */
    ck_assert_uint_ne(timetable_phase(SPAN("n"), "a", 300 * S),
                      timetable_phase(SPAN("n"), "b", 300 * S));
    ck_assert_uint_ne(timetable_phase(SPAN("na"), "b", 300 * S),
                      timetable_phase(SPAN("n"), "ab", 300 * S));
}
END_TEST

START_TEST(keeps_the_rhythm)
{
    struct clocks now = at(BOOT, EPOCH);
    struct slot s;
    uint64_t missed, runs = 0;

    slot_init(&s, 5 * S, 2 * S, 1234 * MS, now);
    for (int i = 0; i < 600; i++) { /* a minute, looking every 100 ms */
        if (slot_due(&s, now, &missed)) {
            ck_assert_uint_lt((now.real_ns - 1234 * MS) % (5 * S), 100 * MS);
            slot_started(&s, now);
            runs++;
        }
        ck_assert_uint_eq(missed, 0);
        ck_assert_uint_gt(s.next_ns, now.real_ns);
        ck_assert_uint_eq(slot_wake_ns(&s, now) - now.monotonic_ns, s.next_ns - now.real_ns);
        now = later(now, 100 * MS);
    }
    ck_assert_uint_eq(runs, 12);
}
END_TEST

START_TEST(a_restart_keeps_the_phase)
{
    struct slot before, after;

    slot_init(&before, 300 * S, 30 * S, 77 * S, at(BOOT, EPOCH));
    slot_init(&after, 300 * S, 30 * S, 77 * S, at(9 * S, EPOCH + 1000 * S)); /* a reboot */
    ck_assert_uint_eq((after.next_ns - before.next_ns) % (300 * S), 0);
    ck_assert_uint_ge(after.next_ns, EPOCH + 1000 * S);
    ck_assert_uint_lt(after.next_ns, EPOCH + 1300 * S);
}
END_TEST

START_TEST(counts_what_is_missed)
{
    struct clocks now = at(BOOT, EPOCH);
    struct slot s;
    uint64_t missed;

    slot_init(&s, 5 * S, 2 * S, 0, now); /* due at once: EPOCH is a multiple of 5 s */
    ck_assert(slot_due(&s, now, &missed));
    slot_started(&s, now);
    now = later(now, 5 * S + 900 * MS); /* late, but within the allowed time */
    ck_assert(slot_due(&s, now, &missed));
    ck_assert_uint_eq(missed, 0);
    slot_started(&s, now);
    now = later(now, 17 * S); /* 22.9 s: 10, 15 and 20 have passed */
    ck_assert(!slot_due(&s, now, &missed));
    ck_assert_uint_eq(missed, 3);
    ck_assert_uint_eq(s.next_ns, EPOCH + 25 * S);
    now = later(now, 12 * S + 300 * MS); /* 35.2 s: 25 and 30 have passed, 35 can begin */
    ck_assert(slot_due(&s, now, &missed));
    ck_assert_uint_eq(missed, 2);
    slot_started(&s, now);
    ck_assert_uint_eq(s.next_ns, EPOCH + 40 * S);
}
END_TEST

START_TEST(tries_again_until_it_is_too_late)
{
    struct clocks now = at(BOOT, EPOCH);
    struct slot s;
    uint64_t missed;
    int tries = 0;

    slot_init(&s, 5 * S, 2 * S, 0, now);
    for (int i = 0; i < 200; i++) { /* looking every 10 ms, for 2 s */
        if (slot_due(&s, now, &missed)) {
            tries++;
            slot_retry(&s, now);
            ck_assert_uint_eq(slot_wake_ns(&s, now), now.monotonic_ns + 100 * MS);
        }
        ck_assert_uint_eq(missed, i == 101);
        now = later(now, 10 * MS);
    }
    ck_assert_int_eq(tries, 11);
    ck_assert_uint_eq(s.next_ns, EPOCH + 5 * S);
    now = later(now, 3 * S);
    ck_assert(slot_due(&s, now, &missed)); /* the next run is not delayed */
    slot_skip(&s);
    ck_assert_uint_eq(s.next_ns, EPOCH + 10 * S);
}
END_TEST

/* The wall clock is set while the machine runs. Expected: the distance of the next run from the
 * last one, on the monotonic clock. */
static const struct {
    int64_t jump_s;
    const char *what;
} JUMPS[] = {
    { 3600, "an hour on" },
    { -3600, "an hour back" },
    { 2, "2 s on" },
    { -2, "2 s back" },
    { 9, "9 s on" },
    { -9, "9 s back" },
    { 86400 * 365, "a year on" },
    { -1699999000, "to 1970" },
};

START_TEST(a_clock_that_jumps_neither_stops_nor_floods)
{
    struct clocks now = at(BOOT, EPOCH), last;
    struct slot s;
    uint64_t missed, gap, gaps = 0;

    slot_init(&s, 10 * S, 2 * S, 3 * S, now);
    while (!slot_due(&s, now, &missed))
        now = later(now, 100 * MS);
    slot_started(&s, now);
    last = now;
    now = later(now, 1 * S);
    now.real_ns += (uint64_t)(JUMPS[_i].jump_s * (int64_t)S);
    for (int i = 0; i < 1000; i++, now = later(now, 100 * MS)) {
        bool due = slot_due(&s, now, &missed);

        ck_assert_msg(missed == 0, "%s", JUMPS[_i].what);
        if (!due)
            continue;
        gap = now.monotonic_ns - last.monotonic_ns;
        ck_assert_msg(gap >= 5 * S && gap <= 20 * S, "%s: %ju ms", JUMPS[_i].what,
                      (uintmax_t)(gap / MS));
        if (gaps++) /* the rhythm continues on the new time */
            ck_assert_uint_eq(gap, 10 * S);
        ck_assert_uint_lt((now.real_ns - 3 * S) % (10 * S), 100 * MS);
        slot_started(&s, now);
        last = now;
    }
    ck_assert_uint_ge(gaps, 9);
}
END_TEST

START_TEST(follows_a_clock_that_is_slewed)
{
    struct clocks now = at(BOOT, EPOCH);
    struct slot s;
    uint64_t missed, runs = 0;

    slot_init(&s, 5 * S, 2 * S, 0, now);
    for (int i = 0; i < 36000; i++) { /* an hour, the wall clock 500 ppm too fast: 1.8 s in all */
        if (slot_due(&s, now, &missed)) {
            ck_assert_uint_lt(now.real_ns % (5 * S), 101 * MS);
            slot_started(&s, now);
            runs++;
        }
        ck_assert_uint_eq(missed, 0);
        now.monotonic_ns += 100 * MS;
        now.real_ns += 100 * MS + 50 * NSEC_PER_USEC;
    }
    ck_assert_uint_eq(runs, 721);
}
END_TEST

START_TEST(a_sleep_is_no_miss)
{
    struct clocks now = at(BOOT, EPOCH);
    struct slot s;
    uint64_t missed;

    slot_init(&s, 60 * S, 2 * S, 0, now);
    now.real_ns += 8 * HOUR; /* suspended: the monotonic clock stopped */
    slot_due(&s, now, &missed);
    ck_assert_uint_eq(missed, 0);
    ck_assert_uint_le(s.next_ns - now.real_ns, 60 * S);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("timetable");

    tcase_add_test(tc, spreads_phases);
    tcase_add_test(tc, keeps_the_rhythm);
    tcase_add_test(tc, a_restart_keeps_the_phase);
    tcase_add_test(tc, counts_what_is_missed);
    tcase_add_test(tc, tries_again_until_it_is_too_late);
    tcase_add_loop_test(tc, a_clock_that_jumps_neither_stops_nor_floods, 0, ARRAY_SIZE(JUMPS));
    tcase_add_test(tc, follows_a_clock_that_is_slewed);
    tcase_add_test(tc, a_sleep_is_no_miss);
    return suite_run_case("timetable", tc);
}
