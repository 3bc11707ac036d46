/* SPDX-License-Identifier: Apache-2.0 */
/* profile/words.h: sentences about a profile, from its samples alone. */
#include "profile/words.h"

#include "base/buf.h"
#include "profile/category.h"
#include "profile/lock_words.h"
#include "recorded.h"

#include "suite.h"

#define PERIOD_NS 10000000

/* Adds @n samples of @stack (leaf first). */
static void sample(const uint32_t *stack, size_t depth, uint32_t n, uint32_t flags)
{
    struct profile_sample s = { .time_ns = 1,
                                .thread = main_thread,
                                .count = n,
                                .value = (uint64_t)n * PERIOD_NS,
                                .flags = flags };

    ck_assert_int_eq(record_sample(rec, &s, stack, depth), 0);
}

static struct view *view(const char *event, const char *unit)
{
    struct profile meta = { .event_count = 1, .events = { { "", "", PERIOD_NS, false } } };
    struct view_opts o = { .exact = true, .waits = true };
    struct profile *p = NULL;
    struct view *v = NULL;

    snprintf(meta.events[0].name, sizeof(meta.events[0].name), "%s", event);
    snprintf(meta.events[0].unit, sizeof(meta.events[0].unit), "%s", unit);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    profile_unref(p);
    return v;
}

static uint32_t java(const char *class_name, const char *name)
{
    return recorded_frame(class_name, name, FRAME_C2, 0);
}

/* One method of the program has most of the time, and a method of the JDK most of that. */
START_TEST(names_the_code_that_has_most)
{
    uint32_t run = java("java.lang.Thread", "run"), rule = java("shop.Tenant", "matchRule"),
             regex = java("java.util.regex.Pattern", "match"), cart = java("shop.Cart", "total");
    struct words w = { .count = 0 };
    struct view *v;

    sample((uint32_t[]){ regex, rule, run }, 3, 60, 0);
    sample((uint32_t[]){ rule, run }, 2, 15, 0);
    sample((uint32_t[]){ cart, run }, 2, 25, 0);
    v = view("cpu", "nanoseconds");
    words_add_time(&w, v, "/profile");
    ck_assert_uint_eq(w.count, 1);
    ck_assert_str_eq(
        w.list[0].text,
        "Of the CPU time: 100 % java; 75 % in shop.Tenant.matchRule, and there 60 % in "
        "java.util.regex.Pattern.match");
    ck_assert_str_eq(w.list[0].link, "/profile");
    words_deinit(&w);
    view_free(v);
}
END_TEST

/* If all callers have the same share, the sentence names no code. */
START_TEST(names_no_code_where_none_has_most)
{
    struct words w = { .count = 0 };
    struct view *v;

    for (int i = 0; i < 20; i++) {
        char name[16];

        snprintf(name, sizeof(name), "m%d", i);
        uint32_t frame = java("shop.Cart", name);

        sample(&frame, 1, 5, 0);
    }
    v = view("cpu", "nanoseconds");
    words_add_time(&w, v, "/profile");
    ck_assert_str_eq(w.list[0].text, "Of the CPU time: 100 % java; no code has most of it");
    words_deinit(&w);
    view_free(v);
}
END_TEST

START_TEST(names_what_was_waited_for)
{
    uint32_t schedule = recorded_frame("", "schedule", FRAME_KERNEL, 0),
             poll = recorded_frame("", "do_sys_poll", FRAME_KERNEL, 0),
             net = java("sun.nio.ch.Net", "poll"),
             read = java("sun.nio.ch.NioSocketImpl", "implRead"),
             fetch = java("shop.Carrier", "fetchRate");
    struct words w = { .count = 0 };
    struct view *v;

    sample((uint32_t[]){ schedule, poll, net, read, fetch }, 5, 400,
           STATE_BLOCKED << PROFILE_SAMPLE_STATE_SHIFT);
    v = view("offcpu", "nanoseconds");
    words_add_time(&w, v, "/profile");
    ck_assert_msg(strncmp(w.list[0].text,
                          "Of the time in which threads did not run: 100 % network; 100 % in "
                          "shop.Carrier.fetchRate",
                          60) == 0,
                  "%s", w.list[0].text);
    words_deinit(&w);
    view_free(v);
}
END_TEST

/* Idle threads have a kind of their own, and hide no code; a wait for a processor does not count as
 * running. */
START_TEST(finds_code_beside_idle_threads)
{
    uint32_t schedule = recorded_frame("", "schedule", FRAME_KERNEL, 0),
             epoll = recorded_frame("", "do_epoll_wait", FRAME_KERNEL, 0),
             select = java("sun.nio.ch.EPollSelectorImpl", "doSelect"),
             loop = java("io.netty.channel.nio.NioEventLoop", "run"),
             park = java("jdk.internal.misc.Unsafe", "park"), total = java("shop.Cart", "total");
    struct words w = { .count = 0 };
    struct view *v;

    sample((uint32_t[]){ schedule, epoll, select, loop }, 4, 900,
           STATE_BLOCKED << PROFILE_SAMPLE_STATE_SHIFT);
    sample((uint32_t[]){ schedule, park, total }, 3, 60,
           STATE_BLOCKED << PROFILE_SAMPLE_STATE_SHIFT);
    sample((uint32_t[]){ total }, 1, 60, STATE_RUNNABLE << PROFILE_SAMPLE_STATE_SHIFT);
    v = view("wall", "nanoseconds");
    words_add_time(&w, v, "/profile");
    ck_assert_str_eq(w.list[0].text,
                     "Of the time of all threads: 88 % waits of idle threads, 6 % runnable, 6 % "
                     "park; without idle threads, 100 % in shop.Cart.total, and there 50 % in "
                     "jdk.internal.misc.Unsafe.park");
    words_deinit(&w);
    view_free(v);
}
END_TEST

