/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/leaf/ without a JVM: the loops of bytecodes, and the flow of a few instructions. */
#include "suite.h"

#include "base/buf.h"
#include "hotspot/code/leaf_calls.h"
#include "hotspot/leaf/bytecode.h"
#include "leaf_file.h"

#include <fcntl.h>
#include <time.h>

/* ---- bytecodes ---- */

static const struct {
    const char *name, *code;
    size_t n;
    int loops;
    struct leaf_span first;
} BYTECODES[] = {
    { "none", "\x03\xac", 2, 0, { 0 } },
    { "iload, ifne -1", "\x1a\x9a\xff\xff\xb1", 5, 1, { 0, 4, 1 } },
    { "two with one head", "\x1a\x9a\xff\xff\x1a\x9a\xff\xfb\xb1", 9, 1, { 0, 8, 1 } },
    { "one in another", "\x00\x1a\x9a\xff\xff\x1a\x9a\xff\xfa\xb1", 10, 2, { 1, 5, 1 } },
    { "goto_w", "\x00\xc8\xff\xff\xff\xff", 6, 1, { 0, 6, 1 } },
    { "lookupswitch, padded",
      "\x1a\xab\x00\x00\x00\x00\x00\x0c\x00\x00\x00\x00\xa7\xff\xf4",
      15,
      1,
      { 0, 15, 1 } },
    { "fast_iload2 of the VM's own", "\xe1\x00\xe1\x01\xa7\xff\xfc", 7, 1, { 0, 7, 1 } },
    { "a breakpoint", "\x03\xca\xac", 3, -EBADMSG, { 0 } },
    { "cut", "\x1a\x9a\xff", 3, -EBADMSG, { 0 } },
    { "before the start", "\x1a\xa7\xff\x00", 4, -EBADMSG, { 0 } },
    { "a switch of no end",
      "\xaa\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x7f\xff\xff\xff",
      16,
      -EBADMSG,
      { 0 } },
};

START_TEST(finds_loops_of_bytecodes)
{
    struct span code = { BYTECODES[_i].code, BYTECODES[_i].n };
    static struct leaf_bytecodes b;
    int r = leaf_bytecode_read(code, &b), n = r < 0 ? r : (int)b.span_count;
    const struct leaf_span *spans = b.spans;

    ck_assert_msg(n == BYTECODES[_i].loops, "%s: %d", BYTECODES[_i].name, n);
    if (n > 0) {
        ck_assert_int_eq(spans[0].head, BYTECODES[_i].first.head);
        ck_assert_int_eq(spans[0].end, BYTECODES[_i].first.end);
        ck_assert_uint_eq(spans[0].nested, BYTECODES[_i].first.nested);
        ck_assert_uint_eq(spans[n - 1].nested, (uint32_t)n);
    }
}
END_TEST

/* JDK 28 has two more bytecodes of its own. The copies of fast_aload_0 (220 before, 222 there) and
 * of invokevfinal (227 before, 229 there) read as ever. An unknown number ends the reading. */
START_TEST(renumbers_bytecodes)
{
    static const struct {
        const char *code, *want;
    } CASES[] = {
        { "\xde\xe5\x01\x02\xb1", "\xdc\xe3\x01\x02\xb1" },
        { "\xcc\x01\x02\xb1", "\xcb\x01\x02\xb1" },         /* fast_vgetfield */
        { "\x11\xde\xe5\xde\xb1", "\x11\xde\xe5\xdc\xb1" }, /* an operand of two bytes */
        { "\xde\xf8\xde\xb1", "\xdc\xff\xde\xb1" },
    };
    struct leaf_numbers numbers;
    uint8_t code[8];
    size_t n = strlen(CASES[_i].code);

    memset(&numbers, 0xff, sizeof(numbers));
    numbers.own[204 - LEAF_OWN_FIRST] = leaf_bytecode_number("fast_vgetfield");
    numbers.own[222 - LEAF_OWN_FIRST] = leaf_bytecode_number("fast_aload_0");
    numbers.own[229 - LEAF_OWN_FIRST] = leaf_bytecode_number("fast_invokevfinal");
    ck_assert_uint_eq(leaf_bytecode_number("fast_aload"), 0);
    memcpy(code, CASES[_i].code, n);
    leaf_bytecode_renumber(code, n, &numbers);
    ck_assert_mem_eq(code, CASES[_i].want, n);
}
END_TEST

