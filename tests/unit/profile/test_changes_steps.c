/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of both sides of a comparison. */
#include "changes_made.h"

START_TEST(steps_of_both_sides)
{
    struct change_steps m;
    struct change_set s;

    ck_assert_int_eq(
        change_steps_of(100 * MINUTE_NS, 115 * MINUTE_NS, 200 * MINUTE_NS, 210 * MINUTE_NS, &m), 0);
    ck_assert_uint_eq(m.step_ns, MINUTE_NS);
    ck_assert_uint_eq(change_step(&m, 99 * MINUTE_NS), 25);
    ck_assert_uint_eq(change_step(&m, 100 * MINUTE_NS), 0);
    ck_assert_uint_eq(change_step(&m, 115 * MINUTE_NS), 25);
    ck_assert_uint_eq(change_step(&m, 200 * MINUTE_NS + 1), 15);
    ck_assert_uint_eq(change_step(&m, 210 * MINUTE_NS), 25);
    /* Minutes begin at whole minutes, like those of the history. Shorter steps begin where the
     * request does. */
    ck_assert_int_eq(change_steps_of(100 * MINUTE_NS + 7, 115 * MINUTE_NS + 7, 200 * MINUTE_NS + 9,
                                     210 * MINUTE_NS + 9, &m),
                     0);
    ck_assert(m.a_ns == 100 * MINUTE_NS && m.b_ns == 200 * MINUTE_NS && m.a == 15 && m.b == 10);
    ck_assert_int_eq(change_steps_of(7, 5 * MINUTE_NS, 5 * MINUTE_NS, 10 * MINUTE_NS, &m), 0);
    ck_assert(m.a_ns == 7);
    ck_assert_int_eq(change_steps_of(0, 5 * MINUTE_NS, 5 * MINUTE_NS, 10 * MINUTE_NS, &m), 0);
    ck_assert_uint_eq(m.a, 10); /* steps of 30 s */
    ck_assert_uint_eq(m.b, 10);
    ck_assert_int_eq(
        change_steps_of(0, 5 * MINUTE_NS, 5 * MINUTE_NS, 5 * MINUTE_NS + NSEC_PER_SEC, &m),
        -ENODATA);
    ck_assert_int_eq(change_steps_of(0, 5 * MINUTE_NS, 0, 999 * MINUTE_NS, &m), -EINVAL);
    m.b = 4;
    ck_assert_int_eq(change_set_init(&s, &m), -EINVAL);
}
END_TEST

/* Gives CPU time to the steps [@from, @to) of a set of an hour and ten minutes. Returns whether it
 * can be divided more finely. */
static bool narrows(size_t from, size_t to, struct change_steps *ret)
{
    struct change_steps m = {
        .a_ns = 0, .b_ns = 60 * MINUTE_NS, .step_ns = MINUTE_NS, .a = 60, .b = B
    };
    struct change_set s;
    bool is_finer, is_covered;

    ck_assert_int_eq(change_set_init(&s, &m), 0);
    for (size_t i = from; i < to; i++)
        s.whole[CHANGE_FUNCTION][i] = 1;
    is_finer = change_steps_narrow(&s, ret);
    is_covered = change_set_cover(&s) == CHANGE_COVER_RANKS;
    ck_assert(!(is_finer && is_covered));
    change_set_deinit(&s);
    return is_finer;
}

/* A service began two minutes before its release: these are divided, with as short steps after it.
 * A service with enough minutes stays, as does one without any before its release. */
START_TEST(few_minutes_are_divided)
{
    struct change_steps m;

    ck_assert(narrows(58, 70, &m));
    ck_assert(m.a_ns == 58 * MINUTE_NS && m.b_ns == 60 * MINUTE_NS);
    ck_assert(m.step_ns == 12 * NSEC_PER_SEC && m.a == 10 && m.b == 50);
    ck_assert(!narrows(60 - CHANGES_STEPS_MIN, 70, &m));
    ck_assert(narrows(60 - CHANGES_STEPS_MIN + 1, 70, &m));
    ck_assert(!narrows(60, 70, &m));
    ck_assert(!narrows(0, 60, &m));
    ck_assert(narrows(48, 61, &m)); /* released a minute ago */
    ck_assert(m.b == 10 && m.step_ns == 6 * NSEC_PER_SEC && m.a == RANK_MINUTES_MAX);
    ck_assert(!narrows(47, 61, &m)); /* too many steps */
}
END_TEST

