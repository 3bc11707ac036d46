/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: names of a fake JVM's threads: when the JVM is read, and which results are used. */
#include "symbolize/threads.h"

#include "made_vm.h"
#include "suite.h"

static struct frame_table *frames;

static void setup(void)
{
    memset(&jvm, 0, sizeof(jvm));
    memset(threads, 0, sizeof(threads));
    ck_assert_int_eq(frame_table_new(1 << 20, 1 << 26, &frames), 0);
}

static void teardown(void)
{
    frames = frame_table_free(frames);
}

static const char *text(uint32_t string)
{
    return frame_table_get_string(frames, string).p;
}

START_TEST(threads_have_the_names_that_java_gave_them)
{
    struct thread_names *t = NULL;
    uint64_t now = NSEC_PER_SEC;

    threads[0].ns_tid = 100;
    threads[0].name = "http-nio-8080-exec-1\xc0\x80";
    threads[1].ns_tid = 101;
    threads[1].name = "";
    ck_assert_int_eq(thread_names_new(frames, &t), 0);
    ck_assert_str_eq(text(thread_names_get(t, VM, -1, 1, 1, 100, "http-nio-8080-e", now)),
                     "http-nio-8080-exec-1\xef\xbf\xbd");
    ck_assert_uint_eq(thread_names_get(t, VM, -1, 1, 1, 101, "x", now), 0);
    ck_assert_uint_eq(thread_names_get(t, VM, -1, 1, 1, 102, "GC Thread#0", now), 0);
    ck_assert_uint_eq(jvm.lists, 1);
    for (int i = 0; i < 1000; i++)
        thread_names_get(t, VM, -1, 1, 1, 100, "http-nio-8080-e",
                         now + (uint64_t)i * NSEC_PER_MSEC);
    ck_assert_uint_eq(jvm.lists, 1);
    /* A new comm is a new name. A thread that ended keeps its name. */
    threads[0].name = "renamed";
    now += NSEC_PER_SEC;
    ck_assert_str_eq(text(thread_names_get(t, VM, -1, 1, 1, 100, "renamed", now)), "renamed");
    threads[0].name = NULL;
    now += 2 * THREADS_TRUST_NS;
    ck_assert_str_eq(text(thread_names_get(t, VM, -1, 1, 1, 100, "renamed", now)), "renamed");
    ck_assert_str_eq(text(thread_names_get(t, NULL, -1, 1, 1, 100, "renamed", now)), "renamed");
    ck_assert_uint_eq(thread_names_get(t, VM, -1, 1, 1, 0, "x", now), 0);
    /* In a container the id differs, and needs /proc. */
    threads[0].name = "inside";
    ck_assert_uint_eq(thread_names_get(t, VM, -1, 1, 2, 4242, "x", now + NSEC_PER_SEC), 0);
    thread_names_free(t);
}
END_TEST

/* A process has dozens of threads of the VM and of libraries. */
START_TEST(threads_that_are_not_javas_share_a_list)
{
    uint64_t now = NSEC_PER_SEC, step = THREADS_TRUST_NS / 20;
    struct thread_names *t = NULL;

    threads[0] = (struct made_thread){ .ns_tid = 100, .name = "main" };
    ck_assert_int_eq(thread_names_new(frames, &t), 0);
    for (int i = 0; i < 12 * 20; i++, now += step) { /* each thread every 5 s */
        if (i == 2 * 20)
            jvm.lists = 0;
        ck_assert_uint_eq(thread_names_get(t, VM, -1, 1, 1, 200 + i % 20, "GC Thread#0", now), 0);
    }
    ck_assert_uint_le(jvm.lists, 4); /* after 10, 20, 40 and 60 s, with growing certainty */
    /* A thread that began just before it came into the list gets its name at once. */
    jvm.lists = 0;
    ck_assert_uint_eq(thread_names_get(t, VM, -1, 1, 1, 300, "java", now), 0);
    threads[1] = (struct made_thread){ .ns_tid = 300, .name = "late" };
    now += THREADS_LIST_MIN_NS;
    ck_assert_str_eq(text(thread_names_get(t, VM, -1, 1, 1, 300, "java", now)), "late");
    ck_assert_uint_le(jvm.lists, 2);
    /* A thread that later becomes a Java thread gets its name within a minute; at once if its comm
     * changes. */
    threads[2] = (struct made_thread){ .ns_tid = 200, .name = "attached" };
    now += THREADS_LIST_MIN_NS;
    ck_assert_str_eq(text(thread_names_get(t, VM, -1, 1, 1, 200, "java", now)), "attached");
    threads[2].ns_tid = 201;
    now += THREADS_AGREED_NS;
    ck_assert_str_eq(text(thread_names_get(t, VM, -1, 1, 1, 201, "GC Thread#0", now)), "attached");
    thread_names_free(t);
}
END_TEST

