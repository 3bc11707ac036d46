/* SPDX-License-Identifier: Apache-2.0 */
/* profile/moments.c: safepoints of two JVMs and the samples that share their times, stored and
 * merged. */
#include "event/events.h"
#include "profile/view.h"

#include "tests/unit/store/store_fixture.h"

#define CPU 0
#define LATE 1
#define START (5 * NSEC_PER_SEC)

static const struct profile META = {
    .events = { [CPU] = { .name = "cpu", .unit = "nanoseconds", .period = 10 },
                [LATE] = { .name = "safepoint",
                           .unit = "nanoseconds",
                           .period = 1000,
                           .valued = true } },
    .event_count = 2,
    .start_ns = START,
    .end_ns = START + NSEC_PER_SEC,
    .start_realtime_ns = 1000 * NSEC_PER_SEC,
};

struct built {
    struct frame_table *frames;
    struct record *record;
    uint32_t threads[2], processes[2]; /* of the two JVMs */
    uint32_t frame;
};

static void build(struct built *b)
{
    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &b->frames), 0);
    ck_assert_int_eq(record_new(b->frames, 1000, &b->record), 0);
    b->frame = frame_of(b->frames, "a.B", "late", 1);
    for (int i = 0; i < 2; i++) {
        struct profile_process p = { .host_pid = 42 + i, .name = str(b->frames, "Main") };
        struct profile_thread t = { .host_tid = 52 + i };

        ck_assert_int_eq(record_process(b->record, &p, &b->processes[i]), 0);
        t.process = b->processes[i];
        ck_assert_int_eq(record_thread(b->record, &t, &b->threads[i]), 0);
    }
}

static void end(struct built *b)
{
    record_free(b->record);
    frame_table_free(b->frames);
}

static void add(struct built *b, int jvm, uint8_t event, uint64_t at, uint16_t flags)
{
    struct profile_sample s = { .time_ns = START + at,
                                .thread = b->threads[jvm],
                                .count = 1,
                                .event = event,
                                .flags = flags,
                                .value = event == LATE ? 1000 : 0 };

    ck_assert_int_eq(record_sample(b->record, &s, &b->frame, 1), 0);
}

static void safepoint(struct built *b, int jvm, uint64_t from, uint64_t reach, uint64_t to)
{
    struct profile_moment m = { .start_ns = START + from,
                                .end_ns = START + to,
                                .reach_ns = reach,
                                .process = b->processes[jvm],
                                .name = str(b->frames, "Op"),
                                .kind = MOMENT_IS_SAFEPOINT };

    ck_assert_int_eq(record_moment(b->record, &m), 0);
    add(b, jvm, LATE, from + reach, PROFILE_SAMPLE_REST);
}

static struct profile *finish(struct built *b)
{
    struct profile *p = NULL;

    ck_assert_int_eq(record_finish(b->record, &META, &p), 0);
    ck_assert_int_eq(profile_weigh_safepoints(p, LATE), 0);
    return p;
}

/* Checks the values of samples of event safepoint, by time. */
static void check_values(const struct profile *p, const uint64_t *values, size_t count)
{
    size_t n = 0;

    for (size_t i = 0; i < p->sample_count; i++) {
        if (p->samples[i].event != LATE)
            continue;
        ck_assert_uint_lt(n, count);
        ck_assert_uint_eq(p->samples[i].value, values[n++]);
        ck_assert(!(p->samples[i].flags & PROFILE_SAMPLE_REST));
    }
    ck_assert_uint_eq(n, count);
}

