/* SPDX-License-Identifier: Apache-2.0 */
/* capture/source/: events sampled side by side keep their data apart. */
#include "capture_rig.h"

#include <unistd.h>

#define PERIOD (10 * NSEC_PER_MSEC)
#define BLOCK 7
#define BLOCK_BYTES 200000 /* more than a period, so each block is a sample */
#define FIRST_PERIOD 65536
#define SECOND_PERIOD 131072

static struct rig rig;

static void setup(void)
{
    rig_open(&rig);
    rig_read_symbols(&rig);
}

static void teardown(void)
{
    rig_close(&rig);
}

/* Starts a capture of @count @events at @periods. Returns its number. */
static uint64_t start(const char *const *events, const uint64_t *periods, size_t count)
{
    struct capture_request req = rig_request(&rig, events[0], periods[0]);
    struct error err = ERROR_NULL;
    int r;

    for (size_t i = 1; i < count; i++) {
        wanted_event_set(&req.events[i], span_of(events[i]));
        req.events[i].period = periods[i];
    }
    req.event_count = count;
    r = rig_start(&rig, &req, &err);
    ck_assert_msg(r == 0, "%d: %s", r, err.msg);
    rig_run(&rig);
    return rig.handle;
}

static void take_block(uint32_t set, uint8_t flags)
{
    struct sample_record rec = rig_sample_of(&rig, set);

    rec.object = BLOCK;
    rec.flags = flags;
    rec.value = flags & SAMPLE_GIVEN_BACK ? 0 : BLOCK_BYTES;
    rig_take(&rig, &rec);
}

/* Ends the capture @handle. Returns the number of samples in its profile. */
static size_t finish(uint64_t handle)
{
    size_t count;

    captures_end(&rig.captures, handle, /* keep= */ true);
    rig_finish(&rig);
    ck_assert_int_eq(rig.end.outcome, 0);
    count = rig.end.profile->sample_count;
    rig_forget_end(&rig);
    return count;
}

/* Blocks of both captures have the same number, since each set counts its own. */
START_TEST(blocks_of_two_captures_are_kept_apart)
{
    const char *const event = "nativelive";
    uint64_t first = start(&event, &(uint64_t){ FIRST_PERIOD }, 1),
             second = start(&event, &(uint64_t){ SECOND_PERIOD }, 1);

    take_block(0, 0);
    take_block(1, 0);
    take_block(0, SAMPLE_GIVEN_BACK);
    usleep(100000); /* the last tenth of a capture is too recent to show a leak */
    ck_assert_uint_eq(finish(first), 0);
    ck_assert_uint_eq(finish(second), 1);
}
END_TEST

/* Two captures that share a set both have the block, and both lose it. */
START_TEST(blocks_of_one_set_are_of_both_captures)
{
    const char *const event = "nativelive";
    uint64_t first = start(&event, &(uint64_t){ FIRST_PERIOD }, 1), second;

    take_block(0, 0);
    second = start(&event, &(uint64_t){ FIRST_PERIOD }, 1);
    usleep(100000);
    ck_assert_uint_eq(finish(second), 0); /* allocated before it began */
    ck_assert_uint_eq(finish(first), 1);
}
END_TEST

static void replace(void)
{
    struct process *p = rig_process(&rig);

    p->exited_ns = clock_monotonic_ns();
    event_sources_replaced(&rig.captures, p);
    p->exited_ns = 0;
}

static struct call_probe *probe_of_block(void)
{
    return (struct call_probe *)probe_table_find(&rig.captures.calls, &rig_process(&rig)->id, 0);
}

static void cut(void)
{
    struct call_probe *one = probe_of_block();

    ck_assert_ptr_nonnull(one);
    one->cut = true;
    one->cut_ns = clock_monotonic_ns();
    one->entry.asked.there = false;
    one->entry.asked.reason.code = -EDQUOT;
    one->entry.asked.again_ns = UINT64_MAX;
    event_sources_swept(&rig.captures);
}

static void change_set(void)
{
    struct capture_event *e = &rig.captures.running->events[0];

    e->source->set_changed(e);
}

/* What happens while the names of a capture are read does not change which blocks were live at its
 * end. */
START_TEST(blocks_end_before_the_end_of_the_capture)
{
    static void (*const HAPPENS[])(void) = { replace, cut, change_set };
    const char *const event = "nativelive";
    bool before = _i % 2;
    struct sample_record late;

    start(&event, &(uint64_t){ FIRST_PERIOD }, 1);
    take_block(0, 0);
    late = rig_sample_of(&rig, 0);
    late.object = BLOCK + 1;
    late.value = BLOCK_BYTES;
    usleep(100000);
    if (before)
        HAPPENS[_i / 2]();
    captures_end(&rig.captures, rig.handle, /* keep= */ true);
    if (!before)
        HAPPENS[_i / 2]();
    if (HAPPENS[_i / 2] == cut)
        rig_take(&rig, &late); /* it was held for symbols */
    rig_finish(&rig);
    ck_assert_uint_eq(rig.end.profile->sample_count, before ? 0 : 1 + (HAPPENS[_i / 2] == cut));
}
END_TEST

