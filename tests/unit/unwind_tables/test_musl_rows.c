/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_tables/musl_rows.h: functions with rows from the file itself keep them. */
#include "suite.h"

#include "unwind_tables/musl_rows.h"

#define START UINT64_C(0x10000)
#define ROWS_MAX 6

/* The entry of a program, which jumps on. Its rule is valid for the first 22 bytes. */
static const char CODE[] =
    "\x48\x31\xed\x48\x89\xe7\x48\x8d\x35\0\0\0\0\x48\x83\xe4\xf0\xe8\x02\0\0\0\x90\x90\x8b\x37"
    "\xe9\0\0\0\0\xc3";

static const struct {
    const char *what;
    struct unwind_row rows[ROWS_MAX];
    size_t count;
    int base; /* base of the row at START afterwards; -1: no row */
} ROW_CASES[] = {
    { "rows elsewhere",
      { { .pc = 0x1000, .base = UNWIND_BASE_SP, .cfa = 2 },
        { .pc = 0x1100, .base = UNWIND_BASE_NONE } },
      2,
      UNWIND_BASE_ROOT },
    { "the first row",
      { { .pc = START, .base = UNWIND_BASE_SP, .cfa = 2 },
        { .pc = START + 22, .base = UNWIND_BASE_NONE } },
      2,
      UNWIND_BASE_SP },
    { "a later row",
      { { .pc = 0x1000, .base = UNWIND_BASE_SP, .cfa = 2 },
        { .pc = 0x1100, .base = UNWIND_BASE_NONE },
        { .pc = START, .base = UNWIND_BASE_SP, .cfa = 2 },
        { .pc = START + 22, .base = UNWIND_BASE_NONE } },
      4,
      UNWIND_BASE_SP },
    { "a later row that begins within the function",
      { { .pc = 0x1000, .base = UNWIND_BASE_SP, .cfa = 2 },
        { .pc = 0x1100, .base = UNWIND_BASE_NONE },
        { .pc = START + 4, .base = UNWIND_BASE_SP, .cfa = 2 },
        { .pc = START + 22, .base = UNWIND_BASE_NONE } },
      4,
      -1 },
};

static int read_code(const void *file, uint64_t offset, void *p, size_t n)
{
    if (offset > sizeof(CODE) || n > sizeof(CODE) - offset)
        return -EIO;
    memcpy(p, (const char *)file + offset, n);
    return 0;
}

START_TEST(leaves_out_functions_that_have_rows)
{
    const struct ehframe_segment code = { .vaddr = START, .bytes = sizeof(CODE) - 1 };
    struct ehframe_table t = { .rows = calloc(ROW_CASES[_i].count, sizeof(*t.rows)),
                               .count = ROW_CASES[_i].count };
    int base = -1;

    ck_assert_ptr_nonnull(t.rows);
    memcpy(t.rows, ROW_CASES[_i].rows, t.count * sizeof(*t.rows));
    ck_assert_int_eq(musl_rows_add(read_code, CODE, &code, START, &t), 0);
    for (size_t i = 0; i < t.count; i++) {
        if (t.rows[i].pc == START)
            base = t.rows[i].base;
    }
    ck_assert_msg(base == ROW_CASES[_i].base, "%s: %d", ROW_CASES[_i].what, base);
    ehframe_deinit(&t);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("musl_rows");

    tcase_add_loop_test(tc, leaves_out_functions_that_have_rows, 0, (int)ARRAY_SIZE(ROW_CASES));
    return suite_run_case("musl_rows", tc);
}