START_TEST(samples_share_the_time)
{
    static const uint64_t VALUES[] = { 3333, 3333, 3334, 500, 7000 };
    struct built b;
    struct profile *p;

    build(&b);
    add(&b, 0, LATE, 99, 0); /* before the safepoint */
    add(&b, 0, LATE, 100, 0);
    add(&b, 0, CPU, 150, 0);
    add(&b, 0, LATE, 2000, 0);
    add(&b, 1, LATE, 3000, 0); /* of the other JVM, without a safepoint */
    add(&b, 0, LATE, 10100, 0);
    add(&b, 0, LATE, 10101, 0); /* after the safepoint */
    safepoint(&b, 0, 100, 10000, 50000);
    safepoint(&b, 1, 20000, 500, 30000); /* no thread was sampled during it */
    safepoint(&b, 1, 60000, 7000, 70000);
    p = finish(&b);
    check_values(p, VALUES, ARRAY_SIZE(VALUES));
    ck_assert_uint_eq(p->total, ARRAY_SIZE(VALUES) + 1);
    ck_assert_uint_eq(p->moment_count, 3);
    profile_unref(p);
    p = finish(&b); /* again: the record did not change */
    check_values(p, VALUES, ARRAY_SIZE(VALUES));
    profile_unref(p);
    end(&b);
}
END_TEST

/* The count of samples with requests leaves out dropped samples, as the total does. */
START_TEST(requests_of_dropped_samples_do_not_count)
{
    struct profile_context c = { .state = PROFILE_CONTEXT_NO_REQUEST };
    struct built b;
    struct profile *p;

    build(&b);
    for (uint64_t at = 99; at <= 101; at++) { /* one before the safepoint, two in it */
        struct profile_sample s = {
            .time_ns = START + at, .thread = b.threads[0], .count = 3, .event = LATE, .value = 1000
        };
        uint32_t id = 0;

        ck_assert_int_eq(record_context(b.record, b.threads[0], &c, SPAN_NULL, 0, &id), 0);
        s.context = id;
        ck_assert_int_eq(record_sample(b.record, &s, &b.frame, 1), 0);
    }
    safepoint(&b, 0, 100, 10000, 50000);
    p = finish(&b);
    ck_assert_uint_eq(p->total, 6);
    ck_assert_uint_eq(p->context_states[PROFILE_CONTEXT_NO_REQUEST], 6);
    profile_unref(p);
    end(&b);
}
END_TEST

START_TEST(too_many_moments_are_counted)
{
    struct profile_moment m = { .start_ns = START, .end_ns = START };
    struct built b;
    struct profile *p;

    build(&b);
    for (int i = 0; i < PROFILE_MOMENTS_MAX; i++)
        ck_assert_int_eq(record_moment(b.record, &m), 0);
    ck_assert_int_eq(record_moment(b.record, &m), -ENOSPC);
    p = finish(&b);
    ck_assert_uint_eq(p->moment_count, PROFILE_MOMENTS_MAX);
    ck_assert_uint_eq(p->warning_count, 1);
    ck_assert_ptr_nonnull(strstr(p->warnings[0], "1 safepoints, operations"));
    profile_unref(p);
    end(&b);
}
END_TEST

static void check_moments(const struct profile *p, uint64_t start_ns)
{
    ck_assert_uint_eq(p->moment_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct profile_moment *m = &p->moments[i];

        ck_assert_uint_eq(m->start_ns, start_ns + (i ? 60000 : 100));
        ck_assert_uint_eq(m->end_ns - m->start_ns, i ? 10000 : 49900);
        ck_assert_uint_eq(m->reach_ns, i ? 7000 : 10000);
        ck_assert_int_eq(m->kind, MOMENT_IS_SAFEPOINT);
        ck_assert(span_eq_str(intern_get(p->strings, m->name), "Op"));
        ck_assert_int_eq(p->processes[m->process].host_pid, i ? 43 : 42);
    }
}

/* Checks compilations by compiler thread and compiler. */
static void check_compiled(const struct profile *p)
{
    const struct profile_moment *m = &p->moments[1];

    ck_assert_uint_eq(p->moment_count, 3);
    ck_assert_int_eq(p->moments[0].kind, MOMENT_COUNTS_COMPILATIONS);
    ck_assert_uint_eq(p->moments[0].count, 1);
    ck_assert_int_eq(m->kind, MOMENT_IS_JIT);
    ck_assert(span_eq_str(intern_get(p->strings, m->name), "a.B.c"));
    ck_assert(span_eq_str(intern_get(p->strings, m->by), "C2 CompilerThread0"));
    ck_assert(span_eq_str(intern_get(p->strings, m->compiler), "c2"));
    ck_assert_uint_eq(m->end_ns - m->start_ns, 300);
    m = &p->moments[2];
    ck_assert_int_eq(m->kind, MOMENT_IS_CLASS_LOAD);
    ck_assert(span_eq_str(intern_get(p->strings, m->by), "main"));
    ck_assert_uint_eq(intern_get(p->strings, m->compiler).n, 0);
    ck_assert_uint_eq(m->end_ns, m->start_ns);
}

