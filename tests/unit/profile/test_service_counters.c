/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of functions and locks by service: sums stay true, series are limited and only grow. Users
 * see only their own services.
 */
#include "profile/heavy_names.h"
#include "profile/service_counters.h"

#include "recorded.h"
#include "suite.h"

#define CPU_NS 1000
#define LINES_MAX 4096

/* ---- minutes ---- */

static const struct profile MINUTE = {
    .events = { { .name = "cpu", .unit = "nanoseconds", .period = CPU_NS },
                { .name = "lock", .unit = "nanoseconds", .period = 1, .valued = true } },
    .event_count = 2,
};

#define FIRST_NS (UINT64_C(1790000040) * NSEC_PER_SEC)

static uint64_t minute_ns = FIRST_NS; /* when the next minute begins */

static uint32_t thread_of(const char *service, uint32_t owner, const char *pod_namespace)
{
    struct profile_process p = { .host_pid = 42, .owner = owner };
    struct profile_thread t = { .host_tid = 43 };
    uint32_t id;

    p.service = recorded_string(service);
    p.pod_namespace = recorded_string(pod_namespace);
    p.start_ticks = (uint64_t)p.service << 32 | p.pod_namespace << 16 | owner;
    ck_assert_int_eq(record_process(rec, &p, &t.process), 0);
    ck_assert_int_eq(record_thread(rec, &t, &id), 0);
    return id;
}

/* Adds @n samples of a stack, leaf first. */
static void ran(uint32_t thread, uint32_t n, const uint32_t *stack, size_t depth)
{
    struct profile_sample s = { .thread = thread, .count = n };

    ck_assert_int_eq(record_sample(rec, &s, stack, depth), 0);
}

static void ran_in(uint32_t thread, uint32_t n, const char *method)
{
    uint32_t frame = recorded_frame("shop.Cart", method, FRAME_C2, 0);

    ran(thread, n, &frame, 1);
}

static void waited(uint32_t thread, uint64_t ns, const uint32_t *stack, size_t depth)
{
    struct profile_sample s = { .thread = thread, .count = 1, .event = 1, .value = ns };

    ck_assert_int_eq(record_sample(rec, &s, stack, depth), 0);
}

/* Adds the record of the last minute. */
static void minute(struct service_counters *c)
{
    struct profile *p = NULL;

    ck_assert_int_eq(record_finish(rec, &MINUTE, &p), 0);
    service_counters_add(c, minute_ns, &p, 1);
    profile_unref(p);
    record_free(rec);
    ck_assert_int_eq(record_new(table, LINES_MAX, &rec), 0);
}

static struct service_counters *counters_of(size_t heaviest, const char *pattern)
{
    struct service_counters_opts o = { .heaviest = heaviest };
    struct service_counters *c = NULL;

    if (pattern)
        ck_assert_int_eq(match_new(&pattern, 1, "metrics_functions", &o.chosen, NULL), 0);
    ck_assert_int_eq(service_counters_new(&o, &c), 0);
    return c;
}

/* ---- reports ---- */

struct told {
    uint32_t owner; /* the viewer; UINT32_MAX: sees all */
    const char *pod_namespace;
    struct buf text;
    size_t lines;
    uint64_t sum;
};

static bool sees(void *cookie, uint32_t owner, const char *pod_namespace)
{
    const struct told *t = cookie;

    return (t->owner == UINT32_MAX || t->owner == owner) &&
           (!t->pod_namespace || strcmp(t->pod_namespace, pod_namespace) == 0);
}

static void line(void *cookie, const struct service_counter_line *l)
{
    struct told *t = cookie;

    buf_printf(&t->text, "%s/%s %s %llu\n", l->pod_namespace, l->service, l->name,
               (unsigned long long)(l->ns / CPU_NS));
    t->lines++;
    t->sum += l->ns / CPU_NS;
}

static struct told told;

static const char *tell_to(struct service_counters *c, enum service_counter kind, uint32_t owner,
                           const char *pod_namespace)
{
    buf_deinit(&told.text);
    told = (struct told){ .owner = owner, .pod_namespace = pod_namespace };
    buf_init(&told.text, 1 << 20);
    buf_add_str(&told.text, "");
    service_counters_each(c, &(struct service_counters_query){
                                 .kind = kind, .sees = sees, .line = line, .cookie = &told });
    return told.text.p;
}

static const char *tell(struct service_counters *c, enum service_counter kind)
{
    return tell_to(c, kind, UINT32_MAX, NULL);
}

static void teardown(void)
{
    buf_deinit(&told.text);
    told = (struct told){ 0 };
    minute_ns = FIRST_NS;
    recorded_teardown();
}

/* ---- tests ---- */

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

START_TEST(takes_a_place_of_the_owner_with_most)
{
    struct service_counters *c = counters_of(/* heaviest= */ 10, NULL);

    ran_in(thread_of("light", 1003, ""), 3, "a");
    run_in_services(0, SERVICE_COUNTERS_MAX - 1, 1001, 1000);
    minute(c);
    ran_in(thread_of("shop", 1002, ""), 5, "a");
    ran_in(thread_of("light", 1003, ""), 3, "a");
    run_in_services(0, 2 * SERVICE_COUNTERS_MAX, 1001, 1000);
    minute(c);
    ran_in(thread_of("shop", 1002, ""), 5, "a");
    ran_in(thread_of("light", 1003, ""), 3, "a");
    run_in_services(0, 2 * SERVICE_COUNTERS_MAX, 1001, 10000); /* heavy, but one owner's own */
    minute(c);
    ck_assert_ptr_nonnull(strstr(tell(c, SERVICE_COUNTER_CPU), "/shop shop.Cart.a 10\n"));
    ck_assert_ptr_nonnull(strstr(told.text.p, "/light shop.Cart.a 9\n"));
    service_counters_free(c);
}
END_TEST

static void setup(void)
{
    recorded_setup_for(/* entries= */ 20000, LINES_MAX);
}

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
    tcase_add_test(tc, keeps_names_of_an_attacker_apart);
    tcase_add_test(tc, bounds_services_and_names);
    tcase_add_test(tc, falls_only_to_nothing);
    tcase_add_test(tc, keeps_a_name_that_one_of_two_owners_has_no_more);
    tcase_add_test(tc, gives_no_place_for_waits);
    tcase_add_test(tc, takes_a_place_of_the_owner_with_most);
    return suite_run_case("service_counters", tc);
}
