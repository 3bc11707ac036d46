/* SPDX-License-Identifier: Apache-2.0 */
/* capture/: the life of a capture, and its requests to the broker. */
#include "capture_rig.h"

#include <unistd.h>

#define PERIOD (10 * NSEC_PER_MSEC)
#define WAIT_NS (20 * NSEC_PER_MSEC)
#define CALLED "libc.so.6:malloc"

static struct rig rig;

static void setup(void)
{
    rig_open(&rig);
}

static void teardown(void)
{
    rig_close(&rig);
}

static void end(bool keep)
{
    captures_end(&rig.captures, rig.handle, keep);
}

/* ---- a whole life ---- */

START_TEST(samples_of_its_process_are_in_its_profile)
{
    rig_begin(&rig, "cpu", PERIOD);
    fake_broker_expect(rig.fake, "sample_start cpu 10000000\n"
                                 "sample_begun 0\n"
                                 "take_losses\n"
                                 "filter_process P 1\n");
    for (int i = 0; i < 3; i++)
        rig_sample(&rig, 0, 0);
    end(/* keep= */ true);
    fake_broker_expect(rig.fake, "");
    rig_finish(&rig);
    fake_broker_expect(rig.fake, "take_losses\n"
                                 "sample_stop 0\n"
                                 "filter_process P 0\n");
    ck_assert_int_eq(rig.end.outcome, 0);
    ck_assert_uint_eq(rig.end.profile->sample_count, 3);
    ck_assert_uint_eq(rig.end.profile->samples[0].count, 1);
    ck_assert_ptr_null(rig.captures.running);
}
END_TEST

START_TEST(samples_before_and_after_it_are_not)
{
    struct sample_record rec;

    rec = rig_sample_of(&rig, 0);
    rig_begin(&rig, "cpu", PERIOD);
    rig_take(&rig, &rec); /* of another capture, taken before this one began */
    rig_sample(&rig, 1, 0);
    rig_sample(&rig, 0, 0);
    end(/* keep= */ true);
    rig_sample(&rig, 0, 0);
    rig_finish(&rig);
    ck_assert_uint_eq(rig.end.profile->sample_count, 1);
}
END_TEST

/* Its warnings are known while it runs. */
START_TEST(a_running_capture_shows_its_warnings)
{
    json_t *facts, *list;

    rig_begin(&rig, "cpu", PERIOD);
    record_warn(rig.captures.running->record, "names come from a perf map");
    facts = running_json(rig.captures.running);
    list = json_object_get(facts, "warnings");
    ck_assert_str_eq(json_string_value(json_array_get(list, json_array_size(list) - 1)),
                     "names come from a perf map");
    json_decref(facts);
    end(/* keep= */ false);
    rig_finish(&rig);
}
END_TEST

/* A view of a running capture has the losses so far, or those since the last reset. */
START_TEST(a_view_has_the_losses_of_its_window)
{
    const uint64_t lost[] = { 5, 5, 7 };
    const bool reset[] = { false, true, false };

    rig_begin(&rig, "cpu", PERIOD);
    rig.captures.running->lost.unread = 4;
    rig.captures.running->lost.unplaced = 1;
    for (size_t i = 0; i < ARRAY_SIZE(lost); i++) {
        struct profile *view = NULL;

        ck_assert_int_eq(
            captures_snapshot(&rig.captures, rig.captures.running, reset[i], &view, NULL), 0);
        ck_assert_uint_eq(view->lost, lost[i]);
        profile_unref(view);
        if (reset[i])
            rig.captures.running->lost.costly += 7;
    }
    end(/* keep= */ true);
    rig_finish(&rig);
    ck_assert_uint_eq(rig.end.profile->lost, 7);
}
END_TEST

START_TEST(a_cancelled_one_has_no_profile)
{
    rig_begin(&rig, "cpu", PERIOD);
    rig_sample(&rig, 0, 0);
    fake_broker_forget(rig.fake);
    end(/* keep= */ false);
    ck_assert(rig.end.done);
    ck_assert_int_eq(rig.end.outcome, -ECANCELED);
    ck_assert_ptr_null(rig.end.profile);
    fake_broker_expect(rig.fake, "sample_stop 0\n"
                                 "filter_process P 0\n");
}
END_TEST

