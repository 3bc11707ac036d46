/* SPDX-License-Identifier: Apache-2.0 */
/* serve/audit_ring.c: which lines stay, whatever one caller does. */
#include "suite.h"

#include "serve/audit.h"
#include "serve/audit_ring.h"

#define OF_USER(n) ((struct caller){ .kind = CALLER_TCP_USER, .uid = (n) })
#define ALICE OF_USER(1001)
#define ROOT ((struct caller){ .kind = CALLER_USER })

static struct audit_ring ring;
static uint64_t number;

static void setup(void)
{
    number = 0;
    ck_assert(audit_ring_init(&ring, AUDIT_ACTS_MAX, AUDIT_ACTS_MAX));
}

static void teardown(void)
{
    audit_ring_deinit(&ring);
}

static void act(struct caller of, size_t times)
{
    for (size_t i = 0; i < times; i++) {
        char *json = strdup("{}");

        ck_assert_ptr_nonnull(json);
        audit_ring_put(&ring, &of, ++number, json);
    }
}

static size_t lines_between(uint64_t from, uint64_t to)
{
    size_t n = 0;

    for (size_t i = 0; i < ring.max; i++)
        n += ring.lines[i].json && ring.lines[i].number > from && ring.lines[i].number <= to;
    return n;
}

START_TEST(acts_of_one_push_out_no_other)
{
    act(ROOT, 400);
    act(OF_USER(1002), 7);
    act(ALICE, 6930);
    ck_assert_uint_eq(lines_between(0, 407), 407);
    ck_assert_uint_eq(lines_between(0, number), AUDIT_ACTS_MAX);
    ck_assert_uint_eq(lines_between(number - 617, number), 617); /* the latest of alice's */
}
END_TEST

START_TEST(acts_of_many_leave_each_a_part)
{
    act(ROOT, 100);
    for (int round = 0; round < 300; round++) {
        for (uint32_t user = 1; user <= 9; user++)
            act(OF_USER(user), 1);
    }
    ck_assert_uint_eq(lines_between(0, 100), 100);
}
END_TEST

START_TEST(one_alone_has_all)
{
    act(ALICE, 3 * AUDIT_ACTS_MAX);
    ck_assert_uint_eq(lines_between(number - AUDIT_ACTS_MAX, number), AUDIT_ACTS_MAX);
}
END_TEST

START_TEST(more_callers_than_lines)
{
    for (uint32_t user = 1; user <= 3 * AUDIT_ACTS_MAX; user++)
        act(OF_USER(user), 1);
    ck_assert_uint_eq(lines_between(0, number), AUDIT_ACTS_MAX);
    ck_assert_uint_eq(lines_between(number - 1, number), 1);
}
END_TEST

START_TEST(a_share_is_a_limit)
{
    audit_ring_deinit(&ring);
    ck_assert(audit_ring_init(&ring, AUDIT_REFUSALS_MAX, AUDIT_REFUSALS_SHARE));
    act(ALICE, 1000);
    ck_assert_uint_eq(lines_between(0, number), AUDIT_REFUSALS_SHARE);
    ck_assert_uint_eq(lines_between(number - AUDIT_REFUSALS_SHARE, number), AUDIT_REFUSALS_SHARE);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("audit_ring");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, acts_of_one_push_out_no_other);
    tcase_add_test(tc, acts_of_many_leave_each_a_part);
    tcase_add_test(tc, one_alone_has_all);
    tcase_add_test(tc, more_callers_than_lines);
    tcase_add_test(tc, a_share_is_a_limit);
    return suite_run_case("audit_ring", tc);
}
