/* SPDX-License-Identifier: Apache-2.0 */
/* Calls found from samples: where calls begin and end, what is left out, and views of them. */
#include "recorded.h"

#include "profile/method_calls.h"

#include "suite.h"

#define MS NSEC_PER_MSEC
#define PERIOD (10 * MS)
#define CAPTURE_MS 10000 /* length of the profile */

static uint32_t worker, loop_10, loop_11, handle, save, sleeps, enter, stub;
static struct profile *p;

static void setup(void)
{
    recorded_setup();
    worker = recorded_frame("Pool", "run", FRAME_INTERPRETED, 5);
    loop_10 = recorded_frame("Shop", "loop", FRAME_C2, 10);
    loop_11 = recorded_frame("Shop", "loop", FRAME_C2, 11);
    handle = recorded_frame("Shop", "handle", FRAME_C2, 20);
    save = recorded_frame("Shop", "save", FRAME_INLINED, 30);
    sleeps = recorded_frame("java.lang.Thread", "sleep", FRAME_C2, 1);
    enter = recorded_frame("jdk.internal.vm.Continuation", "enter", FRAME_C2, 1);
    stub = recorded_frame("", "adapter", FRAME_STUB, 0);
    p = NULL;
}

static void teardown(void)
{
    profile_unref(p);
    recorded_teardown();
}

/* Adds a sample at @ms of thread @thread, in @state for @value_ms. Its frames are root first and
 * end with 0. */
static void add(uint32_t thread, double ms, enum thread_state state, double value_ms,
                unsigned flags, const uint32_t *frames)
{
    struct profile_sample s = {
        .time_ns = (uint64_t)(ms * MS),
        .value = (uint64_t)(value_ms * MS),
        .thread = thread,
        .count = 1,
        .flags = flags | (unsigned)state << PROFILE_SAMPLE_STATE_SHIFT,
    };
    uint32_t stack[METHOD_CALLS_NESTED_MAX + 2];
    size_t n = 0, at = 0;

    while (frames[n])
        n++;
    for (size_t i = n; i > 0; i--)
        stack[at++] = frames[i - 1];
    ck_assert_int_eq(record_sample(rec, &s, stack, n), 0);
}

#define FRAMES(...) ((const uint32_t[]){ __VA_ARGS__, 0 })
#define RAN(ms, ...) add(main_thread, ms, STATE_NONE, 10, 0, FRAMES(__VA_ARGS__))
#define WAITED(ms, value_ms, ...)                                                                  \
    add(main_thread, ms, STATE_BLOCKED, value_ms, 0, FRAMES(__VA_ARGS__))

static void finish(void)
{
    struct profile meta = { .event_count = 1,
                            .events = { { "wall", "nanoseconds", PERIOD, true } },
                            .end_ns = CAPTURE_MS * MS };

    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
}

static struct method_calls *find(const char *pattern, double over_ms, bool joined)
{
    struct match *match = NULL;
    struct method_calls_opts o = { .over_ns = (uint64_t)(over_ms * MS), .joined = joined };
    struct method_calls *c = NULL;
    struct error err = ERROR_NULL;

    if (!p)
        finish();
    ck_assert_int_eq(match_new(&pattern, 1, "calls", &match, &err), 0);
    o.methods = match;
    ck_assert_msg(method_calls_find(p, &o, &c, &err) == 0, "%s", err.msg);
    match_free(match);
    return c;
}

/* Checks the calls of methods that match @pattern. Each line is "name count p50 p99 longest cut",
 * in ms. "+": the longest call was cut. */
static void check(const char *pattern, const char *expected)
{
    struct method_calls *c = find(pattern, 0, /* joined= */ false);
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 4096);
    for (size_t i = 0; i < c->row_count; i++) {
        const struct method_calls_row *r = &c->rows[i];

        buf_add_span(&out, method_calls_name(c, r));
        buf_printf(&out, " %llu %g %g %g%s %llu\n", (unsigned long long)r->count,
                   (double)r->p50_ns / MS, (double)r->p99_ns / MS, (double)r->longest_ns / MS,
                   r->longest_cut ? "+" : "", (unsigned long long)r->cut);
    }
    ck_assert_str_eq(out.n ? out.p : "", expected);
    method_calls_free(c);
}

