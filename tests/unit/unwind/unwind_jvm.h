/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake JVM for tests of the unwinder's rules. It has a code cache with the layout of JDK 17, an
 * interpreter, a call stub, and native text with its own rows.
 */
#pragma once

#include "unwind_host.h"

#include <check.h>

#define HOST_HELPER static __attribute__((unused))

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
    { .pc = 0x280, .base = UNWIND_BASE_SIGNAL },                 /* the signal trampoline */
    { .pc = 0x300, .base = UNWIND_BASE_NONE },
};

HOST_HELPER void put64(uint8_t *base, uint64_t at, uint64_t v)
{
    memcpy(base + at, &v, sizeof(v));
}

HOST_HELPER void put32(uint8_t *base, uint64_t at, uint32_t v)
{
    memcpy(base + at, &v, sizeof(v));
}

HOST_HELPER void push_stack(uint64_t addr, uint64_t v)
{
    put64(stack_bytes, addr - STACK, v);
}

HOST_HELPER uint64_t add_name(const char *name)
{
    uint64_t at = NAMES + names_used;

    memcpy(names + names_used, name, strlen(name) + 1);
    names_used += 64;
    return at;
}

/* Makes a block of @segments at CODE + @at: a CodeBlob of @words, with its frame complete at
 * @complete. Returns the address of its code. */
HOST_HELPER uint64_t add_blob(uint64_t at, uint32_t segments, const char *name, int32_t words,
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

/* Puts a call instruction that ends at @ra. Returns @ra. */
HOST_HELPER uint64_t after_call(uint64_t ra)
{
    code[ra - CODE - 5] = 0xe8;
    put32(code, ra - CODE - 4, 0x1000);
    return ra;
}

HOST_HELPER void put_code(uint64_t at, const char *bytes, size_t n)
{
    memcpy(code + (at - CODE), bytes, n);
}

static uint64_t compiled, callee, stub_return, root_return;

HOST_HELPER void setup_blobs(void)
{
    compiled = add_blob(0x1000, 16, "nmethod", 4, 20, 77);
    callee = add_blob(0x3000, 16, "nmethod", 6, 20, 0x4005);
    stub_return = add_blob(0x8000, 8, "StubRoutines (1)", 0, -1, 0) + 0x40;
}

HOST_HELPER void setup(void)
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
    setup_blobs();
    after_call(stub_return);
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

/* Puts an entry frame at @fp (rbp of call_stub) from @sp on, and above it the thread's root. */
HOST_HELPER void put_entry(uint64_t fp)
{
    push_stack(fp, STACK + 0x7000);
    push_stack(fp + 8, root_return);
}

HOST_HELPER uint64_t pc_of(uint32_t i)
{
    return host.out[i] & UNWIND_PC_MASK;
}

HOST_HELPER unsigned kind_of(uint32_t i)
{
    return (unsigned)(host.out[i] >> UNWIND_KIND_SHIFT);
}

HOST_HELPER uint32_t walk(uint32_t tick)
{
    return host_walk(&w, &jvm, &regs, tick, HOST_WORDS_MAX);
}

/* Puts callee, called by compiled, called by call_stub; all frames are complete. */
HOST_HELPER void put_two_compiled(void)
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

HOST_HELPER void expect_two_compiled(void)
{
    ck_assert_uint_eq(w.end, UNWIND_END_ROOT);
    ck_assert_uint_eq(w.words, 4);
    ck_assert_uint_eq(pc_of(0), callee + 40);
    ck_assert_uint_eq(kind_of(0), UNWIND_COMPILED);
    ck_assert_uint_eq(host.out[0] >> UNWIND_PC_BITS & UNWIND_ID_MASK, 5); /* 0x4005 mod 2^13 */
    ck_assert_uint_eq(pc_of(1), compiled + 100);
    ck_assert_uint_eq(host.out[1] >> UNWIND_PC_BITS & UNWIND_ID_MASK, 77);
    ck_assert_uint_eq(pc_of(2), stub_return);
    ck_assert_uint_eq(kind_of(2), UNWIND_STUB);
    ck_assert_uint_eq(pc_of(3), root_return);
    ck_assert_uint_eq(kind_of(3), UNWIND_NATIVE);
}

/* Runs the tests of @tc, each after @prepare(). Returns the value for main(). */
HOST_HELPER int run_prepared_tests(const char *name, TCase *tc, void (*prepare)(void))
{
    Suite *s = suite_create(name);
    SRunner *sr;
    int failed;

    tcase_add_checked_fixture(tc, prepare, NULL);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? 1 : 0;
}

HOST_HELPER int run_unwind_tests(const char *name, TCase *tc)
{
    return run_prepared_tests(name, tc, setup);
}
