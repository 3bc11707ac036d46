/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize/: When a method or a stub of a fake JVM is read again, and its route with it. */
#include "java_names_fixture.h"

/* Reads the method at @now_ns, later than before. Returns its route. */
static const char *route_at(uint64_t now_ns)
{
    uint32_t frame = interpreted(VM, 0x200, 0x9003, now_ns),
             route = frame_table_get_route(frames, get(frame)->function);

    return route == FUNCTION_ROUTE_NONE ? "none" : text(route);
}

START_TEST(a_route_is_read_once)
{
    jvm.route = "GET /x";
    jvm.route_error = -ETIMEDOUT;
    ck_assert_str_eq(route_at(1), "");
    jvm.route_error = 0; /* it is tried again a moment later */
    ck_assert_str_eq(route_at(JAVA_ROUTE_RETRY_NS - JAVA_METHOD_TRUST_NS), "");
    ck_assert_str_eq(route_at(1 + JAVA_ROUTE_RETRY_NS), "GET /x");
    ck_assert_str_eq(route_at(JAVA_ROUTE_RETRY_NS + JAVA_ROUTE_TRUST_NS), "GET /x");
    ck_assert_uint_eq(jvm.reads, 4);
    ck_assert_uint_eq(jvm.route_reads, 2);
    jvm.class_name = "app/Other"; /* in its place */
    jvm.route = "";
    ck_assert_str_eq(route_at(20 * NSEC_PER_SEC), "none");
    ck_assert_str_eq(route_at(60 * NSEC_PER_SEC), "none");
    jvm.class_name = "app/Plain";
    jvm.route = NULL;
    ck_assert_str_eq(route_at(70 * NSEC_PER_SEC), "none");
    ck_assert_str_eq(route_at(90 * NSEC_PER_SEC), "none");
    ck_assert_uint_eq(jvm.route_reads, 4);
    jvm.const_method += 0x100; /* another process gives a method of that name a route */
    jvm.route = "GET /forged";
    ck_assert_str_eq(route_at(100 * NSEC_PER_SEC), "none");
}
END_TEST

/* Another JVM has a class with the same name, and gives its method a route. */
START_TEST(a_method_without_annotations_gets_no_route)
{
    bool plain_first = _i;

    jvm.route = plain_first ? NULL : "GET /evil";
    ck_assert_str_eq(route_at(1), plain_first ? "none" : "GET /evil");
    names = java_names_free(names);
    ck_assert_int_eq(java_names_new(frames, &names), 0);
    jvm.route = plain_first ? "GET /evil" : NULL;
    ck_assert_str_eq(route_at(1), "none");
}
END_TEST

/* A subclass with another path was loaded. */
START_TEST(a_route_may_end)
{
    jvm.route = "GET /x";
    ck_assert_str_eq(route_at(1), "GET /x");
    jvm.route = "";
    ck_assert_str_eq(route_at(JAVA_ROUTE_TRUST_NS - JAVA_METHOD_TRUST_NS), "GET /x");
    ck_assert_str_eq(route_at(1 + JAVA_ROUTE_TRUST_NS), "none");
}
END_TEST

/* Reading a route is the costly part. */
START_TEST(a_method_that_always_changes_is_asked_now_and_then)
{
    const uint64_t STEP = JAVA_ROUTE_RETRY_NS / 100;

    jvm.route = "GET /x";
    for (uint64_t i = 0; i < 1000; i++) {
        jvm.const_method = 0x5000 + i;
        jvm.route_error = i % 2 ? -EFAULT : 0;
        route_at(1 + i * STEP);
    }
    ck_assert_uint_eq(jvm.reads, 1000);
    ck_assert_uint_eq(jvm.route_reads, 10);
}
END_TEST

