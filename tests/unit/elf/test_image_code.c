/* SPDX-License-Identifier: Apache-2.0 */
/* elf/image_code.h over code of GraalVM, and over similar code that it must refuse. */
#include "elf/image_code.h"

#include "suite.h"

#define START UINT64_C(0x10000)
#define STEPS 8

struct want {
    size_t count;
    struct image_step steps[STEPS];
};

static const struct {
    const char *what;
    struct span code;
    struct want want[2]; /* of functions; NULL ends them */
    size_t functions;
} CODE_CASES[] = {
    { "a frame, and slow code behind the return",
      SPAN("\x48\x83\xec\x18"     /* 0: sub rsp, 24 */
           "\xe8\0\0\0\0\x90"     /* 4: call; nop */
           "\x48\x83\xc4\x18\xc3" /* 10: add rsp, 24; ret */
           "\xeb\xf3"             /* 15: jmp 4 */
           "\xcc\xcc\xcc"),
      { { 4,
          { { START, 0, false },
            { START + 4, 24, false },
            { START + 14, 0, false },
            { START + 15, 24, false } } } },
      1 },
    { "frame pointers are kept, or an entry from C saves it",
      SPAN("\x55\x48\x89\xe5\x48\x81\xec\0\1\0\0" /* push rbp; mov rbp, rsp; sub rsp, 256 */
           "\x48\x81\xc4\0\1\0\0\x5d\xc3\xcc"),   /* 11: add rsp, 256; pop rbp; ret */
      { { 6,
          { { START, 0, false },
            { START + 1, 8, true },
            { START + 11, 264, true },
            { START + 18, 8, true },
            { START + 19, 0, false },
            { START + 20, 264, true } } } },
      1 },
    { "the stack is checked before the frame is made",
      SPAN("\x48\x8d\x5c\x24\xe8\x49\x3b\x5f\x08" /* lea rbx, [rsp - 24]; cmp rbx, [r15 + 8] */
           "\x0f\x86\0\0\0\0\x48\x8b\xe3"         /* 9: jbe; 15: mov rsp, rbx */
           "\x48\x83\xc4\x18\xc3\xcc"),           /* 18: add rsp, 24; ret */
      { { 4,
          { { START, 0, false },
            { START + 18, 24, false },
            { START + 22, 0, false },
            { START + 23, 24, false } } } },
      1 },
    { "tables and numbers behind the code are none",
      SPAN("\x48\x83\xec\x08\x48\x83\xc4\x08\xc3\xf4\x0f\x0b" /* 0; 9: hlt; ud2 */
           "\x50\x50\x50\x50\x50\x50\x50\xcc"
           "\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc\xcc" /* up to 32 */
           "\xc3\xcc"),
      { { 4,
          { { START, 0, false },
            { START + 4, 8, false },
            { START + 8, 0, false },
            { START + 9, 8, false } } },
        { 1, { { START + 32, 0, false } } } },
      2 },
    { "a table within the code is none, and ends before what it leads to",
      SPAN("\x48\x83\xec\x08\x48\x8d\x05\x09\0\0\0"   /* sub rsp, 8; 4: lea rax, [table] */
           "\x48\x63\x34\xb0\xff\xe6\x0f\x1f\0"       /* 11: movsxd rsi, [rax + 4 rsi]; jmp rsi */
           "\xec\xff\xff\xff\x08\0\0\0"               /* 20: START, START + 28 */
           "\xbf\x01\0\0\0\x48\x83\xc4\x08\xc3\xcc"), /* 28: mov edi, 1 */
      { { 4,
          { { START, 0, false },
            { START + 4, 8, false },
            { START + 37, 0, false },
            { START + 38, 8, false } } } },
      1 },
    { "a table that has keys is none",
      SPAN("\x48\x83\xec\x08\x48\x8d\x05\x0d\0\0\0" /* sub rsp, 8; 4: lea rax, [table] */
           "\x48\x8b\x34\xf0\xff\xe6"               /* 11: mov rsi, [rax + 8 rsi]; jmp rsi */
           "\x0f\x1f\x80\0\0\0\0"
           "\xff\xff\0\xf0\x10\0\0\0"         /* 24: START + 40 */
           "\x50\x50\x50\x50\xe8\xff\xff\xff" /* 32: START */
           "\x48\x83\xc4\x08\xc3\xcc"),
      { { 4,
          { { START, 0, false },
            { START + 4, 8, false },
            { START + 44, 0, false },
            { START + 45, 8, false } } } },
      1 },
    { "words are moved from place to place in the frame",
      SPAN("\x48\x83\xec\x18"                                             /* sub rsp, 24 */
           "\x48\xff\x74\x24\x08\xff\x34\x24\x8f\x44\x24\x10\x8f\x04\x24" /* 4: push 2, pop 2 */
           "\x48\x83\xc4\x18\xc3\xcc"),
      { { 8,
          { { START, 0, false },
            { START + 4, 24, false },
            { START + 9, 32, false },
            { START + 12, 40, false },
            { START + 16, 32, false },
            { START + 19, 24, false },
            { START + 23, 0, false },
            { START + 24, 24, false } } } },
      1 },
    { "a word is pushed, and the function goes on",
      SPAN("\x48\x83\xec\x08\xff\x34\x24\x90\x8f\x04\x24\x48\x83\xc4\x08\xc3\xcc"),
      { { 0 } },
      1 },
    { "more words are popped than were pushed",
      SPAN("\x48\x83\xec\x08\x8f\x04\x24\x48\x83\xc4\x08\xc3\xcc"),
      { { 0 } },
      1 },
    { "half a word is pushed", /* push word [rsp] */
      SPAN("\x48\x83\xec\x08\x66\xff\x34\x24\x66\x8f\x04\x24\x48\x83\xc4\x08\xc3\xcc"),
      { { 0 } },
      1 },
    { "pushes another register",
      SPAN("\x48\x83\xec\x08\x53\x5b\x48\x83\xc4\x08\xc3\xcc"),
      { { 0 } },
      1 },
    { "moves the stack pointer", SPAN("\x48\x83\xec\x08\x48\x8b\xe0\xc3\xcc"), { { 0 } }, 1 },
    { "leaves a part of its frame",
      SPAN("\x48\x83\xec\x18\x48\x83\xc4\x08\xc3\xcc"),
      { { 0 } },
      1 },
    { "another register was planned",
      SPAN("\x48\x8d\x5c\x24\xe8\x48\x8b\xe0\x48\x83\xc4\x18\xc3\xcc"),
      { { 0 } },
      1 },
    { "filled as C compilers do: another function may lie there",
      SPAN("\x48\x83\xec\x08\x48\x83\xc4\x08\xc3\x90\x90\x90\x90\x90\x90\x90\xc3\x90"),
      { { 0 } },
      1 },
};

