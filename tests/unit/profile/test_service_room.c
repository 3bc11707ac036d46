/* SPDX-License-Identifier: Apache-2.0 */
/* Time of functions and locks by service: more services and names than there is room for. */
#include "service_minutes.h"

START_TEST(keeps_names_of_an_attacker_apart)
{
    struct service_counters *c = counters_of(/* heaviest= */ 10, NULL);
    uint32_t shop = thread_of("shop", 0, ""), other;
    char longest[2 * HEAVY_NAME_BYTES];
    const char *text;

    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    ran_in(shop, 1, longest);
    longest[sizeof(longest) - 2] = 'y'; /* differs beyond the cut */
    ran_in(shop, 2, longest);
    other = recorded_frame("", HEAVY_OTHER, FRAME_NATIVE, 0);
    ran(shop, 4, &other, 1);
    ran(shop, 8, NULL, 0);
    ran_in(thread_of(SERVICE_COUNTERS_OTHERS, 1001, ""), 16, "a");
    minute(c);
    text = tell(c, SERVICE_COUNTER_CPU);
    ck_assert_ptr_nonnull(strstr(text, "x... 3\n"));
    ck_assert_ptr_nonnull(strstr(text, "/shop [unknown] 8\n"));
    ck_assert_ptr_nonnull(strstr(text, "/shop [other] 4\n"));
    ck_assert_ptr_nonnull(strstr(text, "/[other services] shop.Cart.a 16\n"));
    ck_assert_uint_eq(told.sum, 31);
    ck_assert_uint_eq(told.lines, 5 + 0);
    service_counters_free(c);
}
END_TEST

/* A thousand services with a thousand functions: the number of lines is limited, and the heaviest
 * stay. */
START_TEST(bounds_services_and_names)
{
    struct service_counters *c = counters_of(/* heaviest= */ 3, "^shop");
    char name[32];
    uint64_t all = 0;

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 1000; i++) {
            snprintf(name, sizeof(name), "s%u", i);
            ran_in(thread_of(name, 0, ""), 1 + i, "a");
            all += 1 + i;
        }
        for (unsigned i = 0; i < 1000; i++) {
            snprintf(name, sizeof(name), "m%u", i);
            ran_in(thread_of("big", 0, ""), 100, name);
            all += 100;
        }
        minute(c);
    }
    tell(c, SERVICE_COUNTER_CPU);
    ck_assert_uint_eq(told.sum, all);
    ck_assert_uint_le(told.lines, 2 * SERVICE_COUNTERS_MAX + 2 * SERVICE_COUNTERS_CHOSEN);
    ck_assert_ptr_nonnull(strstr(told.text.p, "/s999 shop.Cart.a 2000\n"));
    ck_assert_ptr_null(strstr(told.text.p, "/s100 "));
    ck_assert_uint_gt(service_counters_left_out(c), 0);
    service_counters_free(c);
}
END_TEST

/* If a counter falls to more than 0, a scraper takes it as restarted, and adds all of it. */
START_TEST(falls_only_to_nothing)
{
    struct service_counters *c = counters_of(/* heaviest= */ 10, NULL);

    ran_in(thread_of("shop", 1001, ""), 50, "a");
    ran_in(thread_of("shop", 1002, ""), 7, "a");
    minute(c);
    for (int i = 0; i <= HEAVY_IDLE_MINUTES; i++) {
        ran_in(thread_of("shop", 1002, ""), 1, "a");
        minute(c);
    }
    ck_assert_str_eq(tell_to(c, SERVICE_COUNTER_CPU, 1001, NULL), "");
    ck_assert_str_eq(tell_to(c, SERVICE_COUNTER_CPU, 1002, NULL),
                     "/shop shop.Cart.a 68\n/shop [other] 0\n");
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_CPU),
                     "/shop shop.Cart.a 118\n/shop [other] 0\n/[other services] [other] 0\n");
    ran_in(thread_of("shop", 1001, ""), 2, "a");
    minute(c);
    ck_assert_ptr_nonnull(strstr(tell(c, SERVICE_COUNTER_CPU), "/shop shop.Cart.a 120\n"));
    for (int i = 0; i <= HEAVY_IDLE_MINUTES; i++)
        minute(c);
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_CPU), "/[other services] [other] 0\n");
    service_counters_free(c);
}
END_TEST