START_TEST(who_did_it_is_kept)
{
    struct store *s = open_store(0, 0);
    struct profile *p, *got = NULL;
    struct error err = ERROR_NULL;
    struct built b;

    build(&b);
    record_moment(b.record, &(struct profile_moment){ .kind = MOMENT_IS_JIT,
                                                      .start_ns = START + 200,
                                                      .end_ns = START + 500,
                                                      .name = str(b.frames, "a.B.c"),
                                                      .by = str(b.frames, "C2 CompilerThread0"),
                                                      .compiler = str(b.frames, "c2") });
    record_moment(b.record, &(struct profile_moment){ .kind = MOMENT_IS_CLASS_LOAD,
                                                      .start_ns = START + 600,
                                                      .end_ns = START + 600,
                                                      .name = str(b.frames, "a.B"),
                                                      .by = str(b.frames, "main") });
    record_moment(b.record, &(struct profile_moment){ .kind = MOMENT_COUNTS_COMPILATIONS,
                                                      .start_ns = START,
                                                      .end_ns = START + 1000,
                                                      .count = 1 });
    p = finish(&b);
    check_compiled(p);
    store_new_id(p->id);
    ck_assert_int_eq(store_put(s, p, "", 0, &err), 0);
    ck_assert_int_eq(store_get(s, p->id, &got, &err), 0);
    check_compiled(got);
    got = profile_unref(got);
    ck_assert_int_eq(profile_merge(&p, 1, NULL, &META, &got), 0);
    check_compiled(got);
    profile_unref(got);
    profile_unref(p);
    store_close(s);
    end(&b);
}
END_TEST

START_TEST(the_store_keeps_them)
{
    struct store *s = open_store(0, 0);
    struct profile *p, *got = NULL;
    struct error err = ERROR_NULL;
    struct built b;

    build(&b);
    safepoint(&b, 1, 60000, 7000, 70000);
    safepoint(&b, 0, 100, 10000, 50000);
    p = finish(&b);
    check_moments(p, START);
    store_new_id(p->id);
    ck_assert_int_eq(store_put(s, p, "", 0, &err), 0);
    ck_assert_int_eq(store_get(s, p->id, &got, &err), 0);
    check_moments(got, got->start_ns);
    profile_unref(got);
    profile_unref(p);
    store_close(s);
    end(&b);
}
END_TEST

START_TEST(merging_keeps_what_is_chosen)
{
    struct profile_slice slice = { .from_ns = META.start_realtime_ns + 60000, .to_ns = UINT64_MAX };
    struct profile *p, *got = NULL;
    struct built b;

    build(&b);
    safepoint(&b, 0, 100, 10000, 50000);
    safepoint(&b, 1, 60000, 7000, 70000);
    p = finish(&b);
    ck_assert_int_eq(profile_merge(&p, 1, NULL, &META, &got), 0);
    check_moments(got, META.start_realtime_ns);
    got = profile_unref(got);
    ck_assert_int_eq(profile_merge(&p, 1, &slice, &META, &got), 0);
    ck_assert_uint_eq(got->moment_count, 1);
    ck_assert_uint_eq(got->moments[0].reach_ns, 7000);
    profile_unref(got);
    profile_unref(p);
    end(&b);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("safepoints");

    tcase_add_test(tc, samples_share_the_time);
    tcase_add_test(tc, requests_of_dropped_samples_do_not_count);
    tcase_add_test(tc, too_many_moments_are_counted);
    tcase_add_test(tc, the_store_keeps_them);
    tcase_add_test(tc, who_did_it_is_kept);
    tcase_add_test(tc, merging_keeps_what_is_chosen);
    return run_store_tests("safepoints", tc);
}
