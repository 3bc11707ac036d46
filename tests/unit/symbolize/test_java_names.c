/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: Java frames of a fake JVM: when the JVM is read, and which results are
 * used. */
#include "java_names_fixture.h"

/* Words of a stack that are not known since a moment ago are read at once: the interpreter's
 * methods and code. */
START_TEST(prepares_what_is_not_known)
{
    const uint64_t interpreted_word = (uint64_t)UNWIND_INTERPRETED << UNWIND_KIND_SHIFT;
    const uint64_t stack[] = { interpreted_word | 0x200, 0x9001, compiled(0x10010, 7),
                               interpreted_word | 0x300, 0x9002, interpreted_word | 0x400 };

    uint32_t ids[4];

    java_names_prepare(names, VM, stack, ARRAY_SIZE(stack), 1, 1);
    ck_assert_uint_eq(jvm.prepared, 4);
    ck_assert_uint_eq(jvm.prepared_code, 1);
    interpreted(VM, 0x200, 0x9001, 1);
    java_names_prepare(names, VM, stack, ARRAY_SIZE(stack), JAVA_METHOD_TRUST_NS, 1);
    ck_assert_uint_eq(jvm.prepared, 7);
    java_names_prepare(names, VM, stack, ARRAY_SIZE(stack), 1 + JAVA_METHOD_TRUST_NS, 1);
    ck_assert_uint_eq(jvm.prepared, 11);
    interpreted(VM, 0x300, 0x9002, 1);
    java_names_prepare(names, VM, stack, 5, 1, 1);
    ck_assert_uint_eq(jvm.prepared, 12);
    ck_assert_uint_eq(jvm.prepared_code, 4);
    java_names_code(names, VM, stack[2], /* is_return_address= */ true, 1, ids, ARRAY_SIZE(ids));
    java_names_prepare(names, VM, stack, 5, 1, 1); /* no word is left to read */
    ck_assert_uint_eq(jvm.prepared, 12);
    ck_assert_uint_eq(jvm.reads, 2);
}
END_TEST

START_TEST(inlined_frames_innermost_first)
{
    const struct function *f;
    uint32_t ret[HOTSPOT_INLINE_MAX];

    jvm.at[0] = (struct hotspot_location){ .method = 0x300, .bci = 1, .inlined = true };
    jvm.at[1] = (struct hotspot_location){ .method = 0x400, .bci = -1, .inlined = true };
    jvm.at[2] = (struct hotspot_location){ .method = 0x200, .bci = 9 };
    jvm.locations = 3;
    jvm.code.level = 2;
    ck_assert_uint_eq(java_names_code(names, VM, compiled(0x10010, 7), true, 1, ret, 64), 3);
    ck_assert_int_eq(get(ret[0])->kind, FRAME_INLINED);
    ck_assert_uint_eq(get(ret[0])->line, 101);
    ck_assert_int_eq(get(ret[1])->kind, FRAME_INLINED);
    ck_assert_uint_eq(get(ret[1])->line, 0);
    ck_assert_int_eq(get(ret[2])->kind, FRAME_C1);
    ck_assert_uint_eq(get(ret[2])->line, 109);
    f = frame_table_get_function(frames, get(ret[2])->function);
    ck_assert_str_eq(text(f->class_name), "app.Foo$$Lambda");
    ck_assert_str_eq(text(f->name), "m512");
    ck_assert_str_eq(text(f->signature), "(int, app.A)");
    ck_assert_str_eq(text(f->file), "A.java");
    ck_assert_uint_eq(java_names_methods(names), 3);
    /* The buffer is full: the frames are cut. */
    ck_assert_uint_eq(java_names_code(names, VM, compiled(0x10010, 7), true, 1, ret, 2), 2);
}
END_TEST

static const struct {
    enum hotspot_code_kind kind;
    uint8_t level;
    int locations;
    enum frame_kind want;
    bool jvmci;
} KIND_CASES[] = {
    { HOTSPOT_CODE_COMPILED, 1, 1, FRAME_C1, false },
    { HOTSPOT_CODE_COMPILED, 3, 1, FRAME_C1, false },
    { HOTSPOT_CODE_COMPILED, 4, 1, FRAME_C2, false },
    { HOTSPOT_CODE_NATIVE, 0, 1, FRAME_C2, false },
    { HOTSPOT_CODE_COMPILED, 4, -EBADMSG, FRAME_C2,
      false }, /* no debug information: only the method is known */
    { HOTSPOT_CODE_COMPILED, 4, 1, FRAME_JVMCI, true },
    { HOTSPOT_CODE_COMPILED, 3, 1, FRAME_C1, true },
    { HOTSPOT_CODE_NATIVE, 0, 1, FRAME_C2, true },
    { HOTSPOT_CODE_STUB, 0, 1, FRAME_STUB, false },
    { HOTSPOT_CODE_INTERPRETER, 0, 1, FRAME_STUB, false },
};

