/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwinder on stacks and registers made of an input. There is a code cache with a block of
 * each kind, and each byte of the input picks a word that can matter to the unwinder. It must
 * always end within its limit. Walking again by what it remembered must give as many words. The
 * hot path must give the same words as the walk without it.
 */
#include "tests/unit/unwind/unwind_host.h"

#include "proc/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CODE 0x7f1000000000ULL
#define CODE_BYTES 0x10000
#define BLOCK_BYTES 0x800
#define SEGMAP 0x7f2000000000ULL
#define NAMES 0x7f3000000000ULL
#define META 0x7f4000000000ULL
#define STACK 0x7f5000000000ULL
#define STACK_BYTES 0x4000
#define TEXT 0x400000ULL
#define HEADER 16
#define BODY 352
#define INTERPRETER (CODE + 0xc000)

static uint8_t code[CODE_BYTES], segmap[CODE_BYTES >> 7], names[1024], meta[1024];
static uint8_t stack_bytes[STACK_BYTES];
static struct unwind_process jvm;
static struct unwind_walk walk;

static const char *const NAMES_OF[] = {
    "nmethod",          "nmethod",       "native nmethod",   "StubRoutines (1)",
    "I2C/C2I adapters", "vtable chunks", "SafepointBlob",    "RuntimeStub",
    "adapters",         "nmethod",       "StubRoutines (2)", "slow_subtype_blob",
};

static const struct unwind_row ROWS[] = {
    { .pc = 0x000, .base = UNWIND_BASE_SP, .cfa = 2 },
    { .pc = 0x100, .base = UNWIND_BASE_FP, .cfa = 2, .fp = -2 },
    { .pc = 0x200, .base = UNWIND_BASE_ROOT },
    { .pc = 0x240, .base = UNWIND_BASE_SIGNAL },
    { .pc = 0x280, .base = UNWIND_BASE_PLT, .cfa = 1 },
    { .pc = 0x2c0, .base = UNWIND_BASE_FP_LOAD, .cfa = -1 },
    { .pc = 0x300, .base = UNWIND_BASE_SP_LOAD, .cfa = 2 },
    { .pc = 0x340, .base = UNWIND_BASE_NONE },
};

static void put(uint8_t *p, uint64_t at, uint64_t v, size_t n)
{
    memcpy(p + at, &v, n);
}

/* Code that has a bit of everything: prologues, calls, polls, epilogues; of JDK 17 on, then of
 * those before, then of what else compilers write. What is not filled is zero. */
static const uint8_t
    PATTERNS[][64] = {
        { 0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20, 0x41,
          0x81, 0x7f, 0x20, 1,    0,    0,    0,    0x75, 2,    0x90, 0xe8, 0xd0, 0xff,
          0xff, 0xff, 0x90, 0xff, 0xd0, 0x90, 0xff, 0x50, 8,    0xff, 0x90, 1,    2,
          3,    4,    0x48, 0x83, 0xc4, 0x20, 0x5d, 0x49, 0x3b, 0x67, 0x40, 0x0f, 0x87,
          1,    2,    3,    0,    0xc3, 0x48, 0x8b, 0xec, 0xc9, 0xc2, 0x90, 0x90 },
        { 0x48, 0x81, 0xec, 0x80, 0,    0,    0,    0x48, 0x89, 0x6c, 0x24, 0x70, 0x90,
          0xff, 0x54, 0x24, 8,    0x90, 0xff, 0x14, 0x24, 0x90, 0x48, 0x83, 0xc4, 0x70,
          0x5d, 0x85, 0x05, 1,    2,    3,    0,    0xc3, 0x5d, 0x4d, 0x8b, 0x97, 8,
          1,    0,    0,    0x41, 0x85, 0x02, 0xc3, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83,
          0xec, 0x10, 0x41, 0x81, 0xbf, 0x20, 4,    0,    0,    1,    0,    0 },
        { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xac, 0x24, 0x80, 0,    0,    0,    0xff,
          0x94, 0x24, 8,    0,    0,    0,    0x90, 0xff, 0x15, 8,    0,    0,    0,
          0xc9, 0x49, 0x83, 0x7f, 8,    0,    0x0f, 0x85, 1,    2,    3,    0,    0xc3,
          0x5d, 0x49, 0x83, 0xbf, 8,    1,    0,    0,    0,    0x5d, 0x49, 0x3b, 0xa7,
          8,    1,    0,    0,    0x0f, 0x87, 1,    2,    3,    0,    0xc3, 0x41 },
    };

