/* SPDX-License-Identifier: Apache-2.0 */
/* render/threads_*.c: a dump of threads as JSON and as text, one by one and in groups. */
#include "suite.h"

#include "render/threads.h"

#include <jansson.h>

static struct thread_dump *dump;
static struct buf out;

static uint32_t text(const char *s)
{
    uint32_t id = 0;

    ck_assert_int_eq(intern_add(dump->strings, span_of(s), &id), 0);
    return id;
}

static void setup(void)
{
    static struct dumped_thread threads[] = {
        { .id = 30,
          .is_virtual = true,
          .is_daemon = true,
          .state = DUMPED_WAITING,
          .lock = THREAD_LOCK_LOCK,
          .owner_id = 1 },
        { .id = 1,
          .host_tid = 100,
          .ns_tid = 7,
          .state = DUMPED_RUNNABLE,
          .why = THREAD_STACK_RUNNING },
        { .id = 31, .is_virtual = true, .is_daemon = true, .state = DUMPED_BLOCKED },
        { .id = 32,
          .is_virtual = true,
          .is_mounted = true,
          .carrier_id = 99,
          .state = DUMPED_RUNNABLE },
    };

    dump = thread_dump_new();
    ck_assert_ptr_nonnull(dump);
    dump->threads = calloc(ARRAY_SIZE(threads), sizeof(*dump->threads));
    ck_assert_ptr_nonnull(dump->threads);
    memcpy(dump->threads, threads, sizeof(threads));
    dump->count = ARRAY_SIZE(threads);
    dump->threads[0].name = text("a \"b\"");
    dump->threads[0].lock_class = text("x.Lock");
    dump->threads[1].name = text("main");
    dump->threads[0].stack = dump->threads[2].stack = text("x.A.b(A.java:1)\nx.A.a(A.java:2)\n");
    dump->threads[3].stack = text("x.C.c(C.java)\n");
    dump->time_ns = UINT64_C(1700000000123456789);
    span_copy(SPAN("25"), dump->java_version, sizeof(dump->java_version));
    thread_dump_warn(dump, "%d are missing", 3);
    thread_dump_sort(dump);
    buf_init(&out, 1 << 20);
}

static void teardown(void)
{
    dump = thread_dump_free(dump);
    buf_deinit(&out);
}

static json_t *parse(bool grouped)
{
    const struct threads_opts o = { .grouped = grouped };
    json_t *j;

    ck_assert_int_eq(render_threads_json(dump, &o, &out), 0);
    ck_assert_int_eq(out.error, 0);
    j = json_loadb(out.p, out.n, 0, NULL);
    ck_assert_msg(j != NULL, "%s", out.p);
    return j;
}

static json_int_t number(const json_t *j, const char *name)
{
    return json_integer_value(json_object_get(j, name));
}

static const char *string(const json_t *j, const char *name)
{
    return json_string_value(json_object_get(j, name));
}

START_TEST(json_of_each_thread)
{
    json_t *j = parse(/* grouped= */ false);
    const json_t *list = json_object_get(j, "threads"), *stacks = json_object_get(j, "stacks"), *t;

    ck_assert_int_eq(number(j, "count"), 4);
    ck_assert_int_eq(number(j, "platform"), 1);
    ck_assert_int_eq(number(j, "mounted"), 1);
    ck_assert_int_eq(number(j, "without_stack"), 1);
    ck_assert(json_is_false(json_object_get(j, "complete")));
    ck_assert_str_eq(string(j, "time"), "2023-11-14T22:13:20.123456789Z");
    ck_assert_uint_eq(json_array_size(list), 4);
    ck_assert_uint_eq(json_array_size(stacks), 2);
    t = json_array_get(list, 0);
    ck_assert_int_eq(number(t, "id"), 1);
    ck_assert_int_eq(number(t, "tid"), 100);
    ck_assert_int_eq(number(t, "nstid"), 7);
    ck_assert_ptr_null(json_object_get(t, "stack"));
    ck_assert_str_eq(string(t, "stack_state"), "running");
    t = json_array_get(list, 1);
    ck_assert_str_eq(string(t, "name"), "a \"b\"");
    ck_assert_str_eq(string(json_object_get(t, "lock"), "class"), "x.Lock");
    ck_assert_str_eq(string(json_object_get(json_object_get(t, "lock"), "owner"), "name"), "main");
    t = json_array_get(stacks, (size_t)number(t, "stack"));
    ck_assert_uint_eq(json_array_size(t), 2);
    ck_assert_str_eq(json_string_value(json_array_get(t, 0)), "x.A.b(A.java:1)");
    t = json_array_get(list, 3);
    ck_assert_int_eq(number(json_object_get(t, "carrier"), "id"), 99);
    json_decref(j);
}
END_TEST

START_TEST(json_in_groups)
{
    json_t *j = parse(/* grouped= */ true);
    const json_t *list = json_object_get(j, "groups"), *g = json_array_get(list, 0);

    ck_assert_ptr_null(json_object_get(j, "threads"));
    ck_assert_uint_eq(json_array_size(list), 3);
    ck_assert_int_eq(number(g, "count"), 2);
    ck_assert_int_eq(number(g, "virtual"), 2);
    ck_assert_int_eq(number(json_object_get(g, "states"), "BLOCKED"), 1);
    g = json_array_get(list, 2); /* the one without a stack */
    ck_assert_ptr_null(json_object_get(g, "stack"));
    json_decref(j);
}
END_TEST

static const char *const LINES[] = {
    "\n\"main\" #1 [100] nid=7 runnable\n   java.lang.Thread.State: RUNNABLE\n\t... it runs",
    "\n\"a \"b\"\" #30 virtual waiting on condition\n   java.lang.Thread.State: WAITING (parking)\n"
    "\tat x.A.b(A.java:1)\n\t- parking to wait for (a x.Lock), owned by \"main\" #1\n"
    "\tat x.A.a(A.java:2)\n\n",
    "\nWarning: 3 are missing\n",
    "\n4 threads: 1 platform, 3 virtual (1 mounted)\n",
};

START_TEST(text_as_jstack)
{
    const struct threads_opts o = { 0 };

    ck_assert_int_eq(render_threads_text(dump, &o, &out), 0);
    ck_assert_msg(strstr(out.p, LINES[_i]) != NULL, "%s", out.p);
}
END_TEST

START_TEST(text_in_groups)
{
    const struct threads_opts o = { .grouped = true };

    ck_assert_int_eq(render_threads_text(dump, &o, &out), 0);
    ck_assert_msg(strstr(out.p,
                         "\n2 threads (2 virtual): 1 BLOCKED, 1 WAITING\n   \"a \"b\"\" #30, "
                         "\"\" #31\n\tat x.A.b(A.java:1)\n") != NULL,
                  "%s", out.p);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("threads");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, json_of_each_thread);
    tcase_add_test(tc, json_in_groups);
    tcase_add_loop_test(tc, text_as_jstack, 0, ARRAY_SIZE(LINES));
    tcase_add_test(tc, text_in_groups);
    return suite_run_case("render_threads", tc);
}
