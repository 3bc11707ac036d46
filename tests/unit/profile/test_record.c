/* SPDX-License-Identifier: Apache-2.0 */
/* profile/: recording and finishing: limits, thinning, loss, and a change of the frame table. */
#include "base/buf.h"
#include "profile/rebase.h"

#include "recorded.h"
#include "suite.h"

/* A thread has the last name seen for it, except for one that the kernel cut. */
START_TEST(threads_are_renamed)
{
    static const struct {
        const char *name, *is;
    } STEPS[] = { { "main", "main" },
                  { "worker-with-long", "worker-with-long" },
                  { "worker-with-lon", "worker-with-long" },
                  { "", "worker-with-long" },
                  { "worker-x", "worker-x" } };
    struct profile *p;

    for (size_t i = 0; i < ARRAY_SIZE(STEPS); i++) {
        record_rename_thread(rec, main_thread, recorded_string(STEPS[i].name));
        ck_assert_int_eq(record_finish(rec, &(struct profile){ 0 }, &p), 0);
        ck_assert(span_eq_str(intern_get(p->strings, p->threads[main_thread].name), STEPS[i].is));
        ck_assert(span_eq_str(intern_get(p->strings, p->threads[other_thread].name), "other"));
        profile_unref(p);
    }
}
END_TEST

START_TEST(thins_at_the_limit_and_says_so)
{
    struct profile meta = { .events = { { .period = 1 } }, .event_count = 1 };
    uint32_t f = recorded_frame("", "f", FRAME_NATIVE, 0);
    struct profile *p = NULL;

    for (unsigned i = 0; i < 1000; i++)
        ck_assert_int_eq(
            record_sample(
                rec, &(struct profile_sample){ .time_ns = i, .thread = main_thread, .count = 1 },
                &f, 1),
            0);
    ck_assert_uint_eq(record_samples(rec), 1000);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_uint_le(p->sample_count, 100);
    ck_assert_uint_eq(p->total, 1000);
    ck_assert_uint_eq(p->warning_count, 1);
    ck_assert_ptr_nonnull(strstr(p->warnings[0], "limit of 100 samples"));
    profile_unref(p);
}
END_TEST

/* A warning may cut a foreign name inside a character. */
START_TEST(warnings_are_valid_utf8)
{
    struct profile *p = NULL;

    record_warn(rec, "process (%.4s) ended", "Caf\u00e9");
    record_warn_process(rec, "process (%.5s) ended", "Caf\u00e9");
    record_warn(rec, "process (%.4s) ended", "Caf\u00e9"); /* the same again */
    ck_assert_int_eq(record_finish(rec, &(struct profile){ 0 }, &p), 0);
    ck_assert_uint_eq(p->warning_count, 2);
    ck_assert_str_eq(p->warnings[0], "process (Caf\ufffd) ended");
    ck_assert_str_eq(p->warnings[1], "process (Caf\u00e9) ended");
    profile_warn(p, "process (%.4s) ended", "Caf\u00e9");
    ck_assert_str_eq(p->warnings[2], "process (Caf\ufffd) ended");
    profile_unref(p);
}
END_TEST

/* Two processors that tick in turns: each keeps its share. */
START_TEST(thins_fairly)
{
    uint32_t f[] = { recorded_frame("", "f", FRAME_NATIVE, 0),
                     recorded_frame("", "g", FRAME_NATIVE, 0) };
    struct profile meta = { .events = { { .period = 1 } }, .event_count = 1 };
    struct view_opts o = { 0 };
    _cleanup_buf_ struct buf got = BUF_NULL;
    struct profile *p = NULL;
    const char *row;

    buf_init(&got, 1000);
    for (unsigned i = 0; i < 10000; i++)
        ck_assert_int_eq(
            record_sample(
                rec, &(struct profile_sample){ .time_ns = i, .thread = main_thread, .count = 1 },
                &f[i % 2], 1),
            0);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_uint_eq(p->total, 10000);
    row = strstr(recorded_rows(p, &o, &got), "g ");
    ck_assert_msg(row && labs(strtol(row + 2, NULL, 10) - 5000) < 2000, "%s", got.p);
    profile_unref(p);
}
END_TEST

/* A profile of a running capture has each warning once. */
START_TEST(finished_twice_it_says_all_once)
{
    struct profile meta = { .events = { { .period = 1 } }, .event_count = 1 };

    for (unsigned round = 1; round <= 20; round++) {
        struct profile *p = NULL;

        record_drop(rec, 1);
        ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
        ck_assert_uint_eq(p->lost, round);
        ck_assert_uint_eq(p->warning_count, 1);
        ck_assert_int_eq(strtol(p->warnings[0], NULL, 10), round);
        profile_unref(p);
    }
}
END_TEST

