/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several events in one profile: CPU time, with one period per sample, and waits, with a value per
 * sample. They are recorded, thinned, viewed, merged, and stored.
 */
#include "event/events.h"
#include "profile/view.h"

#include "tests/unit/store/store_fixture.h"

#define CPU_PERIOD 10u
#define CPU 0
#define WAIT 1

static const struct profile EVENTS = {
    .events = { [CPU] = { .name = "cpu", .unit = "nanoseconds", .period = CPU_PERIOD },
                [WAIT] = { .name = "wait", .unit = "bytes", .period = 1000, .valued = true } },
    .event_count = 2,
    .start_realtime_ns = 1000 * NSEC_PER_SEC,
    .end_ns = NSEC_PER_SEC,
};

/* Sums of one event of a profile. */
struct totals {
    uint64_t samples, value;
};

static struct totals totals_of(const struct profile *p, const char *event)
{
    struct totals t = { 0 };

    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];

        if (strcmp(p->events[s->event].name, event) == 0) {
            t.samples += s->count;
            t.value += s->value;
        }
    }
    return t;
}

/* Makes a profile of @n samples of each event in turn, limited to @max samples. A wait's value is
 * its number + 1. *ret: the sum of these values. */
static struct profile *both_events(unsigned n, size_t max, const struct profile *meta,
                                   uint64_t *ret)
{
    struct profile_process process = { .host_pid = 42 };
    struct profile_thread thread = { .host_tid = 43 };
    struct frame_table *t = NULL;
    struct record *r = NULL;
    struct profile *p = NULL;
    uint32_t run, park, tid;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    ck_assert_int_eq(record_new(t, max, &r), 0);
    run = frame_of(t, "a.B", "run", 1);
    park = frame_of(t, "a.B", "park", 2);
    process.name = str(t, "Main");
    ck_assert_int_eq(record_process(r, &process, &thread.process), 0);
    ck_assert_int_eq(record_thread(r, &thread, &tid), 0);
    *ret = 0;
    for (unsigned i = 0; i < n; i++) {
        struct profile_sample cpu = { .time_ns = i, .thread = tid, .count = 1 };
        struct profile_sample wait = cpu;

        wait.event = WAIT;
        wait.value = i + 1;
        *ret += wait.value;
        ck_assert_int_eq(record_sample(r, &cpu, &run, 1), 0);
        ck_assert_int_eq(record_sample(r, &wait, (uint32_t[]){ park, run }, 2), 0);
    }
    ck_assert_int_eq(record_finish(r, meta, &p), 0);
    record_free(r);
    frame_table_free(t);
    return p;
}

static void check_totals(const struct profile *p, unsigned n, uint64_t waited)
{
    struct totals cpu = totals_of(p, "cpu"), wait = totals_of(p, "wait");

    ck_assert_uint_eq(cpu.samples, n);
    ck_assert_uint_eq(cpu.value, (uint64_t)n * CPU_PERIOD);
    ck_assert_uint_eq(wait.samples, n);
    ck_assert_uint_eq(wait.value, waited);
}

/* After thinning, no sample stands for one of another event, and sums are unchanged. */
START_TEST(each_event_keeps_its_own_sum)
{
    static const size_t LIMITS[] = { 100000, 100, 17, 4 };
    uint64_t waited;
    struct profile *p = both_events(1000, LIMITS[_i], &EVENTS, &waited);

    ck_assert_uint_le(p->sample_count, LIMITS[_i]);
    check_totals(p, 1000, waited);
    for (size_t i = 0; i < p->sample_count; i++)
        ck_assert_uint_eq(p->stacks[p->samples[i].stack].depth,
                          p->samples[i].event == WAIT ? 2 : 1);
    profile_unref(p);
}
END_TEST

