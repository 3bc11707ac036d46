/* SPDX-License-Identifier: Apache-2.0 */
/* profile/category.h: the categories of a JVM's CPU time, by thread and stack. */
#include "profile/category.h"

#include "profile/profile.h"
#include "suite.h"

#define STACK_MAX 4

static const struct {
    const char *thread;
    struct {
        const char *name;
        enum frame_kind kind;
    } stack[STACK_MAX]; /* leaf first; no name ends it */
    bool in_kernel;
    enum category in_jvm, elsewhere;
} CASES[] = {
    { "main", { { "run", FRAME_C2 } }, false, CATEGORY_JAVA, CATEGORY_NATIVE },
    { "main", { { "run", FRAME_INLINED } }, false, CATEGORY_JAVA, CATEGORY_NATIVE },
    { "main", { { "checksum", FRAME_STUB } }, false, CATEGORY_JAVA, CATEGORY_NATIVE },
    { "main", { { "Interpreter", FRAME_STUB } }, false, CATEGORY_INTERPRETER, CATEGORY_NATIVE },
    { "main", { { "run", FRAME_INTERPRETED } }, false, CATEGORY_INTERPRETER, CATEGORY_NATIVE },
    { "main",
      { { "JVM_Clone", FRAME_JVM }, { "run", FRAME_C2 } },
      false,
      CATEGORY_VM,
      CATEGORY_NATIVE },
    { "main",
      { { "read", FRAME_NATIVE }, { "run", FRAME_C2 } },
      false,
      CATEGORY_NATIVE,
      CATEGORY_NATIVE },
    { "main",
      { { "sys", FRAME_KERNEL }, { "run", FRAME_C2 } },
      true,
      CATEGORY_KERNEL,
      CATEGORY_KERNEL },
    { "main", { { NULL } }, false, CATEGORY_NATIVE, CATEGORY_NATIVE },
    /* The VM's own threads, known by their names whatever they run. */
    { "GC Thread#3", { { "copy", FRAME_JVM } }, false, CATEGORY_GC, CATEGORY_NATIVE },
    { "GC Thread#3", { { "sys", FRAME_KERNEL } }, true, CATEGORY_GC, CATEGORY_KERNEL },
    { "G1 Conc#0", { { NULL } }, false, CATEGORY_GC, CATEGORY_NATIVE },
    { "ZWorker#1", { { "mark", FRAME_JVM } }, false, CATEGORY_GC, CATEGORY_NATIVE },
    { "C2 CompilerThread0", { { "memcpy", FRAME_NATIVE } }, false, CATEGORY_JIT, CATEGORY_NATIVE },
    { "C1 CompilerThre", { { "sys", FRAME_KERNEL } }, true, CATEGORY_JIT, CATEGORY_KERNEL },
    { "JVMCI CompilerThread0", { { "compile", FRAME_C2 } }, false, CATEGORY_JIT, CATEGORY_NATIVE },
    /* VM threads known by their stacks: JDK 8 gives them no names. */
    { "java",
      { { "copy", FRAME_JVM }, { "GCTaskThread::run()", FRAME_JVM } },
      false,
      CATEGORY_GC,
      CATEGORY_NATIVE },
    { "java",
      { { "sys", FRAME_KERNEL }, { "CompileBroker::compiler_thread_loop()", FRAME_JVM } },
      true,
      CATEGORY_JIT,
      CATEGORY_KERNEL },
    { "VM Thread",
      { { "copy", FRAME_JVM }, { "VM_GenCollectForAllocation::doit()", FRAME_JVM } },
      false,
      CATEGORY_GC,
      CATEGORY_NATIVE },
    { "VM Thread",
      { { "walk", FRAME_JVM }, { "VM_ThreadDump::doit()", FRAME_JVM } },
      false,
      CATEGORY_VM,
      CATEGORY_NATIVE },
    /* Java threads with similar names stay Java threads. */
    { "G1 sales report",
      { { "sum", FRAME_C2 }, { "run", FRAME_INTERPRETED } },
      false,
      CATEGORY_JAVA,
      CATEGORY_NATIVE },
    { "GC Thread#mine",
      { { "sys", FRAME_KERNEL }, { "run", FRAME_C1 } },
      true,
      CATEGORY_KERNEL,
      CATEGORY_KERNEL },
    { "ZStatistics",
      { { "memcpy", FRAME_NATIVE }, { "run", FRAME_INLINED } },
      false,
      CATEGORY_NATIVE,
      CATEGORY_NATIVE },
    { "C2 CompilerThread of ours",
      { { "JVM_Clone", FRAME_JVM }, { "run", FRAME_C2 } },
      false,
      CATEGORY_VM,
      CATEGORY_NATIVE },
};

START_TEST(by_thread_and_stack)
{
    struct frame_table *table = NULL;
    uint32_t stack[STACK_MAX];
    size_t n = 0;

    ck_assert_int_eq(frame_table_new(100, 1 << 16, &table), 0);
    for (; n < STACK_MAX && CASES[_i].stack[n].name; n++) {
        struct function fn = { 0 };
        struct frame f = { .kind = (uint8_t)CASES[_i].stack[n].kind };

        frame_table_string(table, span_of(CASES[_i].stack[n].name), &fn.name);
        frame_table_function(table, &fn, &f.function);
        ck_assert_int_eq(frame_table_frame(table, &f, &stack[n]), 0);
    }
    ck_assert_int_eq(
        category_of(table, span_of(CASES[_i].thread), stack, n, CASES[_i].in_kernel, true),
        CASES[_i].in_jvm);
    ck_assert_int_eq(
        category_of(table, span_of(CASES[_i].thread), stack, n, CASES[_i].in_kernel, false),
        CASES[_i].elsewhere);
    frame_table_free(table);
}
END_TEST

/* Generated code that gets its name at the end of a capture. */
START_TEST(named_later)
{
    struct frame_table *table = NULL;
    uint32_t stack[] = { RECORD_LATER + 7 };

    ck_assert_int_eq(frame_table_new(100, 1 << 16, &table), 0);
    ck_assert_int_eq(category_of(table, span_of("G1 mine"), stack, 1, false, true), CATEGORY_JAVA);
    frame_table_free(table);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("category");

    tcase_add_loop_test(tc, by_thread_and_stack, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, named_later);
    return suite_run_case("category", tc);
}
