/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder's rules for the interpreter, on the host. */
#include "unwind_jvm.h"

static void put_interpreted(uint64_t fp, uint64_t caller_fp, uint64_t ra, uint64_t sender_sp)
{
    push_stack(fp, caller_fp);
    push_stack(fp + 8, ra);
    push_stack(fp - 8, sender_sp);
    push_stack(fp - 24, METHOD);
    push_stack(fp - 64, 0xbcb);
    push_stack(fp - 56, 0xbc7);
}

START_TEST(walks_interpreted_frames)
{
    uint64_t fp1 = STACK + 0x1100, fp2 = STACK + 0x1200;

    regs.pc = INTERPRETER + 0x700;
    regs.fp = fp1;
    regs.more.bcp = 0xbc0;
    put_interpreted(fp1, fp2, INTERPRETER + 0x500, fp1 + 16);
    put_interpreted(fp2, STACK + 0x2000, stub_return, fp2 + 16);
    put_entry(STACK + 0x2000);
    for (uint32_t tick = 1; tick < 3; tick++) {
        walk(tick);
        ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
        ck_assert_uint_eq(w.words, 6);
        ck_assert_uint_eq(kind_of(0), UNWIND_INTERPRETED);
        ck_assert_uint_eq(pc_of(0), METHOD);
        ck_assert_uint_eq(host.out[1], 0xbc0); /* from the register, not from the slot */
        ck_assert_uint_eq(pc_of(2), METHOD);
        ck_assert_uint_eq(host.out[3], 0xbcb);
    }
    jvm.vm.bcp_slot = 7;
    walk(3);
    ck_assert_uint_eq(host.out[3], 0xbc7);
}
END_TEST

/* The entry of an interpreted method, instruction by instruction: words of the stack from sp on,
 * and the registers' values. */
enum { NOTHING, RA, OLD_FP, SENDER, BCP, SELF /* the address of the word that holds old fp */ };

static const struct {
    const char *name, *before;
    int stack[4], rax, r13, fp, above; /* above: words from sp to the caller's sp */
} ENTRIES[] = {
    { "first instruction", "\x90", { RA }, NOTHING, SENDER, OLD_FP, 1 },
    { "return address popped", "\x58", { NOTHING }, RA, SENDER, OLD_FP, 3 },
    { "and pushed again", "\x50", { RA }, NOTHING, SENDER, OLD_FP, 4 },
    { "after push rbp", "\x55", { OLD_FP, RA }, RA, SENDER, OLD_FP, 4 },
    { "after mov rbp,rsp", "\xec", { OLD_FP, RA }, RA, SENDER, SELF, 4 },
    { "after push r13", "\x55", { SENDER, OLD_FP, RA }, RA, SENDER, SELF, 5 },
    { "r13 is the bytecode's address", "\x38", { SENDER, OLD_FP, RA }, NOTHING, BCP, SELF, 5 },
    { "after push 0", "\x00", { NOTHING, SENDER, OLD_FP, RA }, NOTHING, BCP, SELF, 6 },
};

START_TEST(knows_the_interpreters_entry)
{
    uint64_t sender = regs.sp + 8 * (uint64_t)ENTRIES[_i].above, old_fp = STACK + 0x2000, self = 0;

    for (uint64_t i = 0; i < 4; i++) {
        int what = ENTRIES[_i].stack[i];

        if (what == OLD_FP && !self)
            self = regs.sp + 8 * i;
        push_stack(regs.sp + 8 * i, what == RA       ? stub_return
                                    : what == OLD_FP ? old_fp
                                    : what == SENDER ? sender
                                                     : 0);
    }
    regs.pc = INTERPRETER + 0x100;
    put_code(regs.pc - 1, ENTRIES[_i].before, 1);
    regs.more.method = METHOD;
    regs.more.link = ENTRIES[_i].rax == RA ? stub_return : 0x123;
    regs.more.bcp = ENTRIES[_i].r13 == SENDER ? sender : 0xbc0;
    regs.fp = ENTRIES[_i].fp == SELF ? self : old_fp;
    put_entry(old_fp);
    walk(1);
    ck_assert_msg(w.end == UNWIND_END_ROOT && w.words == 4, "%s: end %u after %u words",
                  ENTRIES[_i].name, w.end, w.words);
    ck_assert_uint_eq(pc_of(0), METHOD);
    ck_assert_uint_eq(host.out[1], 0);
    ck_assert_uint_eq(pc_of(2), stub_return);
}
END_TEST

/* Returned from compiled code, with r13 as it was at the call. The adapter had aligned the stack,
 * so the return address still lies on top. The first or the second instruction restores rsp. */
START_TEST(knows_that_a_call_has_returned)
{
    uint64_t fp = STACK + 0x1100, back = after_call(INTERPRETER + 0x500);

    regs.pc = back + (uint64_t)_i * 4;
    regs.fp = fp;
    regs.more.method = _i ? METHOD : 3; /* a counter of that code, or still the method */
    regs.more.bcp = regs.sp + 8;
    push_stack(regs.sp, back);
    put_interpreted(fp, STACK + 0x2000, stub_return, fp + 16);
    put_entry(STACK + 0x2000);
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(w.words, 4);
    ck_assert_uint_eq(kind_of(0), UNWIND_INTERPRETED);
    ck_assert_uint_eq(pc_of(0), METHOD);
    ck_assert_uint_eq(host.out[1], 0xbcb); /* from the slot: the register holds none */
    ck_assert_uint_eq(pc_of(2), stub_return);
}
END_TEST

START_TEST(refuses_what_is_no_interpreter_frame)
{
    regs.pc = INTERPRETER + 0x700;
    regs.fp = STACK + 0x1100;
    put_interpreted(regs.fp, STACK + 0x2000, stub_return, regs.fp - 8); /* the sender lies below */
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_INTERPRETED);
    regs.fp = regs.sp - 64;
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_INTERPRETED);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("unwind_interpreter");

    tcase_add_test(tc, walks_interpreted_frames);
    tcase_add_loop_test(tc, knows_the_interpreters_entry, 0, (int)ARRAY_SIZE(ENTRIES));
    tcase_add_loop_test(tc, knows_that_a_call_has_returned, 0, 2);
    tcase_add_test(tc, refuses_what_is_no_interpreter_frame);
    return run_unwind_tests("unwind_interpreter", tc);
}
