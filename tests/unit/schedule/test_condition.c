/* SPDX-License-Identifier: Apache-2.0 */
/* schedule/condition.h: valid values of `on` of a trigger, and when they hold. */
#include "schedule/condition.h"

#include "suite.h"

#include <math.h>

static const struct {
    const char *text;
    bool good;
    enum condition_kind kind;
    const char *signal;
    enum measure measure;
    double number;
    unsigned hold_s;
    double meets, misses; /* values of the measure */
} CASES[] = {
    { "signal", true, CONDITION_SIGNAL, "", 0, 0, 0, NAN, NAN },
    { "signal gc-pauses", true, CONDITION_SIGNAL, "gc-pauses", 0, 0, 0, NAN, NAN },
    { "signal for 1m", true, CONDITION_SIGNAL, "", 0, 0, 60, NAN, NAN },
    { "signal lock-contention for 30s", true, CONDITION_SIGNAL, "lock-contention", 0, 0, 30, NAN,
      NAN },
    { "cpu > 1.5", true, CONDITION_MEASURE, "", MEASURE_CPU, 1.5, 0, 1.6, 1.5 },
    { "gc_share >= 0.2 for 1m30s", true, CONDITION_MEASURE, "", MEASURE_GC_SHARE, 0.2, 90, 0.2,
      0.19 },
    { "rss_share < 0.1", true, CONDITION_MEASURE, "", MEASURE_RSS_SHARE, 0.1, 0, 0.05, 0.1 },
    { "alloc_rate <= 1e9", true, CONDITION_MEASURE, "", MEASURE_ALLOC_RATE, 1e9, 0, 1e9, 1.1e9 },
    { "  ttsp > 0.02  ", true, CONDITION_MEASURE, "", MEASURE_TTSP, 0.02, 0, 0.03, 0.02 },
    { "", false, 0, "", 0, 0, 0, NAN, NAN },
    { "signals", false, 0, "", 0, 0, 0, NAN, NAN },
    { "signal a-name-that-is-longer-than-any", false, 0, "", 0, 0, 0, NAN, NAN },
    { "signal gc-pauses now", false, 0, "", 0, 0, 0, NAN, NAN },
    { "cpu", false, 0, "", 0, 0, 0, NAN, NAN },
    { "cpu >", false, 0, "", 0, 0, 0, NAN, NAN },
    { "cpu > x", false, 0, "", 0, 0, 0, NAN, NAN },
    { "cpu > 1x", false, 0, "", 0, 0, 0, NAN, NAN },
    { "cpu > 0x10", false, 0, "", 0, 0, 0, NAN, NAN },
    { "cpu > nan", false, 0, "", 0, 0, 0, NAN, NAN },
    { "cpu > 1e999", false, 0, "", 0, 0, 0, NAN, NAN },
    { "cpu => 1", false, 0, "", 0, 0, 0, NAN, NAN },
    { "cpu == 1", false, 0, "", 0, 0, 0, NAN, NAN },
    { "cpu > 1 for", false, 0, "", 0, 0, 0, NAN, NAN },
    { "cpu > 1 for ever", false, 0, "", 0, 0, 0, NAN, NAN },
    { "cpu > 1 for 25h", false, 0, "", 0, 0, 0, NAN, NAN },
    { "load > 1", false, 0, "", 0, 0, 0, NAN, NAN },
};

START_TEST(reads_what_it_takes)
{
    struct condition c = { .kind = CONDITION_NONE };

    ck_assert_msg(condition_parse(span_of(CASES[_i].text), &c) == CASES[_i].good, "%s",
                  CASES[_i].text);
    if (!CASES[_i].good) {
        ck_assert_int_eq(c.kind, CONDITION_NONE);
        return;
    }
    ck_assert_int_eq(c.kind, CASES[_i].kind);
    ck_assert_str_eq(c.signal, CASES[_i].signal);
    ck_assert_str_eq(c.text, CASES[_i].text);
    ck_assert_uint_eq(c.hold_ns, CASES[_i].hold_s * NSEC_PER_SEC);
    if (c.kind == CONDITION_SIGNAL)
        return;
    ck_assert_int_eq(c.measure, CASES[_i].measure);
    ck_assert_double_eq(c.number, CASES[_i].number);
    ck_assert(condition_met(&c, CASES[_i].meets));
    ck_assert(!condition_met(&c, CASES[_i].misses));
    ck_assert(!condition_met(&c, NAN));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("condition");

    tcase_add_loop_test(tc, reads_what_it_takes, 0, ARRAY_SIZE(CASES));
    return suite_run_case("condition", tc);
}
