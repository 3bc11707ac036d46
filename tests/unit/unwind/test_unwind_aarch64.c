/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder's rules for aarch64 on any host: link register, prologues, epilogues, signals. */
#define UNWIND_AARCH64
#include "unwind_jvm.h"

#define NOP 0xd503201fu
#define BL 0x94000010u          /* bl */
#define RET 0xd65f03c0u         /* ret */
#define SUB_SP_48 0xd100c3ffu   /* sub sp,sp,#48 */
#define ADD_SP_48 0x9100c3ffu   /* add sp,sp,#48 */
#define STP_PAIR_32 0xa9027bfdu /* stp x29,x30,[sp,#32] */
#define LDP_PAIR_32 0xa9427bfdu /* ldp x29,x30,[sp,#32] */
#define PUSH_PAIR 0xa9bf7bfdu   /* stp x29,x30,[sp,#-16]! */
#define POP_PAIR 0xa8c17bfdu    /* ldp x29,x30,[sp],#16 */
#define LDR_POLL 0xf9422788u    /* ldr x8,[x28,#1096] */
#define CMP_SP_X8 0xeb2863ffu   /* cmp sp,x8 */
#define B_HI 0x54000148u        /* b.hi */
#define DROP_PAIR 0x910043ffu   /* add sp,sp,#16 */
#define PAC (0x35ULL << 48)     /* signature bits of a signed address */

static const struct unwind_row ROWS[] = {
    { .pc = 0x000, .base = UNWIND_BASE_SP, .cfa = 4, .fp = 1 },  /* stp x29,x30,[sp,#-32]! */
    { .pc = 0x080, .base = UNWIND_BASE_SP, .cfa = 2, .fp = -1 }, /* str x30,[sp,#-16]! */
    { .pc = 0x100, .base = UNWIND_BASE_FP, .cfa = 12, .fp = 1 }, /* fp at the frame's end */
    { .pc = 0x180, .base = UNWIND_BASE_SP, .cfa = 0, .fp = 0 },  /* a leaf */
    { .pc = 0x1c0,
      .base = UNWIND_BASE_SP,
      .cfa = 136,
      .fp = -69 },                                                 /* sub sp behind a pushed pair */
    { .pc = 0x1e0, .base = UNWIND_BASE_SP, .cfa = 8206, .fp = 1 }, /* 64 KB, the pair at sp */
    { .pc = 0x1f0, .base = UNWIND_BASE_SP, .cfa = 8206, .fp = -2 }, /* the same without fp */
    { .pc = 0x200, .base = UNWIND_BASE_ROOT },                      /* thread start */
    { .pc = 0x300, .base = UNWIND_BASE_NONE },
};

static void put_instruction(uint64_t at, uint32_t i)
{
    put32(code, at - CODE, i);
}

static uint64_t behind_call(uint64_t ra)
{
    put_instruction(ra - 4, BL);
    return ra;
}

/* Does the same as setup(), with code of no-ops. The callee makes a frame of 48 bytes, complete at
 * byte 20. */
static void setup_aarch64(void)
{
    setup();
    for (size_t at = 0; at < sizeof(code); at += 4)
        put32(code, at, NOP);
    setup_blobs();
    host.rows = ROWS;
    host.row_count = ARRAY_SIZE(ROWS);
    jvm.mappings[0].row_count = ARRAY_SIZE(ROWS);
    jvm.vm.bcp_slot = 9;
    stub_return = behind_call(stub_return);
    put_instruction(callee + 12, SUB_SP_48);
    put_instruction(callee + 16, STP_PAIR_32);
    put_instruction(callee + 60, LDP_PAIR_32);
    put_instruction(callee + 64, ADD_SP_48);
    put_instruction(callee + 68, LDR_POLL);
    put_instruction(callee + 72, CMP_SP_X8);
    put_instruction(callee + 76, B_HI);
    put_instruction(callee + 80, RET);
}

