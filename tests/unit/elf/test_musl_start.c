/* SPDX-License-Identifier: Apache-2.0 */
/* elf/musl_start.h over code of musl, and over similar code that it must refuse. */
#include "elf/musl_start.h"

#include "suite.h"

#include "base/clock.h"

#define START UINT64_C(0x10000)
#define RULES 10

#define ENTRY "\x48\x31\xed\x48\x89\xe7\x48\x8d\x35\0\0\0\0\x48\x83\xe4\xf0"
/* push rbp; push rbx; sub rsp, 8; call [rbx]; mov rdi, rax; call */
#define FUNCTION "\x55\x53\x48\x83\xec\x08\xff\x13\x48\x89\xc7\xe8\0\0\0\0"
#define TAKES_IT "\xe8\0\0\0\0" /* a call of the next function */

static const struct {
    const char *what;
    struct span code;
    size_t count;
    struct musl_rule rules[RULES];
} CODE_CASES[] = {
    { "the entry of a program, which jumps on",
      SPAN(ENTRY "\xe8\x02\0\0\0\x90\x90\x8b\x37\xe9\0\0\0\0\xc3"),
      2,
      { { START, MUSL_ROOT, 0 }, { START + 22, MUSL_END, 0 } } },
    { "the entry of a program, which has a frame and calls",
      SPAN(ENTRY "\xe8\0\0\0\0\x48\x83\xec\x18\xe8\0\0\0\0\xc3"),
      5,
      { { START, MUSL_ROOT, 0 },
        { START + 22, MUSL_END, 0 },
        { START + 22, MUSL_SP, 0 },
        { START + 26, MUSL_SP, 24 },
        { START + 31, MUSL_END, 0 } } },
    { "another entry", SPAN("\x31\xed\x48\x89\xe7\xe8\0\0\0\0\xc3"), 0, { { 0 } } },
    { "where clone() begins a thread",
      SPAN("\x90\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4"),
      2,
      { { START + 1, MUSL_ROOT, 0 }, { START + 7, MUSL_END, 0 } } },
    { "the function of a thread",
      SPAN(TAKES_IT FUNCTION),
      5,
      { { START + 5, MUSL_SP, 0 },
        { START + 6, MUSL_SP, 8 },
        { START + 7, MUSL_SP, 16 },
        { START + 11, MUSL_SP, 24 },
        { START + 21, MUSL_END, 0 } } },
    { "a function whose address nobody takes", SPAN("\x90\x90" FUNCTION), 0, { { 0 } } },
    { "a branch over a loop that never ends",
      SPAN(TAKES_IT "\x53\x74\x02\xeb\xfe\xff\xd3\x89\xc7\xe8\0\0\0\0"), /* je +2; jmp self */
      3,
      { { START + 5, MUSL_SP, 0 }, { START + 6, MUSL_SP, 8 }, { START + 19, MUSL_END, 0 } } },
    { "what stands behind a jump may be of another function",
      SPAN(TAKES_IT "\x53\xeb\xfe\xff\xd3\x89\xc7\xe8\0\0\0\0"),
      0,
      { { 0 } } },
    { "and what stands behind a return",
      SPAN(TAKES_IT "\x53\xc3\xff\xd3\x89\xc7\xe8\0\0\0\0"),
      0,
      { { 0 } } },
    { "a frame that is made behind a branch",
      SPAN(TAKES_IT "\x74\x01\x53\xff\xd3\x89\xc7\xe8\0\0\0\0"),
      0,
      { { 0 } } },
    { "or behind a call, which may not return",
      SPAN(TAKES_IT "\xe8\0\x10\0\0\x53\xff\xd3\x89\xc7\xe8\0\0\0\0"),
      0,
      { { 0 } } },
    { "a frame that is left before",
      SPAN(TAKES_IT "\x53\x5b\xff\xd3\x89\xc7\xe8\0\0\0\0"),
      0,
      { { 0 } } },
    { "a stack pointer that is aligned",
      SPAN(TAKES_IT "\x53\x48\x83\xe4\xf0\xff\xd3\x89\xc7\xe8\0\0\0\0"),
      0,
      { { 0 } } },
    { "a stack pointer out of a register",
      SPAN(TAKES_IT "\x53\x48\x0f\x44\xe0\xff\xd3\x89\xc7\xe8\0\0\0\0"), /* cmove rsp, rax */
      0,
      { { 0 } } },
    { "a frame that no call can be made from",
      SPAN(TAKES_IT "\x55\x53\xff\xd3\x89\xc7\xe8\0\0\0\0"),
      0,
      { { 0 } } },
    { "a frame that grows by no whole words",
      SPAN(TAKES_IT "\x48\x83\xec\x07\xff\xd3\x89\xc7\xe8\0\0\0\0"),
      0,
      { { 0 } } },
    { "a direct call before that of exit()",
      SPAN(TAKES_IT "\x53\xe8\x10\xd3\0\0\x89\xc7\xe8\0\0\0\0"),
      0,
      { { 0 } } },
    { "no code", SPAN(""), 0, { { 0 } } },
};

