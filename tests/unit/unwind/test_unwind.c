/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder's rules for compiled code on the host, their cache, and the limits.
 */
#include "unwind_jvm.h"

START_TEST(walks_compiled_frames)
{
    size_t cold, warm;

    put_two_compiled();
    host.reads = 0;
    walk(1);
    cold = host.reads;
    expect_two_compiled();
    host.reads = 0;
    walk(1); /* all of it from the cache */
    warm = host.reads;
    expect_two_compiled();
    ck_assert_uint_lt(warm, cold / 4);
    walk(2); /* checked again */
    expect_two_compiled();
}
END_TEST

START_TEST(notices_code_that_was_replaced)
{
    put_two_compiled();
    walk(1);
    expect_two_compiled();
    /* The block is freed, and another method with another frame size and compile id uses it. */
    put32(code, 0x1000 + HEADER + 28, 9);
    put32(code, 0x1000 + HEADER + 304, 78);
    push_stack(regs.sp + 6 * 8 + 4 * 8 - 8, 0);
    push_stack(regs.sp + 6 * 8 + 9 * 8 - 8, stub_return);
    push_stack(regs.sp + 6 * 8 + 9 * 8 - 16, STACK + 0x2000);
    walk(2);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(host.out[1] >> UNWIND_PC_BITS & UNWIND_ID_MASK, 78);
    ck_assert_uint_eq(pc_of(2), stub_return);
    /* The block is free and unused. */
    code[0x1000 + 8] = 0;
    walk(3);
    ck_assert_uint_ne(w.end, UNWIND_END_ROOT);
}
END_TEST

/* The entries of all frames of a walk of put_two_compiled(). */
static struct unwind_known *entries[4], whole[ARRAY_SIZE(entries)];

static void find_entries(void)
{
    size_t n = 0;

    for (size_t i = 0; i < UNWIND_KNOWN_COUNT; i++) {
        if (host.known[i].sum) {
            ck_assert_uint_lt(n, ARRAY_SIZE(entries));
            entries[n] = &host.known[i];
            whole[n++] = host.known[i];
        }
    }
    ck_assert_uint_eq(n, ARRAY_SIZE(entries));
}

/* Sets the entries, but puts words of entry @from into entry @to: those whose bit of @words is 1.
 */
static void tear(size_t to, size_t from, unsigned words)
{
    uint64_t mixed[4], other[4];

    for (size_t i = 0; i < ARRAY_SIZE(entries); i++)
        *entries[i] = whole[i];
    memcpy(mixed, &whole[to], sizeof(mixed));
    memcpy(other, &whole[from], sizeof(other));
    for (size_t i = 0; i < 4; i++)
        mixed[i] = words & 1U << i ? other[i] : mixed[i];
    memcpy(entries[to], mixed, sizeof(mixed));
}

/* Two processors that use one entry at once can leave words of two rules in it. */
START_TEST(ignores_entries_with_words_of_two_rules)
{
    host.one_by_one = _i;
    put_two_compiled();
    walk(1);
    find_entries();
    for (unsigned i = 0; i < ARRAY_SIZE(entries) * ARRAY_SIZE(entries) * 16; i++) {
        size_t to = i / 16 % ARRAY_SIZE(entries), from = i / 16 / ARRAY_SIZE(entries);

        for (uint32_t tick = 1; tick < 3; tick++) {
            tear(to, from, i % 16);
            walk(tick);
            expect_two_compiled();
        }
        tear(to, from, i % 16);
        code[0x3000 + 8] = 0; /* the code of the first frame is gone */
        walk(2);
        ck_assert_uint_ne(w.end, UNWIND_END_ROOT);
        code[0x3000 + 8] = 1;
    }
    host.one_by_one = false;
}
END_TEST

