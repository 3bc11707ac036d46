/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that all rows of events.def must keep, and rules for the forms of other names. */
#include "suite.h"

#include "event/events.h"

#include <string.h>

START_TEST(every_kind_has_a_row)
{
    for (uint32_t kind = 0; kind < EVENT_KINDS_ALL; kind++) {
        const struct event_info *info = events_row(kind);

        ck_assert_ptr_nonnull(info);
        ck_assert_uint_eq(info->kind, kind);
        ck_assert_uint_lt(info->program, PROGRAM_COUNT);
        ck_assert(info->name[0] && info->description[0] && info->cost[0]);
    }
    ck_assert_ptr_null(events_row(EVENT_KINDS_ALL));
    ck_assert_ptr_null(events_row(UINT32_MAX));
}
END_TEST

/* Each event counts time or another unit, and its default is valid. */
START_TEST(defaults_are_valid)
{
    for (uint32_t kind = 0; kind < EVENT_KINDS_ALL; kind++) {
        const struct event_info *info = events_row(kind);
        bool timed = strcmp(info->unit, "nanoseconds") == 0;
        uint64_t period = timed ? (uint64_t)(1e9 / info->default_hz) : info->default_period;

        ck_assert_int_eq(event_is_timed(info), timed);
        ck_assert_msg(timed == !info->default_period, "%s", info->name);
        ck_assert_msg(event_period_valid(kind, period), "%s", info->name);
        ck_assert_msg(!event_period_valid(kind, 0), "%s", info->name);
        ck_assert_int_eq(event_period_valid(kind, EVENT_PACED | EVENT_PERIOD_MIN_NS),
                         event_may_be_paced(info) || kind == EVENT_ALLOC);
    }
    ck_assert(!event_period_valid(EVENT_KINDS_ALL, 1));
}
END_TEST

START_TEST(flags_agree)
{
    for (uint32_t kind = 0; kind < EVENT_KINDS_ALL; kind++) {
        const struct event_info *info = events_row(kind);

        if (info->flags & EVENT_CALLS)
            ck_assert_msg(info->flags & EVENT_PROBES, "%s", info->name);
        if (info->flags & EVENT_BLOCKS)
            ck_assert_msg(info->flags & EVENT_CALLS, "%s", info->name);
        if (info->flags & EVENT_OBJECTS)
            ck_assert_msg(info->flags & EVENT_OF_JVM, "%s", info->name);
        if (info->flags & (EVENT_OBJECTS | EVENT_BLOCKS))
            ck_assert_msg(info->flags & EVENT_VALUED, "%s", info->name);
        if (event_has_timer(info))
            ck_assert_msg(event_is_timed(info), "%s", info->name);
        if (info->perf_type == EVENT_PERF_NONE) /* the first program needs one */
            ck_assert_msg(info->program != PROGRAM_CPU, "%s", info->name);
    }
}
END_TEST

/* Rules for all events with a source. */
static const struct {
    enum event_source_kind source;
    uint32_t flags;
    bool timed;
} SOURCES[] = {
    { SOURCE_TIMER, 0, true },
    { SOURCE_PAGES, EVENT_PAGES, false },
    { SOURCE_OFFCPU, EVENT_VALUED, true },
    { SOURCE_LOCK, EVENT_VALUED | EVENT_OF_JVM, true },
    { SOURCE_NATIVELOCK, EVENT_VALUED, true },
    { SOURCE_WALL, EVENT_VALUED | EVENT_RUNS, true },
    { SOURCE_SAFEPOINTS, EVENT_VALUED | EVENT_OF_JVM | EVENT_PROBES, true },
    { SOURCE_HEAP, EVENT_VALUED | EVENT_OF_JVM | EVENT_PROBES, false },
    { SOURCE_OBJECTS, EVENT_VALUED | EVENT_OF_JVM | EVENT_PROBES | EVENT_OBJECTS, false },
    { SOURCE_CALLS, EVENT_PROBES | EVENT_CALLS, false },
    { SOURCE_MALLOCS, EVENT_VALUED | EVENT_PROBES | EVENT_CALLS, false },
    { SOURCE_BLOCKS, EVENT_VALUED | EVENT_PROBES | EVENT_CALLS | EVENT_BLOCKS, false },
};

START_TEST(sources_agree)
{
    for (uint32_t kind = 0; kind < EVENT_KINDS_ALL; kind++) {
        const struct event_info *info = events_row(kind);

        for (size_t i = 0; i < ARRAY_SIZE(SOURCES); i++) {
            if (info->source != SOURCES[i].source)
                continue;
            ck_assert_uint_eq(info->flags & SOURCES[i].flags, SOURCES[i].flags);
            ck_assert_int_eq(event_is_timed(info), SOURCES[i].timed);
        }
        if (info->source == SOURCE_COUNT)
            ck_assert_msg(!(info->flags & EVENT_VALUED) && !event_is_timed(info), "%s", info->name);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("event_table");
    TCase *tc = tcase_create("table");

    tcase_add_test(tc, every_kind_has_a_row);
    tcase_add_test(tc, defaults_are_valid);
    tcase_add_test(tc, flags_agree);
    tcase_add_test(tc, sources_agree);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
