/* SPDX-License-Identifier: Apache-2.0 */
/* The flight recorder. */
#include "store_fixture.h"

#include "store/flight.h"

START_TEST(the_recorder_forgets_the_oldest)
{
    struct profile_process process = { .host_pid = 42 };
    struct profile_thread thread = { .host_tid = 43 };
    struct profile_slice all = { .to_ns = UINT64_MAX };
    struct profile meta = { .events = { { .name = "cpu", .period = 1000 } },
                            .event_count = 1,
                            .start_realtime_ns = 5000 * NSEC_PER_SEC };
    struct frame_table *t = NULL;
    struct flight *f = NULL;
    struct flight_stats stats;
    struct profile *p = NULL, **parts;
    size_t count;
    uint32_t leaf;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    leaf = frame_of(t, "a.B", "c", 1);
    process.name = str(t, "Main");
    ck_assert_int_eq(flight_new(t, &meta.events[0], 1, 60 * NSEC_PER_SEC, 1 << 20, &f), 0);
    for (uint64_t i = 0; i < 20000; i++) /* 200 s at 100 Hz */
        ck_assert_int_eq(
            flight_sample(f,
                          &(struct profile_sample){ .time_ns = i * 10 * NSEC_PER_MSEC, .count = 1 },
                          (struct flight_origin){ &process, &thread, NULL }, &leaf, 1),
            0);
    flight_stats(f, &stats);
    ck_assert_uint_le(stats.bytes, 1 << 20);
    ck_assert_uint_ge(stats.oldest_ns, 120 * NSEC_PER_SEC);
    ck_assert_uint_le(stats.oldest_ns, 141 * NSEC_PER_SEC);
    all.from_ns = 190 * NSEC_PER_SEC;
    meta.start_ns = 0;
    ck_assert_int_eq(
        flight_parts(f, &(struct flight_range){ .from_ns = all.from_ns, .to_ns = all.to_ns },
                     &parts, &count),
        0);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(flight_merge(parts, count, &all, &meta, &p), 0);
    flight_parts_free(parts, count);
    ck_assert_uint_eq(p->total, 1000);
    ck_assert_uint_eq(p->samples[0].time_ns, (5000 + 190) * NSEC_PER_SEC);
    profile_unref(p);
    flight_free(f);
    frame_table_free(t);
}
END_TEST

/* A sample per second for 25 hours, of which 24 must be kept. With enough memory all of them are
 * there. With less, the recorder reaches back less far, and reports that. */
START_TEST(the_recorder_reaches_a_day_back)
{
    struct profile_process process = { .host_pid = 42 };
    struct profile_thread thread = { .host_tid = 43 };
    const struct profile_event event = { .name = "cpu", .period = 1000 };
    const uint64_t day_ns = 86400 * NSEC_PER_SEC, end_ns = 90000 * NSEC_PER_SEC;
    size_t max_bytes = _i ? (size_t)4 << 20 : (size_t)1 << 30;
    struct frame_table *t = NULL;
    struct flight *f = NULL;
    struct flight_stats stats;
    uint32_t leaf;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    leaf = frame_of(t, "a.B", "c", 1);
    process.name = str(t, "Main");
    ck_assert_int_eq(flight_new(t, &event, 1, day_ns, max_bytes, &f), 0);
    for (uint64_t at = NSEC_PER_SEC; at <= end_ns; at += NSEC_PER_SEC)
        ck_assert_int_eq(flight_sample(f, &(struct profile_sample){ .time_ns = at, .count = 1 },
                                       (struct flight_origin){ &process, &thread, NULL }, &leaf, 1),
                         0);
    flight_stats(f, &stats);
    ck_assert_uint_eq(stats.keep_ns, day_ns);
    ck_assert_uint_le(stats.bytes, max_bytes);
    if (_i) {
        ck_assert_uint_gt(stats.oldest_ns, end_ns - day_ns);
        ck_assert_uint_gt(stats.short_ns, end_ns - 60 * NSEC_PER_SEC);
    } else {
        ck_assert_uint_le(stats.oldest_ns, end_ns - day_ns);
        ck_assert_uint_eq(stats.short_ns, 0);
    }
    flight_free(f);
    frame_table_free(t);
}
END_TEST

/* On an idle node whole slices have no sample. The recorder reaches back as far as configured,
 * though its oldest sample is younger. After its start it reaches back to the first sample. */
