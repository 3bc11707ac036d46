/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of functions and locks by service: sums stay true, series are limited and only grow. Users
 * see only their own services.
 */
#include "service_minutes.h"

START_TEST(sums_are_true_and_only_grow)
{
    struct service_counters *c = counters_of(/* heaviest= */ 2, NULL);
    uint32_t shop = thread_of("shop", 0, "prod");

    ran_in(shop, 50, "a");
    ran_in(shop, 30, "b");
    ran_in(shop, 20, "c");
    minute(c);
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_CPU),
                     "prod/shop shop.Cart.a 50\nprod/shop shop.Cart.b 30\nprod/shop [other] 20\n"
                     "/[other services] [other] 0\n");
    shop = thread_of("shop", 0, "prod");
    ran_in(shop, 5, "a");
    ran_in(shop, 1000, "late"); /* begins at 0: its earlier time counts as others */
    ran_in(shop, 900, "later"); /* one per minute gets a place */
    minute(c);
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_CPU),
                     "prod/shop shop.Cart.a 55\nprod/shop shop.Cart.late 0\n"
                     "prod/shop [other] 1920\n/[other services] [other] 0\n");
    shop = thread_of("shop", 0, "prod");
    ran_in(shop, 7, "late");
    minute(c);
    ck_assert_ptr_nonnull(strstr(tell(c, SERVICE_COUNTER_CPU), "shop.Cart.late 7\n"));
    for (int i = 0; i <= HEAVY_IDLE_MINUTES; i++)
        minute(c);
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_CPU), "/[other services] [other] 0\n");
    service_counters_free(c);
}
END_TEST

/* Writes the newest minute of each counter: the minute's number and its time. */
static void newest_line(void *cookie, const struct service_counter_line *l)
{
    struct told *t = cookie;

    if (l->newest.ns)
        buf_printf(&t->text, "%s %llu %llu\n", l->name,
                   (unsigned long long)((l->newest.start_ns - FIRST_NS) / NSEC_PER_SEC),
                   (unsigned long long)(l->newest.ns / CPU_NS));
}

static const char *newest(struct service_counters *c)
{
    buf_clear(&told.text);
    told.owner = UINT32_MAX;
    service_counters_each(
        c, &(struct service_counters_query){
               .kind = SERVICE_COUNTER_CPU, .sees = sees, .line = newest_line, .cookie = &told });
    return told.text.p;
}

START_TEST(knows_the_newest_minute)
{
    struct service_counters *c = counters_of(/* heaviest= */ 1, NULL);
    uint32_t shop = thread_of("shop", 1, ""), shop_too = thread_of("shop", 2, "");

    buf_init(&told.text, 1 << 20);
    ran_in(shop, 50, "a");
    ran_in(shop, 30, "b");
    ran_in(shop_too, 7, "a");
    minute(c);
    ck_assert_str_eq(newest(c), "shop.Cart.a 0 57\n[other] 0 30\n"); /* of both users */
    minute_ns += 60 * NSEC_PER_SEC;
    shop = thread_of("shop", 1, "");
    ran_in(shop, 9, "a");
    minute(c);
    ck_assert_str_eq(newest(c), "shop.Cart.a 60 9\n[other] 0 30\n");
    minute_ns += 60 * NSEC_PER_SEC;
    minute(c);
    ck_assert_str_eq(newest(c), "shop.Cart.a 60 9\n[other] 0 30\n");
    minute_ns += 60 * NSEC_PER_SEC;
    shop = thread_of("shop", 1, "");
    ran_in(shop, 1000, "late"); /* counts as other time in its first minute */
    minute(c);
    ck_assert_str_eq(newest(c), "shop.Cart.a 0 7\n[other] 180 1000\n");
    service_counters_free(c);
}
END_TEST

START_TEST(counts_chosen_functions)
{
    struct service_counters *c = counters_of(/* heaviest= */ 1, "^shop\\.Cart\\.pay$");
    uint32_t shop = thread_of("shop", 0, "");
    uint32_t pay = recorded_frame("shop.Cart", "pay", FRAME_C2, 1);
    uint32_t again = recorded_frame("shop.Cart", "pay", FRAME_INTERPRETED, 2);
    uint32_t hash = recorded_frame("shop.Cart", "hash", FRAME_C2, 0);

    ran(shop, 3, (uint32_t[]){ hash, pay, again }, 3); /* counts once, though it recurs */
    ran(shop, 90, &hash, 1);
    ran(shop, 4, &pay, 1);
    minute(c);
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_CPU),
                     "/shop shop.Cart.hash 93\n/shop shop.Cart.pay 4\n/shop [other] 0\n"
                     "/[other services] [other] 0\n");
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_CALLS), "/shop shop.Cart.pay 7\n");
    ck_assert_uint_eq(service_counters_left_out(c), 0);
    service_counters_free(c);
}
END_TEST