START_TEST(an_empty_stack_is_unknown)
{
    _cleanup_buf_ struct buf got = BUF_NULL;
    struct profile meta = { .events = { { .period = 1 } }, .event_count = 1 };
    struct view_opts o = { 0 };
    struct profile *p = NULL;

    buf_init(&got, 1000);
    ck_assert_int_eq(record_sample(rec,
                                   &(struct profile_sample){ .time_ns = 1,
                                                             .thread = main_thread,
                                                             .count = 1,
                                                             .flags = PROFILE_SAMPLE_UNKNOWN },
                                   NULL, 0),
                     0);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_str_eq(recorded_rows(p, &o, &got), "[unknown] 1\n");
    ck_assert_uint_eq(p->unknown, 1);
    profile_unref(p);
}
END_TEST

/* Replaces @table by another one, as the engine does. */
static void renew_table(struct record *second)
{
    struct frame_table *fresh = NULL;
    struct rebase *b = NULL;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &fresh), 0);
    ck_assert_int_eq(rebase_new(table, fresh, &b), 0);
    ck_assert_int_eq(rebase_add_record(b, rec), 0);
    ck_assert_int_eq(rebase_add_record(b, second), 0);
    record_rebase(rec, b);
    record_rebase(second, b);
    rebase_free(b);
    frame_table_free(table);
    table = fresh;
}

START_TEST(goes_on_with_another_table)
{
    _cleanup_buf_ struct buf rows = BUF_NULL;
    struct profile_process who = { .host_pid = 42 };
    struct profile_thread t = { .host_tid = 43 };
    struct profile meta = { .events = { { .period = 10 } }, .event_count = 1 }, *p = NULL;
    struct frame_table_counts counts;
    struct record *second = NULL;
    uint32_t stack[2], same;

    for (uint32_t i = 0; i < 100; i++)
        recorded_frame("gone.G", "unused", FRAME_C2, 100 + i);
    stack[0] = recorded_frame("a.B", "f", FRAME_C2, 3);
    stack[1] = recorded_frame("a.B", "main", FRAME_C1, 9);
    ck_assert_int_eq(record_new(table, 100, &second), 0);
    for (uint64_t i = 0; i < 2; i++)
        record_sample(rec,
                      &(struct profile_sample){ .time_ns = i, .thread = main_thread, .count = 1 },
                      stack, 2);
    record_sample(rec, &(struct profile_sample){ .time_ns = 2, .thread = main_thread, .count = 1 },
                  (uint32_t[]){ 0, stack[1] }, 2);
    frame_table_set_route(table, frame_table_get(table, stack[0])->function,
                          recorded_string("GET /f"));
    renew_table(second);
    frame_table_counts(table, &counts);
    ck_assert_uint_eq(counts.routes, 1);
    ck_assert_uint_eq(counts.frames, 3); /* the recorded frames, and the one without a name */
    /* The same names now have other ids with the same meaning. */
    ck_assert_uint_ne(recorded_frame("a.B", "f", FRAME_C2, 3), stack[0]);
    who.name = recorded_string("Main");
    ck_assert_int_eq(record_process(rec, &who, &t.process), 0);
    ck_assert_uint_eq(t.process, 0);
    t.name = recorded_string("main");
    ck_assert_int_eq(record_thread(rec, &t, &same), 0);
    ck_assert_uint_eq(same, main_thread);
    stack[0] = recorded_frame("a.B", "f", FRAME_C2, 3);
    stack[1] = recorded_frame("a.B", "main", FRAME_C1, 9);
    ck_assert_uint_eq(frame_table_get_route(table, frame_table_get(table, stack[0])->function),
                      recorded_string("GET /f"));
    record_sample(rec, &(struct profile_sample){ .time_ns = 3, .thread = main_thread, .count = 1 },
                  stack, 2);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_uint_eq(p->stack_count, 4); /* no stack twice */
    buf_init(&rows, 4096);
    ck_assert_str_eq(recorded_rows(p, &(struct view_opts){ .threads = true }, &rows),
                     "[main tid=43];a.B.main;a.B.f 3\n[main tid=43];a.B.main;[unknown] 1\n");
    profile_unref(p);
    record_free(second);
}
END_TEST

/* Captures follow each other without a pause, of code that is always new. The table has room for
 * what they hold. */
