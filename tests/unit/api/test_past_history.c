/* SPDX-License-Identifier: Apache-2.0 */
/* past_history(): a profile of the history is the answer as it is, or is merged with others. Both
 * ways give the same answer. */
#include "api/api_impl.h"
#include "api/past_impl.h"
#include "history_fixture.h"

static struct history *history;
static struct api api;
static unsigned mergers;

int __real_merger_new(const struct profile_slice *slice, const struct profile *meta,
                      struct merger **ret);
int __wrap_merger_new(const struct profile_slice *slice, const struct profile *meta,
                      struct merger **ret);

int __wrap_merger_new(const struct profile_slice *slice, const struct profile *meta,
                      struct merger **ret)
{
    mergers++;
    return __real_merger_new(slice, meta, ret);
}

static struct profile *ask(const struct target_selector *t, const char *events)
{
    struct past_filter filter = { .t = t, .events = events };
    struct history_reach reach;
    struct profile *p = NULL;

    mergers = 0;
    ck_assert_int_eq(past_history(&api, &filter, T0, T0 + 4 * HISTORY_MINUTE_NS, &reach, &p, NULL),
                     0);
    return p;
}

static void begin(void)
{
    static const struct made_jvm JVMS[] = { { 10, 1000, "shop", "sell", 40, NULL },
                                            { 11, 1000, "cart", "add", 20, "GET /cart" },
                                            { 12, 1001, "shop", "sell", 60, NULL } };

    history = open_history(1 << 30, 864000);
    api = (struct api){ .engine = { .history = history } };
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_int_eq(put_minute(history, T0 + i * HISTORY_MINUTE_NS, JVMS, ARRAY_SIZE(JVMS)),
                         0);
}

/* Returns the sum of the counts, or of the values, of event @name. */
static uint64_t sum_of(const struct profile *p, const char *name, bool values)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < p->sample_count; i++) {
        const struct profile_sample *s = &p->samples[i];

        if (strcmp(p->events[s->event].name, name) == 0)
            sum += values ? s->value : s->count;
    }
    return sum;
}

static const char *const EVENTS[] = { "cpu", "offcpu" };

START_TEST(one_event_is_not_merged)
{
    struct target_selector whole = { .viewer = &VIEWER_WHOLE };
    const char *event = EVENTS[_i];
    struct profile *alone, *merged;

    begin();
    alone = ask(&whole, event);
    ck_assert_uint_eq(mergers, 0);
    merged = ask(&whole, "cpu,offcpu");
    ck_assert_uint_gt(mergers, 0);
    ck_assert_ptr_nonnull(alone);
    ck_assert_uint_eq(alone->event_count, 1);
    ck_assert_str_eq(alone->events[0].name, event);
    ck_assert_uint_gt(sum_of(alone, event, false), 0);
    ck_assert_uint_eq(sum_of(alone, event, false), sum_of(merged, event, false));
    ck_assert_uint_eq(sum_of(alone, event, true), sum_of(merged, event, true));
    ck_assert_str_eq(alone->target, merged->target);
    ck_assert_str_eq(alone->symbols, "memory: named when they were sampled, merged since");
    ck_assert_uint_eq(alone->start_realtime_ns, merged->start_realtime_ns);
    ck_assert_uint_eq(alone->end_ns - alone->start_ns, merged->end_ns - merged->start_ns);
    ck_assert_int_eq(alone->by_process, merged->by_process);
    ck_assert_uint_eq(alone->process_count, 3);
    ck_assert_uint_eq(alone->warning_count, merged->warning_count);
    for (size_t i = 0; i < alone->sample_count; i++)
        ck_assert_uint_eq(alone->samples[i].time_ns / HISTORY_MINUTE_NS * HISTORY_MINUTE_NS,
                          alone->samples[i].time_ns);
    profile_unref(alone);
    profile_unref(merged);
    history_close(history);
}
END_TEST

/* The event wall is made of two others. */
START_TEST(an_event_of_two_is_merged)
{
    struct target_selector whole = { .viewer = &VIEWER_WHOLE };
    struct profile *p;

    begin();
    p = ask(&whole, "wall");
    ck_assert_uint_eq(mergers, 1);
    ck_assert_str_eq(p->events[0].name, "wall");
    profile_unref(p);
    history_close(history);
}
END_TEST

START_TEST(what_has_no_samples_is_no_answer)
{
    struct target_selector none = { .viewer = &VIEWER_WHOLE, .pids = { 99 }, .pid_count = 1 };

    begin();
    ck_assert_ptr_null(ask(&none, "cpu"));
    history_close(history);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("past_history");

    tcase_add_loop_test(tc, one_event_is_not_merged, 0, ARRAY_SIZE(EVENTS));
    tcase_add_test(tc, an_event_of_two_is_merged);
    tcase_add_test(tc, what_has_no_samples_is_no_answer);
    tcase_set_timeout(tc, 60);
    return run_store_tests("past_history", tc);
}