/* Long waits are kept in preference to short ones. The sum by stack stays true. */
START_TEST(thinning_weighs_by_value)
{
    struct profile_thread thread = { .host_tid = 43 };
    struct profile_process process = { .host_pid = 42 };
    struct frame_table *t = NULL;
    struct record *r = NULL;
    struct profile *p = NULL;
    uint64_t lengthy = 0, all = 0;
    uint32_t frames[2], tid;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    ck_assert_int_eq(record_new(t, 200, &r), 0);
    frames[0] = frame_of(t, "a.B", "brief", 1);
    frames[1] = frame_of(t, "a.B", "lengthy", 2);
    ck_assert_int_eq(record_process(r, &process, &thread.process), 0);
    ck_assert_int_eq(record_thread(r, &thread, &tid), 0);
    for (unsigned i = 0; i < 20000; i++) {
        struct profile_sample s = { .time_ns = i, .thread = tid, .count = 1, .event = WAIT };

        s.value = i % 10 ? 1 : 91; /* nine of ten samples have 9 % of the time */
        ck_assert_int_eq(record_sample(r, &s, &frames[i % 10 == 0], 1), 0);
    }
    ck_assert_int_eq(record_finish(r, &EVENTS, &p), 0);
    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_stack *at = &p->stacks[p->samples[i].stack];
        struct span name = intern_get(p->strings, p->functions[p->frames[at->frame].function].name);

        all += p->samples[i].value;
        if (span_eq(name, SPAN("lengthy")))
            lengthy += p->samples[i].value;
    }
    ck_assert_uint_eq(all, 20000 / 10 * 100);
    ck_assert_msg(lengthy > all * 85 / 100 && lengthy < all * 97 / 100, "%llu of %llu",
                  (unsigned long long)lengthy, (unsigned long long)all);
    profile_unref(p);
    record_free(r);
    frame_table_free(t);
}
END_TEST

START_TEST(a_view_shows_one)
{
    uint64_t waited;
    struct profile *p = both_events(30, 1000, &EVENTS, &waited);

    for (uint8_t event = CPU; event <= WAIT; event++) {
        struct view_opts o = { .event = event };
        struct view *v = NULL;

        ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
        ck_assert_str_eq(view_event(v)->name, EVENTS.events[event].name);
        ck_assert_uint_eq(v->row_count, 1);
        ck_assert_uint_eq(v->rows[0].n, event == WAIT ? 2 : 1);
        ck_assert_uint_eq(v->samples, 30);
        ck_assert_uint_eq(v->value, event == WAIT ? waited : 30 * CPU_PERIOD);
        ck_assert_uint_eq(v->rows[0].value, v->value);
        view_free(v);
    }
    profile_unref(p);
}
END_TEST

/* Profiles with the same events in another order, one of them at another rate. */
START_TEST(merging_matches_events_by_name)
{
    struct profile turned = EVENTS, meta = { .start_realtime_ns = 1000 * NSEC_PER_SEC };
    struct profile *parts[2], *p = NULL;
    uint64_t waited[2];
    struct totals cpu, wait;

    turned.events[CPU].period = 2 * CPU_PERIOD;
    parts[0] = both_events(10, 1000, &EVENTS, &waited[0]);
    parts[1] = both_events(20, 1000, &turned, &waited[1]);
    for (size_t i = 0; i < parts[1]->sample_count; i++)
        parts[1]->samples[i].event = !parts[1]->samples[i].event;
    parts[1]->events[0] = turned.events[1];
    parts[1]->events[1] = turned.events[0];
    ck_assert_int_eq(profile_merge(parts, 2, NULL, &meta, &p), 0);
    ck_assert_uint_eq(p->event_count, 2);
    cpu = totals_of(p, "cpu");
    wait = totals_of(p, "wait");
    ck_assert_uint_eq(cpu.samples, 10 + 2 * 20);
    ck_assert_uint_eq(cpu.value, (10 + 2 * 20) * CPU_PERIOD);
    ck_assert_uint_eq(wait.samples, 10 + 20);
    ck_assert_uint_eq(wait.value, waited[0] + waited[1]);
    profile_unref(p);
    for (int i = 0; i < 2; i++)
        profile_unref(parts[i]);
}
END_TEST

/* Samples at a pace have values of their own. The period is their mean value. Merged with samples
 * at an interval, the sum stays right. */