START_TEST(one_that_lasts_ends_by_itself)
{
    struct capture_request req = rig_request(&rig, "cpu", PERIOD);

    req.duration_ns = 30 * NSEC_PER_MSEC;
    ck_assert_int_eq(rig_start(&rig, &req, NULL), 0);
    rig_tick(&rig);
    ck_assert(!rig.end.done);
    rig_finish(&rig);
    ck_assert_int_eq(rig.end.outcome, 0);
    ck_assert_uint_eq(rig.end.profile->end_ns - rig.end.profile->start_ns, req.duration_ns);
    ck_assert(rig_warned(&rig, "no samples"));
}
END_TEST

/* ---- names of threads ---- */

/* Takes a sample of the process's first thread, named @name. Returns the thread in the record. */
static uint32_t sample_named(const char *name)
{
    struct sample_record rec = rig_sample_of(&rig, 0);
    struct incoming in = { .naming = &rig.dispatch.naming,
                           .rec = &rec,
                           .thread_name =
                               frame_table_clean(rig.captures.frames, span_of(name), TEXT_UTF8) };
    struct seen_run *run;
    uint32_t thread;

    ck_assert_int_eq(capture_thread(rig.captures.running, 0, &in, &thread, &run), 0);
    return thread;
}

/* Moves the capture to a new table, in which the first name is another's. */
static void renew_names(void)
{
    struct frame_table *fresh, *old = rig.captures.frames;
    struct rebase *b;

    ck_assert_int_eq(frame_table_new(100000, (size_t)16 << 20, &fresh), 0);
    for (char name[] = "later-00"; name[6] <= '9'; name[6]++)
        frame_table_clean(fresh, span_of(name), TEXT_UTF8);
    ck_assert_int_eq(rebase_new(old, fresh, &b), 0);
    ck_assert_int_eq(captures_rebase_add(&rig.captures, b), 0);
    captures_rebase(&rig.captures, b, fresh);
    rebase_free(b);
    symbolizer_use_table(rig.captures.symbolizer, fresh);
    rig.dispatch.naming.frames = fresh;
    frame_table_free(old);
}

START_TEST(a_name_outlives_its_table)
{
    uint32_t first;

    rig_begin(&rig, "cpu", PERIOD);
    rig_sample(&rig, 0, 0);
    first = sample_named("worker-1");
    renew_names();
    ck_assert_uint_eq(sample_named("worker-1"), first);
    ck_assert_uint_eq(rig.captures.running->members.renamed, 0);
    ck_assert_uint_ne(sample_named("worker-2"), first);
    ck_assert_uint_eq(rig.captures.running->members.renamed, 1);
    end(/* keep= */ true);
    rig_finish(&rig);
    ck_assert(rig_warned(&rig, "1 thread was renamed"));
}
END_TEST

/* ---- sets of samples ---- */

START_TEST(two_of_one_rate_share_a_set)
{
    uint64_t first;

    rig_begin(&rig, "cpu", PERIOD);
    first = rig.handle;
    fake_broker_forget(rig.fake);
    rig_begin(&rig, "cpu", PERIOD);
    fake_broker_expect(rig.fake, "take_losses\n");
    end(/* keep= */ false);
    rig_forget_end(&rig);
    fake_broker_expect(rig.fake, "");
    captures_end(&rig.captures, first, /* keep= */ false);
    fake_broker_expect(rig.fake, "sample_stop 0\n"
                                 "filter_process P 0\n");
}
END_TEST