START_TEST(an_idle_node_is_recorded)
{
    struct profile_process process = { .host_pid = 42 };
    struct profile_thread thread = { .host_tid = 43 };
    const struct profile_event event = { .name = "cpu", .period = 1000 };
    static const uint64_t AT_S[] = { 100, 101, 250 };
    static const uint64_t SINCE_S[] = { 100, 100, 101 };
    struct frame_table *t = NULL;
    struct flight *f = NULL;
    struct flight_stats stats;
    uint32_t leaf;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    leaf = frame_of(t, "a.B", "c", 1);
    process.name = str(t, "Main");
    ck_assert_int_eq(flight_new(t, &event, 1, 120 * NSEC_PER_SEC, 1 << 20, &f), 0);
    for (size_t i = 0; i < ARRAY_SIZE(AT_S); i++) {
        ck_assert_int_eq(
            flight_sample(f,
                          &(struct profile_sample){ .time_ns = AT_S[i] * NSEC_PER_SEC, .count = 1 },
                          (struct flight_origin){ &process, &thread, NULL }, &leaf, 1),
            0);
        flight_stats(f, &stats);
        ck_assert_uint_eq(stats.oldest_ns, SINCE_S[i] * NSEC_PER_SEC);
    }
    flight_free(f);
    frame_table_free(t);
}
END_TEST

START_TEST(samples_have_their_requests)
{
    struct profile_process process = { .host_pid = 42 };
    struct profile_thread thread = { .host_tid = 42 };
    struct profile_event event = { .name = "cpu", .unit = "nanoseconds", .period = 1000 };
    struct profile_context request = { .trace_low = 1, .span = 2, .state = PROFILE_CONTEXT_NAMED };
    const struct profile_sample s = { .time_ns = NSEC_PER_SEC, .count = 1 };
    struct frame_table *t = NULL;
    struct profile **parts;
    struct flight *f = NULL;
    size_t count;
    uint32_t leaf;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    leaf = frame_of(t, "a.B", "c", 1);
    request.operation = str(t, "GET /pay");
    ck_assert_int_eq(flight_new(t, &event, 1, 60 * NSEC_PER_SEC, 1 << 20, &f), 0);
    ck_assert_int_eq(
        flight_sample(f, &s, (struct flight_origin){ &process, &thread, &request }, &leaf, 1), 0);
    ck_assert_int_eq(
        flight_sample(f, &s, (struct flight_origin){ &process, &thread, NULL }, &leaf, 1), 0);
    ck_assert_int_eq(flight_parts(f, &(struct flight_range){ .to_ns = UINT64_MAX }, &parts, &count),
                     0);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(parts[0]->sample_count, 2);
    for (size_t i = 0; i < 2; i++) {
        uint32_t id = parts[0]->samples[i].context;

        if (!id)
            continue;
        ck_assert_uint_eq(parts[0]->contexts[id].trace_low, 1);
        ck_assert(span_eq_str(intern_get(parts[0]->strings, parts[0]->contexts[id].operation),
                              "GET /pay"));
    }
    ck_assert_uint_eq(parts[0]->context_states[PROFILE_CONTEXT_NAMED], 1);
    flight_parts_free(parts, count);
    flight_free(f);
    frame_table_free(t);
}
END_TEST

START_TEST(moments_are_of_their_time)
{
    struct profile_process process = { .host_pid = 42 };
    struct profile_slice some = { .from_ns = 20 * NSEC_PER_SEC, .to_ns = 30 * NSEC_PER_SEC };
    struct profile meta = { .events = { { .name = "cpu", .period = 1000 } },
                            .event_count = 1,
                            .start_realtime_ns = 5000 * NSEC_PER_SEC };
    struct frame_table *t = NULL;
    struct flight *f = NULL;
    struct profile *p = NULL, **parts;
    size_t count;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    process.name = str(t, "Main");
    ck_assert_int_eq(flight_new(t, &meta.events[0], 1, 60 * NSEC_PER_SEC, 1 << 20, &f), 0);
    for (uint64_t at = 0; at < 40; at++) { /* one per second, of 0.25 s each */
        const struct profile_moment m = { .kind = MOMENT_IS_GC,
                                          .name = str(t, "young"),
                                          .start_ns = at * NSEC_PER_SEC,
                                          .end_ns = at * NSEC_PER_SEC + NSEC_PER_SEC / 4 };

        ck_assert_int_eq(flight_moment(f, &m, &process), 0);
    }
    ck_assert_int_eq(
        flight_parts(f, &(struct flight_range){ some.from_ns, some.to_ns, 0 }, &parts, &count), 0);
    ck_assert_int_eq(flight_merge(parts, count, &some, &meta, &p), 0);
    flight_parts_free(parts, count);
    ck_assert_uint_eq(p->moment_count, 10);
    ck_assert_uint_eq(p->moments[0].start_ns, (5000 + 20) * NSEC_PER_SEC);
    ck_assert_uint_eq(p->moments[9].end_ns, (5000 + 29) * NSEC_PER_SEC + NSEC_PER_SEC / 4);
    ck_assert(span_eq_str(intern_get(p->strings, p->moments[0].name), "young"));
    ck_assert_int_eq(p->processes[p->moments[0].process].host_pid, 42);
    profile_unref(p);
    flight_free(f);
    frame_table_free(t);
}
END_TEST

