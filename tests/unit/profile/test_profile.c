/* SPDX-License-Identifier: Apache-2.0 */
/* profile/: views, filters and merges of profiles from hand-made frames. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/memory_guard.h"
#include "profile/waits.h"

#include "recorded.h"
#include "suite.h"

static const struct {
    struct view_opts opts;
    bool by_process;
    const char *rows;
} VIEW_CASES[] = {
    { .rows = "a.b.C.run;a.b.C.leaf 5\na.b.C.run;a.b.C.leaf;sys 1\n[truncated];a.b.C.run 1\n" },
    { .opts = { .no_kernel = true }, .rows = "a.b.C.run;a.b.C.leaf 5\n[truncated];a.b.C.run 1\n" },
    { .opts = { .no_user = true }, .rows = "a.b.C.run;a.b.C.leaf;sys 1\n" },
    { .opts = { .names = VIEW_NAMES_SIMPLE, .no_kernel = true },
      .rows = "C.run;C.leaf 5\n[truncated];C.run 1\n" },
    { .opts = { .names = VIEW_NAMES_SIGNATURE, .lines = true, .annotate = true, .no_kernel = true },
      .rows =
          "a.b.C.run(int):7_[j];a.b.C.leaf(int):9_[i] 3\na.b.C.run(int):7_[j];a.b.C.leaf(int):8_[i]"
          " 2\n[truncated];a.b.C.run(int):7_[j] 1\n" },
    { .opts = { .threads = true, .no_kernel = true },
      .by_process = true,
      .rows = "[Main pid=42];[main tid=43];a.b.C.run;a.b.C.leaf 3\n[Main pid=42];[main tid=43];"
              "[truncated];a.b.C.run 1\n[Main pid=42];[other tid=44];a.b.C.run;a.b.C.leaf 2\n" },
    { .opts = { .depth = 2, .no_user = true }, .rows = "a.b.C.run;[\xe2\x80\xa6] 1\n" },
};

/* Rows come in the order in which names were first seen. The cases compare sorted lines. */
static int line_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(char *text, struct buf *out)
{
    char *lines[64];
    size_t n = 0;
    struct span s = span_of(text), line;

    while (span_take_line(&s, &line) && n < ARRAY_SIZE(lines))
        lines[n++] = span_dup(line);
    qsort(lines, n, sizeof(*lines), line_compare);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s\n", lines[i]);
        free(lines[i]);
    }
}

START_TEST(shows_one_view)
{
    _cleanup_buf_ struct buf got = BUF_NULL, want_sorted = BUF_NULL, got_sorted = BUF_NULL;
    struct profile meta = { .events = { { .name = "cpu", .unit = "nanoseconds", .period = 10 } },
                            .event_count = 1,
                            .lost = 3 };
    uint32_t run = recorded_frame("a.b.C", "run", FRAME_C2, 7),
             leaf8 = recorded_frame("a.b.C", "leaf", FRAME_INLINED, 8),
             leaf9 = recorded_frame("a.b.C", "leaf", FRAME_INLINED, 9),
             sys = recorded_frame("", "sys", FRAME_KERNEL, 0);
    struct profile *p = NULL;

    meta.by_process = VIEW_CASES[_i].by_process;
    ck_assert_int_eq(
        record_sample(rec,
                      &(struct profile_sample){ .time_ns = 5, .thread = main_thread, .count = 3 },
                      (uint32_t[]){ leaf9, run }, 2),
        0);
    ck_assert_int_eq(
        record_sample(rec,
                      &(struct profile_sample){ .time_ns = 4, .thread = other_thread, .count = 2 },
                      (uint32_t[]){ leaf8, run }, 2),
        0);
    ck_assert_int_eq(record_sample(rec,
                                   &(struct profile_sample){ .time_ns = 6,
                                                             .thread = main_thread,
                                                             .count = 1,
                                                             .mode = SAMPLE_MODE_KERNEL },
                                   (uint32_t[]){ sys, leaf8, run }, 3),
                     0);
    ck_assert_int_eq(record_sample(rec,
                                   &(struct profile_sample){ .time_ns = 7,
                                                             .thread = main_thread,
                                                             .count = 1,
                                                             .flags = PROFILE_SAMPLE_TRUNCATED },
                                   &run, 1),
                     0);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    frame_table_free(table); /* the profile must not use it */
    table = NULL;
    ck_assert_uint_eq(p->total, 7);
    ck_assert_uint_eq(p->truncated, 1);
    ck_assert_uint_eq(p->lost, 3);
    ck_assert_uint_eq(p->samples[0].time_ns, 4);
    buf_init(&got, 100000);
    buf_init(&got_sorted, 100000);
    buf_init(&want_sorted, 100000);
    recorded_rows(p, &VIEW_CASES[_i].opts, &got);
    sort_lines(got.p, &got_sorted);
    sort_lines((char *)VIEW_CASES[_i].rows, &want_sorted);
    ck_assert_str_eq(got_sorted.p, want_sorted.p);
    profile_unref(p);
}
END_TEST

