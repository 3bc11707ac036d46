/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder's rules, on the host: each kind of HotSpot frame in a made-up code cache whose
 * layout is that of JDK 17, and real native frames of this very process.
 */
#include "unwind_host.h"

#include "base/cleanup.h"
#include "proc/proc.h"
#include "unwind/ehframe.h"

#include <check.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <ucontext.h>

/* ---- a made-up JVM ---- */

#define CODE 0x7f1000000000ULL
#define CODE_BYTES 0x40000
#define SEGMENTS (CODE_BYTES >> 7)
#define SEGMAP 0x7f2000000000ULL
#define NAMES 0x7f3000000000ULL
#define META 0x7f4000000000ULL
#define STACK 0x7f5000000000ULL
#define STACK_BYTES 0x8000
#define TEXT 0x400000ULL

#define HEADER 16 /* sizeof(HeapBlock) */
#define BODY 352  /* sizeof(nmethod): code begins behind it */
#define INTERPRETER (CODE + 0x30000)
#define METHOD (META + 0x100)
#define THREAD (META + 0x1000)

static uint8_t code[CODE_BYTES], segmap[SEGMENTS], names[4096], meta[8192],
    stack_bytes[STACK_BYTES];
static struct unwind_process jvm;
static struct unwind_walk w;
static struct host_registers regs;
static size_t names_used;

static const struct unwind_row NATIVE_ROWS[] = {
    { .pc = 0x000, .base = UNWIND_BASE_SP, .cfa = 2, .fp = 0 },  /* f: sub rsp,8 */
    { .pc = 0x100, .base = UNWIND_BASE_FP, .cfa = 2, .fp = -2 }, /* g: push rbp; mov rbp,rsp */
    { .pc = 0x200, .base = UNWIND_BASE_ROOT },                   /* thread start */
    { .pc = 0x300, .base = UNWIND_BASE_NONE },
};

static void put64(uint8_t *base, uint64_t at, uint64_t v)
{
    memcpy(base + at, &v, sizeof(v));
}

static void put32(uint8_t *base, uint64_t at, uint32_t v)
{
    memcpy(base + at, &v, sizeof(v));
}

static void push_stack(uint64_t addr, uint64_t v)
{
    put64(stack_bytes, addr - STACK, v);
}

static uint64_t add_name(const char *name)
{
    uint64_t at = NAMES + names_used;

    memcpy(names + names_used, name, strlen(name) + 1);
    names_used += 64;
    return at;
}

/* A block at CODE + @at of @segments: a CodeBlob of @words with its frame complete at @complete.
 * Returns the address of its code. */
static uint64_t add_blob(uint64_t at, uint32_t segments, const char *name, int32_t words,
                         int32_t complete, uint32_t compile_id)
{
    uint64_t blob = at + HEADER, begin = CODE + blob + BODY;

    for (uint32_t i = 0; i < segments; i++)
        segmap[(at >> 7) + i] = (uint8_t)(i < 255 ? i : 254);
    code[at + 8] = 1; /* used */
    put64(code, blob + 96, add_name(name));
    put64(code, blob + 32, begin);
    put32(code, blob + 28, (uint32_t)words);
    put32(code, blob + 20, (uint32_t)complete);
    put32(code, blob + 304, compile_id);
    put32(code, blob + 300, 8);                                          /* orig_pc */
    put64(code, blob + 128, CODE + at + ((uint64_t)segments << 7) - 16); /* deopt handler */
    put64(code, blob + 136, CODE + at + ((uint64_t)segments << 7) - 24); /* for method handles */
    return begin;
}

/* A call instruction that ends at @ra. */
static uint64_t after_call(uint64_t ra)
{
    code[ra - CODE - 5] = 0xe8;
    put32(code, ra - CODE - 4, 0x1000);
    return ra;
}

static void put_code(uint64_t at, const char *bytes, size_t n)
{
    memcpy(code + (at - CODE), bytes, n);
}

static uint64_t compiled, callee, stub_return, root_return;