START_TEST(the_ninth_rate_makes_another_faster)
{
    for (uint64_t i = 0; i < BROKER_SETS_MAX; i++)
        rig_begin(&rig, "cpu", PERIOD + i);
    fake_broker_forget(rig.fake);
    rig_begin(&rig, "cpu", PERIOD - 1);
    fake_broker_expect(rig.fake, "sample_stop 7\n"
                                 "sample_start cpu 9999999\n"
                                 "sample_begun 7\n"
                                 "take_losses\n"
                                 "filter_process P 255\n");
    rig_begin(&rig, "cpu", PERIOD + 100); /* takes every n-th sample of the next faster set */
    fake_broker_expect(rig.fake, "take_losses\n");
    end(/* keep= */ true);
    rig_finish(&rig);
    ck_assert(rig_warned(&rig, "other rates are in use"));
}
END_TEST

START_TEST(a_set_that_is_made_faster_has_a_gap)
{
    uint64_t slowest;

    for (uint64_t i = 0; i < BROKER_SETS_MAX; i++)
        rig_begin(&rig, "cpu", PERIOD + i);
    slowest = rig.handle;
    rig_begin(&rig, "cpu", PERIOD - 1);
    rig_tick(&rig);
    captures_end(&rig.captures, slowest, /* keep= */ true);
    rig_finish(&rig);
    ck_assert(rig_warned(&rig, "cpu has a gap of "));
    ck_assert_uint_eq(rig.captures.counts.events_late, 0);
    ck_assert_uint_eq(rig.captures.counts.events_left_out, 0);
}
END_TEST

/* The kernel refuses the faster set, and then the slower one, too: its capture takes a new one. */
START_TEST(a_set_that_cannot_be_restored_is_taken_again)
{
    struct capture_request req;
    uint64_t slowest;

    for (uint64_t i = 0; i < BROKER_SETS_MAX; i++)
        rig_begin(&rig, "cpu", PERIOD + i);
    slowest = rig.handle;
    fake_broker_forget(rig.fake);
    fake_broker_answer(rig.fake, BROKER_SAMPLE_START, -EMFILE, 2);
    req = rig_request(&rig, "cpu", PERIOD - 1);
    ck_assert_int_eq(rig_start(&rig, &req, NULL), -EMFILE);
    rig_forget_end(&rig);
    fake_broker_expect(rig.fake, "sample_stop 7\n"
                                 "sample_start cpu 9999999\n"
                                 "sample_start cpu 10000007\n");
    rig_tick(&rig);
    fake_broker_expect(rig.fake, "sample_start cpu 10000007\n"
                                 "sample_begun 7\n"
                                 "filter_process P 255\n");
    captures_end(&rig.captures, slowest, /* keep= */ true);
    rig_finish(&rig);
    ck_assert(rig_warned(&rig, "cpu has a gap of "));
}
END_TEST

START_TEST(wall_has_a_set_for_each_of_its_parts)
{
    rig_begin(&rig, "wall", PERIOD);
    fake_broker_expect(rig.fake, "sample_start offcpu 10000000\n"
                                 "sample_begun 0\n"
                                 "sample_start cpu 10000000\n"
                                 "sample_begun 1\n"
                                 "take_losses\n"
                                 "filter_process P 3\n");
}
END_TEST

/* ---- the end of waits ---- */

START_TEST(waits_are_flushed_at_the_end)
{
    struct sample_record rec;

    fake_broker_flush(rig.fake, 7, 0); /* no stack is pending */
    rig_begin(&rig, "offcpu", PERIOD);
    fake_broker_forget(rig.fake);
    usleep(WAIT_NS / 1000);
    rig_sample(&rig, 0, WAIT_NS / 2);
    end(/* keep= */ true);
    rig_tick(&rig);
    fake_broker_expect(rig.fake, "sample_flush 0\n");
    rec = rig_sample_of(&rig, 0);
    rec.wait_ns = rec.value = 10 * NSEC_PER_SEC; /* since before the capture began */
    rec.flush = 6;                               /* of another capture's flush */
    rig_take(&rig, &rec);
    rec.flush = 7;
    rig_take(&rig, &rec);
    rig_finish(&rig);
    fake_broker_expect(rig.fake, "take_losses\n"
                                 "sample_stop 0\n"
                                 "filter_process P 0\n");
    ck_assert_uint_eq(rig.end.profile->sample_count, 2);
    ck_assert_uint_le(rig.end.profile->samples[1].time_ns, rig.end.profile->end_ns);
}
END_TEST