START_TEST(names_are_bounded_without_a_pause)
{
    struct frame_table_counts counts;
    struct record *before = NULL, *now = NULL;
    char name[32];

    for (uint32_t turn = 0; turn < 40; turn++) {
        ck_assert_int_eq(record_new(table, 100, &now), 0);
        for (uint32_t i = 0; i < 30; i++) {
            uint32_t f;

            snprintf(name, sizeof(name), "m%u_%u", turn, i);
            f = recorded_frame("a.B", name, FRAME_C2, 1);
            record_sample(now, &(struct profile_sample){ .time_ns = i, .count = 1 }, &f, 1);
        }
        if (!before)
            ck_assert_int_eq(record_new(table, 100, &before), 0);
        record_free(rec);
        rec = TAKE_PTR(before);
        before = TAKE_PTR(now);
        frame_table_counts(table, &counts);
        ck_assert_uint_le(counts.frames, 200); /* of 1,200 frames in all, 60 are in use */
        if (counts.frames > 100)
            renew_table(before);
    }
    record_free(before);
}
END_TEST

START_TEST(without_room_nothing_moves)
{
    struct frame_table *small = NULL;
    struct rebase *b = NULL;
    struct profile meta = { .events = { { .period = 10 } }, .event_count = 1 }, *p = NULL;
    uint32_t f = recorded_frame("a.B", "f", FRAME_C2, 3),
             g = recorded_frame("a.B", "g", FRAME_C2, 3);

    record_sample(rec, &(struct profile_sample){ .time_ns = 1, .thread = main_thread, .count = 1 },
                  (uint32_t[]){ f, g }, 2);
    ck_assert_int_eq(frame_table_new(2, 1 << 20, &small), 0);
    ck_assert_int_eq(rebase_new(table, small, &b), 0);
    ck_assert_int_eq(rebase_add_record(b, rec), -ENOSPC);
    rebase_free(b);
    frame_table_free(small);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_uint_eq(p->unknown, 0);
    ck_assert_uint_eq(p->frame_count, 3);
    profile_unref(p);
}
END_TEST

static bool wants_none(void *cookie, const struct profile *p, const struct profile_process *process)
{
    (void)cookie;
    (void)p;
    (void)process;
    return false;
}

/* A part of 2,000 ns from 5,000 on, or without a length, has lost 100 samples. Expected: the loss
 * of two such parts within this range. */
static const struct {
    uint64_t took_ns, from_ns, to_ns, lost;
    bool none; /* true: none of its processes is selected */
} LOST_CASES[] = {
    { 2000, 0, UINT64_MAX, 200, false },
    { 2000, 5500, 6000, 2 * 25, false },  /* a quarter of its time */
    { 2000, 0, 6000, 2 * 50, false },     /* its beginning */
    { 2000, 6990, 9000, 2 * 1, false },   /* half a sample is one */
    { 2000, 6991, 9000, 0, false },       /* less is none */
    { 2000, 0, 5000, 0, false },          /* the end of a range is not in it */
    { 2000, 7000, UINT64_MAX, 0, false }, /* it was over by then */
    { 2000, 0, UINT64_MAX, 0, true },
    { 0, 5000, 5001, 200, false },
    { 0, 0, 5000, 0, false },
    { 0, 5001, UINT64_MAX, 0, false },
};

START_TEST(loss_counts_by_the_time_that_is_wanted)
{
    struct profile meta = { .events = { { .period = 1 } },
                            .event_count = 1,
                            .lost = 100,
                            .start_ns = 1000,
                            .start_realtime_ns = 5000 };
    struct profile merged = { .events = { { .period = 1 } }, .event_count = 1 },
                   *parts[2] = { NULL }, *p = NULL;
    struct profile_slice slice = { .from_ns = LOST_CASES[_i].from_ns,
                                   .to_ns = LOST_CASES[_i].to_ns,
                                   .wants = LOST_CASES[_i].none ? wants_none : NULL };

    meta.end_ns = meta.start_ns + LOST_CASES[_i].took_ns;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        ck_assert_int_eq(record_finish(rec, &meta, &parts[i]), 0);
        ck_assert_uint_eq(parts[i]->lost, 100);
        ck_assert_uint_gt(parts[i]->thread_count, 0);
    }
    ck_assert_int_eq(profile_merge(parts, 2, &slice, &merged, &p), 0);
    ck_assert_uint_eq(p->lost, LOST_CASES[_i].lost);
    profile_unref(p);
    profile_unref(parts[0]);
    profile_unref(parts[1]);
}
END_TEST

/* Adds @count new strings, numbered from @first on. Returns how many found room. */
static int add_strings(struct frame_table *t, int first, int count)
{
    int added = 0;

    for (int i = first; i < first + count; i++) {
        char text[101];
        uint32_t id;

        snprintf(text, sizeof(text), "%0100d", i);
        added += frame_table_string(t, span_of(text), &id) == 0;
    }
    return added;
}

/* One owner that adds without end gets half. Others get their part, and all may use existing
 * entries. */
