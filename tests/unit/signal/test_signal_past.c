/* SPDX-License-Identifier: Apache-2.0 */
/* Signals stay for an hour after they went off. */
#include "signal_faults.h"

#define S NSEC_PER_SEC

static struct signal_state state;
static struct signal_past *past;
static uint64_t now_ns;

/* Has a finding every 10 s, for @seconds. */
static void go(double strength, unsigned severity, const char *sentence, unsigned seconds)
{
    struct rule_finding f = { .strength = strength, .severity = severity };

    rule_say(&f, "%s", sentence);
    for (unsigned i = 0; i < seconds; i += STEP_S) {
        now_ns += STEP_S * S;
        signal_state_note(&state, rule_of(RULE_HEAP_GROWING), &f, now_ns);
        signal_past_note(&past, &state, now_ns);
    }
}

static void setup(void)
{
    state = (struct signal_state){ .on = false };
    now_ns = 1000 * S;
}

static void teardown(void)
{
    free(TAKE_PTR(past));
}

START_TEST(keeps_the_most_severe_moment)
{
    go(1.2, 2, "half full", 60);
    go(1.5, 3, "nearly full", 10);
    go(1.5, 3, "nearly full, too", 10);
    go(1.1, 3, "less full", 10);
    go(1.9, 2, "half full again", 10);
    ck_assert(state.on);
    ck_assert_ptr_nonnull(past);
    ck_assert_uint_eq(past->until_ns, 0);
    go(0.1, 1, "well", 40);
    ck_assert(!state.on);
    ck_assert_uint_eq(past->since_ns, 1010 * S);
    ck_assert_uint_eq(past->until_ns, now_ns);
    ck_assert_uint_eq(past->worst_ns, 1080 * S);
    ck_assert_uint_eq(past->worst.severity, 3);
    ck_assert_str_eq(past->worst.sentence, "nearly full, too");
    ck_assert_uint_eq(past->times, 1);
}
END_TEST

START_TEST(is_kept_for_an_hour)
{
    go(1.2, 2, "full", 60);
    go(0.1, 1, "well", 40 + 3590);
    ck_assert_ptr_nonnull(past);
    go(0.1, 1, "well", 10);
    ck_assert_ptr_null(past);
}
END_TEST

START_TEST(comes_back_as_one)
{
    for (unsigned i = 0; i < 3; i++) {
        go(1.2, 2, i == 1 ? "second" : "full", i == 1 ? 60 : 40);
        go(0.1, 1, "well", 1000);
    }
    ck_assert_uint_eq(past->times, 3);
    ck_assert_uint_eq(past->since_ns, 1010 * S);
    go(1.2, 1, "again", 10);
    ck_assert_uint_eq(past->until_ns, 0); /* it is on, not past */
    go(0.1, 1, "well", 40);
    ck_assert_uint_eq(past->times, 4);
    ck_assert_uint_eq(past->until_ns, now_ns);
    ck_assert_uint_eq(past->worst.severity, 2);
}
END_TEST

/* The worst moment of a signal is of the last hour, also if it was worse before. */
START_TEST(shows_nothing_older)
{
    go(1.2, 3, "very full", 60);
    go(0.1, 1, "well", 1000);
    for (unsigned i = 0; i < 3; i++) {
        go(1.2, 2, "full", 600);
        go(0.1, 1, "well", 1000);
    }
    ck_assert_str_eq(past->worst.sentence, "full"); /* the older one is forgotten */
    ck_assert_uint_eq(past->worst.severity, 2);
    ck_assert_uint_gt(past->since_ns, 1010 * S);
    ck_assert_uint_lt(past->times, 4);
    go(1.2, 3, "very full", 60);
    go(1.2, 1, "half full", 3600 + STEP_S); /* without an end */
    ck_assert_str_eq(past->worst.sentence, "half full");
    ck_assert_uint_eq(past->worst.severity, 1);
}
END_TEST

START_TEST(flickers_are_not_kept)
{
    go(1.2, 2, "full", 20);
    ck_assert(state.on);
    go(0.1, 1, "well", 40);
    ck_assert(!state.on);
    ck_assert_ptr_null(past);
    go(1.2, 2, "full", 20);
    signal_past_end(past, now_ns); /* but of a JVM that ended */
    ck_assert_uint_eq(past->until_ns, now_ns);
}
END_TEST

static void fills(struct making *m)
{
    m->r.v[NUMBER_HEAP_MAX_BYTES] = m->r.v[NUMBER_HEAP_BYTES] * 1.04;
}

/* A heap that was full, of a JVM that is well. */
START_TEST(a_jvm_has_its_past)
{
    struct process p = { .pins = 0 };
    struct watched w;
    struct making m;

    for (begin(&m, &w, &p); m.s < END_S + RELEASED_S;)
        go_on(&w, &m, fills);
    check_only(&w, NULL, m.s);
    for (size_t i = 0; i < RULES; i++)
        ck_assert((w.past[i] != NULL) == (i == RULE_HEAP_FULL));
    ck_assert_uint_eq(w.past[RULE_HEAP_FULL]->worst.severity, 2);
    ck_assert_ptr_nonnull(strstr(w.past[RULE_HEAP_FULL]->worst.sentence, "of the heap's"));
    finish(&w);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("signal_past");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, keeps_the_most_severe_moment);
    tcase_add_test(tc, is_kept_for_an_hour);
    tcase_add_test(tc, comes_back_as_one);
    tcase_add_test(tc, shows_nothing_older);
    tcase_add_test(tc, flickers_are_not_kept);
    tcase_add_test(tc, a_jvm_has_its_past);
    return suite_run_case("signal_past", tc);
}
