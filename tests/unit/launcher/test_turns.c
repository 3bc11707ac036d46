/* SPDX-License-Identifier: Apache-2.0 */
/* launcher/turns: which owner attaches next. Times in seconds. */
#include "suite.h"

#include "base/macros.h"
#include "launcher/turns.h"

#include <errno.h>

#define S(n) ((n)*UINT64_C(1000000000))
#define PLACES 4

/* since_ns in seconds. */
static const struct {
    struct turn turns[PLACES];
    uint64_t owner, now_s;
    int r;
    size_t place; /* if r is 0 */
} CASES[] = {
    /* all slots are free */
    { { { 0 } }, 1, 100, 0, 3 },
    /* one owner gets half of the slots at most, however long it waits */
    { { { 1, 10 }, { 1, 10 }, { 0 }, { 0 } }, 1, 100, -EAGAIN, 0 },
    { { { 1, 10 }, { 1, 10 }, { 0 }, { 0 } }, 2, 100, 0, 3 },
    { { { 1, 10 }, { 0 }, { 2, 10 }, { 2, 10 } }, 1, 100, 0, 1 },
    /* all slots are taken: the attach that ran longest ends, after a minimum time */
    { { { 1, 98 }, { 1, 99 }, { 2, 98 }, { 3, 99 } }, 4, 100, -EAGAIN, 0 },
    { { { 1, 98 }, { 1, 99 }, { 2, 97 }, { 3, 99 } }, 4, 100, 0, 2 },
    { { { 1, 90 }, { 1, 91 }, { 2, 92 }, { 2, 93 } }, 4, 100, 0, 0 },
    /* an owner with a slot ends no other attach */
    { { { 1, 90 }, { 2, 90 }, { 3, 90 }, { 4, 90 } }, 4, 100, -EAGAIN, 0 },
};

START_TEST(takes_turns)
{
    struct turn turns[PLACES];
    size_t place = 77;

    for (size_t i = 0; i < PLACES; i++)
        turns[i] = (struct turn){ CASES[_i].turns[i].owner, S(CASES[_i].turns[i].since_ns) };
    ck_assert_int_eq(turns_next(turns, PLACES, CASES[_i].owner, S(CASES[_i].now_s), &place),
                     CASES[_i].r);
    ck_assert_uint_eq(place, CASES[_i].r ? 77 : CASES[_i].place);
}
END_TEST

/* An owner with any number of JVMs that never answer leaves slots to others. */
START_TEST(nobody_takes_all)
{
    struct turn turns[PLACES] = { { 0 } };
    size_t place;

    for (uint64_t now = 1; now < 60; now++) {
        if (turns_next(turns, PLACES, 1, S(now), &place) == 0)
            turns[place] = (struct turn){ 1, S(now) };
    }
    ck_assert_int_eq(turns_next(turns, PLACES, 2, S(60), &place), 0);
    ck_assert_uint_eq(turns[place].owner, 0);
}
END_TEST

/* Any number of owners with such JVMs give up slots in time. */
START_TEST(another_comes_in_time)
{
    struct turn turns[PLACES] = { { 0 } };
    uint64_t waits = 0;
    size_t place;

    for (uint64_t now = 1; now < 60; now++) {
        if (turns_next(turns, PLACES, 100 + now, S(now), &place) == 0)
            turns[place] = (struct turn){ 100 + now, S(now) };
    }
    while (turns_next(turns, PLACES, 1, S(60 + waits), &place) < 0)
        waits++;
    ck_assert_uint_le(S(waits), TURNS_FAIR_NS);
}
END_TEST

/* An owner's attaches are a second apart, and delay no other owner. */
START_TEST(owners_have_intervals_of_their_own)
{
    static const struct {
        struct turn last[3];
        uint64_t owner;
        int r;
        size_t place;
    } ROWS[] = {
        { { { 0 } }, 1, 0, 2 },
        { { { 1, S(100) }, { 0 }, { 0 } }, 1, -EAGAIN, 0 },
        { { { 1, S(100) }, { 0 }, { 0 } }, 2, 0, 2 },
        { { { 1, S(99) }, { 0 }, { 0 } }, 1, 0, 0 },
        { { { 2, S(100) }, { 1, S(99) }, { 0 } }, 1, 0, 1 },
        { { { 0 }, { 1, S(100) }, { 0 } }, 1, -EAGAIN, 0 },
        /* as many owners as the table holds: the oldest is dropped once its second is over */
        { { { 2, S(98) }, { 3, S(97) }, { 4, S(99) } }, 1, 0, 1 },
        { { { 2, S(100) }, { 3, S(100) }, { 4, S(100) } }, 1, -EAGAIN, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(ROWS); i++) {
        size_t place = 99;
        int r = turns_interval(ROWS[i].last, 3, ROWS[i].owner, S(1), S(100) + 1, &place);

        ck_assert_msg(r == ROWS[i].r, "row %zu: %d", i, r);
        if (r == 0)
            ck_assert_msg(place == ROWS[i].place, "row %zu: %zu", i, place);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("turns");

    tcase_add_loop_test(tc, takes_turns, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, nobody_takes_all);
    tcase_add_test(tc, another_comes_in_time);
    tcase_add_test(tc, owners_have_intervals_of_their_own);
    return suite_run_case("turns", tc);
}
