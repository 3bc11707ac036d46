/* SPDX-License-Identifier: Apache-2.0 */
/* unwind/context_path.h: which paths the broker puts into the BPF programs' table. */
#include "base/macros.h"
#include "unwind/context_path.h"

#include "suite.h"

#define AT(member) offsetof(struct context_path, member)
#define STEP(i, member)                                                                            \
    (AT(steps) + (i) * sizeof(struct context_step) + offsetof(struct context_step, member))

static struct context_path path_of_two(void)
{
    return (struct context_path){ .step_count = 2,
                                  .steps = { { .op = CONTEXT_THREAD_LOCAL, .key = 0x61c88647 },
                                             { .op = CONTEXT_TEXT, .key = CONTEXT_NAME } } };
}

/* A changed byte, and whether the path is still valid. */
static const struct {
    size_t at;
    uint8_t value;
    bool good;
} CASES[] = {
    { AT(step_count), 0, false }, /* leaves steps behind the last one */
    { AT(step_count), 1, false },
    { AT(step_count), 49, false },
    { AT(step_count) + 1, 1, false },
    { AT(ids), CONTEXT_IDS_WORDS, true },
    { AT(ids), CONTEXT_IDS_KINDS, false },
    { AT(mark_shift), 42, true },
    { AT(mark_shift), 64, false },
    { AT(moves), 1, true },
    { AT(moves), 2, false },
    { AT(forwards), CONTEXT_FORWARDS_WORD, true },
    { AT(forwards), CONTEXT_FORWARDS_KINDS, false },
    { AT(array_base), 255, true },
    { STEP(0, op), CONTEXT_OPS, false },
    { STEP(0, to), CONTEXT_REGISTERS - 1, true },
    { STEP(0, to), CONTEXT_REGISTERS, false },
    { STEP(1, from), CONTEXT_REGISTERS, false },
    { STEP(0, skip), 1, true },
    { STEP(0, skip), 2, false },
    { STEP(1, skip), 1, false },
    { STEP(0, offset) + 1, 255, true },
    { STEP(0, offset) + 2, 1, false },
    { STEP(0, key) + 4, 1, false }, /* a hash has only 32 bits */
    { STEP(1, key), CONTEXT_NAME_MORE, true },
    { STEP(1, key), CONTEXT_NAME_MORE + 1, false },
    { STEP(0, op), CONTEXT_KEY, true },
    { STEP(2, op), CONTEXT_SKIP, false },
    { STEP(47, skip), 1, false },
};

START_TEST(checks_each_number)
{
    struct context_path p = path_of_two();

    ck_assert(context_path_valid(&p));
    ((uint8_t *)&p)[CASES[_i].at] = CASES[_i].value;
    ck_assert(context_path_valid(&p) == CASES[_i].good);
}
END_TEST

/* The array of values is in a register. */
START_TEST(checks_the_register_of_values)
{
    struct context_path p = path_of_two();

    p.steps[0] = (struct context_step){ .op = CONTEXT_KEY, .key = UINT64_MAX };
    p.steps[0].offset = CONTEXT_REGISTERS - 1;
    ck_assert(context_path_valid(&p));
    p.steps[0].offset = CONTEXT_REGISTERS;
    ck_assert(!context_path_valid(&p));
}
END_TEST

START_TEST(takes_none)
{
    struct context_path none = { 0 };

    ck_assert(context_path_valid(&none));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("context_path");

    tcase_add_loop_test(tc, checks_each_number, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, checks_the_register_of_values);
    tcase_add_test(tc, takes_none);
    return suite_run_case("context_path", tc);
}