START_TEST(many_processes_leave_room_for_what_concerns_all)
{
    struct profile meta = { .events = { { .period = 1 } }, .event_count = 1 };
    struct profile *p = NULL;
    bool first = false, late = false, counted = false;

    for (int i = 0; i < 1200; i++) /* each of the 400 processes three times */
        record_warn_process(rec, "process %d is odd", i % 400);
    record_warn(rec, "all are odd");
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    for (size_t i = 0; i < p->warning_count; i++) {
        first = first || strcmp(p->warnings[i], "process 0 is odd") == 0;
        late = late || strcmp(p->warnings[i], "all are odd") == 0;
        counted = counted || strstr(p->warnings[i], "368 more warnings");
    }
    ck_assert(first && late && counted);
    profile_unref(p);
}
END_TEST

/* As many warnings as a thousand merged captures have. */
START_TEST(warnings_beyond_the_limit_are_counted)
{
    struct profile meta = { .events = { { .period = 1 } }, .event_count = 1 };
    struct profile *p = NULL;
    bool counted = false, dropped = false;

    for (int i = 0; i < 100; i++)
        record_warn(rec, "%d samples were lost", i);
    record_drop(rec, 3);
    for (int round = 0; round < 2; round++) { /* a running capture is finished again and again */
        ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
        for (size_t i = 0; i < p->warning_count; i++) {
            counted = counted || strstr(p->warnings[i], "there are 42 more warnings");
            dropped = dropped || strstr(p->warnings[i], "3 samples were dropped");
        }
        ck_assert(counted && dropped);
        ck_assert_uint_le(p->warning_count, PROFILE_WARNINGS_MAX);
        profile_unref(p);
    }
}
END_TEST

START_TEST(filters_by_patterns)
{
    _cleanup_buf_ struct buf got = BUF_NULL;
    struct profile meta = { .events = { { .period = 1 } }, .event_count = 1 };
    struct view_opts o = { 0 };
    struct profile *p = NULL;
    struct view *v = NULL;
    struct error err = ERROR_NULL;
    uint32_t a = recorded_frame("", "alpha", FRAME_NATIVE, 0),
             b = recorded_frame("", "beta", FRAME_NATIVE, 0),
             bad = recorded_frame("", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", FRAME_NATIVE,
                                  0);

    buf_init(&got, 1000);
    record_sample(rec, &(struct profile_sample){ .time_ns = 1, .thread = main_thread, .count = 2 },
                  (uint32_t[]){ a, b }, 2);
    record_sample(
        rec,
        &(struct profile_sample){
            .time_ns = 2, .thread = main_thread, .count = 3, .flags = PROFILE_SAMPLE_TRUNCATED },
        (uint32_t[]){ b }, 1);
    record_sample(rec, &(struct profile_sample){ .time_ns = 3, .thread = main_thread, .count = 5 },
                  (uint32_t[]){ bad }, 1);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(match_new((const char *[]){ "^al", "^zz" }, 2, "include", &o.include, NULL),
                     0);
    ck_assert_str_eq(recorded_rows(p, &o, &got), "beta;alpha 2\n");
    o.exclude = TAKE_PTR(o.include);
    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    ck_assert_uint_eq(v->samples, 8);
    ck_assert_uint_eq(v->truncated, 3);
    ck_assert_uint_eq(v->row_count, 2);
    view_free(v);
    match_free(o.exclude);
    o.exclude = NULL;
    ck_assert_int_eq(match_new((const char *[]){ "(a+)+$" }, 1, "include", &o.include, NULL), 0);
    ck_assert_int_eq(view_new(p, &o, &v, &err), -EINVAL);
    ck_assert_str_eq(err.parameter, "include");
    match_free(o.include);
    ck_assert_int_eq(match_new((const char *[]){ "(" }, 1, "include", &o.include, &err), -EINVAL);
    profile_unref(p);
}
END_TEST