/* Records two calls of 100 and 200 ms that wait, with 50 ms of other waiting around them. */
static void two_waits(void)
{
    WAITED(50, 50, worker, sleeps);
    WAITED(152, 100, worker, loop_10, handle, sleeps);
    WAITED(204, 50, worker, sleeps);
    WAITED(404, 198, worker, loop_10, handle, sleeps);
    WAITED(456, 50, worker, sleeps);
}

START_TEST(waits_are_exact)
{
    two_waits();
    /* The gaps of 2 ms between them are divided. */
    check("^Shop\\.handle$", "Shop.handle 2 102 200 200 0\n");
    check("Shop", "Shop.loop 2 102 200 200 0\nShop.handle 2 102 200 200 0\n");
    check("nothing", "");
}
END_TEST

START_TEST(running_is_known_to_an_interval)
{
    for (int ms = 10; ms <= 50; ms += 10)
        RAN(ms, worker, loop_10);
    for (int ms = 60; ms <= 160; ms += 10)
        RAN(ms, worker, loop_10, handle, save);
    RAN(170, worker, loop_10);
    check("handle", "Shop.handle 1 110 110 110 0\n");
}
END_TEST

/* The part of a wait for a processor is another sample, at the same time. */
START_TEST(parts_of_a_wait_are_one)
{
    WAITED(50, 50, worker, sleeps);
    add(main_thread, 150, STATE_RUNNABLE, 30, 0, FRAMES(worker, handle));
    add(main_thread, 150, STATE_BLOCKED, 70, 0, FRAMES(worker, handle, sleeps));
    WAITED(200, 50, worker, sleeps);
    check("handle", "Shop.handle 1 100 100 100 0\n");
}
END_TEST

/* A short wait that was drawn stands for an interval, and is a single moment. */
START_TEST(short_waits_are_moments)
{
    WAITED(100, 100, worker, sleeps);
    WAITED(110, 10, worker, handle, sleeps);
    WAITED(220, 100, worker, sleeps);
    check("handle", "Shop.handle 1 10 10 10 0\n");
}
END_TEST

/* A call from another line of the caller is another call. The method's own line may change during a
 * call. */
START_TEST(instances)
{
    uint32_t later = recorded_frame("Shop", "handle", FRAME_INTERPRETED, 21);

    WAITED(50, 50, worker, sleeps);
    WAITED(150, 100, worker, loop_10, handle, sleeps);
    WAITED(250, 100, worker, stub, loop_10, later, sleeps);
    WAITED(350, 100, worker, loop_11, handle, sleeps);
    WAITED(400, 50, worker, sleeps);
    check("handle", "Shop.handle 2 100 200 200 0\n");
}
END_TEST

/* The outermost frame of a method counts, however deep it recurses. */
START_TEST(recursion_is_one_call)
{
    WAITED(50, 50, worker, sleeps);
    WAITED(150, 100, worker, handle, handle, handle, sleeps);
    WAITED(250, 100, worker, handle, sleeps);
    WAITED(300, 50, worker, sleeps);
    check("handle", "Shop.handle 1 200 200 200 0\n");
}
END_TEST

START_TEST(threads_are_apart)
{
    two_waits();
    add(other_thread, 500, STATE_BLOCKED, 300, 0, FRAMES(worker, sleeps));
    add(other_thread, 1500, STATE_BLOCKED, 1000, 0, FRAMES(worker, handle, sleeps));
    add(other_thread, 2500, STATE_BLOCKED, 1000, 0, FRAMES(worker, sleeps));
    check("handle", "Shop.handle 3 200 1000 1000 0\n");
}
END_TEST

/* Calls that began before the capture, or continue at its end, are counted separately. */
START_TEST(ends_of_the_capture)
{
    WAITED(300, 300, worker, handle, sleeps);
    WAITED(400, 100, worker, sleeps);
    WAITED(500, 100, worker, handle, sleeps);
    WAITED(9000, 8500, worker, sleeps);
    WAITED(9999, 999, worker, handle, sleeps);
    check("handle", "Shop.handle 1 100 100 999+ 2\n");
}
END_TEST

