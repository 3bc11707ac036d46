/* SPDX-License-Identifier: Apache-2.0 */
/* The unwinder's rules for stubs, adapters, the runtime's blobs and the barrier of virtual threads,
 * on the host. */
#include "unwind_jvm.h"

START_TEST(walks_stubs_without_frames)
{
    uint64_t stub = add_blob(0x9000, 8, "StubRoutines (2)", 0, -1, 0) + 0x80, sp = regs.sp;
    uint64_t ra = compiled + 100;

    after_call(ra);
    put32(code, ra - CODE - 4, (uint32_t)(stub - 0x20 - ra)); /* this call calls the stub */
    regs.pc = stub;
    regs.fp = 0x77;
    push_stack(sp, ra);
    push_stack(sp + 8 + 4 * 8 - 8, stub_return);
    push_stack(sp + 8 + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(pc_of(1), ra);
    ck_assert_uint_eq(kind_of(0), UNWIND_STUB);
}
END_TEST

/* A digest: it saves fp, then uses it for a table, and has reserved 70 words. Below its return
 * address lies another one, a rest of a call at another depth. */
START_TEST(walks_stubs_with_much_room)
{
    uint64_t stub = add_blob(0x9000, 8, "StubRoutines (2)", 0, -1, 0) + 0x80, at;
    uint64_t ra = compiled + 100;

    after_call(ra);
    put32(code, ra - CODE - 4, (uint32_t)(stub - 0x20 - ra));
    if (_i) { /* mov r10,stub; call r10 */
        put_code(ra - 13, "\x49\xba", 2);
        put64(code, ra - CODE - 11, stub - 0x20);
        put_code(ra - 3, "\x41\xff\xd2", 3);
    }
    put_code(stub - 0x20, "\x55", 1);
    regs.pc = stub;
    regs.fp = stub + 0x100;
    push_stack(regs.sp + 8 * 9, ra);                       /* a return address without a caller */
    push_stack(regs.sp + 8 * 20, after_call(callee + 60)); /* behind a call of another function */
    at = regs.sp + 8 * 70;
    push_stack(at, ra);
    push_stack(at - 8, STACK + 0x1800);
    push_stack(at + 8 + 4 * 8 - 8, stub_return);
    push_stack(at + 8 + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(pc_of(1), ra);
    ck_assert_uint_eq(w.words, 4);
}
END_TEST

START_TEST(walks_the_entry_barrier_over_its_cookie)
{
    uint64_t stub = after_call(add_blob(0x9000, 8, "StubRoutines (2)", 0, -1, 0) + 0x80);
    uint64_t fp = STACK + 0x1100;

    regs.pc = TEXT + 0x10; /* in libjvm, called by the stub */
    push_stack(regs.sp + 8, stub);
    regs.fp = fp;
    push_stack(fp, STACK + 0x2000);
    push_stack(fp + 8, ~0ULL);
    push_stack(fp + 16, after_call(compiled + 100));
    push_stack(fp + 24 + 4 * 8 - 8, stub_return);
    push_stack(fp + 24 + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(pc_of(2), compiled + 100);
}
END_TEST

/* Puts compiled code that calls an adapter whose stack pointer was at @sp. Above the return address
 * lies that of the compiled code. */
static void put_adapters_caller(uint64_t sp)
{
    push_stack(sp + 4 * 8 - 8, stub_return);
    push_stack(sp + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
}

/* From compiled code into the interpreter, instruction by instruction. */
enum { ENTERED, POPPED, MADE_ROOM, STORED, SAVED_SP, ALIGNED, ADAPTER_STATES };

START_TEST(knows_the_way_into_the_interpreter)
{
    uint64_t ra = after_call(compiled + 100), room = _i == MADE_ROOM || _i == STORED ? 0x40 : 0;
    bool saving = _i == SAVED_SP || _i == ALIGNED;

    if (_i == ALIGNED)
        room = 8;
    regs.pc = add_blob(0x9000, 8, "I2C/C2I adapters", 0, 0, 0) + 0x10;
    regs.more.link = _i == ENTERED ? 0x1234 : ra;
    regs.more.bcp = _i == ENTERED || _i == POPPED ? 0xbc0 : regs.sp + room;
    if (_i == ENTERED || _i == STORED)
        push_stack(regs.sp, ra);
    if (saving)
        push_stack(regs.sp + room, ra);
    put_adapters_caller(regs.sp + room + (_i == ENTERED || saving ? 8 : 0));
    for (uint32_t tick = 1; tick < 3; tick++) {
        walk(tick);
        ck_assert_msg(w.end == UNWIND_END_ROOT && w.words == 4, "state %d: end %u after %u words",
                      _i, w.end, w.words);
        ck_assert_uint_eq(pc_of(1), ra);
    }
}
END_TEST

/* The same with the method in rbx. The frame counts as the method's entry, with a known caller. */
START_TEST(names_the_method_that_an_adapter_leads_to)
{
    uint64_t ra = after_call(compiled + 100), room = _i == MADE_ROOM ? 0x40 : 0;

    regs.pc = add_blob(0x9000, 8, "I2C/C2I adapters", 0, 0, 0) + 0x10;
    regs.more.link = ra;
    regs.more.method = METHOD;
    regs.more.bcp = regs.sp + room;
    put_adapters_caller(regs.sp + room);
    walk(1);
    ck_assert_msg(w.end == UNWIND_END_ROOT && w.words == 5, "end %u after %u words", w.end,
                  w.words);
    ck_assert_uint_eq(kind_of(0), UNWIND_INTERPRETED);
    ck_assert_uint_eq(pc_of(0), METHOD);
    ck_assert_uint_eq(host.out[1], 0);
    ck_assert_uint_eq(pc_of(2), ra);
    regs.more.method = METHOD + 0x100000; /* not a method: the adapter itself */
    walk(2);
    ck_assert_msg(w.end == UNWIND_END_ROOT && w.words == 4, "end %u after %u words", w.end,
                  w.words);
    ck_assert_uint_eq(kind_of(0), UNWIND_STUB);
}
END_TEST

/* An interpreted method that calls a compiled one also passes an adapter. rbx is then not the
 * method to be interpreted. */
START_TEST(an_adapter_out_of_the_interpreter_stays_one)
{
    uint64_t ra = INTERPRETER + 0x200;

    regs.pc = add_blob(0x9000, 8, "I2C/C2I adapters", 0, 0, 0) + 0x10;
    regs.more.link = ra;
    regs.more.method = METHOD;
    regs.more.bcp = regs.sp;
    walk(1);
    ck_assert_uint_eq(kind_of(0), UNWIND_STUB);
}
END_TEST

/* An adapter that has called SharedRuntime::fixup_callers_callsite(). Its registers are on the
 * stack (fewer in JDK 8). The stack may have been aligned for the call. */
START_TEST(walks_an_adapter_that_mends_its_call)
{
    uint64_t fpu = _i & 1 ? 512 : 2688, ra = after_call(compiled + 100), sp = regs.sp + 16, own;

    own = sp + fpu + 144 + (_i & 2 ? 8 : 0);
    regs.pc = TEXT + 0x10; /* in libjvm */
    push_stack(regs.sp + 8, after_call(add_blob(0x9000, 8, "I2C/C2I adapters", 0, 0, 0) + 0x60));
    push_stack(sp + 16, ra); /* a rest among the FPU's registers */
    push_stack(sp + fpu + 2 * 8, own);
    push_stack(sp + fpu + 15 * 8, ra);
    push_stack(own, ra);
    put_adapters_caller(own + 8);
    for (uint32_t tick = 1; tick < 3; tick++) {
        walk(tick);
        ck_assert_msg(w.end == UNWIND_END_ROOT && w.words == 5, "end %u after %u words", w.end,
                      w.words);
        ck_assert_uint_eq(kind_of(1), UNWIND_STUB);
        ck_assert_uint_eq(pc_of(2), ra);
    }
    /* These are not the adapter's registers: r13 points elsewhere. */
    push_stack(sp + fpu + 2 * 8, own + 16);
    push_stack(sp + 16, 0);
    walk(3);
    ck_assert_uint_eq(w.end, UNWIND_END_STUB);
}
END_TEST

START_TEST(takes_the_polls_pc_for_a_safepoints_return)
{
    uint64_t blob = add_blob(0x9000, 8, "SafepointBlob", 20, 1, 0), sp = regs.sp;

    regs.pc = TEXT + 0x10;
    push_stack(sp + 8, blob + 0x50);
    sp += 16;
    push_stack(sp + 20 * 8 - 8, compiled + 64); /* not behind a call */
    push_stack(sp + 20 * 8 - 16, 0x1111);
    sp += 20 * 8;
    push_stack(sp + 4 * 8 - 8, stub_return);
    push_stack(sp + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    for (uint32_t tick = 1; tick < 3; tick++) {
        walk(tick);
        ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
        ck_assert_uint_eq(pc_of(2), compiled + 64);
    }
}
END_TEST

static void put_barrier(uint64_t entry)
{
    uint64_t barrier = add_blob(0x9000, 8, "StubRoutines (continuation)", 0, -1, 0) + 0x80;

    jvm.vm.virtual_threads = 1;
    put_code(barrier - 8, "\x90\x90\x90\x90\x90\x90\x90\x90", 8);
    regs.pc = callee + 40;
    push_stack(regs.sp + 6 * 8 - 8, barrier);
    push_stack(entry + 64, STACK + 0x1800);
    push_stack(entry + 72, after_call(compiled + 100));
    push_stack(entry + 80 + 4 * 8 - 8, stub_return);
    push_stack(entry + 80 + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    put64(meta, THREAD - META + 64, entry);
}

static void expect_barrier(void)
{
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(kind_of(1), UNWIND_MARK);
    ck_assert_uint_eq(pc_of(1), UNWIND_MARK_FROZEN);
    ck_assert_uint_eq(pc_of(2), compiled + 100);
}

START_TEST(crosses_into_the_carrier)
{
    regs.more.thread = THREAD;
    put_barrier(regs.sp + 6 * 8 + 288);
    walk(1);
    expect_barrier();
    regs.more.thread = 0xdead; /* unknown: it is found on the stack */
    setup();
    put_barrier(regs.sp + 6 * 8);
    walk(1);
    expect_barrier();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("unwind_stubs");

    tcase_add_test(tc, walks_stubs_without_frames);
    tcase_add_loop_test(tc, walks_stubs_with_much_room, 0, 2);
    tcase_add_test(tc, walks_the_entry_barrier_over_its_cookie);
    tcase_add_loop_test(tc, knows_the_way_into_the_interpreter, 0, ADAPTER_STATES);
    tcase_add_loop_test(tc, names_the_method_that_an_adapter_leads_to, POPPED, STORED);
    tcase_add_test(tc, an_adapter_out_of_the_interpreter_stays_one);
    tcase_add_loop_test(tc, walks_an_adapter_that_mends_its_call, 0, 4);
    tcase_add_test(tc, takes_the_polls_pc_for_a_safepoints_return);
    tcase_add_test(tc, crosses_into_the_carrier);
    return run_unwind_tests("unwind_stubs", tc);
}