/* Puts the frame of the calling compiled method and all above it. @sp: its stack pointer. */
static void put_caller(uint64_t sp)
{
    push_stack(sp + 4 * 8 - 8, stub_return | PAC);
    push_stack(sp + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
}

static const struct {
    const char *name;
    uint32_t at; /* offset in the callee */
    int room;    /* bytes from sp to the caller's sp */
    bool saved;  /* true: fp and the return address lie in the frame */
} PLACES[] = {
    { "at its entry", 0, 0, false },
    { "before sub sp", 12, 0, false },
    { "before stp", 16, 48, false },
    { "complete", 20, 48, true },
    { "in the middle", 40, 48, true },
    { "before ldp", 60, 48, true },
    { "before add sp", 64, 48, true },
    { "at the poll's load", 68, 0, false },
    { "at the poll's comparison", 72, 0, false },
    { "at the poll's branch", 76, 0, false },
    { "at ret", 80, 0, false },
};

START_TEST(walks_each_place_of_a_method)
{
    uint64_t ra = behind_call(compiled + 100), caller = regs.sp + (uint64_t)PLACES[_i].room;

    regs.pc = callee + PLACES[_i].at;
    regs.fp = 0x7777;
    regs.more.link = PLACES[_i].saved ? callee + 44 : ra;
    if (PLACES[_i].saved) {
        push_stack(caller - 8, ra | PAC);
        push_stack(caller - 16, 0x1111);
    }
    put_caller(caller);
    for (uint32_t tick = 1; tick <= 2; tick++) { /* without the cache, then with it */
        walk(tick);
        ck_assert_msg(w.end == UNWIND_END_ROOT, "%s: %u", PLACES[_i].name, w.end);
        ck_assert_uint_eq(w.words, 4);
        ck_assert_uint_eq(pc_of(1), ra);
        ck_assert_uint_eq(pc_of(2), stub_return);
    }
}
END_TEST

/* Frames of more than 4 KB: the pair is pushed first. */
START_TEST(walks_prologues_of_large_frames)
{
    uint64_t ra = behind_call(compiled + 100);

    put_instruction(callee + 12, PUSH_PAIR);
    put_instruction(callee + 16, SUB_SP_48);
    regs.pc = callee + 16;
    regs.more.link = ra;
    push_stack(regs.sp, 0x1111);
    push_stack(regs.sp + 8, ra);
    put_caller(regs.sp + 16);
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(pc_of(1), ra);
}
END_TEST

/* C2 leaves two words below a frame that calls the VM. */
START_TEST(walks_over_what_calls_of_the_vm_leave)
{
    uint64_t sp = regs.sp, ra = behind_call(callee + 40);

    put_instruction(ra, DROP_PAIR);
    regs.pc = TEXT + 0x190;
    regs.more.link = ra;
    push_stack(sp + 16 + 48 - 8, behind_call(compiled + 100));
    push_stack(sp + 16 + 48 - 16, 0x1111);
    put_caller(sp + 16 + 48);
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(pc_of(1), ra);
    ck_assert_uint_eq(pc_of(2), compiled + 100);
}
END_TEST

/* A leaf, then frames that save only the return address, a pair, and a pair at fp. */
START_TEST(walks_native_rows)
{
    uint64_t sp = regs.sp;

    regs.pc = TEXT + 0x190;
    regs.fp = 0x99;
    regs.more.link = TEXT + 0x90;
    push_stack(sp, (TEXT + 0x10) | PAC);
    sp += 2 * 8;
    push_stack(sp, sp + 6 * 8); /* fp of the third */
    push_stack(sp + 8, (TEXT + 0x110) | PAC);
    sp += 4 * 8;
    sp += 2 * 8; /* below its fp */
    push_stack(sp, 0);
    push_stack(sp + 8, root_return);
    for (uint32_t tick = 1; tick <= 2; tick++) {
        walk(tick);
        ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
        ck_assert_uint_eq(w.words, 5);
        ck_assert_uint_eq(pc_of(1), TEXT + 0x90);
        ck_assert_uint_eq(pc_of(2), TEXT + 0x10);
        ck_assert_uint_eq(pc_of(3), TEXT + 0x110);
        ck_assert_uint_eq(pc_of(4), root_return);
    }
}
END_TEST

/* The pair is far from sp. */
START_TEST(walks_large_native_frames)
{
    regs.pc = TEXT + 0x1d0;
    push_stack(regs.sp + 136 * 8 - 6 * 8, 0x77);
    push_stack(regs.sp + 136 * 8 - 5 * 8, root_return | PAC);
    for (uint32_t tick = 1; tick <= 2; tick++) {
        walk(tick);
        ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
        ck_assert_uint_eq(w.words, 2);
        ck_assert_uint_eq(pc_of(1), root_return);
    }
}
END_TEST

/* The frame is larger than the distance from its end that a rule can hold. */
START_TEST(walks_frames_of_64_kb)
{
    regs.pc = TEXT + (_i ? 0x1f8 : 0x1e8);
    regs.fp = 0x88;
    push_stack(regs.sp, 0x77);
    push_stack(regs.sp + 8, root_return | PAC);
    for (uint32_t tick = 1; tick <= 2; tick++) {
        walk(tick);
        ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
        ck_assert_uint_eq(w.words, 2);
        ck_assert_uint_eq(pc_of(1), root_return);
        ck_assert_uint_eq(w.at.sp, regs.sp + 65648);
        ck_assert_uint_eq(w.at.fp, _i ? 0x88 : 0x77);
    }
}
END_TEST

/* The vdso's trampoline has no row. The interrupted function is a leaf. */
START_TEST(walks_signal_frames)
{
    uint64_t frame = regs.sp + 32, trampoline = TEXT + 0x320, interrupted = STACK + 0x3000;
    uint8_t text[0x1000] = { 0 };

    put64(text, 0x320, 0xd4000001d2801168ULL);
    host.regions[host.region_count++] = (struct host_region){ TEXT, sizeof(text), text };
    regs.pc = TEXT + 0x10; /* the handler */
    push_stack(regs.sp, 0x55);
    push_stack(regs.sp + 8, trampoline);
    push_stack(frame + UNWIND_SIGNAL_PC, TEXT + 0x190);
    push_stack(frame + UNWIND_SIGNAL_SP, interrupted);
    push_stack(frame + UNWIND_SIGNAL_FP, 0x66);
    push_stack(frame + UNWIND_SIGNAL_LINK, root_return);
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(w.words, 4);
    ck_assert_uint_eq(pc_of(1), trampoline);
    ck_assert_uint_eq(kind_of(1), UNWIND_SIGNAL);
    ck_assert_uint_eq(pc_of(2), TEXT + 0x190);
    ck_assert_uint_eq(pc_of(3), root_return);
}
END_TEST

/* Two interpreted methods: the caller's sp lies below the callee's fp. */
START_TEST(walks_interpreted_methods_in_the_callers_stack)
{
    uint64_t fp = regs.sp + 0x100, caller = regs.sp + 0x300;

    regs.pc = INTERPRETER + 0x4000;
    regs.fp = fp;
    regs.more.bcp = 0x4242;
    push_stack(fp, caller);
    push_stack(fp + 8, INTERPRETER + 0x5000);
    push_stack(fp - 8, fp - 0x20);
    push_stack(fp - 24, METHOD);
    push_stack(caller, STACK + 0x2000);
    push_stack(caller + 8, stub_return);
    push_stack(caller - 8, caller + 0x40);
    push_stack(caller - 24, METHOD);
    push_stack(caller - 72, 0x4343);
    put_entry(STACK + 0x2000);
    for (uint32_t tick = 1; tick <= 2; tick++) {
        walk(tick);
        ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
        ck_assert_uint_eq(w.words, 6);
        ck_assert_uint_eq(pc_of(0), METHOD);
        ck_assert_uint_eq(host.out[1], 0x4242);
        ck_assert_uint_eq(pc_of(2), METHOD);
        ck_assert_uint_eq(host.out[3], 0x4343);
        ck_assert_uint_eq(pc_of(4), stub_return);
    }
}
END_TEST

/* Called from compiled code through an adapter, which reserved 32 bytes. */
START_TEST(walks_the_entry_of_an_interpreted_method)
{
    uint64_t caller = regs.sp + 32;

    regs.pc = INTERPRETER + 0x100;
    put_instruction(INTERPRETER + 0x140, 0xa9057bfd); /* stp x29,x30,[sp,#80] */
    regs.more.link = behind_call(compiled + 100);
    regs.more.method = METHOD;
    regs.more.sender_17 = caller;
    put_caller(caller);
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(pc_of(0), METHOD);
    ck_assert_uint_eq(kind_of(0), UNWIND_INTERPRETED);
    ck_assert_uint_eq(pc_of(2), compiled + 100);
}
END_TEST

/* A leaf stub: with or without a frame, and with 4 words pushed. */
START_TEST(walks_stubs)
{
    uint64_t stub = add_blob(0x9000, 8, "StubRoutines (2)", 0, -1, 0) + 0x80;
    uint64_t sp = regs.sp, ra = behind_call(compiled + 100);

    regs.pc = stub;
    regs.more.link = ra;
    regs.fp = 0x77;
    if (_i == 1) {
        regs.fp = sp;
        push_stack(sp, STACK + 0x1800);
        push_stack(sp + 8, ra);
        sp += 16;
    } else if (_i == 2) {
        sp += 32;
    }
    put_caller(sp);
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(w.words, 4);
    ck_assert_uint_eq(kind_of(0), UNWIND_STUB);
    ck_assert_uint_eq(pc_of(1), ra);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("aarch64");

    tcase_add_loop_test(tc, walks_each_place_of_a_method, 0, (int)ARRAY_SIZE(PLACES));
    tcase_add_test(tc, walks_prologues_of_large_frames);
    tcase_add_test(tc, walks_over_what_calls_of_the_vm_leave);
    tcase_add_test(tc, walks_native_rows);
    tcase_add_test(tc, walks_large_native_frames);
    tcase_add_loop_test(tc, walks_frames_of_64_kb, 0, 2);
    tcase_add_test(tc, walks_signal_frames);
    tcase_add_test(tc, walks_interpreted_methods_in_the_callers_stack);
    tcase_add_test(tc, walks_the_entry_of_an_interpreted_method);
    tcase_add_loop_test(tc, walks_stubs, 0, 3);
    return run_prepared_tests("unwind_aarch64", tc, setup_aarch64);
}