/* ---- instructions and their flow ---- */

/* 0 jmp 6; 2 nop; 3 nopl; 6 dec eax; 8 jne 6; 10 test eax,[r10]; 13 call +0; 18 ret. The padding
 * behind the jump is no entry of the loop. */
#define CODE "\xeb\x04\x90\x0f\x1f\x00\xff\xc8\x75\xfc\x41\x85\x02\xe8\x00\x00\x00\x00\xc3"

START_TEST(decodes_the_flow)
{
    static const struct leaf_instruction WANT[] = {
        { 6, 0, 2, LEAF_JUMP, false },
        { LEAF_NO_TARGET, 2, 1, LEAF_PAD, false },
        { LEAF_NO_TARGET, 3, 3, LEAF_PAD, false },
        { LEAF_NO_TARGET, 6, 2, LEAF_STEP, false },
        { 6, 8, 2, LEAF_BRANCH, false },
        { LEAF_NO_TARGET, 10, 3, LEAF_STEP, true },
        { 18, 13, 5, LEAF_CALL, false },
        { LEAF_NO_TARGET, 18, 1, LEAF_STOP, false },
    };
    struct leaf_instruction got[16];

    ck_assert_uint_eq(leaf_decode(SPAN(CODE), got, 16), ARRAY_SIZE(WANT));
    for (size_t i = 0; i < ARRAY_SIZE(WANT); i++) {
        ck_assert_int_eq(got[i].target, WANT[i].target);
        ck_assert_uint_eq(got[i].at, WANT[i].at);
        ck_assert_uint_eq(got[i].size, WANT[i].size);
        ck_assert_uint_eq(got[i].flow, WANT[i].flow);
        ck_assert_int_eq(got[i].poll, WANT[i].poll);
    }
    ck_assert_uint_eq(leaf_decode(SPAN(CODE), got, 3), 4); /* more than the buffer holds */
    ck_assert_uint_eq(leaf_decode(SPAN("\x06"), got, 16), 1);
    ck_assert_uint_eq(got[0].flow, LEAF_STOP); /* not an instruction of 64-bit mode */
}
END_TEST