START_TEST(owners_share_a_frame_table)
{
    struct frame_table *t = NULL;
    struct frame f = { .line = 1 };
    uint64_t refused;
    uint32_t id;
    int most;

    ck_assert_int_eq(frame_table_new(10000, 1 << 20, &t), 0);
    frame_table_charge(t, 11);
    most = add_strings(t, 0, 10000);
    ck_assert_int_gt(most, 3000);
    ck_assert_int_le(most, 5300);
    refused = frame_table_refused(t);
    ck_assert_uint_eq(refused, (uint64_t)(10000 - most));
    ck_assert_int_eq(frame_table_frame(t, &f, &id), -ENOSPC);
    ck_assert_uint_eq(id, 0);
    ck_assert_int_eq(add_strings(t, 0, most), most);
    frame_table_charge(t, 12);
    ck_assert_int_eq(add_strings(t, 20000, 1000), 1000);
    ck_assert_int_eq(frame_table_frame(t, &f, &id), 0);
    frame_table_charge(t, 11);
    ck_assert_int_eq(frame_table_frame(t, &f, &id), 0);
    ck_assert_uint_eq(id, 1);
    frame_table_charge(t, 0);
    ck_assert_int_eq(add_strings(t, 30000, 1000), 1000);
    frame_table_free(t);
}
END_TEST

/* An owner without room gets no route for its function, and keeps no route of another owner. */
START_TEST(routes_without_room)
{
    struct frame_table *t = NULL;
    uint32_t functions[3] = { 0 }, route;

    ck_assert_int_eq(frame_table_new(10000, 1 << 20, &t), 0);
    ck_assert_int_eq(frame_table_string(t, SPAN("GET /x"), &route), 0);
    for (uint32_t i = 0; i < ARRAY_SIZE(functions); i++)
        frame_table_function(t, &(struct function){ .name = route, .signature = i }, &functions[i]);
    frame_table_charge(t, 11);
    add_strings(t, 0, 10000);
    frame_table_set_route(t, functions[0], route);
    frame_table_set_route(t, functions[2], FUNCTION_ROUTE_NONE);
    ck_assert_uint_eq(frame_table_get_route(t, functions[0]), 0);
    ck_assert_uint_eq(frame_table_get_route(t, functions[2]), FUNCTION_ROUTE_NONE);
    frame_table_charge(t, 12);
    frame_table_set_route(t, functions[1], route);
    frame_table_set_route(t, functions[2], route);
    ck_assert_uint_eq(frame_table_get_route(t, functions[1]), route);
    ck_assert_uint_eq(frame_table_get_route(t, functions[2]), FUNCTION_ROUTE_NONE);
    frame_table_charge(t, 11);
    frame_table_set_route(t, functions[1], FUNCTION_ROUTE_NONE);
    ck_assert_uint_eq(frame_table_get_route(t, functions[1]), FUNCTION_ROUTE_NONE);
    frame_table_free(t);
}
END_TEST

START_TEST(a_full_frame_table_gives_unknown)
{
    struct frame_table *small = NULL;
    struct frame f = { .line = 1 };
    uint32_t id = 7;

    ck_assert_int_eq(frame_table_new(2, 1000, &small), 0);
    ck_assert_int_eq(frame_table_frame(small, &f, &id), 0);
    ck_assert_uint_eq(id, 1);
    f.line = 2;
    ck_assert_int_eq(frame_table_frame(small, &f, &id), -ENOSPC);
    ck_assert_uint_eq(id, 0);
    ck_assert_uint_eq(frame_table_get(small, 12345)->unknown, 1);
    frame_table_free(small);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("record");

    tcase_add_checked_fixture(tc, recorded_setup, recorded_teardown);
    tcase_add_test(tc, thins_at_the_limit_and_says_so);
    tcase_add_test(tc, threads_are_renamed);
    tcase_add_test(tc, thins_fairly);
    tcase_add_test(tc, warnings_are_valid_utf8);
    tcase_add_test(tc, finished_twice_it_says_all_once);
    tcase_add_test(tc, an_empty_stack_is_unknown);
    tcase_add_test(tc, goes_on_with_another_table);
    tcase_add_test(tc, names_are_bounded_without_a_pause);
    tcase_add_test(tc, without_room_nothing_moves);
    tcase_add_loop_test(tc, loss_counts_by_the_time_that_is_wanted, 0, ARRAY_SIZE(LOST_CASES));
    tcase_add_test(tc, owners_share_a_frame_table);
    tcase_add_test(tc, routes_without_room);
    tcase_add_test(tc, a_full_frame_table_gives_unknown);
    return suite_run_case("record", tc);
}