START_TEST(kinds_of_code)
{
    uint32_t ret[HOTSPOT_INLINE_MAX];

    jvm.code.kind = KIND_CASES[_i].kind;
    jvm.code.level = KIND_CASES[_i].level;
    jvm.locations = KIND_CASES[_i].locations;
    jvm.jvmci = KIND_CASES[_i].jvmci;
    snprintf(jvm.code.name, sizeof(jvm.code.name), "a\033stub");
    ck_assert_uint_eq(java_names_code(names, VM, 0x10010, false, 1, ret, 64), 1);
    ck_assert_int_eq(get(ret[0])->kind, KIND_CASES[_i].want);
    ck_assert(!get(ret[0])->unknown);
    if (KIND_CASES[_i].want == FRAME_STUB)
        ck_assert_str_eq(text(frame_table_get_function(frames, get(ret[0])->function)->name),
                         KIND_CASES[_i].kind == HOTSPOT_CODE_STUB
                             ? "a\xef\xbf\xbdstub"
                             : "Interpreter (a\xef\xbf\xbdstub)");
}
END_TEST

START_TEST(native_methods)
{
    uint32_t ret[HOTSPOT_INLINE_MAX], function;

    function = get(interpreted(VM, MADE_NATIVE, 0xa000, 1))->function;
    ck_assert(java_names_is_native(names, function));
    function = get(interpreted(VM, 0x200, 0x9001, 1))->function;
    ck_assert(!java_names_is_native(names, function));
    jvm.code.kind = HOTSPOT_CODE_NATIVE; /* of the same method; its bytecodes are not asked for */
    ck_assert_uint_eq(java_names_code(names, VM, 0x10010, true, 1, ret, 64), 1);
    ck_assert(java_names_is_native(names, get(ret[0])->function));
}
END_TEST

START_TEST(a_compile_id_names_code_for_good)
{
    uint32_t first[HOTSPOT_INLINE_MAX], again[HOTSPOT_INLINE_MAX];

    ck_assert_uint_eq(java_names_code(names, VM, compiled(0x10010, 7), true, 1, first, 64), 1);
    ck_assert_uint_eq(jvm.finds, 1);
    jvm.code.compile_id = 8; /* other code at the same address */
    jvm.at[0].method = 0x300;
    ck_assert_uint_eq(
        java_names_code(names, VM, compiled(0x10010, 7), true, 60 * NSEC_PER_SEC, again, 64), 1);
    ck_assert_uint_eq(first[0], again[0]);
    ck_assert_uint_eq(jvm.finds + jvm.stills, 1);
    ck_assert_uint_eq(
        java_names_code(names, VM, compiled(0x10010, 8), true, 60 * NSEC_PER_SEC, again, 64), 1);
    ck_assert_uint_ne(first[0], again[0]);
    /* Code that was gone before it was read stays unknown, and is read once a second. */
    ck_assert_uint_eq(java_names_code(names, VM, compiled(0x10020, 7), true, 1, again, 64), 0);
    ck_assert_uint_eq(jvm.finds, 3);
    ck_assert_uint_eq(java_names_code(names, VM, compiled(0x10020, 7), true, 1, again, 64), 0);
    ck_assert_uint_eq(jvm.finds, 3);
    /* Ids are compared modulo 2^13. */
    jvm.code.compile_id = 7 + (1 << 13);
    ck_assert_uint_eq(java_names_code(names, VM, compiled(0x10030, 7), true, 1, again, 64), 1);
}
END_TEST

/* A read failed for a moment: of the code, or of its debug information. Then code that was found is
 * known for good, and keeps its method when it is freed. */