/* A JVM that does not answer, twice: a thread that is new gets its name as soon as it answers. A
 * known one keeps its own. */
START_TEST(a_list_that_is_not_read_lacks_nobody)
{
    struct thread_names *t = NULL;
    uint64_t now = NSEC_PER_SEC;

    threads[0] = (struct made_thread){ .ns_tid = 100, .name = "first" };
    ck_assert_int_eq(thread_names_new(frames, &t), 0);
    ck_assert_str_eq(text(thread_names_get(t, VM, -1, 1, 1, 100, "first", now)), "first");
    threads[1] = (struct made_thread){ .ns_tid = 101, .name = "new" };
    jvm.list_result = -ETIMEDOUT;
    for (int i = 0; i < 2; i++) {
        now += THREADS_LIST_MIN_NS;
        ck_assert_uint_eq(thread_names_get(t, VM, -1, 1, 1, 101, "new", now), 0);
        ck_assert_str_eq(text(thread_names_get(t, VM, -1, 1, 1, 100, "first", now)), "first");
    }
    ck_assert_uint_eq(jvm.lists, 3);
    jvm.list_result = 0;
    now += THREADS_LIST_MIN_NS;
    ck_assert_str_eq(text(thread_names_get(t, VM, -1, 1, 1, 101, "new", now)), "new");
    thread_names_free(t);
}
END_TEST

/* The kernel shows the beginning of a longer name only, so its end is read again: of the thread
 * alone, unless many are, or another thread has its place. */
START_TEST(a_listed_thread_is_read_alone)
{
    const char *comm = "http-nio-8080-e";
    struct thread_names *t = NULL;
    uint64_t now = NSEC_PER_SEC;

    memset(threads, 0, sizeof(threads));
    threads[0] = (struct made_thread){ .ns_tid = 100, .name = "http-nio-8080-exec-1" };
    threads[1] = (struct made_thread){ .ns_tid = 101, .name = "http-nio-8080-exec-2" };
    ck_assert_int_eq(thread_names_new(frames, &t), 0);
    jvm.lists = jvm.singles = 0;
    ck_assert_str_eq(text(thread_names_get(t, VM, -1, 1, 1, 100, comm, now)), threads[0].name);
    ck_assert_uint_eq(jvm.lists, 1);
    threads[0].name = "http-nio-8080-exec-7";
    now += THREADS_CUT_NS;
    ck_assert_str_eq(text(thread_names_get(t, VM, -1, 1, 1, 100, comm, now)), threads[0].name);
    ck_assert_uint_eq(jvm.lists, 1);
    ck_assert_uint_eq(jvm.singles, 1);
    /* Its name is now newer than the list. */
    ck_assert_str_eq(text(thread_names_get(t, VM, -1, 1, 1, 100, comm, now + THREADS_CUT_NS / 2)),
                     threads[0].name);
    ck_assert_uint_eq(jvm.singles, 1);
    /* Another thread is where it was. */
    threads[1].ns_tid = 109;
    now += THREADS_CUT_NS;
    ck_assert_uint_eq(thread_names_get(t, VM, -1, 1, 1, 101, comm, now), 0);
    ck_assert_uint_eq(jvm.lists, 2);
    for (int i = 0; i < 10; i++) {
        now += THREADS_CUT_NS;
        thread_names_get(t, VM, -1, 1, 1, 100, comm, now);
    }
    ck_assert_uint_eq(jvm.lists, 4); /* a list again after four names */
    thread_names_free(t);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("thread_names");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, threads_have_the_names_that_java_gave_them);
    tcase_add_test(tc, threads_that_are_not_javas_share_a_list);
    tcase_add_test(tc, a_list_that_is_not_read_lacks_nobody);
    tcase_add_test(tc, a_listed_thread_is_read_alone);
    return suite_run_case("thread_names", tc);
}