struct got {
    size_t row, functions;
};

static int see(void *cookie, const struct image_function *f)
{
    struct got *g = cookie;
    const struct want *want = &CODE_CASES[g->row].want[g->functions++];

    ck_assert_uint_le(g->functions, CODE_CASES[g->row].functions);
    ck_assert_msg(f->count == want->count, "%s: %zu steps", CODE_CASES[g->row].what, f->count);
    for (size_t i = 0; i < f->count; i++) {
        ck_assert_uint_eq(f->steps[i].pc, want->steps[i].pc);
        ck_assert_uint_eq(f->steps[i].frame_bytes, want->steps[i].frame_bytes);
        ck_assert_int_eq(f->steps[i].fp_saved, want->steps[i].fp_saved);
    }
    return 0;
}

START_TEST(reads_the_shape)
{
    struct span code = CODE_CASES[_i].code;

    for (size_t piece = 1; piece <= code.n; piece++) {
        struct got g = { .row = (size_t)_i };
        size_t at = 0, given = 0, used;
        struct image_code *c;

        ck_assert_int_eq(image_code_new(START, see, &g, &c), 0);
        while (given < code.n) {
            given = MIN(code.n, given + piece);
            ck_assert_int_eq(image_code_read(c, (struct span){ code.p + at, given - at },
                                             given == code.n, &used),
                             0);
            at += used;
        }
        ck_assert_uint_eq(g.functions, CODE_CASES[_i].functions);
        image_code_free(c);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("image_code");

    tcase_add_loop_test(tc, reads_the_shape, 0, ARRAY_SIZE(CODE_CASES));
    return suite_run_case("image_code", tc);
}