START_TEST(a_compile_id_without_code_is_read_again)
{
    const uint64_t word = compiled(0x10010, 7);
    uint32_t ret[HOTSPOT_INLINE_MAX];
    size_t bare = (size_t)_i;

    jvm.empty = _i == 0;
    jvm.locations = -EIO;
    ck_assert_uint_eq(java_names_code(names, VM, word, true, 1, ret, 64), bare);
    java_names_code(names, VM, word, true, JAVA_STUB_TRUST_NS, ret, 64);
    ck_assert_uint_eq(jvm.finds, 1);
    jvm.empty = _i != 0; /* it is freed */
    ck_assert_uint_eq(java_names_code(names, VM, word, true, 2 * NSEC_PER_SEC, ret, 64), 1);
    ck_assert_uint_eq(jvm.finds, 2);
    jvm.gone = true;
    ck_assert_uint_eq(java_names_code(names, VM, word, true, 4 * NSEC_PER_SEC, ret, 64), 1);
    jvm.gone = jvm.empty = false;
    jvm.at[1] = (struct hotspot_location){ .method = 0x300, .bci = 1 };
    jvm.locations = 2;
    ck_assert_uint_eq(java_names_code(names, VM, word, true, 6 * NSEC_PER_SEC, ret, 64), 2);
    jvm.locations = 1;
    ck_assert_uint_eq(java_names_code(names, VM, word, true, 60 * NSEC_PER_SEC, ret, 64), 2);
    ck_assert_uint_eq(jvm.finds, 4);
    ck_assert_uint_eq(jvm.stills, 0);
}
END_TEST

START_TEST(an_address_alone_is_believed_for_10_ms)
{
    uint32_t first[HOTSPOT_INLINE_MAX], again[HOTSPOT_INLINE_MAX];
    uint64_t now = NSEC_PER_SEC;

    ck_assert_uint_eq(java_names_code(names, VM, 0x10010, true, now, first, 64), 1);
    java_names_code(names, VM, 0x10010, true, now + JAVA_CODE_TRUST_NS - 1, again, 64);
    ck_assert_uint_eq(jvm.finds + jvm.stills, 1);
    now += JAVA_CODE_TRUST_NS;
    java_names_code(names, VM, 0x10010, true, now, again, 64);
    ck_assert_uint_eq(jvm.stills, 1);
    ck_assert_uint_eq(jvm.locates, 1);
    ck_assert_uint_eq(first[0], again[0]);
    /* exact and return addresses have separate entries, as they may lie in different calls */
    java_names_code(names, VM, 0x10010, false, now, again, 64);
    ck_assert_uint_eq(jvm.locates, 2);
    jvm.code.compile_id = 8;
    jvm.at[0].method = 0x300;
    now += JAVA_CODE_TRUST_NS;
    ck_assert_uint_eq(java_names_code(names, VM, 0x10010, true, now, again, 64), 1);
    ck_assert_uint_ne(first[0], again[0]);
    jvm.empty = true;
    now += JAVA_CODE_TRUST_NS;
    ck_assert_uint_eq(java_names_code(names, VM, 0x10010, true, now, again, 64), 0);
}
END_TEST

/* The meaning of an address changes just when the full table of addresses grows. */
START_TEST(a_new_meaning_while_the_table_grows)
{
    uint32_t first[HOTSPOT_INLINE_MAX], again[HOTSPOT_INLINE_MAX];
    uint64_t now = NSEC_PER_SEC;

    java_names_code(names, VM, 0x10010, true, now, first, 64);
    for (unsigned i = 1; i <= 1024; i++) {
        jvm.code.compile_id = (int)(7 + i % 2);
        jvm.at[0].method = 0x300 + 0x100 * (i % 2);
        now += JAVA_CODE_TRUST_NS;
        ck_assert_uint_eq(java_names_code(names, VM, 0x10010, true, now, again, 64), 1);
        ck_assert_uint_ne(first[0], again[0]);
        first[0] = again[0];
        jvm.code.compile_id = 7;
        java_names_code(names, VM, compiled(0x10100 + i, 7), true, now, again, 64);
    }
}
END_TEST

START_TEST(a_stub_that_became_a_method_is_noticed)
{
    uint32_t ret[HOTSPOT_INLINE_MAX];

    jvm.code.kind = HOTSPOT_CODE_STUB;
    snprintf(jvm.code.name, sizeof(jvm.code.name), "adapter");
    ck_assert_uint_eq(java_names_code(names, VM, 0x10010, true, 1, ret, 64), 1);
    ck_assert_int_eq(get(ret[0])->kind, FRAME_STUB);
    jvm.code.kind = HOTSPOT_CODE_COMPILED;
    ck_assert_uint_eq(java_names_code(names, VM, 0x10010, true, 1 + JAVA_STUB_TRUST_NS, ret, 64),
                      1);
    ck_assert_int_eq(get(ret[0])->kind, FRAME_C2);
}
END_TEST