/* The interval of a share follows from the number of samples. */
START_TEST(names_locks)
{
    static const struct {
        const char *name, *words;
    } OF[] = { { "shop.Prices", "a lock of class shop.Prices" },
               { "java.lang.Class", "a lock of class java.lang.Class" },
               { "java.lang.Class for shop.Prices", "the lock of class shop.Prices itself" },
               { "long[][]", "a lock of class long[][]" },
               { "[lock of unknown class]", "a lock of unknown class" },
               { "", "a lock of unknown class" } };

    for (size_t i = 0; i < ARRAY_SIZE(OF); i++) {
        _cleanup_buf_ struct buf text = BUF_UPTO(256);

        lock_words(span_of(OF[i].name), &text);
        ck_assert_str_eq(text.p, OF[i].words);
    }
}
END_TEST

START_TEST(says_how_sure_it_is)
{
    uint32_t frame = java("shop.Cart", "total");
    struct words w = { .count = 0 };
    struct view *v;

    sample(&frame, 1, 400, 0);
    v = view("cpu", "nanoseconds");
    words_add_sure(&w, v, "/profile");
    ck_assert_str_eq(w.list[0].text,
                     "400 samples: a share of 50 % is right within 4.9 points, one of 5 % within "
                     "2.1 (95 times of 100); 0.0 % have a frame without a name, and 0.0 % are cut");
    for (int i = 0; i < 9; i++)
        words_add_sure(&w, v, "/profile");
    ck_assert_uint_eq(w.count, WORDS_MAX);
    words_deinit(&w);
    view_free(v);
}
END_TEST

/* A long wait is one sample, and is measured: it counts as all the looks that would have seen it.
 * Virtual threads are drawn: the time of one is that of many that nothing looked at. */
START_TEST(counts_a_wait_by_its_time)
{
    static const struct {
        uint64_t period_ns, waits_ns;
        double looks;
        const char *thread, *sure;
    } WAITS[] = {
        { PERIOD_NS, 40 * NSEC_PER_SEC, 4000, "main",
          "2 samples: a share of 50 % is right within 1.5 " },
        { NSEC_PER_SEC, 3600 * NSEC_PER_SEC, 600, "main",
          "2 samples: a share of 50 % is right within 4.0 " },
        { NSEC_PER_SEC, 6 * NSEC_PER_SEC, 2, "main",
          "2 samples: a share of 50 % is right within 69.3 " },
        { 0, 6 * NSEC_PER_SEC, 2, "main", "2 samples: a share of 50 % is right within 69.3 " },
        { PERIOD_NS, 40000 * NSEC_PER_SEC, 2, THREAD_KIND_UNMOUNTED,
          "2 samples: a share of 50 % is right within 69.3 " },
    };
    struct profile_thread thread = { .name = recorded_string(WAITS[_i].thread) };
    struct profile meta = { .event_count = 1,
                            .events = { { "offcpu", "nanoseconds", WAITS[_i].period_ns, true } } };
    struct profile_sample s = { .time_ns = 1,
                                .count = 2,
                                .value = WAITS[_i].waits_ns,
                                .flags = STATE_BLOCKED << PROFILE_SAMPLE_STATE_SHIFT };
    struct view_opts o = { .exact = true, .waits = true };
    uint32_t frame = java("shop.Cart", "total"), id = 0;
    struct words w = { .count = 0 };
    struct profile *p = NULL;
    struct view *v = NULL;

    ck_assert_int_eq(record_thread(rec, &thread, &id), 0);
    s.thread = id & 0xffffff;
    ck_assert_int_eq(record_sample(rec, &s, &frame, 1), 0);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    profile_unref(p);
    ck_assert_double_eq(v->looks, WAITS[_i].looks);
    words_add_sure(&w, v, "/profile");
    ck_assert_msg(strncmp(w.list[0].text, WAITS[_i].sure, strlen(WAITS[_i].sure)) == 0, "%s",
                  w.list[0].text);
    words_deinit(&w);
    view_free(v);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("words");

    tcase_add_checked_fixture(tc, recorded_setup, recorded_teardown);
    tcase_add_test(tc, names_the_code_that_has_most);
    tcase_add_test(tc, names_no_code_where_none_has_most);
    tcase_add_test(tc, names_what_was_waited_for);
    tcase_add_test(tc, finds_code_beside_idle_threads);
    tcase_add_test(tc, names_locks);
    tcase_add_test(tc, says_how_sure_it_is);
    tcase_add_loop_test(tc, counts_a_wait_by_its_time, 0, 5);
    return suite_run_case("words", tc);
}
