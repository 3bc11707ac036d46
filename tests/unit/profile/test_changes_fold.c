/* SPDX-License-Identifier: Apache-2.0 */
/* changes_fold(): if callers and callees share a change, the most specific name stays. */
#include "suite.h"

#include "profile/changes.h"
#include "recorded.h"

#define MANY 8

static struct change_series series[MANY];
static struct change changes[MANY];
static size_t count;

/* Adds a change with the error +-@spread. */
static void change(enum change_kind kind, const char *name, double before, double after,
                   double spread)
{
    double d = after - before;

    series[count] = (struct change_series){ .kind = kind, .name = (char *)name };
    changes[count] = (struct change){ .of = &series[count],
                                      .before = before,
                                      .after = after,
                                      .difference = d,
                                      .low = d - spread,
                                      .high = d + spread };
    count++;
}

/* Adds the change of an operation of @method. */
static void change_of(const char *method, const char *name, double before, double after,
                      double spread)
{
    change(CHANGE_OPERATION, name, before, after, spread);
    series[count - 1].method = (char *)method;
}

static uint32_t java(const char *class_name, const char *name)
{
    return recorded_frame(class_name, name, FRAME_C2, 0);
}

/* Folds, and checks which names are left: @names, with blanks between them. */
static void check_left(const char *names)
{
    struct profile meta = { .event_count = 1, .events = { { "cpu", "nanoseconds", 1, false } } };
    struct view_opts o = { .exact = true, .names = VIEW_NAMES_MERGED };
    const struct view *views[2] = { NULL };
    struct profile *p = NULL;
    struct view *v = NULL;
    char left[256] = "";

    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    profile_unref(p);
    views[1] = v;
    count = changes_fold(views, changes, count);
    for (size_t i = 0, n = 0; i < count; i++)
        n +=
            (size_t)snprintf(left + n, sizeof(left) - n, "%s%s", i ? " " : "", changes[i].of->name);
    ck_assert_str_eq(left, names);
    count = 0;
    view_free(v);
}

/* Of new methods that call each other, the deepest of the program's own stays, not the JDK's below
 * it. Their caller had most of its time before. */
START_TEST(new_methods_that_call_each_other)
{
    uint32_t run = java("java.lang.Thread", "run"), rules = java("shop.Main", "rules"),
             match = java("shop.Main", "matchTenantRule"),
             find = java("java.util.regex.Matcher", "find"),
             slice = java("java.util.regex.Pattern", "slice");

    recorded_sample((uint32_t[]){ run }, 1, 94, CATEGORY_JAVA);
    recorded_sample((uint32_t[]){ find, match, rules, run }, 4, 3, CATEGORY_JAVA);
    recorded_sample((uint32_t[]){ slice, find, match, rules, run }, 5, 3, CATEGORY_JAVA);
    change(CHANGE_FUNCTION, "java.lang.Thread.run", 94, 101.5, 3);
    change(CHANGE_CATEGORY, "java", 94, 101, 3);
    change(CHANGE_FUNCTION, "shop.Main.rules", 0, 6.1, 0.4);
    change(CHANGE_FUNCTION, "shop.Main.matchTenantRule", 0, 6, 0.4);
    change(CHANGE_FUNCTION, "java.util.regex.Matcher.find", 0, 5.9, 0.4);
    change(CHANGE_FUNCTION, "java.util.regex.Pattern.slice", 0, 3, 0.4);
    check_left("shop.Main.matchTenantRule");
}
END_TEST

/* A new caller stays, even if a callee that existed before grew by as much. */
START_TEST(a_new_caller)
{
    uint32_t poll = java("shop.Poller", "poll"), query = java("shop.Db", "query"),
             cart = java("shop.Cart", "total");

    recorded_sample((uint32_t[]){ query, poll }, 2, 10, CATEGORY_JAVA);
    recorded_sample((uint32_t[]){ query, cart }, 2, 20, CATEGORY_JAVA);
    change(CHANGE_FUNCTION, "shop.Db.query", 20, 30, 2);
    change(CHANGE_FUNCTION, "shop.Poller.poll", 0, 10, 1);
    check_left("shop.Poller.poll");
}
END_TEST

/* A class of the JDK says more than a method that has nearly all the time. It says less than a
 * method that grew by half. */
START_TEST(a_method_of_the_jdk)
{
    uint32_t handle = java("shop.Main", "handle"), quote = java("shop.Json", "quote"),
             replace = java("java.lang.String", "replace");

    recorded_sample((uint32_t[]){ replace, quote, handle }, 3, 3, CATEGORY_JAVA);
    recorded_sample((uint32_t[]){ handle }, 1, 80, CATEGORY_JAVA);
    change(CHANGE_FUNCTION, "shop.Main.handle", 80, 83.3, 2);
    change(CHANGE_FUNCTION, "java.lang.String.replace", 0, 3, 0.5);
    check_left("java.lang.String.replace");
    recorded_sample((uint32_t[]){ replace, quote, handle }, 3, 3, CATEGORY_JAVA);
    recorded_sample((uint32_t[]){ quote, handle }, 2, 3, CATEGORY_JAVA);
    change(CHANGE_FUNCTION, "shop.Main.handle", 80, 83.3, 2);
    change(CHANGE_FUNCTION, "shop.Json.quote", 3, 6.1, 0.7);
    change(CHANGE_FUNCTION, "java.lang.String.replace", 0, 3, 0.5);
    check_left("shop.Json.quote");
}
END_TEST