/* Two passes over virtual threads were far apart: samples stand for only a part of the time. */
START_TEST(waits_that_no_look_covers_are_said)
{
    struct virtual_wish wish = { .sets = 1 }, other = { .sets = 2 };
    struct virtual_missed before = { .to_ns = clock_monotonic_ns(), .threads = 1000 };
    struct virtual_missed missed = { .threads = 3, .lockers = 1 };
    struct process *p = rig_process(&rig);

    rig_begin(&rig, "offcpu", PERIOD);
    waits_miss_virtual(&rig.captures, &wish, p, &before);
    missed.from_ns = clock_monotonic_ns();
    missed.to_ns = missed.from_ns + 1500 * NSEC_PER_MSEC;
    waits_miss_virtual(&rig.captures, &wish, p, &missed);
    waits_miss_virtual(&rig.captures, &other, p, &missed);
    end(/* keep= */ true);
    rig_finish(&rig);
    ck_assert(rig_warned(&rig, "4.5 s of waits of virtual threads are missing in offcpu"));
}
END_TEST

START_TEST(waits_that_are_late_are_waited_for)
{
    uint64_t ended_ns;

    fake_broker_flush(rig.fake, 7, 3);
    rig_begin(&rig, "offcpu", PERIOD);
    fake_broker_forget(rig.fake);
    end(/* keep= */ true);
    ended_ns = clock_monotonic_ns();
    rig_finish(&rig);
    ck_assert_uint_ge(clock_monotonic_ns() - ended_ns, 50 * NSEC_PER_MSEC);
    fake_broker_expect(rig.fake, "sample_flush 0\n"
                                 "sample_lates 0\n"
                                 "take_losses\n"
                                 "sample_stop 0\n"
                                 "filter_process P 0\n");
}
END_TEST

/* ---- what takes the kernel time ---- */

START_TEST(it_waits_for_the_program_of_its_event)
{
    fake_broker_answer(rig.fake, BROKER_SAMPLE_START, -EINPROGRESS, 2);
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1);
    rig_begin(&rig, "cpu", PERIOD);
    fake_broker_expect(rig.fake, "sample_start cpu 10000000\n");
    rig_sample(&rig, 0, 0); /* before it runs: for another capture */
    rig_run(&rig);
    fake_broker_expect(rig.fake, "sample_start cpu 10000000\n"
                                 "sample_start cpu 10000000\n"
                                 "sample_begun 0\n"
                                 "sample_begun 0\n"
                                 "take_losses\n"
                                 "filter_process P 1\n");
    rig_sample(&rig, 0, 0);
    end(/* keep= */ true);
    rig_finish(&rig);
    ck_assert_uint_eq(rig.end.profile->sample_count, 1);
}
END_TEST

START_TEST(it_waits_for_its_probes)
{
    rig_read_symbols(&rig);
    fake_broker_answer(rig.fake, BROKER_PROBE_PUT, -EINPROGRESS, 1);
    fake_broker_answer(rig.fake, BROKER_PROBES_BEGUN, -EINPROGRESS, 2);
    rig_begin(&rig, CALLED, 1);
    rig_run(&rig);
    fake_broker_expect(rig.fake, "sample_start " CALLED " 1\n"
                                 "sample_begun 0\n"
                                 "probe_put P call 0\n"
                                 "probes_begun P\n"
                                 "probes_begun P\n"
                                 "probes_begun P\n"
                                 "probe_put P call 0\n"
                                 "take_losses\n"
                                 "filter_process P 1\n");
}
END_TEST