/* Patterns and names that a client and a process choose to keep a thread busy. Each start in the
 * name, and each item that passes over the name, took PCRE2's limit of steps again: hours. */
START_TEST(no_name_takes_long)
{
    static const char *const PATTERNS[] = {
        "(?:(?>.*)[yz]|a)*[yz]",
        "(?i)(a*)\\1*[yz]",
        "(?:(?=.*[yz])|.)*[yz]",
        "(a+)+[yz]",
        "(?:a?+(?:(?>.*)[yz]|(?>.*)[xw]|(?>.*)[uv])|.)*[yz]",
    };
    char name[2048];

    memset(name, 'a', sizeof(name));
    for (size_t i = 0; i < ARRAY_SIZE(PATTERNS); i++) {
        _cleanup_(match_freep) struct match *m = NULL;
        uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        int r;

        ck_assert_int_eq(match_new(&PATTERNS[i], 1, "include", &m, NULL), 0);
        r = match_any(m, (struct span){ name, sizeof(name) }, NULL);
        ck_assert_msg(r == -EINVAL, "%s: %d", PATTERNS[i], r);
        ck_assert_msg(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns < NSEC_PER_SEC, "%s",
                      PATTERNS[i]);
        ck_assert_int_eq(match_any(m, span_of("aay"), NULL), 1); /* a rule: it still counts */
        match_begin_long(m);
        for (size_t k = 0; k < 2 * MATCH_SLOW_NAMES_MAX; k++) { /* two of each length */
            const uint64_t payer = 1 + k / 2 % 16;

            r = match_name(m, match_owner(&payer, ""), (struct span){ name, sizeof(name) - k / 2 });
            ck_assert_int_eq(r, -EINVAL);
            ck_assert_uint_eq(match_slow_names(m), k / 2 + 1);
            ck_assert_int_eq(match_name(m, SPAN_NULL, span_of("aay")), 1);
            ck_assert_int_eq(match_refuse_spent(m, NULL),
                             k / 2 + 1 < MATCH_SLOW_NAMES_MAX ? 0 : -EINVAL);
        }
    }
}
END_TEST

static bool wants_42(void *cookie, const struct profile *p, const struct profile_process *process)
{
    (void)cookie;
    (void)p;
    return process->host_pid == 42;
}

static uint32_t leaf_frame(uint32_t like, enum frame_leaf leaf)
{
    struct frame f = *frame_table_get(table, like);
    uint32_t id;

    f.leaf = (uint8_t)leaf;
    ck_assert_int_eq(frame_table_frame(table, &f, &id), 0);
    return id;
}

/* A method has one frame for all certain ways of finding it. An unsure one has its own frame. */
START_TEST(counts_how_leaves_are_known)
{
    uint32_t run = recorded_frame("a.B", "run", FRAME_C2, 3);
    uint32_t sum = recorded_frame("a.B", "sum", FRAME_INLINED, 7);
    uint32_t clear = recorded_frame("", "memset", FRAME_NATIVE, 0);
    uint32_t by_loop = leaf_frame(sum, FRAME_LEAF_INFERRED);
    uint32_t unsure = leaf_frame(run, FRAME_LEAF_UNSURE);
    const uint32_t stacks[][3] = {
        { sum, run }, { by_loop, run }, { unsure, run }, { clear, by_loop, run }
    };
    struct profile_sample s = { .thread = main_thread, .count = 1 };
    struct profile meta = { .events = { { .period = 1 } }, .event_count = 1 };
    _cleanup_buf_ struct buf got = BUF_NULL, annotated = BUF_NULL;
    struct view_opts o = { 0 };
    struct profile *p = NULL;
    struct view *v = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
        s.count = (uint32_t)i + 1;
        ck_assert_int_eq(record_sample(rec, &s, stacks[i], i == 3 ? 3 : 2), 0);
    }
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    buf_init(&got, 1000);
    buf_init(&annotated, 1000);
    ck_assert_str_eq(recorded_rows(p, &o, &got), "a.B.run;a.B.sum 3\n"
                                                 "a.B.run;a.B.sum;memset 4\n"
                                                 "a.B.run;[inlined in a.B.run] 3\n");
    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    ck_assert_uint_eq(v->inferred, 6);
    ck_assert_uint_eq(v->unsure, 3);
    ck_assert_uint_eq(v->rows[0].inferred, 2);
    ck_assert_uint_eq(v->rows[2].unsure, 3);
    view_free(v);
    o.annotate = true;
    ck_assert_ptr_nonnull(strstr(recorded_rows(p, &o, &annotated), ";a.B.sum~_[i] 2\n"));
    profile_unref(p);
}
END_TEST