START_TEST(decodes_the_flow_of_aarch64)
{
    /* 17: of Sections$Leaf.b, with its own loop, and of the stubs behind it. */
    static const uint32_t WORDS[] = {
        0xd503201f, 0x14000005, 0x6b13029f, 0x540012ea, 0x54ffff6a, 0xb940011f,
        0x97eab0e4, 0xd63f0100, 0xb4fff780, 0x37080060, 0xd65f03c0, 0xd4200000,
        0x58000048, 0xd61f0100, 0x17ffff68, 0x00000055, 0x17eb1c44, 0x0396f2b8,
    };
    static const struct leaf_instruction WANT[] = {
        { LEAF_NO_TARGET, 0, 4, LEAF_PAD, false },   /* nop */
        { 24, 4, 4, LEAF_JUMP, false },              /* b */
        { LEAF_NO_TARGET, 8, 4, LEAF_STEP, false },  /* cmp */
        { 616, 12, 4, LEAF_BRANCH, false },          /* b.ge */
        { -4, 16, 4, LEAF_BRANCH, false },           /* b.ge */
        { LEAF_NO_TARGET, 20, 4, LEAF_STEP, true },  /* ldr wzr, [x8] */
        { -5586008, 24, 4, LEAF_CALL, false },       /* bl */
        { LEAF_NO_TARGET, 28, 4, LEAF_CALL, false }, /* blr x8 */
        { -240, 32, 4, LEAF_BRANCH, false },         /* cbz */
        { 48, 36, 4, LEAF_BRANCH, false },           /* tbnz */
        { LEAF_NO_TARGET, 40, 4, LEAF_STOP, false }, /* ret */
        { LEAF_NO_TARGET, 44, 4, LEAF_STOP, false }, /* brk */
        { LEAF_NO_TARGET, 48, 4, LEAF_STEP, false }, /* ldr x8, #8: a trampoline */
        { LEAF_NO_TARGET, 52, 4, LEAF_STOP, false }, /* br x8 */
        { LEAF_NO_TARGET, 56, 4, LEAF_STOP, false }, /* an address that looks like a jump */
        { LEAF_NO_TARGET, 60, 4, LEAF_STOP, false },
        { -5476016, 64, 4, LEAF_JUMP, false },
        { LEAF_NO_TARGET, 68, 4, LEAF_STOP, false }, /* no instruction */
        { LEAF_NO_TARGET, 72, 2, LEAF_STOP, false }, /* cut */
    };
    char code[sizeof(WORDS) + 2] = { 0 };
    struct span all = { code, sizeof(code) };
    struct leaf_instruction got[20];
    uint64_t target = 0;

    memcpy(code, WORDS, sizeof(WORDS));
    ck_assert_uint_eq(leaf_decode_aarch64(all, got, 20), ARRAY_SIZE(WANT));
    for (size_t i = 0; i < ARRAY_SIZE(WANT); i++) {
        ck_assert_msg(got[i].target == WANT[i].target && got[i].at == WANT[i].at &&
                          got[i].size == WANT[i].size && got[i].flow == WANT[i].flow &&
                          got[i].poll == WANT[i].poll,
                      "%zu: flow %u to %lld", i, got[i].flow, (long long)got[i].target);
    }
    ck_assert_uint_eq(leaf_decode_aarch64(all, got, 18), 19);
    ck_assert(leaf_trampoline(all, 48, &target));
    ck_assert_uint_eq(target, 0x5517ffff68);
    ck_assert(!leaf_trampoline(all, 44, &target));
    ck_assert(!leaf_trampoline(all, 72, &target));
    ck_assert(!leaf_trampoline((struct span){ code, 60 }, 48, &target)); /* cut */
}
END_TEST