static void setup(void)
{
    memset(code, 0x90, sizeof(code));
    memset(segmap, 0xff, sizeof(segmap));
    memset(names, 0, sizeof(names));
    memset(meta, 0, sizeof(meta));
    memset(stack_bytes, 0, sizeof(stack_bytes));
    memset(host.known, 0, sizeof(host.known));
    names_used = 0;
    host.region_count = 0;
    host.java_thread = 0;
    host.regions[host.region_count++] = (struct host_region){ CODE, CODE_BYTES, code };
    host.regions[host.region_count++] = (struct host_region){ SEGMAP, SEGMENTS, segmap };
    host.regions[host.region_count++] = (struct host_region){ NAMES, sizeof(names), names };
    host.regions[host.region_count++] = (struct host_region){ META, sizeof(meta), meta };
    host.regions[host.region_count++] = (struct host_region){ STACK, STACK_BYTES, stack_bytes };
    host.rows = NATIVE_ROWS;
    host.row_count = ARRAY_SIZE(NATIVE_ROWS);
    compiled = add_blob(0x1000, 16, "nmethod", 4, 20, 77);
    callee = add_blob(0x3000, 16, "nmethod", 6, 20, 0x4005);
    stub_return = after_call(add_blob(0x8000, 8, "StubRoutines (1)", 0, -1, 0) + 0x40);
    root_return = TEXT + 0x250;
    put64(meta, METHOD - META + 8, META + 0x200); /* Method::_constMethod */
    jvm = (struct unwind_process){
        .slot = 5,
        .mapping_count = 1,
        .mappings = { { TEXT, TEXT + 0x1000, TEXT, 0, ARRAY_SIZE(NATIVE_ROWS) } },
        .vm = { .code_low = CODE,
                .code_high = CODE + CODE_BYTES,
                .interpreter_low = INTERPRETER,
                .interpreter_high = INTERPRETER + 0x8000,
                .call_stub_return = stub_return,
                .heaps = { { CODE, CODE + CODE_BYTES, SEGMAP, 7, 0 } },
                .heap_count = 1,
                .block_header_bytes = HEADER,
                .block_used = 8,
                .blob_name = 96,
                .blob_code = 32,
                .blob_code_pointer = 1,
                .blob_frame_size = 28,
                .blob_frame_complete = 20,
                .frame_complete_bytes = 4,
                .nmethod_deopt = 128,
                .nmethod_deopt_mh = 136,
                .deopt_pointer = 1,
                .nmethod_orig_pc = 300,
                .nmethod_compile_id = 304,
                .method_const = 8,
                .thread_cont_entry = 64,
                .thread_anchor_sp = 16,
                .thread_anchor_pc = 24,
                .thread_anchor_fp = 32,
                .cont_entry_bytes = 64,
                .bcp_slot = 8 },
    };
    regs = (struct host_registers){ .sp = STACK + 0x1000 };
}

/* From @sp on: an entry frame at @fp (rbp of call_stub), and above it the thread's root. */
static void put_entry(uint64_t fp)
{
    push_stack(fp, STACK + 0x7000);
    push_stack(fp + 8, root_return);
}

static uint64_t pc_of(uint32_t i)
{
    return host.out[i] & UNWIND_PC_MASK;
}

static unsigned kind_of(uint32_t i)
{
    return (unsigned)(host.out[i] >> UNWIND_KIND_SHIFT);
}

static uint32_t walk(uint32_t tick)
{
    return host_walk(&w, &jvm, &regs, tick, HOST_WORDS_MAX);
}

/* ---- compiled frames ---- */

