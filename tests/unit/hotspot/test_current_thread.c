/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/current_thread.c: where native code finds the JavaThread of the thread that runs. */
#include "suite.h"
#include "vm_image.h"

#include "unwind/frames.h"

static struct hotspot_vm *jvm;

static void setup(void)
{
    jvm = vm_image_new();
}

static void teardown(void)
{
    vm_unref(jvm);
}

#define LIST (VM_IMAGE + 0x100)
#define JAVA_THREAD(i) (VM_IMAGE + 0x200 + 0x40 * (uint64_t)(i))
/* Threads, with their keys behind. */
#define SELF(i) (VM_IMAGE + 0x2000 + 0x1000 * (uint64_t)(i))
#define TABLE(i) (VM_IMAGE + 0x1010 + 0x80 * (uint64_t)(i)) /* a thread's variables, by module */
#define VARIABLES(i) (VM_IMAGE + 0x1900 + 0x40 * (uint64_t)(i))
#define POINTER(i) (SELF(i) + (UNWIND_SELF_MAX ? 0x720 : 0)) /* of threads */
#define ENTRIES 18
#define VTABLE UINT64_C(0x7f1234567890)
#define THREADS 3
#define MODULE 4
#define WORD 2

/* Three threads in the VM's list, the oldest first. Each has variables of one module. */
static void make_threads(void)
{
    jvm->layout.thread_smr_list_at = LIST;
    jvm->layout.threads_list_length = vm_image_field(0, 4);
    jvm->layout.threads_list_threads = vm_image_field(8, 8);
    jvm->layout.thread_osthread = vm_image_field(8, 8);
    jvm->layout.osthread_pointer = vm_image_field(0, 8);
    jvm->locks.thread_vtable = 0;
    vm_image_put(LIST, LIST + 8);
    vm_image_put(LIST + 8, THREADS);
    vm_image_put(LIST + 16, LIST + 24);
    for (unsigned i = 0; i < THREADS; i++) {
        vm_image_put(LIST + 24 + 8 * i, JAVA_THREAD(i));
        vm_image_put(JAVA_THREAD(i), i == 0 ? VTABLE : 1);
        vm_image_put(JAVA_THREAD(i) + 8, JAVA_THREAD(i) + 16); /* its OSThread */
        vm_image_put(JAVA_THREAD(i) + 16, SELF(i));
        vm_image_put(POINTER(i) + UNWIND_DTV_AT, TABLE(i));
        vm_image_put(TABLE(i) - UNWIND_DTV_BYTES, ENTRIES);
        vm_image_put(TABLE(i) + 16 * MODULE, VARIABLES(i));
    }
}

static void check_current(unsigned module, unsigned word)
{
    current_thread_find(jvm, &jvm->locks);
    ck_assert_uint_eq(jvm->locks.thread_vtable, (uint32_t)VTABLE);
    ck_assert_uint_eq(jvm->locks.current_module, module);
    ck_assert_uint_eq(jvm->locks.current_word, word);
}

static void check_no_current(void)
{
    jvm->locks.thread_vtable = 0;
    current_thread_find(jvm, &jvm->locks);
    ck_assert_uint_eq(jvm->locks.thread_vtable, 0);
}

START_TEST(a_thread_finds_itself_in_a_variable)
{
    make_threads();
    check_no_current();
    for (unsigned i = 0; i < THREADS; i++)
        vm_image_put(VARIABLES(i) + 8 * WORD, JAVA_THREAD(i));
    check_current(MODULE, WORD);
    vm_image_put(VARIABLES(1) + 8 * WORD, 0); /* it is about to begin or to end */
    check_current(MODULE, WORD);
    vm_image_put(TABLE(1) + 16 * MODULE, UINT64_MAX); /* it has no variables yet */
    check_current(MODULE, WORD);
    vm_image_put(TABLE(2) + 16 * MODULE, UINT64_MAX); /* a single thread may be chance */
    check_no_current();
}
END_TEST

START_TEST(a_variable_with_another_thread_is_not_it)
{
    make_threads();
    for (unsigned i = 0; i < THREADS; i++)
        vm_image_put(VARIABLES(i) + 8 * WORD, JAVA_THREAD(0));
    check_no_current();
}
END_TEST

/* JDK 8: a linked list, the oldest thread last. */
START_TEST(a_thread_finds_itself_by_a_key)
{
    const uint64_t value = 0x310 + 16 * 2 + 8;

    make_threads();
    jvm->layout.thread_smr_list_at = 0;
    jvm->layout.thread_list_at = LIST;
    jvm->layout.thread_next = vm_image_field(24, 8);
    vm_image_put(LIST, JAVA_THREAD(2));
    vm_image_put(JAVA_THREAD(2) + 24, JAVA_THREAD(1));
    vm_image_put(JAVA_THREAD(1) + 24, JAVA_THREAD(0));
    check_no_current();
    for (unsigned i = 0; i < THREADS; i++)
        vm_image_put(POINTER(i) + value, JAVA_THREAD(i));
    if (UNWIND_SELF_MAX)
        check_no_current();
    else
        check_current(0, (unsigned)value / 8);
}
END_TEST

/* On x86-64 its place is known. */
START_TEST(a_table_with_no_number_of_entries_is_none)
{
    make_threads();
    for (unsigned i = 0; i < THREADS; i++)
        vm_image_put(VARIABLES(i) + 8 * WORD, JAVA_THREAD(i));
    vm_image_put(TABLE(0) - UNWIND_DTV_BYTES, 0);
    check_current(MODULE, WORD);
    vm_image_put(TABLE(1) - UNWIND_DTV_BYTES, VM_IMAGE);
    if (UNWIND_SELF_MAX)
        check_no_current();
    else
        check_current(MODULE, WORD);
}
END_TEST

START_TEST(tables_without_thread_pointers_do_not_tell)
{
    make_threads();
    for (unsigned i = 0; i < THREADS; i++)
        vm_image_put(VARIABLES(i) + 8 * WORD, JAVA_THREAD(i));
    jvm->layout.osthread_pointer.offset = -1;
    check_no_current();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("current_thread");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_thread_finds_itself_in_a_variable);
    tcase_add_test(tc, a_variable_with_another_thread_is_not_it);
    tcase_add_test(tc, a_thread_finds_itself_by_a_key);
    tcase_add_test(tc, a_table_with_no_number_of_entries_is_none);
    tcase_add_test(tc, tables_without_thread_pointers_do_not_tell);
    return suite_run_case("current_thread", tc);
}