/* When a service had samples. */
struct lived {
    struct change_set s;
    uint64_t from_ns, to_ns;
    size_t taken;
};

static int take(void *cookie, const struct change_steps *steps)
{
    struct lived *l = cookie;

    l->taken++;
    change_set_deinit(&l->s);
    ck_assert_int_eq(change_set_init(&l->s, steps), 0);
    for (uint64_t ns = l->from_ns; ns < l->to_ns; ns += NSEC_PER_SEC) {
        size_t step = change_step(steps, ns);

        if (step < steps->a + steps->b)
            l->s.whole[CHANGE_FUNCTION][step] = 1;
    }
    return 0;
}

/* A service lived for a minute before its release, which was some minutes ago. Its minute may begin
 * anywhere in a step. */
START_TEST(a_minute_suffices_at_any_time)
{
    for (uint64_t since_s = 60; since_s < 600; since_s += 7) {
        uint64_t at_ns = 100 * MINUTE_NS, since_ns = since_s * NSEC_PER_SEC;
        struct lived l = { .from_ns = at_ns - MINUTE_NS, .to_ns = at_ns + since_ns };
        struct change_steps m;

        ck_assert_int_eq(change_steps_of(at_ns - since_ns, at_ns, at_ns, at_ns + since_ns, &m), 0);
        ck_assert_int_eq(change_set_init(&l.s, &m), 0);
        take(&l, &m);
        ck_assert_int_eq(change_steps_fit(&l.s, take, &l), 0);
        ck_assert_msg(change_set_cover(&l.s) == CHANGE_COVER_RANKS, "%u s after",
                      (unsigned)since_s);
        ck_assert_uint_le(l.taken, 4);
        change_set_deinit(&l.s);
    }
}
END_TEST

/* Steps that cannot be narrowed enough are those of before. */
START_TEST(too_short_a_time_keeps_its_steps)
{
    uint64_t at_ns = 100 * MINUTE_NS, since_ns = 5 * MINUTE_NS;
    struct lived l = { .from_ns = at_ns - 35 * NSEC_PER_SEC, .to_ns = at_ns + since_ns };
    struct change_steps m;

    ck_assert_int_eq(change_steps_of(at_ns - since_ns, at_ns, at_ns, at_ns + since_ns, &m), 0);
    ck_assert_int_eq(change_set_init(&l.s, &m), 0);
    take(&l, &m);
    ck_assert_int_eq(change_steps_fit(&l.s, take, &l), 0);
    ck_assert(change_set_cover(&l.s) != CHANGE_COVER_RANKS);
    ck_assert_uint_eq(l.s.steps.step_ns, m.step_ns);
    change_set_deinit(&l.s);
}
END_TEST

/* Gives CPU time to the steps of @covered: 'x' has some, '|' is where b begins. */
static enum change_cover cover_of(const char *covered)
{
    const char *b = strchr(covered, '|') + 1;
    struct change_steps m = {
        .b_ns = 60 * MINUTE_NS, .step_ns = MINUTE_NS, .a = (size_t)(b - covered - 1), .b = strlen(b)
    };
    struct change_set s;
    enum change_cover cover;

    ck_assert_int_eq(change_set_init(&s, &m), 0);
    for (size_t i = 0; i < m.a + m.b; i++)
        s.whole[CHANGE_FUNCTION][i] = covered[i + (i >= m.a)] == 'x';
    cover = change_set_cover(&s);
    change_set_deinit(&s);
    return cover;
}

/* A few minutes just before a release suffice for a mean, unless the service worked only now and
 * then. After the release there have to be more. */