/* All calls of a thread that begins and ends within the capture are complete. */
START_TEST(thread_for_a_call)
{
    struct method_calls *c;

    WAITED(1300, 300, worker, handle, sleeps);
    check("handle", "Shop.handle 1 310 310 310 0\n");
    c = find("handle", 0, /* joined= */ true);
    ck_assert_uint_eq(c->rows[0].count, 0);
    ck_assert_uint_eq(c->rows[0].cut, 1);
    method_calls_free(c);
}
END_TEST

/* The thread is unknown for a time: another capture began, or samples were lost. */
START_TEST(gaps_cut)
{
    WAITED(50, 50, worker, sleeps);
    WAITED(150, 100, worker, handle, sleeps);
    WAITED(3150, 100, worker, handle, sleeps);
    WAITED(3250, 100, worker, sleeps);
    check("handle", "Shop.handle 0 0 0 100+ 2\n");
}
END_TEST

/* A stack without its outermost frames neither ends a call nor begins one. */
START_TEST(cut_stacks)
{
    WAITED(50, 50, worker, sleeps);
    WAITED(150, 100, worker, loop_10, handle, sleeps);
    add(main_thread, 160, STATE_BLOCKED, 10, PROFILE_SAMPLE_TRUNCATED, FRAMES(sleeps));
    add(main_thread, 170, STATE_BLOCKED, 10, PROFILE_SAMPLE_TRUNCATED, FRAMES(handle, sleeps));
    WAITED(270, 100, worker, loop_10, handle, sleeps);
    WAITED(320, 50, worker, sleeps);
    check("handle", "Shop.handle 1 220 220 220 0\n");
}
END_TEST

/* The thread may have left the method during an unknown wait. */
START_TEST(unknown_waits_cut)
{
    WAITED(50, 50, worker, sleeps);
    WAITED(150, 100, worker, handle, sleeps);
    add(main_thread, 190, STATE_BLOCKED, 40, PROFILE_SAMPLE_TRUNCATED, FRAMES(sleeps));
    WAITED(300, 110, worker, handle, sleeps);
    WAITED(350, 50, worker, sleeps);
    check("handle", "Shop.handle 0 0 0 110+ 2\n");
}
END_TEST

#define UNREADABLE(ms, value_ms)                                                                   \
    add(main_thread, ms, STATE_BLOCKED, value_ms, PROFILE_SAMPLE_TRUNCATED, FRAMES(sleeps))

/* A call ends with its thread, unless its last stacks were unreadable for long. */
START_TEST(unknown_at_the_end)
{
    WAITED(1000, 1000, worker, sleeps);
    WAITED(1050, 50, worker, handle, sleeps);
    if (_i == 0) { /* until the capture ends */
        UNREADABLE(9999, 8949);
    } else if (_i == 1) { /* or until the thread ends: in one wait, or bit by bit */
        UNREADABLE(6050, 5000);
    } else {
        for (int i = 1; i <= (_i == 2 ? 30 : 1); i++)
            UNREADABLE(1050 + 10 * i, 10);
    }
    check("handle", _i < 3 ? "Shop.handle 0 0 0 50+ 1\n" : "Shop.handle 1 55 55 55 0\n");
}
END_TEST

/* A thread that existed before the capture may have begun its call before, too. */
START_TEST(unknown_at_the_beginning)
{
    UNREADABLE(5000, _i == 0 ? 5000 : 10);
    WAITED(5100, 100, worker, handle, sleeps);
    WAITED(5200, 100, worker, sleeps);
    check("handle", "Shop.handle 0 0 0 100+ 1\n");
}
END_TEST