START_TEST(names_outlive_the_jvm)
{
    uint32_t ret[HOTSPOT_INLINE_MAX];

    ck_assert_uint_eq(java_names_code(names, VM, 0x10010, true, 1, ret, 64), 1);
    jvm.gone = true;
    ck_assert_uint_eq(java_names_code(names, VM, 0x10010, true, NSEC_PER_SEC, ret, 64), 1);
    ck_assert_uint_eq(java_names_code(names, NULL, 0x10010, true, 9 * NSEC_PER_SEC, ret, 64), 1);
    ck_assert_uint_eq(java_names_code(names, NULL, 0x10020, true, NSEC_PER_SEC, ret, 64), 0);
    ck_assert_uint_eq(java_names_code(names, VM, 0x10020, true, NSEC_PER_SEC, ret, 64), 0);
}
END_TEST

START_TEST(memory_of_a_method_that_became_another_is_noticed)
{
    uint32_t first[HOTSPOT_INLINE_MAX], again[HOTSPOT_INLINE_MAX];

    java_names_code(names, VM, 0x10010, true, 1, first, 64);
    java_names_code(names, VM, 0x10020, true, 2, again, 64);
    ck_assert_uint_eq(jvm.reads, 1);
    java_names_code(names, VM, 0x10030, true, 2 + JAVA_METHOD_TRUST_NS, again, 64);
    ck_assert_uint_eq(jvm.reads, 2);
    ck_assert_uint_eq(java_names_methods(names), 1);
    jvm.const_method = 0x6000;
    jvm.class_name = "app/Other";
    java_names_code(names, VM, 0x10040, true, 2 + 2 * JAVA_METHOD_TRUST_NS, again, 64);
    ck_assert_uint_ne(get(first[0])->function, get(again[0])->function);
    ck_assert_str_eq(text(frame_table_get_function(frames, get(again[0])->function)->class_name),
                     "app.Other");
}
END_TEST

/* A new class often gets exactly the memory of the unloaded one, word for word. */
START_TEST(a_class_in_the_place_of_another_has_its_own_name)
{
    uint32_t first[64], second[64], a, b;

    jvm.class_name = "app/Body000041";
    java_names_code(names, VM, compiled(0x10010, 7), true, 1, first, 64);
    a = interpreted(VM, 0x200, 0x9003, 1);
    jvm.class_name = "app/Body000042";
    jvm.code.compile_id = 8;
    java_names_code(names, VM, compiled(0x10010, 8), true, 1 + JAVA_METHOD_TRUST_NS, second, 64);
    b = interpreted(VM, 0x200, 0x9003, 1 + JAVA_METHOD_TRUST_NS);
    ck_assert_uint_ne(get(first[0])->function, get(second[0])->function);
    ck_assert_uint_ne(get(a)->function, get(b)->function);
    ck_assert_uint_eq(get(b)->function, get(second[0])->function);
}
END_TEST

START_TEST(a_method_that_cannot_be_read_is_unknown)
{
    uint32_t ret[HOTSPOT_INLINE_MAX];

    jvm.at[0].method = 1;
    ck_assert_uint_eq(java_names_code(names, VM, 0x10010, true, 1, ret, 64), 1);
    ck_assert(get(ret[0])->unknown);
    ck_assert_uint_eq(interpreted(VM, 1, 0x9000, 1), 0);
    ck_assert_uint_eq(interpreted(VM, 0, 0, 1), 0);
}
END_TEST

START_TEST(interpreted_frames_have_lines)
{
    uint32_t a = interpreted(VM, 0x200, 0x9003, 1), b;

    ck_assert_int_eq(get(a)->kind, FRAME_INTERPRETED);
    ck_assert_uint_eq(get(a)->line, 103);
    ck_assert_uint_eq(interpreted(VM, 0x200, 0x9003, 2), a);
    ck_assert_uint_eq(jvm.reads, 1);
    ck_assert_uint_eq(get(interpreted(VM, 0x200, 0, 2))->line, 100); /* line of its entry */
    ck_assert_uint_eq(get(interpreted(VM, 0x200, 0x7777, 2))->line, 0);
    jvm.const_method = 0x6000;
    jvm.class_name = "app/Other";
    b = interpreted(VM, 0x200, 0x9003, 2 + JAVA_METHOD_TRUST_NS);
    ck_assert_uint_ne(get(a)->function, get(b)->function);
    ck_assert_uint_eq(interpreted(NULL, 0x200, 0x9003, NSEC_PER_SEC), b);
}
END_TEST