START_TEST(counts_locks_and_no_conditions)
{
    struct service_counters *c = counters_of(/* heaviest= */ 10, "Cache");
    uint32_t shop = thread_of("shop", 0, "");
    uint32_t owner = recorded_frame("", "worker-1", FRAME_THREAD, 0);
    uint32_t cache = recorded_frame("", "shop.Cache", FRAME_WAIT_LOCK, 0);
    uint32_t monitor = recorded_frame("", "[monitor]", FRAME_WAIT_LOCK, 0);
    uint32_t queue = recorded_frame("", "shop.Queue", FRAME_WAIT_NOTIFY, 0);
    uint32_t condition = recorded_frame("", "[condition]", FRAME_WAIT_NOTIFY, 0);

    waited(shop, 8 * CPU_NS, (uint32_t[]){ owner, cache, monitor }, 3);
    waited(shop, 2 * CPU_NS, (uint32_t[]){ cache, monitor }, 2);
    waited(shop, 100 * CPU_NS, (uint32_t[]){ queue, condition }, 2); /* for work, not a lock */
    minute(c);
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_LOCKS), "/shop shop.Cache 10\n/shop [other] 0\n"
                                                     "/[other services] [other] 0\n");
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_CALLS), "");
    service_counters_free(c);
}
END_TEST

/* Two users, and two namespaces, have services with the same name. */
START_TEST(shows_to_each_what_is_theirs)
{
    struct service_counters *c = counters_of(/* heaviest= */ 10, NULL);

    ran_in(thread_of("shop", 1001, ""), 1, "a");
    minute(c);
    ran_in(thread_of("shop", 1002, ""), 2, "a");
    ran_in(thread_of("shop", 1002, "test"), 4, "b");
    ran_in(thread_of("shop", 1001, ""), 8, "a");
    minute(c);
    ck_assert_str_eq(tell_to(c, SERVICE_COUNTER_CPU, 1001, NULL),
                     "/shop shop.Cart.a 9\n/shop [other] 0\n");
    ck_assert_str_eq(tell_to(c, SERVICE_COUNTER_CPU, 1002, NULL),
                     "/shop shop.Cart.a 2\n/shop [other] 0\ntest/shop shop.Cart.b 4\n"
                     "test/shop [other] 0\n");
    ck_assert_str_eq(tell_to(c, SERVICE_COUNTER_CPU, UINT32_MAX, "test"),
                     "test/shop shop.Cart.b 4\ntest/shop [other] 0\n");
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_CPU), /* no line twice: scrapers refuse that */
                     "/shop shop.Cart.a 11\n/shop [other] 0\ntest/shop shop.Cart.b 4\n"
                     "test/shop [other] 0\n/[other services] [other] 0\n");
    ck_assert_str_eq(tell_to(c, SERVICE_COUNTER_CPU, 1003, NULL), "");
    service_counters_free(c);
}
END_TEST

/* A JVM may be found some seconds before its service's name is known. */
START_TEST(takes_the_service_that_is_known_last)
{
    struct service_counters *c = counters_of(/* heaviest= */ 10, NULL);
    struct profile_process process = { .host_pid = 42, .start_ticks = 7 };
    struct profile_thread thread = { .host_tid = 43 };
    struct profile *slices[2];
    uint32_t id;

    for (unsigned i = 0; i < 2; i++) {
        process.service = recorded_string(i ? "shop" : "Main");
        ck_assert_int_eq(record_process(rec, &process, &thread.process), 0);
        ck_assert_int_eq(record_thread(rec, &thread, &id), 0);
        ran_in(id, 1, "a");
        ck_assert_int_eq(record_finish(rec, &MINUTE, &slices[i]), 0);
        record_free(rec);
        ck_assert_int_eq(record_new(table, LINES_MAX, &rec), 0);
    }
    service_counters_add(c, minute_ns, slices, 2);
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_CPU), "/shop shop.Cart.a 2\n/shop [other] 0\n"
                                                   "/[other services] [other] 0\n");
    profile_unref(slices[0]);
    profile_unref(slices[1]);
    service_counters_free(c);
}
END_TEST

START_TEST(makes_one_of_the_kernel)
{
    struct service_counters *c = counters_of(/* heaviest= */ 10, "^do_");
    uint32_t shop = thread_of("shop", 0, "");
    uint32_t open = recorded_frame("", "do_sys_open", FRAME_KERNEL, 0);
    uint32_t read = recorded_frame("", "do_read", FRAME_KERNEL, 0);

    ran(shop, 3, &open, 1);
    ran(shop, 4, (uint32_t[]){ read, open }, 2);
    minute(c);
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_CPU), "/shop [kernel] 7\n/shop [other] 0\n"
                                                   "/[other services] [other] 0\n");
    ck_assert_str_eq(tell(c, SERVICE_COUNTER_CALLS), "");
    service_counters_free(c);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("service_counters");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, sums_are_true_and_only_grow);
    tcase_add_test(tc, knows_the_newest_minute);
    tcase_add_test(tc, counts_chosen_functions);
    tcase_add_test(tc, counts_locks_and_no_conditions);
    tcase_add_test(tc, shows_to_each_what_is_theirs);
    tcase_add_test(tc, takes_the_service_that_is_known_last);
    tcase_add_test(tc, makes_one_of_the_kernel);
    return suite_run_case("service_counters", tc);
}