/* As many calls as can be followed at once: the inner half returns and is called again. */
START_TEST(nested)
{
    uint32_t frames[METHOD_CALLS_NESTED_MAX + 1] = { 0 };
    struct method_calls *c;
    char name[16];

    for (uint32_t i = 0; i < METHOD_CALLS_NESTED_MAX; i++) {
        snprintf(name, sizeof(name), "m%02u", i);
        frames[i] = recorded_frame("Deep", name, FRAME_C2, 0);
    }
    for (int i = 1; i <= 9; i++) { /* whole, half, whole */
        uint32_t inner = frames[METHOD_CALLS_NESTED_MAX / 2];

        frames[METHOD_CALLS_NESTED_MAX / 2] = i % 3 == 2 ? 0 : inner;
        add(main_thread, 1000 + 100 * i, STATE_BLOCKED, 100, 0, frames);
        frames[METHOD_CALLS_NESTED_MAX / 2] = inner;
    }
    c = find("Deep", 250, /* joined= */ false);
    ck_assert_uint_eq(c->row_count, METHOD_CALLS_NESTED_MAX);
    for (size_t i = 0; i < c->row_count; i++) {
        const char *number = method_calls_name(c, &c->rows[i]).p + strlen("Deep.m");
        bool outer = strtoul(number, NULL, 10) < METHOD_CALLS_NESTED_MAX / 2;

        ck_assert_uint_eq(c->rows[i].count, outer ? 1 : 4);
        ck_assert_uint_eq(c->rows[i].cut, 0);
        ck_assert_uint_eq(c->rows[i].longest_ns, (outer ? 910 : 200) * MS);
    }
    for (size_t i = 0; i < p->sample_count; i++)
        ck_assert_uint_eq(c->inside[i], 1);
    method_calls_free(c);
    c = find("Deep.m63", 150, /* joined= */ false);
    ck_assert_mem_eq(c->inside, ((const uint8_t[]){ 0, 0, 1, 1, 0, 1, 1, 0, 0 }), 9);
    method_calls_free(c);
}
END_TEST

START_TEST(over)
{
    struct method_calls *c;
    const char *pattern = "handle";
    struct view_opts o = { .over_ns = 150 * MS };
    _cleanup_buf_ struct buf out = BUF_NULL;

    two_waits();
    c = find(pattern, 150, /* joined= */ false);
    ck_assert_uint_eq(c->rows[0].count, 2); /* the table has all of them */
    ck_assert_mem_eq(c->inside, ((const uint8_t[]){ 0, 0, 0, 1, 0 }), 5);
    method_calls_free(c);
    buf_init(&out, 4096);
    ck_assert_int_eq(match_new(&pattern, 1, "calls", &o.calls, NULL), 0);
    ck_assert_str_eq(recorded_rows(p, &o, &out),
                     "Pool.run;Shop.loop;Shop.handle;java.lang.Thread.sleep 1\n");
    match_free(o.calls);
}
END_TEST

static bool says(const struct method_calls *c, const char *word)
{
    for (size_t i = 0; i < c->warning_count; i++)
        if (strstr(c->warnings[i], word))
            return true;
    return false;
}

/* Samples do not name their virtual thread. Such samples are left out and counted. */
START_TEST(virtual_threads)
{
    struct method_calls *c;

    WAITED(50, 50, worker, sleeps);
    WAITED(150, 100, worker, enter, handle, sleeps);
    WAITED(250, 100, worker, sleeps);
    c = find("handle", 0, /* joined= */ false);
    ck_assert_uint_eq(c->row_count, 0);
    ck_assert_uint_eq(c->virtual_left_out, 1);
    ck_assert(says(c, "virtual thread"));
    method_calls_free(c);
    /* Calls of the carrier itself count. */
    check("Pool.run", "Pool.run 0 0 0 255+ 1\n");
}
END_TEST

/* Counted as elsewhere: each sample of a moment, and those that it stands for. */
START_TEST(virtual_samples)
{
    struct profile_thread pool = { .host_tid = 0, .name = recorded_string("virtual threads") };
    struct method_calls *c;
    uint32_t thread;

    ck_assert_int_eq(record_thread(rec, &pool, &thread), 0);
    add(main_thread, 150, STATE_RUNNABLE, 30, 0, FRAMES(worker, enter, handle));
    add(main_thread, 150, STATE_BLOCKED, 70, 0, FRAMES(worker, enter, handle, sleeps));
    add(main_thread, 150, STATE_BLOCKED, 70, 0, FRAMES(worker, sleeps));
    add(thread, 250, STATE_BLOCKED, 100, 0, FRAMES(handle, sleeps));
    add(thread, 350, STATE_BLOCKED, 100, 0, FRAMES(sleeps));
    finish();
    for (size_t i = 0; i < p->sample_count; i++)
        p->samples[i].count = 4;
    c = find("handle", 0, /* joined= */ false);
    ck_assert_uint_eq(c->virtual_left_out, 12);
    ck_assert(says(c, "12 samples of calls in virtual threads"));
    method_calls_free(c);
}
END_TEST