START_TEST(merges_two_profiles)
{
    _cleanup_buf_ struct buf got = BUF_NULL;
    struct profile meta = { .events = { { .name = "cpu", .period = 10 } }, .event_count = 1 };
    struct profile_slice slice = { .from_ns = 2, .to_ns = 100, .wants = wants_42 };
    struct profile *parts[2] = { NULL }, *p = NULL;
    struct view_opts o = { 0 };
    uint32_t f = recorded_frame("a.B", "f", FRAME_C2, 3),
             g = recorded_frame("", "g", FRAME_NATIVE, 0);

    buf_init(&got, 1000);
    record_sample(rec, &(struct profile_sample){ .time_ns = 1, .thread = main_thread, .count = 1 },
                  &f, 1);
    record_sample(rec, &(struct profile_sample){ .time_ns = 2, .thread = main_thread, .count = 4 },
                  &f, 1);
    ck_assert_int_eq(record_finish(rec, &meta, &parts[0]), 0);
    record_sample(rec, &(struct profile_sample){ .time_ns = 3, .thread = other_thread, .count = 2 },
                  (uint32_t[]){ g, f }, 2);
    meta.events[0].period = 25;
    ck_assert_int_eq(record_finish(rec, &meta, &parts[1]), 0);
    ck_assert_int_eq(profile_merge(parts, 2, &slice, &meta, &p), 0);
    ck_assert_uint_eq(p->events[0].period, 10);
    ck_assert_uint_eq(p->thread_count, 2);
    ck_assert_uint_eq(p->process_count, 1);
    /* f alone: 4 of the first, 4 * 2.5 of the second; f;g: 2 * 2.5 */
    recorded_rows(p, &o, &got);
    ck_assert_str_eq(got.p, "a.B.f 14\na.B.f;g 5\n");
    profile_unref(p);
    profile_unref(parts[0]);
    profile_unref(parts[1]);
}
END_TEST

/* A wait of 60 s, and a pass that stands for ten waits of one second. Its last half second is half
 * of each of the ten. */
START_TEST(a_look_that_stands_for_others_is_not_a_longer_wait)
{
    struct profile meta = { .events = { { .name = "offcpu", .period = NSEC_PER_SEC, .valued = 1 } },
                            .event_count = 1 };
    struct profile_slice slice = { .to_ns = UINT64_MAX, .spans = true };
    struct profile *part = NULL, *p = NULL;
    uint32_t f = recorded_frame("a.B", "f", FRAME_C2, 3),
             g = recorded_frame("a.B", "g", FRAME_C2, 3);
    struct profile_sample s = { .time_ns = 100 * NSEC_PER_SEC,
                                .thread = main_thread,
                                .flags = STATE_BLOCKED << PROFILE_SAMPLE_STATE_SHIFT };

    s.value = 60 * NSEC_PER_SEC;
    s.count = 1;
    record_sample(rec, &s, &f, 1);
    s.value = 10 * NSEC_PER_SEC;
    s.count = 10;
    record_sample(rec, &s, &g, 1);
    ck_assert_int_eq(record_finish(rec, &meta, &part), 0);
    ck_assert_int_eq(profile_merge(&part, 1, &slice, &meta, &p), 0);
    ck_assert_uint_eq(p->total, 2); /* samples of passes */
    ck_assert_uint_eq(p->samples[0].value, 60 * NSEC_PER_SEC);
    ck_assert_uint_eq(p->samples[1].value, 10 * NSEC_PER_SEC);
    ck_assert_uint_eq(profile_sample_length(&p->samples[0]), 60 * NSEC_PER_SEC);
    ck_assert_uint_eq(profile_sample_length(&p->samples[1]), NSEC_PER_SEC);
    p = profile_unref(p);
    slice.from_ns = 100 * NSEC_PER_SEC - NSEC_PER_SEC / 2;
    ck_assert_int_eq(profile_merge(&part, 1, &slice, &meta, &p), 0);
    ck_assert_uint_eq(p->samples[0].value, NSEC_PER_SEC / 2);
    ck_assert_uint_eq(p->samples[1].value, 5 * NSEC_PER_SEC);
    ck_assert_uint_eq(profile_sample_length(&p->samples[1]), NSEC_PER_SEC / 2);
    profile_unref(p);
    profile_unref(part);
}
END_TEST

