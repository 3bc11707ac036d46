/* SPDX-License-Identifier: Apache-2.0 */
/* base/places.c, shares_level(): which owner gives way in a full table. */
#include "fixed_seed.h"
#include "suite.h"

#include "base/places.h"

#define N 12

static uint64_t table[N];
static struct places places;

static uint64_t owner_of(const void *of, size_t i)
{
    return ((const uint64_t *)of)[i];
}

static void fill(uint64_t owner, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        table[i] = owner;
        places_take(&places, owner);
    }
}

/* Puts an entry of @owner into the place that it gets. False: no place. */
static bool put(uint64_t owner)
{
    size_t i = places_find(&places, owner, N, owner_of, table);

    if (i == N)
        return false;
    places_give(&places, table[i]);
    fill(owner, i, i + 1);
    return true;
}

static size_t count(uint64_t owner)
{
    size_t n = 0;

    for (size_t i = 0; i < N; i++)
        n += table[i] == owner;
    return n;
}

START_TEST(the_one_with_most_gives_way)
{
    fill(1, 0, N);
    ck_assert(!put(1)); /* not in place of its own entry */
    for (size_t i = 0; i < N / 2; i++)
        ck_assert(put(2));
    ck_assert_uint_eq(count(1), N / 2);
    ck_assert(!put(2)); /* both owners have as much */
    ck_assert(!put(1));
    ck_assert_uint_eq(count(2), N / 2);
}
END_TEST

START_TEST(who_has_one_keeps_it)
{
    fill(1, 0, 1);
    fill(2, 1, N);
    for (size_t i = 0; i < 100; i++) {
        put(3);
        put(2);
    }
    ck_assert_uint_eq(count(1), 1);
    ck_assert_uint_eq(count(2) + count(3), N - 1);
    ck_assert_uint_ge(count(3), N / 2 - 1);
}
END_TEST

START_TEST(what_was_given_back_counts_no_more)
{
    fill(1, 0, N);
    for (size_t i = 0; i < N; i++) {
        places_give(&places, 1);
        fill(i + 2, i, i + 1);
    }
    ck_assert(!put(1)); /* each owner has only one */
    ck_assert_uint_eq(count(1), 0);
}
END_TEST

START_TEST(some_must_stay)
{
    fill(1, 0, N);
    table[N - 1] = 0;
    ck_assert_uint_eq(places_find(&places, 2, N, owner_of, table), N - 2);
    memset(table, 0, sizeof(table));
    ck_assert_uint_eq(places_find(&places, 2, N, owner_of, table), N);
}
END_TEST

START_TEST(a_level_has_all_of_them_fit)
{
    static struct shares s;

    shares_init(&s, 0);
    shares_force(&s, 1, 1000);
    shares_force(&s, 2, 10);
    shares_force(&s, 3, 50);
    ck_assert_uint_eq(shares_level(&s, 1060), UINT64_MAX);
    ck_assert_uint_eq(shares_level(&s, 1059), 999);
    ck_assert_uint_eq(shares_level(&s, 100), 45); /* 10 + 45 + 45 */
    ck_assert_uint_eq(shares_level(&s, 2), 0);
}
END_TEST

static void setup(void)
{
    memset(table, 0, sizeof(table));
    places = (struct places){ .most = 0 };
}

/* A part that leaves its whole takes all that its owners have with it. */
START_TEST(a_part_leaves_the_whole_and_comes_back)
{
    struct shares whole, parts[2];

    shares_init(&whole, 100);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        shares_init_part(&parts[i], 80, &whole);
        for (uint64_t owner = 1; owner < 5; owner++)
            shares_force(&parts[i], owner, owner);
    }
    shares_leave(&parts[0]);
    ck_assert_uint_eq(whole.used, 10);
    for (uint64_t owner = 1; owner < 5; owner++)
        ck_assert_uint_eq(shares_used(&whole, owner), shares_used(&parts[1], owner));
    shares_force(&parts[0], 1, 3); /* outside */
    shares_rejoin(&parts[0], &whole);
    ck_assert_uint_eq(whole.used, 23);
    ck_assert_uint_eq(shares_used(&whole, 1),
                      shares_used(&parts[0], 1) + shares_used(&parts[1], 1));
}
END_TEST

/* Parts that could each grow to 80 have 100 together, and an owner half of that. */
START_TEST(parts_do_not_exceed_the_whole)
{
    static uint64_t has[3][1000];
    struct shares whole, parts[3];
    uint64_t sum = 0;

    shares_init(&whole, 100);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        shares_init_part(&parts[i], 80, &whole);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        uint64_t room = shares_room(&parts[i], 1);

        ck_assert_uint_eq(room, shares_room_lasting(&parts[i], 1) ? room : 0);
        ck_assert(room == 0 || shares_take(&parts[i], 1, room));
        has[i][1] = room;
        ck_assert(!shares_take(&parts[i], 1, 1));
        ck_assert_uint_eq(parts[i].refused, 1);
    }
    ck_assert_uint_eq(shares_used(&whole, 1), 50);
    for (uint64_t owner = 1; owner < 1000; owner++) {
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
            uint64_t room = shares_room_lasting(&parts[i], owner);

            shares_force(&parts[i], owner, room);
            has[i][owner] += room;
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        sum += parts[i].used;
    ck_assert_uint_eq(sum, whole.used);
    ck_assert_uint_le(sum, 100);
    for (uint64_t owner = 1; owner < 1000; owner++) {
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
            shares_give(&parts[i], owner, has[i][owner]);
    }
    ck_assert_uint_eq(whole.used, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("places");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, the_one_with_most_gives_way);
    tcase_add_test(tc, a_part_leaves_the_whole_and_comes_back);
    tcase_add_test(tc, parts_do_not_exceed_the_whole);
    tcase_add_test(tc, who_has_one_keeps_it);
    tcase_add_test(tc, what_was_given_back_counts_no_more);
    tcase_add_test(tc, some_must_stay);
    tcase_add_test(tc, a_level_has_all_of_them_fit);
    return suite_run_case("places", tc);
}