START_TEST(keeps_a_name_that_one_of_two_owners_has_no_more)
{
    struct service_counters *c = counters_of(/* heaviest= */ 10, NULL);

    ran_in(thread_of("shop", 1001, ""), 50, "a");
    ran_in(thread_of("shop", 1002, ""), 7, "a");
    minute(c);
    for (int i = 0; i <= HEAVY_IDLE_MINUTES; i++) {
        ran_in(thread_of("shop", 1001, ""), 1, "b");
        ran_in(thread_of("shop", 1002, ""), 1, "a");
        minute(c);
    }
    ck_assert_ptr_nonnull(strstr(tell(c, SERVICE_COUNTER_CPU), "/shop shop.Cart.a 118\n"));
    ck_assert_ptr_nonnull(
        strstr(tell_to(c, SERVICE_COUNTER_CPU, 1002, NULL), "/shop shop.Cart.a 68\n"));
    service_counters_free(c);
}
END_TEST

static void wait_in_services(unsigned count, uint32_t owner)
{
    uint32_t stack[] = { recorded_frame("", "shop.Cache", FRAME_WAIT_LOCK, 0),
                         recorded_frame("", "[monitor]", FRAME_WAIT_LOCK, 0) };
    char name[32];

    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "w%u", i);
        waited(thread_of(name, owner, ""), UINT64_C(1000000) * CPU_NS, stack, 2);
    }
}

/* Waits for locks give a service no place: they cost its owner no CPU time. */
START_TEST(gives_no_place_for_waits)
{
    struct service_counters *c = counters_of(/* heaviest= */ 10, NULL);

    wait_in_services(2 * SERVICE_COUNTERS_MAX, 1001);
    ran_in(thread_of("shop", 1002, ""), 5, "a");
    minute(c);
    ck_assert_ptr_nonnull(strstr(tell(c, SERVICE_COUNTER_CPU), "/shop shop.Cart.a 5\n"));
    service_counters_free(c);
}
END_TEST

static void run_in_services(unsigned first, unsigned count, uint32_t owner, uint32_t n)
{
    char name[32];

    for (unsigned i = first; i < first + count; i++) {
        snprintf(name, sizeof(name), "r%u", i);
        ran_in(thread_of(name, owner, ""), n, "a");
    }
}

/* Adds a minute of two small services, and of @count ones of another payer: another user, or
 * another container of the same user, which forges an id for each of them. */
static void run_beside(struct service_counters *c, bool contained, bool shop, unsigned count,
                       uint32_t n)
{
    payer = 2;
    if (shop)
        ran_in(thread_of("shop", contained ? 1001 : 1002, ""), 5, "a");
    payer = 3;
    ran_in(thread_of("light", contained ? 1001 : 1003, ""), 3, "a");
    payer = 1;
    forges = contained;
    run_in_services(0, count, 1001, n);
    forges = false;
    payer = 0;
    minute(c);
}

START_TEST(takes_a_place_of_the_payer_with_most)
{
    struct service_counters *c = counters_of(/* heaviest= */ 10, NULL);

    run_beside(c, _i, false, SERVICE_COUNTERS_MAX - 1, 1000);
    run_beside(c, _i, true, 2 * SERVICE_COUNTERS_MAX, 1000);
    run_beside(c, _i, true, 2 * SERVICE_COUNTERS_MAX, 10000); /* heavy, but one maker's own */
    ck_assert_ptr_nonnull(strstr(tell(c, SERVICE_COUNTER_CPU), "/shop shop.Cart.a 10\n"));
    ck_assert_ptr_nonnull(strstr(told.text.p, "/light shop.Cart.a 9\n"));
    service_counters_free(c);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("service_room");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, keeps_names_of_an_attacker_apart);
    tcase_add_test(tc, bounds_services_and_names);
    tcase_add_test(tc, falls_only_to_nothing);
    tcase_add_test(tc, keeps_a_name_that_one_of_two_owners_has_no_more);
    tcase_add_test(tc, gives_no_place_for_waits);
    tcase_add_loop_test(tc, takes_a_place_of_the_payer_with_most, 0, 2);
    return suite_run_case("service_room", tc);
}