/* The VM's stubs that compiled code calls, by their names in JDK 17, 25 and 28. */
START_TEST(tells_traps_and_slow_calls_by_the_name_of_the_stub)
{
    static const struct {
        const char *name;
        uint8_t flow;
    } CASES[] = {
        { "UncommonTrapBlob", LEAF_TRAP },
        { "throw_range_check_failed Runtime1 stub", LEAF_TRAP },
        { "C1 Runtime throw_range_check_failed_blob", LEAF_TRAP },
        { "throw_range_check_failed_blob (C1 runtime)", LEAF_TRAP },
        { "deoptimize Runtime1 stub", LEAF_TRAP },
        { "C1 Runtime deoptimize_blob", LEAF_TRAP },
        { "deoptimize_blob (C1 runtime)", LEAF_TRAP },
        { "predicate_failed_trap Runtime1 stub", LEAF_TRAP },
        { "C1 Runtime predicate_failed_trap_blob", LEAF_TRAP },
        { "predicate_failed_trap_blob (C1 runtime)", LEAF_TRAP },
        { "new_instance Runtime1 stub", LEAF_SLOW },
        { "C1 Runtime new_instance_blob", LEAF_SLOW },
        { "new_instance_blob (C1 runtime)", LEAF_SLOW },
        { "_new_instance_Java", LEAF_SLOW },
        { "C2 Runtime new_instance", LEAF_SLOW },
        { "new_instance_blob (C2 runtime)", LEAF_SLOW },
        { "StubRoutines (1)", LEAF_CALL },
        { "jint_disjoint_arraycopy_stub (stub gen)", LEAF_CALL },
        { "Shared Runtime throw_StackOverflowError_blob", LEAF_CALL },
        { "vtable chunks", LEAF_CALL },
        { "nep_invoker_blob", LEAF_CALL },
        { "", LEAF_CALL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        ck_assert_msg(leaf_stub_flow(CASES[i].name) == CASES[i].flow, "%s", CASES[i].name);
}
END_TEST

START_TEST(finds_natural_loops)
{
    static const struct leaf_ways NO_WAYS = { 0 };
    struct leaf_instruction code[16];
    struct leaf_graph g;

    ck_assert_int_eq(leaf_graph_make(code, leaf_decode(SPAN(CODE), code, 16), &NO_WAYS, &g), 0);
    ck_assert_uint_eq(g.loop_count, 1);
    ck_assert_uint_eq(g.instructions[g.blocks[g.loops[0].head].first].at, 6);
    ck_assert_uint_eq(g.loops[0].body_count, 1);
    ck_assert(leaf_dominates(&g, 0, g.loops[0].head));
    leaf_graph_deinit(&g);
}
END_TEST

/* A nest of loops: each climb costs steps of the remaining ones. */
START_TEST(pays_to_climb_out_of_loops)
{
    static const struct leaf_ways NO_WAYS = { 0 };
    struct leaf_instruction code[200];
    const size_t n = ARRAY_SIZE(code) - 1;
    struct leaf_graph g;
    size_t steps;

    for (size_t i = 0; i < n; i++)
        code[i] = (struct leaf_instruction){ (int64_t)(n - 1 - i), (uint32_t)i, 1,
                                             i <= n / 2 ? LEAF_STEP : LEAF_BRANCH, false };
    code[n] = (struct leaf_instruction){ LEAF_NO_TARGET, (uint32_t)n, 1, LEAF_STOP, false };
    ck_assert_int_eq(leaf_graph_make(code, n + 1, &NO_WAYS, &g), 0);
    ck_assert_uint_eq(g.loop_count, n / 2);
    steps = g.steps;
    ck_assert(leaf_loop_has(&g, (uint32_t)g.loop_count - 1, g.loops[0].head));
    ck_assert_uint_eq(steps - g.steps, g.loop_count - 1);
    g.steps = g.loop_count - 2;
    ck_assert(!leaf_loop_has(&g, (uint32_t)g.loop_count - 1, g.loops[0].head));
    ck_assert_uint_eq(g.steps, 0);
    leaf_graph_deinit(&g);
}
END_TEST

/* A machine loop without a loop in bytecode (C2 may clear an array in one). It belongs to the
 * compiled method if that calls nothing; else it may belong to an inlined method. */
START_TEST(knows_a_method_that_calls_nothing)
{
    struct leaf_instruction code[16];
    struct leaf_method method = { .known = true };
    struct leaf_input in = { .instructions = code, .methods = &method, .method_count = 1 };

    in.instruction_count = leaf_decode(SPAN(CODE), code, 16);
    for (int known = 0; known < 2; known++) {
        for (uint32_t calls = 0; calls < 2; calls++) {
            struct leaf_ranges r = { 0 };
            struct leaf_graph g;

            method.known = known;
            method.invoke_count = calls;
            ck_assert_int_eq(leaf_graph_make(code, in.instruction_count, &in.ways, &g), 0);
            ck_assert_int_eq(leaf_ranges_make(&in, &g, &r), 0);
            ck_assert_uint_eq(r.count, 1);
            ck_assert_uint_eq(r.at[0].chain, LEAF_NONE);
            ck_assert_int_eq(r.at[0].verdict, known && !calls ? LEAF_INFERRED : LEAF_UNSURE);
            free(r.at);
            leaf_graph_deinit(&g);
        }
    }
}
END_TEST

/* A loop of a method that calls itself belongs to that method, however often it is inlined
 * there. */
START_TEST(names_a_method_that_calls_itself)
{
    static const struct leaf_span SPANS[] = { { 0, 10, 1 } };
    static const struct leaf_invoke INVOKES[] = { { 5, 0 } };
    struct leaf_method method = { .count = 1, .invoke_count = 1, .known = true, .resolved = true };
    struct leaf_instruction code[16];
    struct leaf_input in = { .instructions = code,
                             .methods = &method,
                             .method_count = 1,
                             .spans = SPANS,
                             .span_count = 1,
                             .invokes = INVOKES,
                             .invoke_count = 1 };
    struct leaf_ranges r = { 0 };
    struct leaf_graph g;

    in.instruction_count = leaf_decode(SPAN(CODE), code, 16);
    ck_assert(leaf_input_is_whole(&in));
    ck_assert_int_eq(leaf_graph_make(code, in.instruction_count, &in.ways, &g), 0);
    ck_assert_int_eq(leaf_ranges_make(&in, &g, &r), 0);
    ck_assert_uint_eq(r.count, 1);
    ck_assert_int_eq(r.at[0].verdict, LEAF_INFERRED);
    ck_assert_uint_eq(r.at[0].callee, LEAF_NONE);
    free(r.at);
    leaf_graph_deinit(&g);
}
END_TEST

/* A nest as deep as there are blocks: every limit is reached, and none is exceeded. */
START_TEST(bounds_its_work)
{
    static struct leaf_instruction code[40000];
    static const struct leaf_ways NO_WAYS = { 0 };
    struct leaf_graph g;
    size_t n = ARRAY_SIZE(code) - 1;

    for (size_t i = 0; i < n; i++)
        code[i] = (struct leaf_instruction){ (int64_t)(n - 1 - i), (uint32_t)i, 1,
                                             i < n / 2 ? LEAF_STEP : LEAF_BRANCH, false };
    code[n] = (struct leaf_instruction){ LEAF_NO_TARGET, (uint32_t)n, 1, LEAF_STOP, false };
    ck_assert_int_eq(leaf_graph_make(code, n + 1, &NO_WAYS, &g), -E2BIG);
    ck_assert_int_eq(leaf_graph_make(code, LEAF_INSTRUCTIONS_MAX + 1, &NO_WAYS, &g), -E2BIG);
}
END_TEST

/* Jump tables with words that lead into the middle of instructions. These are no edges, so they
 * must not count for a limit. */
START_TEST(looks_words_of_tables_up_once)
{
    static struct leaf_instruction code[20000];
    static uint32_t tables[8192];
    const struct leaf_ways ways = { .tables = tables, .table_count = ARRAY_SIZE(tables) };
    struct timespec begun, ended;
    struct leaf_graph g;

    for (size_t i = 0; i < ARRAY_SIZE(code); i++)
        code[i] =
            (struct leaf_instruction){ LEAF_NO_TARGET, (uint32_t)(2 * i), 2, LEAF_JUMP, false };
    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        tables[i] = (uint32_t)(2 * i + 1);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
    ck_assert_int_eq(leaf_graph_make(code, ARRAY_SIZE(code), &ways, &g), 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
    leaf_graph_deinit(&g);
    ck_assert_int_le(ended.tv_sec - begun.tv_sec, 1); /* 27 s if each jump searches the tables */
}
END_TEST

int main(void)
{
    Suite *s = suite_create("leaf");
    TCase *tc = tcase_create("leaf");

    tcase_add_loop_test(tc, finds_loops_of_bytecodes, 0, (int)ARRAY_SIZE(BYTECODES));
    tcase_add_loop_test(tc, renumbers_bytecodes, 0, 4);
    tcase_add_test(tc, decodes_the_flow);
    tcase_add_test(tc, decodes_the_flow_of_aarch64);
    tcase_add_test(tc, tells_traps_and_slow_calls_by_the_name_of_the_stub);
    tcase_add_test(tc, finds_natural_loops);
    tcase_add_test(tc, pays_to_climb_out_of_loops);
    tcase_add_test(tc, knows_a_method_that_calls_nothing);
    tcase_add_test(tc, names_a_method_that_calls_itself);
    tcase_add_test(tc, bounds_its_work);
    tcase_add_test(tc, looks_words_of_tables_up_once);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