START_TEST(steps_back_when_a_remembered_rule_misleads)
{
    put_two_compiled();
    walk(1);
    expect_two_compiled();
    /* Now compiled code has pushed two words around its call: the cached slot holds no pc. */
    memset(stack_bytes, 0, sizeof(stack_bytes));
    push_stack(regs.sp + 6 * 8 - 8, _i ? TEXT + 0x20 : 0xdead); /* a rest of a native call */
    push_stack(regs.sp + 6 * 8 + 8, compiled + 100);
    push_stack(regs.sp + 6 * 8, 0x1111);
    push_stack(regs.sp + 6 * 8 + 16 + 4 * 8 - 8, stub_return);
    push_stack(regs.sp + 6 * 8 + 16 + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    walk(1);
    expect_two_compiled();
}
END_TEST

/* Where the return address and fp are, found by the instructions around the pc. */
static const struct {
    const char *name;
    char before[8]; /* bytes that end at the pc */
    size_t before_n;
    char at[8];
    int32_t offset; /* offset of the pc in the code; at 20 the frame is complete */
    int32_t ra, fp; /* in words from sp; fp -1: in the register */
} SHAPES[] = {
    { "at push rbp", "", 0, "\x55", 12, 0, -1 },
    { "after push rbp", "\x55", 1, "\x48\x83\xec\x10", 13, 1, 0 },
    { "after push rbp; mov rbp,rsp", "\x55\x48\x8b\xec", 4, "\x48\x83\xec\x10", 16, 1, 0 },
    { "after sub rsp in the prologue", "\x48\x83\xec\x20", 4, "\x90", 18, 5, 4 },
    { "at mov [rsp+n],rbp", "", 0, "\x48\x89\x6c\x24\x20", 12, 5, -1 },
    { "at the entry barrier", "", 0, "\x41\x81\x7f\x20", 18, 5, 4 },
    { "in the stack bang", "", 0, "\x89\x84\x24\x00\xc0\xfe\xff", 0, 0, -1 },
    { "in the body", "", 0, "\x90\x90", 60, 5, 4 },
    { "at ret", "", 0, "\xc3", 60, 0, -1 },
    { "at pop rbp", "", 0, "\x5d", 60, 1, 0 },
    { "at the poll of JDK 17", "\x5d", 1, "\x49\x3b\xa7\x40\x03", 60, 0, -1 },
    { "at the poll of JDK 11", "\x5d", 1, "\x4d\x8b\x97\x08\x01", 60, 0, -1 },
    { "at the poll of JDK 8", "\x5d", 1, "\x85\x05\x00\x10", 60, 0, -1 },
    { "at the jump behind the poll", "", 0, "\x0f\x87\x01\x02\x03\x00\xc3", 60, 0, -1 },
    { "behind xor rcx,r9, which ends in c9", "\x4c\x31\xc9", 3, "\x49\x89\xca", 60, 5, 4 },
    { "at the exception test of a wrapper", "\xc9", 1, "\x49\x83\x7f\x08", 60, 0, -1 },
};

START_TEST(reads_prologues_and_epilogues)
{
    uint64_t pc = callee + (uint64_t)SHAPES[_i].offset, ra = after_call(compiled + 100), above;

    put_code(pc - SHAPES[_i].before_n, SHAPES[_i].before, SHAPES[_i].before_n);
    put_code(pc, SHAPES[_i].at, sizeof(SHAPES[_i].at));
    regs.pc = pc;
    regs.fp = STACK + 0x2000;
    push_stack(regs.sp + 8 * (uint64_t)SHAPES[_i].ra, ra);
    if (SHAPES[_i].fp >= 0) {
        push_stack(regs.sp + 8 * (uint64_t)SHAPES[_i].fp, STACK + 0x2000);
        regs.fp = 0x99; /* anything */
    }
    above = regs.sp + 8 * (uint64_t)SHAPES[_i].ra + 8;
    push_stack(above + 4 * 8 - 8, stub_return);
    push_stack(above + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    for (uint32_t tick = 1; tick < 4; tick++) {
        walk(tick);
        ck_assert_msg(w.end == UNWIND_END_ROOT && w.words == 4, "%s: end %u after %u words",
                      SHAPES[_i].name, w.end, w.words);
        ck_assert_uint_eq(pc_of(1), ra);
    }
}
END_TEST

/* The frame pointer that a frame restores must be its caller's: call_stub is found by nothing else.
 */
/* Code of a JVMCI compiler, called from the interpreter, with a frame at rbp. It saves rbp in one
 * of three ways, or keeps it; then a spilled value lies where others save rbp. */
static const struct {
    const char *bytes;
    size_t n;
    bool saves;
} JVMCI_CASES[] = {
    { "\x48\x83\xec\x28\x90\x90\x90\x90\x90", 9, false },
    { "\x48\x83\xec\x28\x48\x89\x6c\x24\x20", 9, true },
    { "\x48\x83\xec\x28\x48\x89\x6c\x24\x18", 9, false }, /* another word of the frame */
    { "\x48\x83\xec\x28\x48\x89\xac\x24\x20\x00\x00\x00", 12, true },
    { "\x55\x48\x83\xec\x20", 5, true },
};

START_TEST(leaves_a_frame_pointer_that_was_not_saved)
{
    uint64_t fp = STACK + 0x3000, sp = regs.sp;
    bool saves = JVMCI_CASES[_i].saves;

    jvm.vm.jvmci = 1;
    put_code(callee + 4, JVMCI_CASES[_i].bytes, JVMCI_CASES[_i].n);
    regs.pc = callee + 60;
    regs.fp = saves ? 0x1111 : fp;
    push_stack(sp + 6 * 8 - 8, INTERPRETER + 0x100);
    push_stack(sp + 6 * 8 - 16, saves ? fp : 0x2222);
    push_stack(fp - 24, METHOD);
    push_stack(fp - 8, fp + 16);
    push_stack(fp - 64, META + 0x300); /* bcp */
    push_stack(fp, STACK + 0x4000);
    push_stack(fp + 8, stub_return);
    put_entry(STACK + 0x4000);
    for (uint32_t tick = 1; tick < 4; tick++) {
        walk(tick);
        ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
        ck_assert_uint_eq(kind_of(0), UNWIND_COMPILED);
        ck_assert_uint_eq(kind_of(1), UNWIND_INTERPRETED);
        ck_assert_uint_eq(pc_of(1), METHOD);
    }
    jvm.vm.jvmci = 0; /* without such a compiler, code is like that of C1 and C2 */
    memset(host.known, 0, sizeof(host.known));
    walk(5);
    ck_assert_int_eq(w.end == UNWIND_END_ROOT, saves);
}
END_TEST

START_TEST(follows_a_deoptimized_caller)
{
    uint64_t sp = regs.sp, handler = CODE + 0x1000 + (16 << 7) - (_i ? 24 : 16);

    regs.pc = callee + 40;
    push_stack(sp + 6 * 8 - 8, handler);
    sp += 6 * 8;
    push_stack(sp + 8, compiled + 64); /* orig_pc */
    push_stack(sp + 4 * 8 - 8, stub_return);
    push_stack(sp + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(pc_of(1), compiled + 64);
    ck_assert_uint_eq(kind_of(1), UNWIND_COMPILED);
}
END_TEST

/* JDK 8 saves all registers around the sine of the VM's library. One of them looks like a return
 * address. */
static const struct {
    bool misaligned, avx, avx2;
    uint32_t bytes; /* bytes pushed beside the frame */
} FALLBACKS[] = {
    { false, false, false, 8 + 256 + 128 },
    { true, false, false, 16 + 256 + 128 },
    { false, true, false, 8 + 256 + 128 },
    { true, true, true, 16 + 512 + 128 },
};

#define MOVE_ADD(at, bytes)                                                                        \
    do {                                                                                           \
        put_code(at, bytes, sizeof(bytes) - 1);                                                    \
        (at) += sizeof(bytes) - 1;                                                                 \
    } while (0)

START_TEST(passes_registers_that_are_saved_around_a_call)
{
    uint64_t ra = after_call(compiled + 100), at = ra, sp = regs.sp + 16;

    if (FALLBACKS[_i].misaligned)
        MOVE_ADD(at, "\x48\x83\xc4\x08\xe9\x05\0\0\0\xe8\0\0\0\0");
    if (FALLBACKS[_i].avx) {
        MOVE_ADD(at, "\xc5\xfb\x11\x04\x24\xdd\x04\x24\x48\x83\xc4\x08");
        at += 5 + 7 * 6 + 8 * 9; /* vmovdqu xmm,[rsp+n] */
    } else {
        MOVE_ADD(at, "\xf2\x0f\x11\x04\x24\xdd\x04\x24\x48\x83\xc4\x08");
        at += 5 + 7 * 6 + 8 * 10; /* movdqu xmm,[rsp+n] */
    }
    MOVE_ADD(at, "\x48\x81\xc4\x00\x01\0\0");
    if (FALLBACKS[_i].avx2) {
        MOVE_ADD(at, "\xc4\xe3\x7d\x18\x04\x24\x01");
        at += 7 * 8 + 8 * 11; /* vinsertf128 ymm,ymm,[rsp+n],1 */
        MOVE_ADD(at, "\x48\x81\xc4\x00\x01\0\0");
    }
    MOVE_ADD(at, "\x4c\x8b\x3c\x24");
    regs.pc = TEXT + 0x10;
    push_stack(regs.sp + 8, ra);
    push_stack(sp + 4 * 8 - 8, INTERPRETER + 0x7f); /* a rest of earlier calls */
    sp += FALLBACKS[_i].bytes;
    push_stack(sp + 4 * 8 - 8, stub_return);
    push_stack(sp + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    for (uint32_t tick = 1; tick < 3; tick++) {
        walk(tick);
        ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
        ck_assert_uint_eq(pc_of(1), ra);
        ck_assert_uint_eq(kind_of(1), UNWIND_COMPILED);
        ck_assert_uint_eq(pc_of(2), stub_return);
    }
}
END_TEST

/* ---- limits and nonsense ---- */

START_TEST(stops_at_its_limit)
{
    uint64_t ra = after_call(compiled + 100), sp = regs.sp;

    regs.pc = compiled + 64;
    for (int i = 0; i < 100; i++, sp += 32)
        push_stack(sp + 24, ra);
    host_walk(&w, &jvm, &regs, 1, 50);
    ck_assert_uint_eq(w.end, UNWIND_END_LIMIT);
    ck_assert_uint_le(w.words, 50);
    ck_assert_uint_ge(w.words, 48);
    host_walk(&w, &jvm, &regs, 1, 50); /* the same from the cache */
    ck_assert_uint_eq(w.end, UNWIND_END_LIMIT);
    ck_assert_uint_le(w.words, 50);
    ck_assert_uint_ge(w.words, 48);
}
END_TEST

/* Frames that each take the slow path through the longest chain of the segment map, again and
 * again. */
START_TEST(gives_a_costly_target_no_more_time)
{
    uint64_t sp = regs.sp;

    regs.sp = sp = STACK;
    regs.pc = callee + 40;
    memset(segmap + (0x10000 >> 7), 1, 256); /* one segment a hop */
    segmap[0x10000 >> 7] = 0;
    for (uint64_t at = STACK; at + 8 <= STACK + STACK_BYTES; at += 8)
        push_stack(at, CODE + 0x10000 + (80 << 7)); /* not behind a call: its block is searched */
    for (; sp + 200 * 8 < STACK + STACK_BYTES; sp += (6 + UNWIND_PROBE_MAX) * 8) {
        push_stack(sp + (6 + UNWIND_PROBE_MAX) * 8 - 8, after_call(callee + 100));
        push_stack(sp + (6 + UNWIND_PROBE_MAX) * 8 - 16, 0x1111);
    }
    host.reads = 0;
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_LIMIT);
    ck_assert_uint_gt(host.reads, UNWIND_READS_MAX);
    ck_assert_uint_lt(host.reads, UNWIND_READS_MAX + 8192);
}
END_TEST

START_TEST(survives_nonsense)
{
    uint64_t x = 88172645463325252ULL;
    uint64_t ends[UNWIND_END_COUNT] = { 0 };

    for (int round = 0; round < 20000; round++) {
        uint8_t *parts[] = { stack_bytes, code, segmap, meta };
        size_t sizes[] = { STACK_BYTES, CODE_BYTES, SEGMENTS, sizeof(meta) };

        if (round % 200 == 0) {
            setup();
            jvm.vm.virtual_threads = round % 400 == 0;
        }
        for (int i = 0; i < 40; i++) {
            uint64_t values[] = { x,
                                  compiled + 100,
                                  stub_return,
                                  regs.sp + (x & 0x3ff8),
                                  INTERPRETER + (x & 0xfff),
                                  TEXT + (x & 0x3ff) };
            size_t part = i < 35 ? 0 : x % 4;

            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            put64(parts[part],
                  part == 0 ? 0x1000 + (x >> 8) % 0x400 * 8 : (x >> 8) % (sizes[part] - 8),
                  values[x % ARRAY_SIZE(values)]);
        }
        regs.pc = x & 1 ? callee + (x >> 20) % 200 : CODE + (x >> 20) % CODE_BYTES;
        regs.sp = STACK + 0x1000;
        regs.fp = STACK + 0x1000 + (x >> 5) % 0x800 * 8;
        walk((uint32_t)round);
        ck_assert_uint_le(w.words, HOST_WORDS_MAX);
        ck_assert_uint_lt(w.end, UNWIND_END_COUNT);
        ends[w.end]++;
    }
    ck_assert_uint_gt(ends[UNWIND_END_NO_BLOB], 0);
    ck_assert_uint_gt(ends[UNWIND_END_COMPILED], 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("unwind");

    tcase_add_test(tc, walks_compiled_frames);
    tcase_add_test(tc, notices_code_that_was_replaced);
    tcase_add_loop_test(tc, ignores_entries_with_words_of_two_rules, 0, 2);
    tcase_add_loop_test(tc, steps_back_when_a_remembered_rule_misleads, 0, 2);
    tcase_add_loop_test(tc, reads_prologues_and_epilogues, 0, (int)ARRAY_SIZE(SHAPES));
    tcase_add_loop_test(tc, follows_a_deoptimized_caller, 0, 2);
    tcase_add_loop_test(tc, leaves_a_frame_pointer_that_was_not_saved, 0,
                        (int)ARRAY_SIZE(JVMCI_CASES));
    tcase_add_loop_test(tc, passes_registers_that_are_saved_around_a_call, 0,
                        (int)ARRAY_SIZE(FALLBACKS));
    tcase_add_test(tc, stops_at_its_limit);
    tcase_add_test(tc, gives_a_costly_target_no_more_time);
    tcase_add_test(tc, survives_nonsense);
    return run_unwind_tests("unwind", tc);
}