START_TEST(nobodys_samples)
{
    struct profile_thread pool = { .host_tid = 0, .name = recorded_string("exec-*") };
    const char *pattern = "handle";
    struct method_calls_opts o = { 0 };
    struct method_calls *c = NULL;
    struct error err = ERROR_NULL;
    struct match *match = NULL;
    uint32_t thread;

    ck_assert_int_eq(record_thread(rec, &pool, &thread), 0);
    add(thread, 100, STATE_BLOCKED, 100, 0, FRAMES(worker, handle));
    finish();
    ck_assert_int_eq(match_new(&pattern, 1, "calls", &match, &err), 0);
    o.methods = match;
    ck_assert_int_eq(method_calls_find(p, &o, &c, &err), -EINVAL);
    ck_assert_str_eq(err.parameter, "calls");
    ck_assert_ptr_nonnull(strstr(err.msg, "history"));
    /* Samples of the flight recorder's passes do not follow each other, either. */
    p->events[0].period = NSEC_PER_SEC;
    ck_assert_int_eq(method_calls_find(p, &o, &c, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "once a second"));
    match_free(match);
}
END_TEST

/* If samples stand for several, longer times without a sample are no gap, and a warning says so. */
START_TEST(thinned)
{
    struct method_calls *c;

    two_waits();
    finish();
    for (size_t i = 0; i < p->sample_count; i++)
        p->samples[i].count = 4;
    c = find("handle", 0, /* joined= */ false);
    ck_assert(says(c, "stands for 4.0"));
    ck_assert_uint_eq(c->rows[0].count, 2);
    /* Their values include others: they count as moments. */
    ck_assert_uint_eq(c->rows[0].p50_ns, 77 * MS);
    method_calls_free(c);
}
END_TEST

/* More methods match than the limit. */
START_TEST(too_many_methods)
{
    char name[16];
    struct method_calls *c;

    record_free(rec);
    frame_table_free(table);
    recorded_setup_for(/* entries= */ 10000, /* samples= */ 10000);
    for (uint32_t i = 0; i < METHOD_CALLS_METHODS_MAX + 7; i++) {
        snprintf(name, sizeof(name), "m%u", i);
        RAN(10 * (i + 1), recorded_frame("Many", name, FRAME_C2, 0));
    }
    c = find("Many", 0, /* joined= */ false);
    ck_assert_uint_eq(c->row_count, METHOD_CALLS_METHODS_MAX);
    ck_assert_uint_eq(c->methods_left_out, 7);
    ck_assert(says(c, "7 methods"));
    method_calls_free(c);
}
END_TEST

/* Not all users may see functions of the kernel, so these cannot be searched for. */
START_TEST(kernel_functions_match_nothing)
{
    uint32_t kernel = recorded_frame("", "do_nanosleep", FRAME_KERNEL, 0);

    WAITED(100, 100, worker, kernel);
    check("do_nanosleep", "");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("method_calls");
    TCase *tc = tcase_create("method_calls");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, waits_are_exact);
    tcase_add_test(tc, running_is_known_to_an_interval);
    tcase_add_test(tc, parts_of_a_wait_are_one);
    tcase_add_test(tc, short_waits_are_moments);
    tcase_add_test(tc, instances);
    tcase_add_test(tc, recursion_is_one_call);
    tcase_add_test(tc, threads_are_apart);
    tcase_add_test(tc, ends_of_the_capture);
    tcase_add_test(tc, thread_for_a_call);
    tcase_add_test(tc, gaps_cut);
    tcase_add_test(tc, cut_stacks);
    tcase_add_test(tc, unknown_waits_cut);
    tcase_add_loop_test(tc, unknown_at_the_end, 0, 4);
    tcase_add_loop_test(tc, unknown_at_the_beginning, 0, 2);
    tcase_add_test(tc, nested);
    tcase_add_test(tc, over);
    tcase_add_test(tc, virtual_threads);
    tcase_add_test(tc, virtual_samples);
    tcase_add_test(tc, nobodys_samples);
    tcase_add_test(tc, thinned);
    tcase_add_test(tc, too_many_methods);
    tcase_add_test(tc, kernel_functions_match_nothing);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return suite_run(suite());
}