/* Names an interpreted frame of a sample taken 50 ms before @now_ns. */
static const struct frame *steady_at(uint64_t now_ns)
{
    uint64_t words[] = { (uint64_t)UNWIND_INTERPRETED << UNWIND_KIND_SHIFT | 0x200, 0x3000 };
    uint64_t at_ns = now_ns - 50 * NSEC_PER_MSEC;

    java_names_prepare(names, VM, words, ARRAY_SIZE(words), at_ns, now_ns);
    return get(java_names_interpreted(names, VM, 0x200, 0x3000, at_ns, now_ns));
}

START_TEST(a_method_is_read_once_while_no_class_is_unloaded)
{
    const uint64_t STEP = JAVA_STEADY_NS / 10;
    uint64_t now_ns = 100 * NSEC_PER_SEC;
    uint32_t first, other;
    unsigned reads;

    jvm.counts = true;
    first = steady_at(now_ns)->function;
    steady_at(now_ns + STEP); /* from here on the number of unloaded classes is known */
    reads = jvm.reads;
    for (uint64_t i = 2; i <= 10; i++)
        ck_assert_uint_eq(steady_at(now_ns + i * STEP)->function, first);
    ck_assert_uint_eq(jvm.reads, reads);
    ck_assert_uint_eq(jvm.checks, 10);
    ck_assert_uint_eq(steady_at(now_ns + 12 * STEP)->function, first);
    ck_assert_uint_gt(jvm.reads, reads); /* after JAVA_STEADY_NS it is read again */
    jvm.unloads++;
    jvm.class_name = "app/Bar$$Lambda$4+0x0000000800c03000";
    other = steady_at(now_ns + 13 * STEP)->function;
    ck_assert_uint_ne(other, first);
    jvm.counts = false; /* a JVM without counters: read again for each sample */
    reads = jvm.reads;
    for (uint64_t i = 14; i <= 20; i++)
        ck_assert_uint_eq(steady_at(now_ns + i * STEP)->function, other);
    ck_assert_uint_ge(jvm.reads, reads + 7);
}
END_TEST

/* A sample has the number of unloaded classes itself, so that nothing is read for it. */
START_TEST(a_sample_says_that_no_class_was_unloaded)
{
    const uint64_t STEP = NSEC_PER_SEC;
    uint64_t now_ns = 100 * NSEC_PER_SEC;
    uint32_t first;
    unsigned reads;

    jvm.counts = true;
    java_names_see_unloads(names, 3, now_ns - 200 * NSEC_PER_MSEC);
    first = steady_at(now_ns)->function;
    reads = jvm.reads;
    for (uint64_t i = 1; i <= 10; i++) {
        java_names_see_unloads(names, 3, now_ns + i * STEP - 50 * NSEC_PER_MSEC);
        java_names_see_unloads(names, 2, now_ns + i * STEP - STEP); /* an older sample */
        ck_assert_uint_eq(steady_at(now_ns + i * STEP)->function, first);
    }
    ck_assert_uint_eq(jvm.reads, reads);
    ck_assert_uint_eq(jvm.checks, 0);
    /* A class was unloaded up to JAVA_COUNTED_NS after the sample. */
    java_names_see_unloads(names, 4, now_ns + 11 * STEP - 50 * NSEC_PER_MSEC);
    jvm.class_name = "app/Bar$$Lambda$4+0x0000000800c03000";
    jvm.unloads = 4;
    ck_assert_uint_ne(steady_at(now_ns + 11 * STEP)->function, first);
    ck_assert_uint_gt(jvm.reads, reads);
}
END_TEST

/* Redefining a class frees its methods without unloading a class. */
START_TEST(a_method_is_read_again_while_classes_may_be_redefined)
{
    uint64_t now_ns = 100 * NSEC_PER_SEC;
    uint32_t first;

    jvm.counts = true;
    first = steady_at(now_ns)->function;
    steady_at(now_ns + NSEC_PER_SEC);
    ck_assert_uint_eq(steady_at(now_ns + 2 * NSEC_PER_SEC)->function, first);
    jvm.redefines = true; /* an agent was loaded */
    jvm.class_name = "app/Other";
    ck_assert_uint_ne(steady_at(now_ns + 3 * NSEC_PER_SEC)->function, first);
}
END_TEST