START_TEST(each_event_of_waits_has_its_flush)
{
    static const char *const EVENTS[] = { "offcpu", "lock" };
    uint64_t handle = start(EVENTS, (const uint64_t[]){ PERIOD, PERIOD }, 2);

    fake_broker_flush(rig.fake, 7, 1);
    fake_broker_forget(rig.fake);
    ck_assert_uint_eq(finish(handle), 0);
    fake_broker_expect(rig.fake, "sample_flush 0\n"
                                 "sample_flush 1\n"
                                 "sample_lates 0\n"
                                 "sample_lates 1\n"
                                 "take_losses\n"
                                 "sample_stop 0\n"
                                 "sample_stop 1\n"
                                 "filter_process P 0\n");
}
END_TEST

START_TEST(counted_and_valued_events_are_worth_what_they_are)
{
    static const char *const EVENTS[] = { "cpu", "malloc" };
    uint64_t handle = start(EVENTS, (const uint64_t[]){ PERIOD, FIRST_PERIOD }, 2);
    struct sample_record rec;

    rig_sample(&rig, 0, 0);
    rec = rig_sample_of(&rig, 1);
    rec.value = BLOCK_BYTES;
    rig_take(&rig, &rec);
    rec.value = 1; /* a sample stands for at least one period */
    rig_take(&rig, &rec);
    captures_end(&rig.captures, handle, /* keep= */ true);
    rig_finish(&rig);
    ck_assert_uint_ge(rig.end.profile->sample_count, 2);
    for (size_t i = 0; i < rig.end.profile->sample_count; i++) {
        const struct profile_sample *s = &rig.end.profile->samples[i];

        if (s->event == 1)
            ck_assert_uint_ge(s->value, FIRST_PERIOD);
    }
}
END_TEST

/* Captures @count @events of a user who is not root, the first at another rate. */
static void capture_as_user(const char *const *events, size_t count, enum alloc_source source)
{
    struct capture_request req = rig_request(&rig, events[0], PERIOD + 1);
    struct error err = ERROR_NULL;
    int r;

    for (size_t i = 1; i < count; i++) {
        wanted_event_set(&req.events[i], span_of(events[i]));
        req.events[i].period = PERIOD;
    }
    req.event_count = count;
    req.source = source;
    req.caller = (struct caller){ .kind = CALLER_TCP_USER, .uid = 0 };
    r = rig_start(&rig, &req, &err);
    ck_assert_msg(r == 0, "%d: %s", r, err.msg);
    rig_run(&rig);
    captures_end(&rig.captures, rig.handle, /* keep= */ true);
    rig_finish(&rig);
    ck_assert_int_eq(rig.end.outcome, 0);
    ck_assert(!rig_warned(&rig, "other rates are in use"));
}

/* One capture may take all that its events need, at whatever rates: wall is sampled by two sets. */
START_TEST(a_user_may_have_as_many_events_as_a_capture_takes)
{
    static const char *const EVENTS[] = { "cpu", "wall", "lock", "page-faults" };

    ck_assert_uint_eq(ARRAY_SIZE(EVENTS), EVENTS_AT_ONCE_MAX);
    capture_as_user(EVENTS, ARRAY_SIZE(EVENTS), ALLOC_SOURCE_AUTO);
}
END_TEST

/* The probes of virtual threads take a set for each event of waits. */
START_TEST(a_user_may_have_probes_for_all_events)
{
    static const char *const EVENTS[] = { "cpu", "wall", "lock" };

    capture_as_user(EVENTS, ARRAY_SIZE(EVENTS), ALLOC_SOURCE_PROBE);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("sources");
    int skip = rig_missing();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, blocks_of_two_captures_are_kept_apart);
    tcase_add_test(tc, blocks_of_one_set_are_of_both_captures);
    tcase_add_loop_test(tc, blocks_end_before_the_end_of_the_capture, 0, 6);
    tcase_add_test(tc, each_event_of_waits_has_its_flush);
    tcase_add_test(tc, a_user_may_have_as_many_events_as_a_capture_takes);
    tcase_add_test(tc, a_user_may_have_probes_for_all_events);
    tcase_add_test(tc, counted_and_valued_events_are_worth_what_they_are);
    return suite_run_case("sources", tc);
}