/* callee, called by compiled, called by call_stub; all frames complete. */
static void put_two_compiled(void)
{
    uint64_t sp = regs.sp;

    regs.pc = callee + 40;
    push_stack(sp + 6 * 8 - 8, after_call(compiled + 100));
    push_stack(sp + 6 * 8 - 16, 0x1111);
    sp += 6 * 8;
    push_stack(sp + 4 * 8 - 8, stub_return);
    push_stack(sp + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
}

static void expect_two_compiled(void)
{
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(w.words, 4);
    ck_assert_uint_eq(pc_of(0), callee + 40);
    ck_assert_uint_eq(kind_of(0), UNWIND_COMPILED);
    ck_assert_uint_eq(host.out[0] >> UNWIND_PC_BITS & UNWIND_ID_MASK, 5); /* 0x4005 mod 2^14 */
    ck_assert_uint_eq(pc_of(1), compiled + 100);
    ck_assert_uint_eq(host.out[1] >> UNWIND_PC_BITS & UNWIND_ID_MASK, 77);
    ck_assert_uint_eq(pc_of(2), stub_return);
    ck_assert_uint_eq(kind_of(2), UNWIND_STUB);
    ck_assert_uint_eq(pc_of(3), root_return);
    ck_assert_uint_eq(kind_of(3), UNWIND_NATIVE);
}

START_TEST(walks_compiled_frames)
{
    size_t cold, warm;

    put_two_compiled();
    host.reads = 0;
    walk(1);
    cold = host.reads;
    expect_two_compiled();
    host.reads = 0;
    walk(1); /* all of it remembered */
    warm = host.reads;
    expect_two_compiled();
    ck_assert_uint_lt(warm, cold / 4);
    walk(2); /* looked at again */
    expect_two_compiled();
}
END_TEST

START_TEST(notices_code_that_was_replaced)
{
    put_two_compiled();
    walk(1);
    expect_two_compiled();
    /* The block is freed and taken by a method with another frame size and compile id. */
    put32(code, 0x1000 + HEADER + 28, 9);
    put32(code, 0x1000 + HEADER + 304, 78);
    push_stack(regs.sp + 6 * 8 + 4 * 8 - 8, 0);
    push_stack(regs.sp + 6 * 8 + 9 * 8 - 8, stub_return);
    push_stack(regs.sp + 6 * 8 + 9 * 8 - 16, STACK + 0x2000);
    walk(2);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(host.out[1] >> UNWIND_PC_BITS & UNWIND_ID_MASK, 78);
    ck_assert_uint_eq(pc_of(2), stub_return);
    /* Freed and not used again: nothing is there. */
    code[0x1000 + 8] = 0;
    walk(3);
    ck_assert_uint_ne(w.end, UNWIND_END_ROOT);
}
END_TEST

START_TEST(steps_back_when_a_remembered_rule_misleads)
{
    put_two_compiled();
    walk(1);
    expect_two_compiled();
    /* This time compiled code has pushed two words around its call: the remembered slot holds no
     * pc. */
    memset(stack_bytes, 0, sizeof(stack_bytes));
    push_stack(regs.sp + 6 * 8 - 8, _i ? TEXT + 0x20 : 0xdead); /* left over from a native call */
    push_stack(regs.sp + 6 * 8 + 8, compiled + 100);
    push_stack(regs.sp + 6 * 8, 0x1111);
    push_stack(regs.sp + 6 * 8 + 16 + 4 * 8 - 8, stub_return);
    push_stack(regs.sp + 6 * 8 + 16 + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    walk(1);
    expect_two_compiled();
}
END_TEST

/* Where the return address and fp are, as the instructions around the pc tell it. */
static const struct {
    const char *name;
    char before[8]; /* that end at the pc */
    size_t before_n;
    char at[8];
    int32_t offset; /* of the pc in the code: 20 completes the frame */
    int32_t ra, fp; /* words from sp; fp -1: in the register */
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

/* ---- the interpreter ---- */

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
    regs.r13 = 0xbc0;
    put_interpreted(fp1, fp2, INTERPRETER + 0x500, fp1 + 16);
    put_interpreted(fp2, STACK + 0x2000, stub_return, fp2 + 16);
    put_entry(STACK + 0x2000);
    for (uint32_t tick = 1; tick < 3; tick++) {
        walk(tick);
        ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
        ck_assert_uint_eq(w.words, 6);
        ck_assert_uint_eq(kind_of(0), UNWIND_INTERPRETED);
        ck_assert_uint_eq(pc_of(0), METHOD);
        ck_assert_uint_eq(host.out[1], 0xbc0); /* the register, not the slot */
        ck_assert_uint_eq(pc_of(2), METHOD);
        ck_assert_uint_eq(host.out[3], 0xbcb);
    }
    jvm.vm.bcp_slot = 7;
    walk(3);
    ck_assert_uint_eq(host.out[3], 0xbc7);
}
END_TEST

/* The entry of an interpreted method, instruction by instruction. Words of the stack from sp on;
 * registers by what they hold. */
enum { NOTHING, RA, OLD_FP, SENDER, BCP, SELF /* the address of the word that old fp is in */ };

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
    regs.rbx = METHOD;
    regs.rax = ENTRIES[_i].rax == RA ? stub_return : 0x123;
    regs.r13 = ENTRIES[_i].r13 == SENDER ? sender : 0xbc0;
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

START_TEST(refuses_what_is_no_interpreter_frame)
{
    regs.pc = INTERPRETER + 0x700;
    regs.fp = STACK + 0x1100;
    put_interpreted(regs.fp, STACK + 0x2000, stub_return, regs.fp - 8); /* sender below */
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_INTERPRETED);
    regs.fp = regs.sp - 64;
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_INTERPRETED);
}
END_TEST

