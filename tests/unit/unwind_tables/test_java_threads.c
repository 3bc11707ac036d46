/* SPDX-License-Identifier: Apache-2.0 */
/* unwind_tables/java_threads.c: when it reads the VM's list of threads. */
#include "suite.h"

#include "base/clock.h"
#include "broker_client/tables.h"
#include "proc/proc.h"
#include "unwind_tables/java_threads.h"

#define TID 100
#define THREADS 3

static struct anchors *anchors;
static struct process process;
static unsigned lists, put_count, tids_read;
static int put_result;
static int32_t shift; /* of the ids of all threads */

int hotspot_vm_threads(struct hotspot_vm *vm, unsigned what, hotspot_thread_fn fn, void *cookie)
{
    (void)vm;
    ck_assert_uint_eq(what, 0);
    lists++;
    for (int32_t i = 0; i < THREADS; i++)
        fn(cookie, &(struct hotspot_thread){ .ns_tid = TID + shift + i,
                                             .java_thread = 0x1000 + (uint64_t)i });
    return THREADS;
}

int broker_put_thread(struct broker *b, int32_t host_pid, int32_t host_tid, uint64_t java_thread,
                      struct error *err)
{
    (void)b;
    (void)host_pid;
    (void)err;
    ck_assert_uint_eq(java_thread, 0x1000 + (uint64_t)(host_tid - TID - shift));
    put_count++;
    return put_result;
}

int32_t __wrap_proc_innermost_tid(int proc_fd, int32_t host_pid, int32_t host_tid);
int32_t __wrap_proc_innermost_tid(int proc_fd, int32_t host_pid, int32_t host_tid)
{
    (void)proc_fd;
    (void)host_pid;
    tids_read++;
    return host_tid;
}

uint64_t process_payer(struct process *p)
{
    return p->payer;
}

static void setup(void)
{
    lists = put_count = tids_read = 0;
    put_result = 0;
    shift = 0;
    process = (struct process){ .id = { .host_pid = TID, .start_ticks = 1 },
                                .jvm = JVM_READY,
                                .vm = (struct hotspot_vm *)&process,
                                .ns_depth = 1,
                                .payer = 1 };
    ck_assert_int_eq(anchors_new(NULL, -1, &anchors), 0);
}

static void teardown(void)
{
    anchors = anchors_free(anchors);
}

static void see(int32_t tid, uint64_t now_ns)
{
    anchors_see(anchors, &process, &(struct sample_record){ .host_tid = (uint32_t)tid }, now_ns);
}

/* Returns the JavaThread of thread @tid, whose id in the VM is the same. */
static uint64_t java_thread(int32_t tid)
{
    int32_t ns_tid = 0;
    uint64_t thread = anchors_thread(anchors, &process, tid, &ns_tid);

    ck_assert_int_eq(ns_tid, thread ? tid : 0);
    return thread;
}

/* Threads of a list need no other one. A thread that is not in it does, at most once a second. */
START_TEST(threads_share_a_list)
{
    uint64_t now_ns = NSEC_PER_SEC;

    for (int32_t i = 0; i < THREADS; i++, now_ns += 2 * NSEC_PER_SEC)
        see(TID + i, now_ns);
    ck_assert_uint_eq(lists, 1);
    ck_assert_uint_eq(put_count, THREADS);
    ck_assert_uint_eq(java_thread(TID + 2), 0x1002);
    see(TID + THREADS, now_ns);
    see(TID + THREADS, now_ns + NSEC_PER_MSEC);
    ck_assert_uint_eq(lists, 2);
    ck_assert_uint_eq(put_count, THREADS);
}
END_TEST

/* A list of a minute ago may have a thread that ended since. */
START_TEST(an_old_list_is_read_again)
{
    uint64_t now_ns = NSEC_PER_SEC;

    see(TID, now_ns);
    see(TID + 1, now_ns + 61 * NSEC_PER_SEC);
    ck_assert_uint_eq(lists, 2);
    ck_assert_uint_eq(put_count, 2);
}
END_TEST

/* A walk that wants a thread which is in the table already finds it wrong there. */
START_TEST(a_thread_that_is_put_is_read_again)
{
    see(TID + 2, NSEC_PER_SEC);
    shift = 1;
    see(TID + 2, 3 * NSEC_PER_SEC);
    ck_assert_uint_eq(lists, 2);
    ck_assert_uint_eq(put_count, 2);
    ck_assert_uint_eq(java_thread(TID + 2), 0x1001);
}
END_TEST

/* The table has dropped threads that were put before: each is put again, at most once a second. */
START_TEST(dropped_threads_are_put_again)
{
    for (int32_t i = 0; i < THREADS; i++)
        see(TID + i, NSEC_PER_SEC);
    ck_assert_uint_eq(put_count, THREADS);
    see(TID, NSEC_PER_SEC + NSEC_PER_MSEC);
    ck_assert_uint_eq(put_count, THREADS);
    for (int32_t i = 0; i < THREADS; i++)
        see(TID + i, 3 * NSEC_PER_SEC);
    ck_assert_uint_eq(put_count, 2 * THREADS);
    ck_assert_uint_eq(lists, 2);
    for (int32_t i = 0; i < THREADS; i++)
        see(TID + i, 3 * NSEC_PER_SEC + NSEC_PER_MSEC);
    ck_assert_uint_eq(put_count, 2 * THREADS);
}
END_TEST

/* A thread that could not be put is not taken for one that is in the table. */
START_TEST(a_failed_put_is_tried_again)
{
    put_result = -EIO;
    see(TID, NSEC_PER_SEC);
    see(TID, NSEC_PER_SEC + NSEC_PER_MSEC);
    ck_assert_uint_eq(put_count, 1);
    ck_assert_uint_eq(java_thread(TID), 0);
    put_result = 0;
    anchors_all(anchors, &process, 3 * NSEC_PER_SEC);
    ck_assert_uint_eq(put_count, 1 + THREADS);
    ck_assert_uint_eq(java_thread(TID), 0x1000);
}
END_TEST

/* A sample in a container costs one reading of /proc, whatever the list has. */
START_TEST(a_sample_reads_its_thread_once)
{
    process.ns_depth = 2;
    for (unsigned i = 0; i < 100; i++)
        see(TID + (_i ? THREADS : 0), NSEC_PER_SEC + i);
    ck_assert_uint_eq(tids_read, 100);
    ck_assert_uint_eq(lists, 1);
    ck_assert_uint_eq(put_count, !_i);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("java_threads");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, threads_share_a_list);
    tcase_add_test(tc, an_old_list_is_read_again);
    tcase_add_test(tc, a_thread_that_is_put_is_read_again);
    tcase_add_test(tc, dropped_threads_are_put_again);
    tcase_add_test(tc, a_failed_put_is_tried_again);
    tcase_add_loop_test(tc, a_sample_reads_its_thread_once, 0, 2);
    return suite_run_case("java_threads", tc);
}