START_TEST(paces_keep_their_sum)
{
    struct profile meta = { .start_realtime_ns = 1000 * NSEC_PER_SEC };
    struct profile every = EVENTS, paced = EVENTS, *parts[2], *p = NULL;
    struct profile_event e = profile_event_of(events_find("page-faults"), EVENT_PACED | 1000000);
    uint64_t waited[2];

    ck_assert_uint_eq(e.period, 0);
    ck_assert(e.valued);
    paced.events[WAIT].period = 0;
    every.events[WAIT].valued = false;
    parts[0] = both_events(10, 1000, &every, &waited[0]);
    parts[1] = both_events(20, 1000, &paced, &waited[1]);
    ck_assert_uint_eq(parts[1]->events[WAIT].period, waited[1] / 20);
    ck_assert_int_eq(profile_merge(parts, 2, NULL, &meta, &p), 0);
    ck_assert(p->events[WAIT].valued);
    ck_assert_uint_eq(totals_of(p, "wait").value, waited[0] + waited[1]);
    profile_unref(p);
    for (int i = 0; i < 2; i++)
        profile_unref(parts[i]);
}
END_TEST

/* Events beyond the limit are named in a warning. */
START_TEST(too_many_events_are_left_out)
{
    struct profile meta = { .events = { { .period = 1 } }, .event_count = 1 };
    struct profile *parts[PROFILE_EVENTS_MAX + 2], *p = NULL;
    uint64_t waited;

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        snprintf(meta.events[0].name, sizeof(meta.events[0].name), "event%zu", i);
        parts[i] = both_events(1, 1000, &meta, &waited);
    }
    ck_assert_int_eq(profile_merge(parts, ARRAY_SIZE(parts), NULL, &meta, &p), 0);
    ck_assert_uint_eq(p->event_count, PROFILE_EVENTS_MAX);
    ck_assert_uint_eq(p->total, 2 * PROFILE_EVENTS_MAX);
    ck_assert_uint_eq(p->warning_count, 1);
    ck_assert_ptr_nonnull(strstr(p->warnings[0], "event="));
    profile_unref(p);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        profile_unref(parts[i]);
}
END_TEST

static int check_listed(void *cookie, const struct store_capture *c)
{
    ck_assert_str_eq(c->event, "cpu,wait");
    ck_assert_uint_eq(c->event_count, 2);
    ck_assert_uint_eq(c->events[CPU].period, CPU_PERIOD);
    ck_assert_str_eq(c->events[WAIT].unit, "bytes");
    ++*(unsigned *)cookie;
    return 0;
}

START_TEST(the_store_keeps_them)
{
    static const struct {
        const char *event;
        unsigned found;
    } FILTERS[] = { { NULL, 1 }, { "cpu", 1 }, { "wait", 1 }, { "cpu,wait", 1 }, { "pu", 0 } };
    uint64_t waited;
    struct profile *p = both_events(300, 10000, &EVENTS, &waited), *got = NULL;
    struct store *s = open_store(0, 0);
    char next[64];

    snprintf(p->id, sizeof(p->id), "aa");
    ck_assert_int_eq(store_put(s, p, NULL, 0, NULL), 0);
    store_close(s);
    s = open_store(0, 0); /* from the file, not from memory */
    ck_assert_int_eq(store_get(s, "aa", &got, NULL), 0);
    ck_assert_uint_eq(got->event_count, 2);
    ck_assert_mem_eq(got->events, p->events, sizeof(p->events));
    check_totals(got, 300, waited);
    for (size_t i = 0; i < ARRAY_SIZE(FILTERS); i++) {
        struct store_query q = { .to_ns = UINT64_MAX, .state = -1, .limit = 7 };
        unsigned found = 0;

        q.event = FILTERS[i].event;
        ck_assert_int_eq(store_list(s, &q, check_listed, &found, next, NULL), 0);
        ck_assert_uint_eq(found, FILTERS[i].found);
    }
    profile_unref(got);
    profile_unref(p);
    store_close(s);
}
END_TEST

START_TEST(knows_its_events)
{
    size_t n;
    const struct event_info *all = events_table(&n);

    ck_assert_uint_ge(n, 1);
    for (size_t i = 0; i < n; i++)
        ck_assert_ptr_eq(events_find(all[i].name), &all[i]);
    ck_assert_ptr_null(events_find("cp"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("events");

    tcase_add_loop_test(tc, each_event_keeps_its_own_sum, 0, 4);
    tcase_add_test(tc, thinning_weighs_by_value);
    tcase_add_test(tc, a_view_shows_one);
    tcase_add_test(tc, merging_matches_events_by_name);
    tcase_add_test(tc, paces_keep_their_sum);
    tcase_add_test(tc, too_many_events_are_left_out);
    tcase_add_test(tc, the_store_keeps_them);
    tcase_add_test(tc, knows_its_events);
    return run_store_tests("events", tc);
}