/* ---- stubs, adapters, blobs ---- */

START_TEST(walks_stubs_without_frames)
{
    uint64_t stub = add_blob(0x9000, 8, "StubRoutines (2)", 0, -1, 0) + 0x80, sp = regs.sp;
    uint64_t ra = compiled + 100;

    after_call(ra);
    put32(code, ra - CODE - 4, (uint32_t)(stub - 0x20 - ra)); /* which calls the stub */
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

/* A digest: it saves fp, then uses it for a table, and has made room of 70 words. Below its return
 * address lies another one, left over from a call at another depth. */
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
    push_stack(regs.sp + 8 * 9, ra);                       /* whose caller would have none */
    push_stack(regs.sp + 8 * 20, after_call(callee + 60)); /* of a call that goes elsewhere */
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

START_TEST(finds_the_return_address_in_rax)
{
    regs.pc = add_blob(0x9000, 8, "I2C/C2I adapters", 0, 0, 0) + 0x10;
    regs.rax = after_call(compiled + 100);
    regs.r13 = regs.sp + 0x40; /* room was made already */
    push_stack(regs.sp + 0x40 + 4 * 8 - 8, stub_return);
    push_stack(regs.sp + 0x40 + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    walk(1);
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(pc_of(1), compiled + 100);
}
END_TEST

START_TEST(takes_the_polls_pc_for_a_safepoints_return)
{
    uint64_t blob = add_blob(0x9000, 8, "SafepointBlob", 20, 1, 0), sp = regs.sp;

    regs.pc = TEXT + 0x10;
    push_stack(sp + 8, blob + 0x50);
    sp += 16;
    push_stack(sp + 20 * 8 - 8, compiled + 64); /* no call stands there */
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
    regs.r15 = THREAD;
    put_barrier(regs.sp + 6 * 8 + 288);
    walk(1);
    expect_barrier();
    regs.r15 = 0xdead; /* not known: found on the stack */
    setup();
    put_barrier(regs.sp + 6 * 8);
    walk(1);
    expect_barrier();
}
END_TEST

/* ---- the safety net ---- */

/* Native code that a wrapper called, and how its rules fail. */
enum { NO_ROWS, NO_RULE, NO_RETURN, NOT_MAPPED };

static void put_native_leaf(int how)
{
    uint64_t java_sp = regs.sp + 0x200;

    jvm.mapping_count = 2;
    jvm.mappings[1] = (struct unwind_mapping){ TEXT + 0x10000, TEXT + 0x20000, 0, 0, 0 };
    regs.pc = how == NO_ROWS ? TEXT + 0x10100 : how == NOT_MAPPED ? 0x1234 : TEXT + 0x20;
    regs.fp = 0x99;
    if (how == NO_RULE) /* its caller has none */
        push_stack(regs.sp + 8, TEXT + 0x320);
    if (how == NO_RETURN)
        push_stack(regs.sp + 8, ~0ULL);
    /* The wrapper: compiled, of 4 words, called by call_stub. */
    push_stack(java_sp + 4 * 8 - 8, stub_return);
    push_stack(java_sp + 4 * 8 - 16, STACK + 0x2000);
    put_entry(STACK + 0x2000);
    put64(meta, THREAD - META + 16, java_sp);
    put64(meta, THREAD - META + 24, compiled + 100);
    put64(meta, THREAD - META + 32, 0); /* wrappers tell no fp */
}

START_TEST(goes_on_at_the_threads_anchor)
{
    uint32_t mark = _i == NOT_MAPPED ? 0 : _i == NO_RULE ? 2 : 1;

    put_native_leaf(_i);
    walk(1);
    ck_assert_uint_eq(w.wants_thread, 1); /* not known yet */
    ck_assert_uint_ne(w.end, UNWIND_END_ROOT);
    host.java_thread = THREAD;
    for (uint32_t tick = 1; tick < 4; tick++) {
        walk(tick);
        ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
        ck_assert_uint_eq(w.wants_thread, 0);
        ck_assert_uint_eq(kind_of(mark), UNWIND_MARK);
        ck_assert_uint_eq(pc_of(mark), UNWIND_MARK_SKIPPED);
        ck_assert_uint_eq(pc_of(mark + 1), compiled + 100);
        ck_assert_uint_eq(kind_of(mark + 1), UNWIND_COMPILED);
        ck_assert_uint_eq(w.words, mark + 4);
    }
}
END_TEST

/* What cannot be this stack's anchor is none. */
static const struct {
    uint32_t at;
    uint64_t value;
} FALSE_ANCHORS[] = {
    { 16, 0 },                             /* in Java */
    { 16, STACK + 0x1000 },                /* not above the stack pointer */
    { 16, STACK + 0x1204 },                /* not aligned */
    { 16, STACK + 0x1000 + (2ULL << 20) }, /* far away */
    { 24, TEXT + 0x20 },                   /* not Java code */
    { 24, CODE + 0x2f000 },                /* no block there */
    { 24, INTERPRETER + 0x100 },           /* interpreted, without fp */
};

START_TEST(refuses_false_anchors)
{
    put_native_leaf(NO_RETURN);
    host.java_thread = THREAD;
    put64(meta, THREAD - META + FALSE_ANCHORS[_i].at, FALSE_ANCHORS[_i].value);
    walk(1);
    ck_assert_uint_ne(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(w.wants_thread, 1);
    host.java_thread = 0xdead0000; /* of a thread that is gone */
    walk(1);
    ck_assert_uint_ne(w.end, UNWIND_END_ROOT);
}
END_TEST

/* Native code with rules needs no anchor, and walks that fail in Java take none. */
START_TEST(leaves_the_anchor_alone)
{
    put_two_compiled();
    put64(meta, THREAD - META + 16, regs.sp + 0x10);
    put64(meta, THREAD - META + 24, compiled + 100);
    host.java_thread = THREAD;
    walk(1);
    expect_two_compiled();
    ck_assert_uint_eq(w.anchored, 0);
    memset(stack_bytes, 0, sizeof(stack_bytes));
    walk(2);
    ck_assert_uint_eq(w.end, UNWIND_END_COMPILED);
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
    host_walk(&w, &jvm, &regs, 1, 50); /* the same when it is remembered */
    ck_assert_uint_eq(w.end, UNWIND_END_LIMIT);
    ck_assert_uint_le(w.words, 50);
    ck_assert_uint_ge(w.words, 48);
}
END_TEST

/* Frames that each take the slow path through the longest way in the segment map, again and again.
 */
START_TEST(gives_a_costly_target_no_more_time)
{
    uint64_t sp = regs.sp;

    regs.sp = sp = STACK;
    regs.pc = callee + 40;
    memset(segmap + (0x10000 >> 7), 1, 256); /* one segment a hop */
    segmap[0x10000 >> 7] = 0;
    for (uint64_t at = STACK; at + 8 <= STACK + STACK_BYTES; at += 8)
        push_stack(at, CODE + 0x10000 + (80 << 7)); /* behind no call: its block is looked for */
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

/* ---- this process ---- */

static struct ehframe_table tables[UNWIND_MAPPINGS_MAX];
static struct unwind_row *all_rows;
static struct unwind_process self;
static uint32_t self_end, self_words;
static uint64_t self_out[256];

/* What feeder.c does, for ourselves. */
static void describe_self(void)
{
    _cleanup_close_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    struct maps maps;

    self = (struct unwind_process){ .slot = 9 };
    host.row_count = 0;
    ck_assert_int_eq(maps_read(fd, &maps), 0);
    host.region_count = 0;
    for (size_t i = 0; i < maps.count; i++) {
        const struct mapping *m = &maps.entries[i];
        struct unwind_mapping *u = &self.mappings[self.mapping_count];
        struct ehframe_table *t = &tables[self.mapping_count];
        char path[512];

        if (span_eq_str(m->path, "[stack]"))
            host.regions[host.region_count++] =
                (struct host_region){ m->start, m->end - m->start, NULL };
        if (!m->exec || m->path.n == 0 || m->path.p[0] != '/')
            continue;
        {
            _cleanup_close_ int file =
                open(span_copy(m->path, path, sizeof(path)), O_RDONLY | O_CLOEXEC);

            if (file < 0 || ehframe_read(file, t, NULL) < 0 ||
                !ehframe_bias(t->segments, t->segment_count, m->start, m->offset, &u->bias))
                continue;
        }
        u->start = m->start;
        u->end = m->end;
        u->first_row = host.row_count;
        u->row_count = (uint32_t)t->count;
        all_rows = reallocarray(all_rows, host.row_count + t->count, sizeof(*all_rows));
        memcpy(all_rows + host.row_count, t->rows, t->count * sizeof(*all_rows));
        host.row_count += u->row_count;
        ehframe_deinit(t);
        self.mapping_count++;
    }
    host.rows = all_rows;
    maps_deinit(&maps);
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
    struct host_registers r;

    (void)sig;
    (void)info;
    (void)context;
    r = (struct host_registers){ .sp = (uint64_t)__builtin_frame_address(0) + 16,
                                 .fp = *(uint64_t *)__builtin_frame_address(0),
                                 .pc = (uint64_t)__builtin_return_address(0) };
    host_walk(&w, &self, &r, 1, 256);
    self_end = w.end;
    self_words = w.words;
    memcpy(self_out, host.out, sizeof(self_out));
}

static int compare_and_walk(const void *a, const void *b)
{
    static int once;

    if (!once++)
        raise(SIGUSR1);
    return *(const int *)a - *(const int *)b;
}

START_TEST(walks_this_process_through_a_signal)
{
    struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
    int numbers[] = { 3, 1, 2 };
    bool in_library = false, in_main = false, signal_frame = false;
    extern int main(void);

    host.mem_fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    describe_self();
    ck_assert_uint_gt(self.mapping_count, 2);
    ck_assert_int_eq(sigaction(SIGUSR1, &sa, NULL), 0);
    qsort(numbers, 3, sizeof(int), compare_and_walk);
    ck_assert_uint_eq(self_end, UNWIND_END_ROOT);
    ck_assert_uint_gt(self_words, 8);
    for (uint32_t i = 0; i < self_words; i++) {
        Dl_info info;
        uint64_t pc = self_out[i] & UNWIND_PC_MASK;

        signal_frame |= self_out[i] >> UNWIND_KIND_SHIFT == UNWIND_SIGNAL;
        in_main |= pc > (uint64_t)main && pc < (uint64_t)main + 4096;
        if (dladdr((void *)(pc - 1), &info) && info.dli_fname)
            in_library |= strstr(info.dli_fname, "libc.so") != NULL;
    }
    ck_assert(signal_frame);
    ck_assert(in_library);
    ck_assert(in_main);
    close(host.mem_fd);
    free(all_rows);
    all_rows = NULL;
}
END_TEST

int main(void)
{
    Suite *s = suite_create("unwind");
    TCase *tc = tcase_create("hotspot"), *native = tcase_create("native");
    SRunner *sr;
    int failed;

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, walks_compiled_frames);
    tcase_add_test(tc, notices_code_that_was_replaced);
    tcase_add_loop_test(tc, steps_back_when_a_remembered_rule_misleads, 0, 2);
    tcase_add_loop_test(tc, reads_prologues_and_epilogues, 0, (int)ARRAY_SIZE(SHAPES));
    tcase_add_loop_test(tc, follows_a_deoptimized_caller, 0, 2);
    tcase_add_test(tc, walks_interpreted_frames);
    tcase_add_loop_test(tc, knows_the_interpreters_entry, 0, (int)ARRAY_SIZE(ENTRIES));
    tcase_add_test(tc, refuses_what_is_no_interpreter_frame);
    tcase_add_test(tc, walks_stubs_without_frames);
    tcase_add_loop_test(tc, walks_stubs_with_much_room, 0, 2);
    tcase_add_test(tc, walks_the_entry_barrier_over_its_cookie);
    tcase_add_test(tc, finds_the_return_address_in_rax);
    tcase_add_test(tc, takes_the_polls_pc_for_a_safepoints_return);
    tcase_add_test(tc, crosses_into_the_carrier);
    tcase_add_loop_test(tc, goes_on_at_the_threads_anchor, 0, NOT_MAPPED + 1);
    tcase_add_loop_test(tc, refuses_false_anchors, 0, (int)ARRAY_SIZE(FALSE_ANCHORS));
    tcase_add_test(tc, leaves_the_anchor_alone);
    tcase_add_test(tc, stops_at_its_limit);
    tcase_add_test(tc, gives_a_costly_target_no_more_time);
    tcase_add_test(tc, survives_nonsense);
    tcase_add_test(native, walks_this_process_through_a_signal);
    suite_add_tcase(s, tc);
    suite_add_tcase(s, native);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? 1 : 0;
}
