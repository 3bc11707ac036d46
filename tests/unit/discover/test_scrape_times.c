/* SPDX-License-Identifier: Apache-2.0 */
/* When the next scrape is near: with one scraper, with two, and with irregular ones. */
#include "suite.h"

#include "base/clock.h"
#include "discover/scrape_times.h"

#define LEAD_S 5

static bool near_at(const struct scrape_times *t, uint64_t at_s)
{
    return scrape_is_near(t, LEAD_S * NSEC_PER_SEC, at_s * NSEC_PER_SEC);
}

START_TEST(knows_none_before_two)
{
    struct scrape_times t = { .last_ns = 0 };

    ck_assert(near_at(&t, 100));
    scrape_times_add(&t, 100 * NSEC_PER_SEC);
    ck_assert(near_at(&t, 101));
}
END_TEST

START_TEST(expects_the_next_of_a_regular_one)
{
    struct scrape_times t = { .last_ns = 0 };

    for (uint64_t i = 0; i < 3; i++)
        scrape_times_add(&t, (100 + i * 30) * NSEC_PER_SEC);
    ck_assert(!near_at(&t, 161));
    ck_assert(!near_at(&t, 184));
    ck_assert(near_at(&t, 185));
    ck_assert(near_at(&t, 300)); /* the scrape is late */
}
END_TEST

/* With two gaps, the nearer scrape is expected. */
START_TEST(expects_the_nearer_of_two)
{
    struct scrape_times t = { .last_ns = 0 };

    for (uint64_t i = 0; i < 4; i++) {
        scrape_times_add(&t, (100 + i * 30) * NSEC_PER_SEC);
        scrape_times_add(&t, (110 + i * 30) * NSEC_PER_SEC);
    }
    ck_assert(!near_at(&t, 204));
    ck_assert(near_at(&t, 205));
}
END_TEST

/* A request by hand is forgotten after some scrapes. */
START_TEST(forgets_what_was_once)
{
    struct scrape_times t = { .last_ns = 0 };

    scrape_times_add(&t, 99 * NSEC_PER_SEC);
    for (uint64_t i = 0; i <= SCRAPE_GAPS; i++) {
        scrape_times_add(&t, (100 + i * 30) * NSEC_PER_SEC);
        ck_assert_int_eq(near_at(&t, 101 + i * 30), i < SCRAPE_GAPS);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("scrape_times");
    TCase *tc = tcase_create("times");

    tcase_add_test(tc, knows_none_before_two);
    tcase_add_test(tc, expects_the_next_of_a_regular_one);
    tcase_add_test(tc, expects_the_nearer_of_two);
    tcase_add_test(tc, forgets_what_was_once);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