/* Another capture begins and ends during the wait, which reconciles all probes. */
START_TEST(its_probes_stay_while_it_waits)
{
    uint64_t first;

    rig_read_symbols(&rig);
    fake_broker_answer(rig.fake, BROKER_PROBE_PUT, -EINPROGRESS, 1);
    fake_broker_answer(rig.fake, BROKER_PROBES_BEGUN, -EINPROGRESS, 1000);
    rig_begin(&rig, CALLED, 1);
    first = rig.handle;
    fake_broker_forget(rig.fake);
    rig_begin(&rig, "cpu", PERIOD);
    end(/* keep= */ false);
    rig_forget_end(&rig);
    fake_broker_expect(rig.fake, "sample_start cpu 10000000\n"
                                 "sample_begun 1\n"
                                 "take_losses\n"
                                 "filter_process P 2\n"
                                 "sample_stop 1\n"
                                 "filter_process P 0\n");
    captures_end(&rig.captures, first, /* keep= */ false);
    fake_broker_expect(rig.fake, "sample_stop 0\n"
                                 "probe_drop P call 0\n");
}
END_TEST

START_TEST(what_is_refused_late_fails_it)
{
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1);
    rig_begin(&rig, "cpu", PERIOD);
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EPERM, 1);
    rig_run(&rig);
    ck_assert(rig.end.done);
    ck_assert_int_eq(rig.end.outcome, -EPERM);
    ck_assert_str_eq(rig.end.err.msg, "the broker says -1");
    ck_assert_ptr_null(rig.captures.running);
    ck_assert_uint_eq(sample_sets_used(&rig.captures.sets), 0);
}
END_TEST

START_TEST(it_waits_no_longer_than_20_s)
{
    struct capture *c;

    fake_broker_answer(rig.fake, BROKER_SAMPLE_START, -EINPROGRESS, 1000);
    rig_begin(&rig, "cpu", PERIOD);
    c = rig.captures.running;
    captures_poll(&rig.captures, c->asked_ns + 19 * NSEC_PER_SEC);
    ck_assert(!rig.end.done);
    ck_assert_uint_eq(captures_next_deadline(&rig.captures), c->due_ns);
    captures_poll(&rig.captures, c->asked_ns + 20 * NSEC_PER_SEC);
    ck_assert_int_eq(rig.end.outcome, BACKEND_UNAVAILABLE);
    ck_assert_int_eq(rig.end.err.code, -EINPROGRESS);
    ck_assert_uint_eq(rig.end.err.retry_s, 1);
}
END_TEST

START_TEST(one_that_is_ended_while_it_waits_has_no_profile)
{
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1000);
    rig_begin(&rig, "cpu", PERIOD);
    end(/* keep= */ true);
    ck_assert_int_eq(rig.end.outcome, BACKEND_UNAVAILABLE);
    ck_assert_str_eq(rig.end.err.msg, "the capture was ended before it could begin");
}
END_TEST

/* ---- the filter ---- */

START_TEST(one_of_the_node_lets_every_process_pass)
{
    struct capture_request req = rig_request(&rig, "cpu", PERIOD);

    req.target.pid_count = 0;
    ck_assert_int_eq(rig_start(&rig, &req, NULL), 0);
    fake_broker_expect(rig.fake, "sample_start cpu 10000000\n"
                                 "sample_begun 0\n"
                                 "take_losses\n"
                                 "filter_all 1\n");
    rig_sample(&rig, 0, 0);
    captures_reconcile(&rig.captures, clock_monotonic_ns());
    fake_broker_expect(rig.fake, ""); /* the filter is unchanged */
    end(/* keep= */ true);
    rig_finish(&rig);
    fake_broker_expect(rig.fake, "take_losses\n"
                                 "sample_stop 0\n"
                                 "filter_all 0\n");
    ck_assert_uint_eq(rig.end.profile->sample_count, 1);
}
END_TEST

START_TEST(the_filter_has_the_sets_of_all_captures)
{
    uint64_t first;

    rig_begin(&rig, "cpu", PERIOD);
    first = rig.handle;
    rig_begin(&rig, "offcpu", PERIOD);
    fake_broker_forget(rig.fake);
    captures_reconcile(&rig.captures, clock_monotonic_ns());
    fake_broker_expect(rig.fake, "");
    captures_end(&rig.captures, first, /* keep= */ false);
    fake_broker_expect(rig.fake, "sample_stop 0\n"
                                 "filter_process P 2\n");
}
END_TEST