/* A call without an answer in time does not decide the name of code or its line for good. */
START_TEST(code_without_an_answer_is_read_again)
{
    uint32_t ret[HOTSPOT_INLINE_MAX];
    size_t n;

    jvm.late = (enum made_call)_i;
    n = java_names_code(names, VM, compiled(0x10010, 7), true, 1, ret, 64);
    ck_assert_uint_eq(n, jvm.late == MADE_FIND ? 0 : 1);
    if (jvm.late == MADE_METHOD)
        ck_assert(get(ret[0])->unknown);
    ck_assert(!n || get(ret[0])->line == 0);
    ck_assert_uint_eq(java_names_incomplete(names), 1);
    jvm.late = MADE_NONE;
    ck_assert_uint_eq(java_names_code(names, VM, compiled(0x10010, 7), true, 2, ret, 64), 1);
    ck_assert(!get(ret[0])->unknown);
    ck_assert_uint_eq(get(ret[0])->line, 105);
    ck_assert_uint_eq(java_names_incomplete(names), 1);
}
END_TEST

/* Without an answer it is unknown whether the code of an address is still the same. */
START_TEST(an_address_without_an_answer_has_no_old_name)
{
    uint32_t first[HOTSPOT_INLINE_MAX], again[HOTSPOT_INLINE_MAX];

    ck_assert_uint_eq(java_names_code(names, VM, 0x10010, true, 1, first, 64), 1);
    jvm.code.compile_id = 8; /* other code at the same address */
    jvm.at[0].method = 0x300;
    jvm.late = MADE_STILL;
    ck_assert_uint_eq(java_names_code(names, VM, 0x10010, true, 1 + JAVA_CODE_TRUST_NS, again, 64),
                      1);
    ck_assert_uint_ne(first[0], again[0]);
    jvm.gone = true; /* the last one that was read */
    ck_assert_uint_eq(
        java_names_code(names, VM, 0x10010, true, 1 + 2 * JAVA_CODE_TRUST_NS, first, 64), 1);
    ck_assert_uint_eq(first[0], again[0]);
}
END_TEST

START_TEST(a_line_without_an_answer_is_read_again)
{
    jvm.late = (enum made_call)_i;
    ck_assert_uint_eq(get(interpreted(VM, 0x200, 0x9005, 1))->line, 0);
    jvm.late = MADE_NONE;
    ck_assert_uint_eq(get(interpreted(VM, 0x200, 0x9005, 2))->line, 105);
}
END_TEST

START_TEST(many_addresses_keep_memory_bounded)
{
    uint32_t ret[HOTSPOT_INLINE_MAX];

    jvm.code.end = UINT64_C(1) << 40;
    for (uint64_t i = 0; i < 2 * JAVA_PCS_MAX + 100; i++)
        ck_assert_uint_eq(java_names_code(names, VM, compiled(0x10010 + i, 7), true, 1, ret, 64),
                          1);
    ck_assert_uint_eq(java_names_methods(names), 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("java_names");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, prepares_what_is_not_known);
    tcase_add_test(tc, inlined_frames_innermost_first);
    tcase_add_loop_test(tc, kinds_of_code, 0, ARRAY_SIZE(KIND_CASES));
    tcase_add_test(tc, native_methods);
    tcase_add_test(tc, a_compile_id_names_code_for_good);
    tcase_add_loop_test(tc, a_compile_id_without_code_is_read_again, 0, 2);
    tcase_add_test(tc, an_address_alone_is_believed_for_10_ms);
    tcase_add_test(tc, a_new_meaning_while_the_table_grows);
    tcase_add_test(tc, a_stub_that_became_a_method_is_noticed);
    tcase_add_test(tc, names_outlive_the_jvm);
    tcase_add_test(tc, memory_of_a_method_that_became_another_is_noticed);
    tcase_add_test(tc, a_class_in_the_place_of_another_has_its_own_name);
    tcase_add_test(tc, a_method_that_cannot_be_read_is_unknown);
    tcase_add_test(tc, interpreted_frames_have_lines);
    tcase_add_loop_test(tc, code_without_an_answer_is_read_again, MADE_FIND, MADE_BCI);
    tcase_add_test(tc, an_address_without_an_answer_has_no_old_name);
    tcase_add_loop_test(tc, a_line_without_an_answer_is_read_again, MADE_METHOD, MADE_CALLS);
    tcase_add_test(tc, many_addresses_keep_memory_bounded);
    tcase_set_timeout(tc, 60);
    return suite_run_case("java_names", tc);
}