/* Collections are one change, whatever functions they run. Changes in other stacks stay. */
START_TEST(a_kind_of_work)
{
    uint32_t work = recorded_frame(NULL, "GangWorker::run", FRAME_JVM, 0),
             mark = recorded_frame(NULL, "G1CMTask::do_marking_step", FRAME_JVM, 0),
             cart = java("shop.Cart", "total");

    recorded_sample((uint32_t[]){ mark, work }, 2, 30, CATEGORY_GC);
    recorded_sample((uint32_t[]){ cart }, 1, 70, CATEGORY_JAVA);
    change(CHANGE_FUNCTION, "GangWorker::run", 3, 9, 1);
    change(CHANGE_FUNCTION, "shop.Cart.total", 10, 15.5, 1);
    change(CHANGE_CATEGORY, "gc", 4, 9.4, 1);
    change(CHANGE_FUNCTION, "G1CMTask::do_marking_step", 0, 5, 1);
    change(CHANGE_LOCK, "gc", 0, 5, 1);
    check_left("shop.Cart.total gc gc");
}
END_TEST

/* Without a tracer, an operation is a method, also if it has the method's route. It is listed
 * beside the method only if it changed differently. With a tracer's name it always stays. */
START_TEST(an_operation_of_a_method)
{
    uint32_t get = java("shop.Orders", "get"), put = java("shop.Orders", "put");

    recorded_sample((uint32_t[]){ get }, 1, 10, CATEGORY_JAVA);
    recorded_sample((uint32_t[]){ put }, 1, 10, CATEGORY_JAVA);
    change_of("shop.Orders.get", "shop.Orders.get()", 0, 10, 1);
    change(CHANGE_FUNCTION, "shop.Orders.get", 0, 10.5, 1);
    change_of("shop.Orders.put", "shop.Orders.put()", 0, 5, 1);
    change(CHANGE_FUNCTION, "shop.Orders.put", 0, 10, 1);
    change(CHANGE_OPERATION, "GET /orders", 0, 10, 1);
    check_left("shop.Orders.get shop.Orders.put() shop.Orders.put GET /orders");
    recorded_sample((uint32_t[]){ get }, 1, 10, CATEGORY_JAVA);
    change(CHANGE_FUNCTION, "shop.Orders.get", 0, 10.5, 1);
    change_of("shop.Orders.get", "GET /orders/{id}", 0, 10, 1);
    check_left("shop.Orders.get");
}
END_TEST

/* A route of 511 bytes has more after cleaning. A class and a method may have even longer names. */
START_TEST(an_operation_with_a_long_name)
{
    struct profile meta = { .event_count = 1, .events = { { "cpu", "nanoseconds", 1, false } } };
    struct change_steps m = { .b_ns = 8 * NSEC_PER_SEC, .step_ns = NSEC_PER_SEC, .a = 8, .b = 8 };
    char long_name[TEXT_NAME_MAX + 1] = "shop.";
    uint32_t stack[2] = { 0, java("org.springframework.web.method.support.InvocableHandlerMethod",
                                  "doInvoke") };
    struct change_set set;
    struct profile *p = NULL;
    struct view *v = NULL;

    memset(long_name + 5, 'x', TEXT_NAME_MAX - 5);
    stack[0] = java(long_name, long_name);
    if (_i)
        frame_table_set_route(table, frame_table_get(table, stack[0])->function,
                              recorded_string(long_name));
    recorded_sample(stack, 2, 1, CATEGORY_JAVA);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(view_new(p, &(struct view_opts){ .exact = true }, &v, NULL), 0);
    profile_unref(p);
    ck_assert_int_eq(change_set_init(&set, &m), 0);
    ck_assert_int_eq(change_set_add(&set, v, CHANGE_OPERATION), 0);
    ck_assert_uint_eq(set.count, 1);
    ck_assert_uint_eq(strlen(set.series[0].name), (_i ? 1 : 2) * TEXT_NAME_MAX + (_i ? 0 : 3));
    change_set_deinit(&set);
    view_free(v);
}
END_TEST

/* A wait for locks folds into the wait for one class of locks. It stays if that class changed
 * differently. */
START_TEST(a_wait_that_a_lock_names)
{
    uint32_t enter = java("shop.Ledger", "enter");

    recorded_sample((uint32_t[]){ enter }, 1, 10, CATEGORY_JAVA);
    change(CHANGE_WAIT, "lock", 5, 40, 9);
    change(CHANGE_WAIT, "park", 40, 5, 9);
    change(CHANGE_LOCK, "shop.Ledger", 0, 28, 3);
    check_left("park shop.Ledger");
    recorded_sample((uint32_t[]){ enter }, 1, 10, CATEGORY_JAVA);
    change(CHANGE_WAIT, "lock", 5, 40, 9);
    change(CHANGE_LOCK, "shop.Ledger", 0, 8, 3);
    change(CHANGE_LOCK, "shop.Cart", 40, 10, 3);
    check_left("lock shop.Ledger shop.Cart");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("changes_fold");

    tcase_add_checked_fixture(tc, recorded_setup, recorded_teardown);
    tcase_add_test(tc, new_methods_that_call_each_other);
    tcase_add_test(tc, a_new_caller);
    tcase_add_test(tc, a_method_of_the_jdk);
    tcase_add_test(tc, a_kind_of_work);
    tcase_add_test(tc, an_operation_of_a_method);
    tcase_add_loop_test(tc, an_operation_with_a_long_name, 0, 2);
    tcase_add_test(tc, a_wait_that_a_lock_names);
    return suite_run_case("changes_fold", tc);
}
