/* SPDX-License-Identifier: Apache-2.0 */
/* profile/: merged profiles have one row per process image, with its latest facts. */
#include "recorded.h"

#include "base/memory_guard.h"

#include "suite.h"

#define REQUESTS 8000 /* more than 1 MiB of requests, less of samples */
#define AT(t) ((uint64_t)(t)*NSEC_PER_SEC)

/* Makes a profile of second @at, with a sample of thread 7 for each of @processes. */
static struct profile *profile_of(uint64_t at, const struct profile_process *processes,
                                  size_t count)
{
    struct profile meta = { .events = { { .name = "cpu", .period = 1 } },
                            .event_count = 1,
                            .start_ns = AT(at),
                            .end_ns = AT(at + 1),
                            .start_realtime_ns = AT(at) };
    uint32_t f = recorded_frame("a.B", "f", FRAME_C2, 3);
    struct record *r = NULL;
    struct profile *p = NULL;

    ck_assert_int_eq(record_new(table, 100, &r), 0);
    for (size_t i = 0; i < count; i++) {
        struct profile_thread t = { .host_tid = 7, .name = recorded_string("main") };
        struct profile_sample s = { .time_ns = AT(at), .count = 1 };
        uint32_t thread;

        ck_assert_int_eq(record_process(r, &processes[i], &t.process), 0);
        ck_assert_int_eq(record_thread(r, &t, &thread), 0);
        s.thread = thread & 0xffffff;
        ck_assert_int_eq(record_sample(r, &s, &f, 1), 0);
    }
    ck_assert_int_eq(record_finish(r, &meta, &p), 0);
    record_free(r);
    return p;
}

/* Merges @parts and drops them. */
static struct profile *merged(struct profile **parts, size_t count)
{
    struct profile meta = { .events = { { .name = "cpu", .period = 1 } }, .event_count = 1 };
    struct profile *p = NULL;

    ck_assert_int_eq(profile_merge(parts, count, NULL, &meta, &p), 0);
    for (size_t i = 0; i < count; i++)
        profile_unref(parts[i]);
    return p;
}

static void check_text(const struct profile *p, uint32_t id, const char *wanted)
{
    struct span s = intern_get(p->strings, id);

    ck_assert_msg(span_eq_str(s, wanted), "%.*s is not %s", (int)s.n, s.n ? s.p : "", wanted);
}

/* Newest first or last: the order of the parts does not matter. */
START_TEST(an_image_has_the_facts_that_were_known_last)
{
    struct profile_process before = { .host_pid = 42,
                                      .start_ticks = 5,
                                      .name = recorded_string("java"),
                                      .attributes = recorded_string("host.arch=amd64") },
                           after = { .host_pid = 42,
                                     .start_ticks = 5,
                                     .name = recorded_string("Main"),
                                     .service = recorded_string("shop"),
                                     .version = recorded_string("2.4") };
    struct profile *parts[2] = { profile_of(_i ? 2 : 1, _i ? &after : &before, 1),
                                 profile_of(_i ? 1 : 2, _i ? &before : &after, 1) };
    struct profile *p = merged(parts, 2);

    ck_assert_uint_eq(p->process_count, 1);
    ck_assert_uint_eq(p->thread_count, 1);
    ck_assert_uint_eq(p->total, 2);
    check_text(p, p->processes[0].name, "Main");
    check_text(p, p->processes[0].service, "shop");
    check_text(p, p->processes[0].version, "2.4");
    check_text(p, p->processes[0].attributes, "host.arch=amd64");
    profile_unref(p);
}
END_TEST

START_TEST(two_rows_of_one_profile_become_one)
{
    struct profile_process rows[2] = {
        { .host_pid = 42, .name = recorded_string("java") },
        { .host_pid = 42, .name = recorded_string("Main"), .service = recorded_string("shop") }
    };
    struct profile *part = profile_of(1, rows, 2), *p = merged(&part, 1);

    ck_assert_uint_eq(p->process_count, 1);
    check_text(p, p->processes[0].service, "shop");
    profile_unref(p);
}
END_TEST

/* A reused pid, an exec, and rows that stand for several processes. */
START_TEST(other_images_keep_rows_of_their_own)
{
    struct profile_process rows[] = { { .host_pid = 42, .start_ticks = 5 },
                                      { .host_pid = 42, .start_ticks = 6 },
                                      { .host_pid = 42, .start_ticks = 6, .exec_no = 1 },
                                      { .host_pid = 0, .name = recorded_string("cat") },
                                      { .host_pid = 0, .name = recorded_string("ls") } };
    struct profile *parts[2] = { profile_of(1, rows, ARRAY_SIZE(rows)),
                                 profile_of(2, rows, ARRAY_SIZE(rows)) };
    struct profile *p = merged(parts, 2);

    ck_assert_uint_eq(p->process_count, ARRAY_SIZE(rows));
    ck_assert_uint_eq(p->total, 2 * ARRAY_SIZE(rows));
    profile_unref(p);
}
END_TEST