START_TEST(reads_what_it_knows)
{
    struct musl_rules got;

    ck_assert_int_eq(musl_read(CODE_CASES[_i].code, START, START, &got), 0);
    ck_assert_msg(got.count == CODE_CASES[_i].count, "%s: %zu rules", CODE_CASES[_i].what,
                  got.count);
    for (size_t k = 0; k < got.count; k++) {
        const struct musl_rule *want = &CODE_CASES[_i].rules[k], *rule = &got.rules[k];

        ck_assert_msg(rule->pc == want->pc && rule->base == want->base &&
                          rule->frame_bytes == want->frame_bytes,
                      "%s: rule %zu: %llx %d %u", CODE_CASES[_i].what, k,
                      (unsigned long long)rule->pc, rule->base, rule->frame_bytes);
    }
}
END_TEST

START_TEST(many_functions_have_room_or_none)
{
    char code[64 * 21];
    struct musl_rules got;

    for (size_t at = 0; at < sizeof(code); at += 21)
        memcpy(code + at, TAKES_IT FUNCTION, 21);
    ck_assert_int_eq(musl_read((struct span){ code, sizeof(code) }, START, START, &got), 0);
    ck_assert_uint_gt(got.count, MUSL_RULES_MAX / 2);
    ck_assert_uint_le(got.count, MUSL_RULES_MAX);
    ck_assert_uint_eq(got.count % 5, 0);
}
END_TEST

/* Static programs have libc behind their own code, which may be large and may resemble it. */
START_TEST(the_last_ones_are_read)
{
    const size_t own = (size_t)8 << 20, lookalikes = 100 * 21;
    struct span last = SPAN(TAKES_IT FUNCTION);
    struct musl_rules got;
    char *code = malloc(own + last.n);
    bool found = false;

    ck_assert_ptr_nonnull(code);
    memset(code, 0x05, own); /* add eax, 0x05050505 */
    memset(code + own - 16, 0x90, 16);
    for (size_t at = 0; at < lookalikes; at += 21)
        memcpy(code + at, TAKES_IT FUNCTION, 21);
    memcpy(code + own, last.p, last.n);
    ck_assert_int_eq(musl_read((struct span){ code, own + last.n }, START, START, &got), 0);
    for (size_t k = 0; k < got.count; k++)
        found |= got.rules[k].pc == START + own + 5;
    ck_assert(found);
    free(code);
}
END_TEST

/* As many starts as possible, and more than a former limit: each call finds its nearest start. */
START_TEST(many_starts_leave_room)
{
    const size_t calls = 2000 * 5;
    struct span last = SPAN(TAKES_IT FUNCTION);
    char *code = malloc(calls + last.n);
    struct musl_rules got;

    ck_assert_ptr_nonnull(code);
    memcpy(code + calls, last.p, last.n);
    for (size_t at = 0; at < calls; at += 5) {
        int32_t to = (int32_t)(calls - at - 5); /* all before the function */

        code[at] = '\xe8';
        memcpy(code + at + 1, &to, sizeof(to));
    }
    ck_assert_int_eq(musl_read((struct span){ code, calls + last.n }, START, START, &got), 0);
    ck_assert_uint_eq(got.count, 5);
    ck_assert_uint_eq(got.rules[0].pc, START + calls + 5);
    free(code);
}
END_TEST

/* The largest code, of the costliest patterns. */
static const struct span COSTLY[] = { SPAN("\x90"), SPAN("\xff\xd3\x89\xc7\xe8"), SPAN("\xe8"),
                                      SPAN("\x31\xed\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c") };

START_TEST(hostile_code_is_read_in_bounds)
{
    char *code = malloc(MUSL_CODE_MAX_BYTES);
    uint64_t began_ns, ns;
    struct musl_rules got;

    ck_assert_ptr_nonnull(code);
    for (size_t at = 0; at < MUSL_CODE_MAX_BYTES; at++)
        code[at] = COSTLY[_i].p[at % COSTLY[_i].n];
    began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    ck_assert_int_eq(musl_read((struct span){ code, MUSL_CODE_MAX_BYTES }, START, START, &got), 0);
    ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
    free(code);
    ck_assert_msg(ns < 1500 * NSEC_PER_MSEC, "%u ms", (unsigned)(ns / NSEC_PER_MSEC));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("musl_start");

    tcase_add_loop_test(tc, reads_what_it_knows, 0, (int)ARRAY_SIZE(CODE_CASES));
    tcase_add_test(tc, many_functions_have_room_or_none);
    tcase_add_test(tc, the_last_ones_are_read);
    tcase_add_test(tc, many_starts_leave_room);
    tcase_add_loop_test(tc, hostile_code_is_read_in_bounds, 0, (int)ARRAY_SIZE(COSTLY));
    return suite_run_case("musl_start", tc);
}