/* Adds up the samples that go to the history. */
static void spilled(void *cookie, struct profile *slice)
{
    *(uint64_t *)cookie += slice->total;
}

/* At 60 s a minute ends, and the cut comes 5 ms later. Each sample belongs to either the history or
 * the recorder. That includes samples between the minute's end and the cut, and late samples from
 * before the end. */
START_TEST(each_sample_is_of_one_side_of_a_cut)
{
    static const uint64_t BEFORE_MS[] = { 59000, 59998, 60002, 60004 },
                          AFTER_MS[] = { 59999, 60003, 60010, 71000 };
    const struct flight_range range = { .to_ns = UINT64_MAX, .minute_ns = 60 * NSEC_PER_SEC };
    const struct profile_slice slice = { .from_ns = 60 * NSEC_PER_SEC,
                                         .to_ns = UINT64_MAX,
                                         .whole = true };
    struct profile_process process = { .host_pid = 42 };
    struct profile_thread thread = { .host_tid = 43 };
    struct profile meta = { .events = { { .name = "cpu", .period = 1000 } }, .event_count = 1 };
    struct frame_table *t = NULL;
    struct flight *f = NULL;
    struct profile *p = NULL, **parts;
    uint64_t history = 0;
    size_t count;
    uint32_t leaf;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    leaf = frame_of(t, "a.B", "c", 1);
    ck_assert_int_eq(flight_new(t, &meta.events[0], 1, 600 * NSEC_PER_SEC, 1 << 20, &f), 0);
    flight_on_finish(f, FLIGHT_TO_HISTORY, spilled, &history);
    for (size_t i = 0; i < ARRAY_SIZE(BEFORE_MS) + ARRAY_SIZE(AFTER_MS); i++) {
        size_t after = i - ARRAY_SIZE(BEFORE_MS);
        struct profile_sample s = { .count = 1 };

        if (i == ARRAY_SIZE(BEFORE_MS))
            flight_cut(f, 0);
        s.time_ns = (i < ARRAY_SIZE(BEFORE_MS) ? BEFORE_MS[i] : AFTER_MS[after]) * NSEC_PER_MSEC;
        ck_assert_int_eq(
            flight_sample(f, &s, (struct flight_origin){ &process, &thread, NULL }, &leaf, 1), 0);
        if (i == ARRAY_SIZE(BEFORE_MS))
            ck_assert_uint_eq(history, ARRAY_SIZE(BEFORE_MS));
    }
    ck_assert_int_eq(flight_parts(f, &range, &parts, &count), 0);
    ck_assert_int_eq(flight_merge(parts, count, &slice, &meta, &p), 0);
    flight_parts_free(parts, count);
    ck_assert_uint_eq(p->total, ARRAY_SIZE(AFTER_MS));
    ck_assert_uint_eq(p->samples[0].time_ns, 60 * NSEC_PER_SEC);
    profile_unref(p);
    flight_free(f);
    frame_table_free(t);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("flight");

    tcase_add_test(tc, the_recorder_forgets_the_oldest);
    tcase_add_loop_test(tc, the_recorder_reaches_a_day_back, 0, 2);
    tcase_add_test(tc, moments_are_of_their_time);
    tcase_add_test(tc, samples_have_their_requests);
    tcase_add_test(tc, each_sample_is_of_one_side_of_a_cut);
    tcase_add_test(tc, an_idle_node_is_recorded);
    return run_store_tests("flight", tc);
}