START_TEST(few_minutes_before)
{
    ck_assert_int_eq(cover_of("xxxxxxxxx|xxxxxxxxx"), CHANGE_COVER_RANKS);
    ck_assert_int_eq(cover_of("x.x.x.x.x.x.x.x.x|xxxxxxxxx"), CHANGE_COVER_RANKS);
    ck_assert_int_eq(cover_of(".......xxxxxxxx|xxxxxxxxx"), CHANGE_COVER_FEW);
    ck_assert_int_eq(cover_of("...........xxx|xxx.xxxx"), CHANGE_COVER_FEW);
    ck_assert_int_eq(cover_of("..........x|xxxxxxxxx"), CHANGE_COVER_FEW);
    ck_assert_int_eq(cover_of("..........x|xxxxxxxx"), CHANGE_COVER_NONE);
    ck_assert_int_eq(cover_of("......xx.x|xxxxxxxxx"), CHANGE_COVER_NONE);
    ck_assert_int_eq(cover_of("xxxxxxxx|xxxx."), CHANGE_COVER_NONE);
    ck_assert_int_eq(cover_of("......|xxxxxxxxxx"), CHANGE_COVER_NONE);
}
END_TEST

/* The history has samples at the begin of each minute only, before some @since_ns. */
static int take_kept(void *cookie, const struct change_steps *steps)
{
    struct lived *l = cookie;
    uint64_t length_ns = NSEC_PER_SEC;

    l->taken++;
    change_set_deinit(&l->s);
    ck_assert_int_eq(change_set_init(&l->s, steps), 0);
    for (uint64_t ns = l->from_ns; ns < l->to_ns; ns += length_ns) {
        size_t step = change_step(steps, ns);

        length_ns = ns < steps->b_ns ? MINUTE_NS : NSEC_PER_SEC;
        if (step < steps->a + steps->b)
            l->s.whole[CHANGE_FUNCTION][step] = 1;
    }
    return 0;
}

/* A service was released seven minutes ago, four minutes after flamed began, and the recorder does
 * not reach back so far: the minutes of the history are compared. */
START_TEST(minutes_of_the_history_fit)
{
    uint64_t at_ns = 100 * MINUTE_NS, since_ns = 7 * MINUTE_NS;
    struct lived l = { .from_ns = at_ns - 4 * MINUTE_NS, .to_ns = at_ns + since_ns };
    struct change_steps m;

    ck_assert_int_eq(change_steps_of(at_ns - since_ns, at_ns, at_ns, at_ns + since_ns, &m), 0);
    ck_assert_uint_lt(m.step_ns, MINUTE_NS);
    ck_assert_int_eq(change_set_init(&l.s, &m), 0);
    take_kept(&l, &m);
    ck_assert_int_eq(change_set_cover(&l.s), CHANGE_COVER_NONE);
    ck_assert_int_eq(change_steps_fit(&l.s, take_kept, &l), 0);
    ck_assert_int_eq(change_set_cover(&l.s), CHANGE_COVER_FEW);
    ck_assert(l.s.steps.step_ns == MINUTE_NS && l.s.steps.a == 7 && l.s.steps.b == 7);
    change_set_deinit(&l.s);
}
END_TEST

/* What b would have at the rate of a. Minutes without samples are no time. */
START_TEST(expects_as_many_as_before)
{
    struct change_steps m = {
        .a_ns = 0, .b_ns = A * MINUTE_NS, .step_ns = MINUTE_NS, .a = A, .b = 2 * A
    };
    struct change_set set;

    ck_assert_int_eq(change_set_init(&set, &m), 0);
    ck_assert_double_eq(change_set_expected(&set), 0);
    for (size_t i = 0; i < 3 * A; i++)
        set.whole[CHANGE_FUNCTION][i] = i % 2 || i >= A;
    set.samples[0] = 100;
    set.samples[1] = 7000;
    ck_assert_double_eq_tol(change_set_expected(&set), 400, 0.01); /* 5 and 20 minutes */
    change_set_deinit(&set);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("changes_steps");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, steps_of_both_sides);
    tcase_add_test(tc, few_minutes_are_divided);
    tcase_add_test(tc, a_minute_suffices_at_any_time);
    tcase_add_test(tc, too_short_a_time_keeps_its_steps);
    tcase_add_test(tc, few_minutes_before);
    tcase_add_test(tc, minutes_of_the_history_fit);
    tcase_add_test(tc, expects_as_many_as_before);
    return suite_run_case("changes_steps", tc);
}
