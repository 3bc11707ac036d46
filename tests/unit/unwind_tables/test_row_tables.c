/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_tables/row_tables.h: which files get rows if room is short. */
#include "suite.h"

#include "unwind_tables/row_tables.h"

#define ROWS 120000u
#define EACH 10000u
#define ALICE 1
#define BOB 2

static struct row_tables tables;
static size_t dropped;

static int put(struct broker *ctx, uint32_t first, const struct unwind_row *rows, uint32_t count,
               struct error *err)
{
    (void)ctx, (void)rows, (void)err;
    ck_assert(first <= ROWS && count <= ROWS - first);
    return 0;
}

static void drop(void *ctx, const struct row_table *t)
{
    (void)ctx, (void)t;
    dropped++;
}

/* Gets @count rows, different for each @number. */
static int get(uint64_t owner, uint32_t number, size_t count, struct row_table **ret)
{
    static struct unwind_row rows[ROWS];
    struct ehframe_table e = { .rows = rows, .count = count };

    memset(rows, 0, sizeof(rows));
    memcpy(rows, &number, sizeof(number));
    return row_tables_get(&tables, owner, &e, put, NULL, drop, NULL, ret, NULL);
}

/* Gets rows that a process has mapped. */
static int use(uint64_t owner, uint32_t number, size_t count)
{
    struct row_table *t = NULL;
    int r = get(owner, number, count, &t);

    if (r == 0)
        row_table_use(&tables, t);
    return r;
}

static void setup(void)
{
    dropped = 0;
    row_tables_init(&tables, ROWS);
}

static void teardown(void)
{
    row_tables_deinit(&tables);
}

START_TEST(processes_of_one_owner_leave_room)
{
    uint32_t n = 0;

    while (use(ALICE, n, EACH) == 0)
        n++;
    ck_assert_uint_eq(n, ROWS / 2 / EACH);
    ck_assert_uint_eq(tables.shares.refused, 1);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_int_eq(use(BOB, 100 + i, EACH), 0);
    ck_assert_int_eq(use(ALICE, 101, EACH), 0); /* bob's rows cost her nothing */
    for (uint32_t i = 0; i < 2; i++)
        ck_assert_int_eq(use(3, 200 + i, EACH), 0);
    ck_assert_uint_eq(dropped, 0);
}
END_TEST

START_TEST(small_tables_count_as_larger)
{
    uint32_t n = 0;

    while (use(ALICE, n, 1) == 0)
        n++;
    ck_assert_uint_eq(n, ROWS / 2 / ROW_TABLES_MIN);
    ck_assert_int_eq(use(BOB, n, 1), 0);
}
END_TEST

/* Beyond her share, unused rows of alice's own are dropped, and none of bob's. */
START_TEST(own_ones_go_first)
{
    struct row_table *t;

    ck_assert_int_eq(get(BOB, 100, EACH, &t), 0);
    for (uint32_t i = 0; i < 20; i++)
        ck_assert_int_eq(get(ALICE, i, EACH, &t), 0);
    ck_assert_uint_eq(dropped, 20 - ROWS / 2 / EACH);
    dropped = 0;
    ck_assert_int_eq(get(BOB, 100, EACH, &t), 0);
    ck_assert_uint_eq(t->owner, BOB);
    ck_assert_uint_eq(dropped, 0);
    ck_assert_uint_eq(shares_used(&tables.shares, BOB), EACH);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("row_tables");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, processes_of_one_owner_leave_room);
    tcase_add_test(tc, small_tables_count_as_larger);
    tcase_add_test(tc, own_ones_go_first);
    return suite_run_case("row_tables", tc);
}