/* ---- what cannot be ---- */

START_TEST(a_refused_event_leaves_nothing)
{
    struct capture_request req = rig_request(&rig, "cpu", PERIOD);
    struct error err = ERROR_NULL;

    fake_broker_answer(rig.fake, BROKER_SAMPLE_START, -EOPNOTSUPP, 1);
    ck_assert_int_eq(rig_start(&rig, &req, &err), BACKEND_UNAVAILABLE);
    ck_assert_str_eq(err.msg, "the broker says -95");
    fake_broker_expect(rig.fake, "sample_start cpu 10000000\n");
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EPERM, 1);
    ck_assert_int_eq(rig_start(&rig, &req, &err), -EPERM);
    fake_broker_expect(rig.fake, "sample_start cpu 10000000\n"
                                 "sample_begun 0\n"
                                 "sample_stop 0\n");
    ck_assert_ptr_null(rig.captures.running);
    ck_assert_uint_eq(sample_sets_used(&rig.captures.sets), 0);
    ck_assert(!rig.end.done);
}
END_TEST

START_TEST(a_process_that_is_not_there_is_said)
{
    struct capture_request req = rig_request(&rig, "cpu", PERIOD);
    struct error err = ERROR_NULL;

    req.target.pids[0] = 4194303;
    ck_assert_int_eq(rig_start(&rig, &req, &err), BACKEND_NOT_FOUND);
    fake_broker_expect(rig.fake, "");
}
END_TEST

START_TEST(all_fail_when_the_broker_is_lost)
{
    struct error err = ERROR_NULL;

    rig_begin(&rig, "cpu", PERIOD);
    error_set(&err, -EPIPE, "it has ended");
    captures_fail_all(&rig.captures, BACKEND_UNAVAILABLE, &err);
    ck_assert_int_eq(rig.end.outcome, BACKEND_UNAVAILABLE);
    ck_assert_str_eq(rig.end.err.msg, "it has ended");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("capture_life");
    int skip = rig_missing();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, samples_of_its_process_are_in_its_profile);
    tcase_add_test(tc, samples_before_and_after_it_are_not);
    tcase_add_test(tc, a_running_capture_shows_its_warnings);
    tcase_add_test(tc, a_view_has_the_losses_of_its_window);
    tcase_add_test(tc, a_cancelled_one_has_no_profile);
    tcase_add_test(tc, one_that_lasts_ends_by_itself);
    tcase_add_test(tc, a_name_outlives_its_table);
    tcase_add_test(tc, two_of_one_rate_share_a_set);
    tcase_add_test(tc, the_ninth_rate_makes_another_faster);
    tcase_add_test(tc, a_set_that_is_made_faster_has_a_gap);
    tcase_add_test(tc, a_set_that_cannot_be_restored_is_taken_again);
    tcase_add_test(tc, wall_has_a_set_for_each_of_its_parts);
    tcase_add_test(tc, waits_are_flushed_at_the_end);
    tcase_add_test(tc, waits_that_no_look_covers_are_said);
    tcase_add_test(tc, waits_that_are_late_are_waited_for);
    tcase_add_test(tc, it_waits_for_the_program_of_its_event);
    tcase_add_test(tc, it_waits_for_its_probes);
    tcase_add_test(tc, its_probes_stay_while_it_waits);
    tcase_add_test(tc, what_is_refused_late_fails_it);
    tcase_add_test(tc, it_waits_no_longer_than_20_s);
    tcase_add_test(tc, one_that_is_ended_while_it_waits_has_no_profile);
    tcase_add_test(tc, one_of_the_node_lets_every_process_pass);
    tcase_add_test(tc, the_filter_has_the_sets_of_all_captures);
    tcase_add_test(tc, a_refused_event_leaves_nothing);
    tcase_add_test(tc, a_process_that_is_not_there_is_said);
    tcase_add_test(tc, all_fail_when_the_broker_is_lost);
    return suite_run_case("capture_life", tc);
}