START_TEST(rates_are_added_up_to_one_sample)
{
    struct profile meta = { .events = { { .period = 100 } }, .event_count = 1 },
                   *parts[2] = { NULL }, *p = NULL;
    uint32_t f = recorded_frame("a.B", "f", FRAME_C2, 3);

    ck_assert_int_eq(record_finish(rec, &meta, &parts[0]), 0);
    for (uint64_t i = 0; i < 1000; i++)
        record_sample(
            rec, &(struct profile_sample){ .time_ns = 2 + i, .thread = main_thread, .count = 1 },
            &f, 1);
    meta.events[0].period = 521; /* 19 Hz among 99 Hz */
    ck_assert_int_eq(record_finish(rec, &meta, &parts[1]), 0);
    ck_assert_int_eq(profile_merge(parts, 2, NULL, &meta, &p), 0);
    ck_assert_uint_eq(p->events[0].period, 100);
    ck_assert_uint_eq(p->total, 5210);
    profile_unref(p);
    profile_unref(parts[0]);
    profile_unref(parts[1]);
}
END_TEST

/* Each row has all of its frames, although stacks share their callers in the record. */
START_TEST(a_view_of_deep_stacks_is_refused)
{
    const uint32_t rows = 4000, depth = 1000;
    struct profile meta = { .events = { { .name = "cpu", .period = 1 } }, .event_count = 1 };
    struct profile_sample s = { .time_ns = 1, .count = 1 };
    struct view_opts o = { 0 };
    uint32_t caller, at = 0;
    struct profile *p = NULL;
    struct view *v = NULL;
    char name[16];

    recorded_teardown();
    recorded_setup_for(/* entries= */ 2 * rows, /* samples= */ rows);
    s.thread = main_thread;
    caller = recorded_frame("a.B", "caller", FRAME_C2, 0);
    for (uint32_t i = 0; i < depth; i++)
        ck_assert_int_eq(record_place(rec, at, caller, &at), 0);
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t place;

        snprintf(name, sizeof(name), "leaf%u", i);
        ck_assert_int_eq(record_place(rec, at, recorded_frame("a.B", name, FRAME_C2, 0), &place),
                         0);
        s.stack = place & 0xffffff;
        ck_assert_int_eq(record_sample_at(rec, &s), 0);
    }
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(memory_guard_open(1), 0);
    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    ck_assert_uint_eq(v->row_count, rows);
    view_free(v);
    memory_guard_thread(true);
    ck_assert_int_eq(view_new(p, &o, &v, NULL), -ENOMEM);
    memory_guard_thread(false);
    profile_unref(p);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("profile");

    tcase_add_checked_fixture(tc, recorded_setup, recorded_teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, shows_one_view, 0, ARRAY_SIZE(VIEW_CASES));
    tcase_add_test(tc, many_processes_leave_room_for_what_concerns_all);
    tcase_add_test(tc, no_name_takes_long);
    tcase_add_test(tc, warnings_beyond_the_limit_are_counted);
    tcase_add_test(tc, filters_by_patterns);
    tcase_add_test(tc, counts_how_leaves_are_known);
    tcase_add_test(tc, merges_two_profiles);
    tcase_add_test(tc, a_look_that_stands_for_others_is_not_a_longer_wait);
    tcase_add_test(tc, rates_are_added_up_to_one_sample);
    tcase_add_test(tc, a_view_of_deep_stacks_is_refused);
    return suite_run_case("profile", tc);
}