/* @pattern: which of PATTERNS the code is made of. @prologue_bytes: how long prologues are. */
static void build(uint8_t pattern, uint32_t prologue_bytes)
{
    static uint32_t slot;

    memset(segmap, 0xff, sizeof(segmap));
    memset(meta, 0, sizeof(meta));
    /* A new slot per run makes what was remembered void; clearing 2 MB each time would be slow. */
    if (++slot == UNWIND_SLOTS_MAX) {
        memset(host.known, 0, sizeof(host.known));
        slot = 1;
    }
    for (size_t i = 0; i < sizeof(code); i++)
        code[i] = PATTERNS[pattern % ARRAY_SIZE(PATTERNS)][i % sizeof(PATTERNS[0])];
    for (uint64_t b = 0; b < ARRAY_SIZE(NAMES_OF); b++) {
        uint64_t at = b * BLOCK_BYTES, blob = at + HEADER;

        for (uint64_t i = 0; i < BLOCK_BYTES >> 7; i++)
            segmap[(at >> 7) + i] = (uint8_t)i;
        memset(code + at, 0, HEADER + BODY);
        code[at + 8] = b != 9; /* that one was freed */
        snprintf((char *)names + b * 32, 32, "%s", NAMES_OF[b]);
        put(code, blob + 96, NAMES + b * 32, 8);
        put(code, blob + 32, CODE + blob + BODY, 8);
        put(code, blob + 28, b % 3 ? 4 + b : 0, 4);
        put(code, blob + 20, prologue_bytes, 4);
        put(code, blob + 304, 100 + b, 4);
        put(code, blob + 300, 8, 4);
        put(code, blob + 128, CODE + at + BLOCK_BYTES - 16, 8);
    }
    for (size_t i = 0; i + 8 <= sizeof(meta); i += 8)
        put(meta, i, META + 64, 8);
    host.region_count = 0;
    host.regions[host.region_count++] = (struct host_region){ CODE, CODE_BYTES, code };
    host.regions[host.region_count++] = (struct host_region){ SEGMAP, sizeof(segmap), segmap };
    host.regions[host.region_count++] = (struct host_region){ NAMES, sizeof(names), names };
    host.regions[host.region_count++] = (struct host_region){ META, sizeof(meta), meta };
    host.regions[host.region_count++] = (struct host_region){ STACK, STACK_BYTES, stack_bytes };
    host.rows = ROWS;
    host.row_count = ARRAY_SIZE(ROWS);
    jvm = (struct unwind_process){
        .slot = slot,
        .mapping_count = 2,
        .mappings = { { TEXT, TEXT + 0x400, TEXT, 0, ARRAY_SIZE(ROWS) },
                      { TEXT + 0x1000, TEXT + 0x2000, 0, 0, 0 } },
        .vm = { .code_low = CODE,
                .code_high = CODE + CODE_BYTES,
                .interpreter_low = INTERPRETER,
                .interpreter_high = INTERPRETER + 0x2000,
                .call_stub_return = CODE + 3 * BLOCK_BYTES + HEADER + BODY + 28,
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
                .deopt_pointer = 1,
                .nmethod_orig_pc = 300,
                .nmethod_compile_id = 304,
                .method_const = 8,
                .thread_cont_entry = 64,
                .cont_entry_bytes = 64,
                .bcp_slot = 8,
                .virtual_threads = 1 },
    };
}

/* A word by two bytes: what it is, and where in that. */
static uint64_t pick(uint8_t what, uint8_t where, uint64_t at)
{
    switch (what % 16) {
    case 0:
        return 0;
    case 1:
        return ~0ULL;
    case 2:
    case 3:
        return at + 8 * (uint64_t)where; /* a frame further up */
    case 4:
        return META + (where & 0x38);
    case 5:
        return TEXT + 4 * (uint64_t)where;
    case 6:
        return INTERPRETER + where;
    case 7:
        return CODE + (uint64_t)(where % 12) * BLOCK_BYTES + BLOCK_BYTES - 16; /* deopt handlers */
    case 8:
        return TEXT + 0x1000 + where;
    case 9:
        return STACK + 8 * (uint64_t)where;
    default: /* some instruction of a block */
        return CODE + (uint64_t)(what % 12) * BLOCK_BYTES + HEADER + BODY + where % 64;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t fast[HOST_WORDS_MAX];
    struct host_registers regs;
    uint64_t sp = STACK + 0x800;
    uint32_t words, end;

    if (size < 16)
        return 0;
    build(data[13], data[14] & 1 ? 64 : 12);
    memset(stack_bytes, 0, sizeof(stack_bytes));
    regs = (struct host_registers){ .pc = pick(data[0], data[1], sp),
                                    .sp = sp + (data[15] & 0x10 ? 4 : 0),
                                    .fp = pick(data[2], data[3], sp),
                                    .more.link = pick(data[4], data[5], sp),
                                    .more.method = pick(data[6], data[7], sp),
                                    .more.bcp = pick(data[8], data[9], sp),
                                    .more.thread = pick(data[10], data[11], sp) };
    jvm.vm.blob_code_pointer = !(data[15] & 1);
    jvm.vm.deopt_pointer = !(data[15] & 2);
    jvm.vm.nmethod_deopt_mh = data[15] & 4 ? 136 : 0;
    if (data[15] & 8)
        jvm.mapping_count = 70000;
    if (data[15] & 0x40) { /* what lies in the table of rows is any word, or none */
        jvm.mapping_count = data[15] & 0x80 ? 2 : 0;
        jvm.more_count = data[14] ? data[14] * 64u : UINT32_MAX;
        jvm.first_more = data[13];
    }
    for (size_t i = 0; i * 8 + 8 < STACK_BYTES - 0x800; i++) {
        /* Some stacks are the input again and again: a recursion. */
        size_t from = 16 + 2 * (data[15] & 0x20 ? i % ((size - 14) / 2) : i);
        uint64_t at = sp + i * 8;

        if (from + 1 < size)
            put(stack_bytes, at - STACK, pick(data[from], data[from + 1], at), 8);
    }
    words = host_walk(&walk, &jvm, &regs, 1, HOST_WORDS_MAX);
    end = walk.end;
    if (words > HOST_WORDS_MAX || end >= UNWIND_END_COUNT)
        abort();
    /* Nothing has changed, so that what is remembered must lead to the same place. */
    if (host_walk(&walk, &jvm, &regs, 1, HOST_WORDS_MAX) != words || walk.end != end)
        abort();
    memcpy(fast, host.out, words * sizeof(*fast));
    host.one_by_one = true;
    if (host_walk(&walk, &jvm, &regs, 1, HOST_WORDS_MAX) != words || walk.end != end ||
        memcmp(fast, host.out, words * sizeof(*fast)))
        abort();
    host.one_by_one = false;
    host_walk(&walk, &jvm, &regs, 2, data[12]);
    if (walk.words > data[12])
        abort();
    return 0;
}