/* What all profiles of one time have is no event's: it counts once. */
START_TEST(what_is_of_no_event_is_joined)
{
    const struct profile_process process = { .host_pid = 42 };
    struct profile_moment moment = { .start_ns = AT(1), .end_ns = AT(1), .kind = MOMENT_IS_GC };
    struct profile meta = { .event_count = 1 }, *parts[2], *p = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        parts[i] = profile_of(1, &process, 1);
        parts[i]->lost = 5;
        parts[i]->moments = memcpy(calloc(1, sizeof(moment)), &moment, sizeof(moment));
        parts[i]->moment_count = 1;
    }
    snprintf(parts[1]->events[0].name, sizeof(parts[1]->events[0].name), "wall");
    ck_assert_int_eq(
        _i ? profile_merge(parts, 2, NULL, &meta, &p) : profile_join(parts, 2, &meta, &p), 0);
    ck_assert_uint_eq(p->total, 2);
    ck_assert_uint_eq(p->event_count, 2);
    ck_assert_uint_eq(p->moment_count, _i ? 2 : 1);
    ck_assert_uint_eq(p->lost, _i ? 10 : 5);
    profile_unref(p);
    profile_unref(parts[0]);
    profile_unref(parts[1]);
}
END_TEST

/* Makes a profile of @n samples, the older half in "before", the rest in "after". */
static struct profile *long_profile(size_t n, bool requests)
{
    struct profile_process process = { .host_pid = 42 };
    struct profile_thread t = { .host_tid = 7 };
    struct profile meta = { .events = { { .name = "cpu", .period = 1 } },
                            .event_count = 1,
                            .end_ns = n };
    uint32_t halves[2] = { recorded_frame("a.B", "before", FRAME_C2, 3),
                           recorded_frame("a.B", "after", FRAME_C2, 3) },
             thread, context = 0;
    struct record *r = NULL;
    struct profile *p = NULL;

    ck_assert_int_eq(record_new(table, n, &r), 0);
    ck_assert_int_eq(record_process(r, &process, &t.process), 0);
    ck_assert_int_eq(record_thread(r, &t, &thread), 0);
    for (size_t i = 0; i < n; i++) {
        struct profile_sample s = { .time_ns = i, .count = 1, .thread = thread & 0xffffff };
        struct profile_context c = { .span = i + 1, .root = i + 1, .state = PROFILE_CONTEXT_IDS };

        if (requests)
            ck_assert_int_eq(record_context(r, thread, &c, SPAN("GET /"), i, &context), 0);
        s.context = context;
        ck_assert_int_eq(record_sample(r, &s, &halves[i >= n / 2], 1), 0);
    }
    ck_assert_int_eq(record_finish(r, &meta, &p), 0);
    record_free(r);
    return p;
}

/* Samples of a short period become fewer ones of a long one, but none of no count: a stored capture
 * could not be read with them. */
START_TEST(no_sample_counts_nothing)
{
    struct profile meta = { .events = { { .name = "cpu", .period = 52 } }, .event_count = 1 };
    struct profile *part = long_profile(100, /* requests= */ false), *p = NULL;
    struct merger *m = NULL;

    part->events[0].period = 10;
    ck_assert_int_eq(merger_new(NULL, &meta, &m), 0);
    ck_assert_int_eq(merger_add(m, part), 0);
    ck_assert_int_eq(merger_finish(m, &p), 0);
    ck_assert_uint_eq(p->total, 19); /* 100 * 10 / 52, rounded */
    for (size_t i = 0; i < p->sample_count; i++)
        ck_assert_uint_gt(p->samples[i].count, 0);
    merger_free(m);
    profile_unref(p);
    profile_unref(part);
}
END_TEST

static uint64_t samples_with_request(const struct profile *p)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < p->sample_count; i++)
        sum += p->samples[i].context ? p->samples[i].count : 0;
    return sum;
}

/* Either the samples or the requests are more than the guard admits: all is in the answer, or
 * there is none. */
START_TEST(a_merge_is_whole_or_refused)
{
    const size_t n = _i ? REQUESTS : 500000;
    struct profile *part = long_profile(n, /* requests= */ _i), *whole = NULL, *cut = NULL;
    struct profile meta = { .events = { { .name = "cpu", .period = 1 } }, .event_count = 1 };
    int r;

    ck_assert_int_eq(memory_guard_open(1), 0);
    ck_assert_int_eq(profile_merge(&part, 1, NULL, &meta, &whole), 0);
    ck_assert_uint_eq(whole->total, n);
    ck_assert_uint_eq(whole->lost, 0);
    ck_assert_uint_eq(samples_with_request(whole), _i ? n : 0);
    memory_guard_thread(true);
    if (_i)
        memory_guard_admits(MEMORY_GUARD_FREE); /* so that requests are the first to lack memory */
    r = profile_merge(&part, 1, NULL, &meta, &cut);
    memory_guard_thread(false);
    ck_assert_msg(r == -ENOMEM, "%d: %llu of %zu samples, %llu with a request", r,
                  cut ? (unsigned long long)cut->total : 0, n,
                  cut ? (unsigned long long)samples_with_request(cut) : 0);
    profile_unref(whole);
    profile_unref(part);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("merge");

    tcase_add_checked_fixture(tc, recorded_setup, recorded_teardown);
    tcase_add_loop_test(tc, an_image_has_the_facts_that_were_known_last, 0, 2);
    tcase_add_test(tc, two_rows_of_one_profile_become_one);
    tcase_add_test(tc, other_images_keep_rows_of_their_own);
    tcase_add_test(tc, no_sample_counts_nothing);
    tcase_add_loop_test(tc, what_is_of_no_event_is_joined, 0, 2);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, a_merge_is_whole_or_refused, 0, 2);
    return suite_run_case("merge", tc);
}