/* Returns how often stub @name was searched, for five samples within five seconds. */
static unsigned finds_of_stub(const char *name, bool part)
{
    uint64_t word = (uint64_t)UNWIND_STUB << UNWIND_KIND_SHIFT | 0x10010;
    uint32_t ret[HOTSPOT_INLINE_MAX];

    jvm.code.kind = HOTSPOT_CODE_STUB;
    jvm.code.part = part;
    snprintf(jvm.code.name, sizeof(jvm.code.name), "%s", name);
    jvm.counts = true;
    jvm.finds = 0;
    steady_at(100 * NSEC_PER_SEC);
    for (uint64_t i = 1; i <= 5; i++) {
        uint64_t now_ns = 100 * NSEC_PER_SEC + i * 1100 * NSEC_PER_MSEC;

        steady_at(now_ns); /* reads how many classes were unloaded */
        java_names_prepare(names, VM, &word, 1, now_ns, now_ns);
        ck_assert_uint_eq(java_names_code(names, VM, word, true, now_ns, ret, 64), 1);
    }
    return jvm.finds;
}

START_TEST(stubs_that_are_never_freed_are_found_once)
{
    ck_assert_uint_eq(finds_of_stub("StubRoutines (2)", false), 1);
}
END_TEST

START_TEST(a_part_of_the_routines_is_found_once)
{
    ck_assert_uint_eq(finds_of_stub("jint_arraycopy", true), 1);
}
END_TEST

/* Upcall stubs may be freed at any time, independent of classes. */
START_TEST(other_stubs_are_found_each_second)
{
    ck_assert_uint_eq(finds_of_stub("upcall_stub_(Ljava/lang/Object;)V", false), 5);
}
END_TEST

/* Samples that are named late get the name of their time, by the readings before and after them. */
START_TEST(late_samples_have_the_name_of_their_time)
{
    const uint64_t ms = NSEC_PER_MSEC;
    uint32_t old, new, gone;

    jvm.class_name = "app/Body000041";
    old = get(interpreted(VM, 0x200, 0x9003, 100 * ms))->function;
    jvm.class_name = "app/Body000042";
    new = get(java_names_interpreted(names, VM, 0x200, 0x9003, 190 * ms, 200 * ms))->function;
    ck_assert_uint_ne(old, new);
    for (uint64_t at = 50; at < 250; at += 10) {
        uint32_t id = java_names_interpreted(names, VM, 0x200, 0x9003, at * ms, 250 * ms);

        ck_assert_uint_eq(get(id)->function, at < 150 ? old : new);
        ck_assert_uint_eq(get(id)->line, at < 150 ? 0 : 103); /* its bytecode is gone */
    }
    /* A method that can no longer be read existed a moment before. */
    jvm.gone = true;
    gone = java_names_interpreted(names, VM, 0x200, 0x9003, 260 * ms, 400 * ms);
    ck_assert_uint_eq(get(gone)->function, new);
    ck_assert_uint_eq(java_names_interpreted(names, VM, 0x200, 0x9003, 390 * ms, 400 * ms), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("java_rereads");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_route_is_read_once);
    tcase_add_loop_test(tc, a_method_without_annotations_gets_no_route, 0, 2);
    tcase_add_test(tc, a_route_may_end);
    tcase_add_test(tc, a_method_that_always_changes_is_asked_now_and_then);
    tcase_add_test(tc, a_method_is_read_once_while_no_class_is_unloaded);
    tcase_add_test(tc, a_sample_says_that_no_class_was_unloaded);
    tcase_add_test(tc, a_method_is_read_again_while_classes_may_be_redefined);
    tcase_add_test(tc, stubs_that_are_never_freed_are_found_once);
    tcase_add_test(tc, a_part_of_the_routines_is_found_once);
    tcase_add_test(tc, other_stubs_are_found_each_second);
    tcase_add_test(tc, late_samples_have_the_name_of_their_time);
    tcase_set_timeout(tc, 60);
    return suite_run_case("java_rereads", tc);
}
