/* SPDX-License-Identifier: Apache-2.0 */
/* What a JVM used by operation: a bounded number of names, and nothing is lost. */
#include "capture/recorded_operations.h"

#include "suite.h"

START_TEST(adds_up_by_name)
{
    struct recorded_operations o = { .count = 0 };

    ck_assert_int_eq(recorded_operations_add(&o, SPAN("GET /a"), RECORDED_CPU_NS, 5), 0);
    ck_assert_int_eq(recorded_operations_add(&o, SPAN("GET /b"), RECORDED_ALLOC_BYTES, 7), 0);
    ck_assert_int_eq(recorded_operations_add(&o, SPAN("GET /a"), RECORDED_WAIT_NS, 11), 0);
    ck_assert_int_eq(recorded_operations_add(&o, SPAN("GET /a"), RECORDED_CPU_NS, 13), 0);
    ck_assert_uint_eq(o.count, 2);
    ck_assert_str_eq(o.items[0].name, "GET /a");
    ck_assert_uint_eq(o.items[0].used[RECORDED_CPU_NS], 18);
    ck_assert_uint_eq(o.items[0].used[RECORDED_WAIT_NS], 11);
    ck_assert_uint_eq(o.items[1].used[RECORDED_ALLOC_BYTES], 7);
    ck_assert_uint_eq(o.items[1].used[RECORDED_CPU_NS], 0);
    recorded_operations_deinit(&o);
}
END_TEST

START_TEST(the_others_share_one)
{
    struct recorded_operations o = { .count = 0 };
    uint64_t all = 0;

    for (unsigned i = 0; i < 3 * RECORDED_OPERATIONS_MAX; i++) {
        char name[32];

        snprintf(name, sizeof(name), "GET /%u", i);
        ck_assert_int_eq(recorded_operations_add(&o, span_of(name), RECORDED_CPU_NS, 1), 0);
    }
    ck_assert_int_eq(recorded_operations_add(&o, SPAN("GET /1"), RECORDED_CPU_NS, 1), 0);
    ck_assert_uint_eq(o.count, RECORDED_OPERATIONS_MAX + 1);
    ck_assert_str_eq(o.items[RECORDED_OPERATIONS_MAX].name, "[other operations]");
    ck_assert_uint_eq(o.items[1].used[RECORDED_CPU_NS], 2);
    for (size_t i = 0; i < o.count; i++)
        all += o.items[i].used[RECORDED_CPU_NS];
    ck_assert_uint_eq(all, 3 * RECORDED_OPERATIONS_MAX + 1);
    recorded_operations_deinit(&o);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("recorded_operations");

    tcase_add_test(tc, adds_up_by_name);
    tcase_add_test(tc, the_others_share_one);
    return suite_run_case("recorded_operations", tc);
}
