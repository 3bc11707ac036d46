/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/current_thread.c: where native code finds the JavaThread of the thread that runs. */
#include "suite.h"

#include "hotspot/vm.h"
#include "unwind/frames.h"

#define HEAP UINT64_C(0x7f0000000000)
#define WORDS 4096

static uint64_t heap[WORDS];
static struct hotspot_vm *jvm;

static ssize_t read_heap(void *cookie, uint64_t address, void *buf, size_t n)
{
    (void)cookie;
    if (address < HEAP || address - HEAP >= sizeof(heap))
        return -EIO;
    n = MIN(n, sizeof(heap) - (address - HEAP));
    memcpy(buf, (const uint8_t *)heap + (address - HEAP), n);
    return (ssize_t)n;
}

static void put(uint64_t at, uint64_t v)
{
    memcpy((uint8_t *)heap + (at - HEAP), &v, sizeof(v));
}

static void setup(void)
{
    memset(heap, 0, sizeof(heap));
    jvm = calloc(1, sizeof(*jvm));
    ck_assert_ptr_nonnull(jvm);
    atomic_init(&jvm->users, 1);
    memory_init(&jvm->memory, read_heap, NULL);
}

static void teardown(void)
{
    vm_unref(jvm);
}

#define LIST (HEAP + 0x100)
#define JAVA_THREAD(i) (HEAP + 0x200 + 0x40 * (uint64_t)(i))
#define SELF(i) (HEAP + 0x2000 + 0x1000 * (uint64_t)(i)) /* of threads, with their keys behind */
#define TABLE(i) (HEAP + 0x1010 + 0x80 * (uint64_t)(i))  /* a thread's variables, by module */
#define VARIABLES(i) (HEAP + 0x1900 + 0x40 * (uint64_t)(i))
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
    jvm->layout.threads_list_length = (struct layout_field){ .offset = 0, .width = 4 };
    jvm->layout.threads_list_threads = (struct layout_field){ .offset = 8, .width = 8 };
    jvm->layout.thread_osthread = (struct layout_field){ .offset = 8, .width = 8 };
    jvm->layout.osthread_pointer = (struct layout_field){ .offset = 0, .width = 8 };
    jvm->locks.thread_vtable = 0;
    put(LIST, LIST + 8);
    put(LIST + 8, THREADS);
    put(LIST + 16, LIST + 24);
    for (unsigned i = 0; i < THREADS; i++) {
        put(LIST + 24 + 8 * i, JAVA_THREAD(i));
        put(JAVA_THREAD(i), i == 0 ? VTABLE : 1);
        put(JAVA_THREAD(i) + 8, JAVA_THREAD(i) + 16); /* its OSThread */
        put(JAVA_THREAD(i) + 16, SELF(i));
        put(POINTER(i) + UNWIND_DTV_AT, TABLE(i));
        put(TABLE(i) - UNWIND_DTV_BYTES, ENTRIES);
        put(TABLE(i) + 16 * MODULE, VARIABLES(i));
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
        put(VARIABLES(i) + 8 * WORD, JAVA_THREAD(i));
    check_current(MODULE, WORD);
    put(VARIABLES(1) + 8 * WORD, 0); /* it is about to begin or to end */
    check_current(MODULE, WORD);
    put(TABLE(1) + 16 * MODULE, UINT64_MAX); /* it has no variables yet */
    check_current(MODULE, WORD);
    put(TABLE(2) + 16 * MODULE, UINT64_MAX); /* a single thread may be chance */
    check_no_current();
}
END_TEST

START_TEST(a_variable_with_another_thread_is_not_it)
{
    make_threads();
    for (unsigned i = 0; i < THREADS; i++)
        put(VARIABLES(i) + 8 * WORD, JAVA_THREAD(0));
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
    jvm->layout.thread_next = (struct layout_field){ .offset = 24, .width = 8 };
    put(LIST, JAVA_THREAD(2));
    put(JAVA_THREAD(2) + 24, JAVA_THREAD(1));
    put(JAVA_THREAD(1) + 24, JAVA_THREAD(0));
    check_no_current();
    for (unsigned i = 0; i < THREADS; i++)
        put(POINTER(i) + value, JAVA_THREAD(i));
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
        put(VARIABLES(i) + 8 * WORD, JAVA_THREAD(i));
    put(TABLE(0) - UNWIND_DTV_BYTES, 0);
    check_current(MODULE, WORD);
    put(TABLE(1) - UNWIND_DTV_BYTES, HEAP);
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
        put(VARIABLES(i) + 8 * WORD, JAVA_THREAD(i));
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
