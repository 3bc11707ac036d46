/* SPDX-License-Identifier: Apache-2.0 */
/* capture/states.c: each change of a capture's state. */
#include "capture_rig.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define PERIOD (10 * NSEC_PER_MSEC)
#define MALLOC_PERIOD (UINT64_C(512) << 10)

static struct rig rig;

static void setup(void)
{
    rig_open(&rig);
}

static void setup_unread(void)
{
    rig_open_unread(&rig);
}

static void teardown(void)
{
    rig_close(&rig);
}

static void end(void)
{
    captures_end(&rig.captures, rig.handle, /* keep= */ true);
}

static void expect_state(enum capture_state state)
{
    ck_assert_ptr_nonnull(rig.captures.running);
    ck_assert_int_eq((int)rig.captures.running->state, (int)state);
}

/* Ends the process of the rig. Another takes its place, so that rig_close() has one to end. */
static void end_process(void)
{
    struct proc_id id = rig_process(&rig)->id;
    uint64_t until_ns = clock_monotonic_ns() + 20 * NSEC_PER_SEC;

    kill(rig.pid, SIGKILL);
    ck_assert_int_eq(waitpid(rig.pid, NULL, 0), rig.pid);
    rig.pid = fork();
    if (rig.pid == 0) {
        close_range(0, ~0U, 0); /* fake_broker_stop() waits until all have closed its socket */
        pause();
        _exit(0);
    }
    while (discover_known(rig.captures.discover, &id) && clock_monotonic_ns() < until_ns) {
        rig_tick(&rig);
        usleep(1000);
    }
    captures_reconcile(&rig.captures, clock_monotonic_ns());
}

/* ---- one after the other ---- */

START_TEST(preparing_until_its_sets_sample)
{
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1);
    rig_begin(&rig, "cpu", PERIOD);
    expect_state(CAPTURE_PREPARING);
    ck_assert_uint_lt(captures_next_deadline(&rig.captures), UINT64_MAX);
    captures_finish_due(&rig.captures, clock_monotonic_ns() + NSEC_PER_SEC);
    expect_state(CAPTURE_PREPARING);
    captures_poll(&rig.captures, clock_monotonic_ns());
    expect_state(CAPTURE_RUNNING);
}
END_TEST

START_TEST(preparing_until_tables_are_read)
{
    rig_begin(&rig, "cpu", PERIOD);
    expect_state(CAPTURE_PREPARING);
    rig_run(&rig);
    expect_state(CAPTURE_RUNNING);
    end();
    rig_finish(&rig);
    ck_assert(!rig_warned(&rig, "tables for unwinding"));
}
END_TEST

START_TEST(tables_that_take_long_are_not_waited_for)
{
    rig_begin(&rig, "cpu", PERIOD);
    captures_poll(&rig.captures, rig.captures.running->asked_ns);
    expect_state(CAPTURE_PREPARING);
    rig.captures.running->asked_ns -= 3 * NSEC_PER_SEC;
    captures_poll(&rig.captures, clock_monotonic_ns() + NSEC_PER_SEC);
    expect_state(CAPTURE_RUNNING);
    end();
    rig_finish(&rig);
    ck_assert(rig_warned(&rig, "tables for unwinding were still being read"));
}
END_TEST

START_TEST(running_until_its_end)
{
    rig_begin(&rig, "cpu", PERIOD);
    expect_state(CAPTURE_RUNNING);
    ck_assert_uint_eq(captures_next_deadline(&rig.captures), UINT64_MAX);
    rig_tick(&rig);
    expect_state(CAPTURE_RUNNING);
    end();
    ck_assert_uint_le(captures_next_deadline(&rig.captures), clock_monotonic_ns());
    rig_tick(&rig); /* no event needs time */
    ck_assert(rig.end.done);
    ck_assert_ptr_null(rig.captures.running);
    ck_assert_uint_eq(rig.captures.capture_count, 0);
}
END_TEST

START_TEST(running_after_the_end_of_its_process)
{
    rig_begin(&rig, "cpu", PERIOD);
    rig_run(&rig);
    rig_sample(&rig, 0, 0);
    end_process();
    expect_state(CAPTURE_RUNNING);
    discover_poll(rig.captures.discover, clock_monotonic_ns() + 3 * NSEC_PER_SEC); /* forgets it */
    end();
    rig_finish(&rig);
    ck_assert_uint_eq(rig.end.profile->sample_count, 1);
    ck_assert(rig_warned(&rig, "so the rest has no samples of it"));
}
END_TEST

/* Other threads run on, and a later sample shows that. */
START_TEST(running_after_the_end_of_a_first_thread)
{
    struct process *p;

    rig_begin(&rig, "cpu", PERIOD);
    rig_run(&rig);
    rig_sample(&rig, 0, 0);
    p = rig_process(&rig);
    p->exited = true;
    p->exited_ns = clock_monotonic_ns();
    captures_reconcile(&rig.captures, p->exited_ns);
    p->exited = false;
    p->exited_ns = 0;
    rig_sample(&rig, 0, 0);
    end();
    rig_finish(&rig);
    ck_assert_uint_eq(rig.end.profile->sample_count, 2);
    ck_assert(!rig_warned(&rig, "so the rest has no samples of it"));
}
END_TEST

START_TEST(settling_until_the_flush_is_read)
{
    fake_broker_flush(rig.fake, 7, 0);
    rig_begin(&rig, "offcpu", PERIOD);
    end();
    rig_tick(&rig);
    expect_state(CAPTURE_SETTLING);
    captures_finish_due(&rig.captures, rig.captures.running->due_ns - 1); /* still sampling */
    expect_state(CAPTURE_SETTLING);
    rig_tick(&rig);
    ck_assert(rig.end.done);
}
END_TEST

START_TEST(flushing_while_stacks_are_pending)
{
    fake_broker_flush(rig.fake, 7, 1);
    rig_begin(&rig, "offcpu", PERIOD);
    end();
    rig_tick(&rig);
    expect_state(CAPTURE_FLUSHING);
    ck_assert_uint_gt(captures_next_deadline(&rig.captures), clock_monotonic_ns());
    fake_broker_forget(rig.fake);
    captures_finish_due(&rig.captures, rig.captures.running->due_ns - 1);
    expect_state(CAPTURE_FLUSHING);
    fake_broker_expect(rig.fake, "");
    captures_finish_due(&rig.captures, rig.captures.running->due_ns);
    expect_state(CAPTURE_SETTLING);
    fake_broker_expect(rig.fake, "sample_lates 0\n");
    rig_tick(&rig);
    ck_assert(rig.end.done);
}
END_TEST

START_TEST(naming_while_symbols_are_read)
{
    struct sample_record rec;
    struct process *p;

    rig_begin(&rig, "cpu", PERIOD);
    p = discover_find(rig.captures.discover, rig.pid);
    rec = rig_sample_of(&rig, 0);
    ck_assert(pending_add(&rig.dispatch.pending, p, &rec, (const uint64_t[]){ 0 }, SPAN_NULL,
                          rec.time_ns));
    end();
    captures_finish_due(&rig.captures, clock_monotonic_ns());
    expect_state(CAPTURE_NAMING);
    ck_assert_uint_eq(captures_next_deadline(&rig.captures), UINT64_MAX); /* readings wake it */
    rig_finish(&rig); /* the wait for symbols has a limit */
    ck_assert_uint_eq(rig.end.profile->sample_count, 1);
}
END_TEST

/* ---- events that take long ---- */

/* Starts a capture of offcpu, which is not ready, and of cpu, which is. @duration_ns: as in a
 * request. */
static void start_two(uint64_t duration_ns)
{
    struct capture_request req = rig_request(&rig, "offcpu", PERIOD);

    wanted_event_set(&req.events[1], span_of("cpu"));
    req.events[1].period = PERIOD;
    req.event_count = 2;
    req.duration_ns = duration_ns;
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1);
    ck_assert_int_eq(rig_start(&rig, &req, NULL), 0);
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1000);
}

/* Polls the capture @ns after the request. */
static void poll_after(uint64_t ns)
{
    captures_poll(&rig.captures, rig.captures.running->asked_ns + ns);
}

static void begin_with_cpu(void)
{
    start_two(/* duration_ns= */ 0);
    poll_after(2900 * NSEC_PER_MSEC);
    expect_state(CAPTURE_PREPARING);
    ck_assert_uint_eq(rig.begun, 0);
    poll_after(3 * NSEC_PER_SEC);
    expect_state(CAPTURE_RUNNING);
    ck_assert_uint_eq(rig.begun, 1);
    ck_assert_uint_lt(captures_next_deadline(&rig.captures), UINT64_MAX);
    rig_sample(&rig, 1, 0);
}

START_TEST(an_event_may_begin_after_the_others)
{
    begin_with_cpu();
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, 0, 0);
    poll_after(4 * NSEC_PER_SEC);
    ck_assert_uint_eq(captures_next_deadline(&rig.captures), UINT64_MAX);
    rig_sample(&rig, 0, NSEC_PER_MSEC);
    end();
    rig_finish(&rig);
    ck_assert_uint_eq(rig.end.profile->sample_count, 2);
    ck_assert(rig_warned(&rig, "offcpu begins "));
    ck_assert(!rig_warned(&rig, "is not in this profile"));
    ck_assert_uint_eq(rig.captures.counts.events_late, 1);
    ck_assert_uint_eq(rig.captures.counts.events_left_out, 0);
}
END_TEST

START_TEST(an_event_may_be_left_out)
{
    begin_with_cpu();
    fake_broker_forget(rig.fake);
    end();
    rig_finish(&rig);
    fake_broker_expect(rig.fake, "take_losses\n" /* without a flush of waits */
                                 "sample_stop 0\n"
                                 "sample_stop 1\n"
                                 "filter_process P 0\n");
    ck_assert_uint_eq(rig.end.profile->sample_count, 1);
    ck_assert(rig_warned(&rig, "offcpu is not in this profile: its programs and probes"));
    ck_assert_uint_eq(rig.captures.counts.events_left_out, 1);
}
END_TEST

START_TEST(a_left_out_event_is_no_event_without_samples)
{
    start_two(/* duration_ns= */ 0);
    poll_after(3 * NSEC_PER_SEC);
    end();
    rig_finish(&rig);
    ck_assert(rig_warned(&rig, "the target used no CPU time"));
    ck_assert(!rig_warned(&rig, "no thread of the target waited"));
}
END_TEST

START_TEST(an_event_may_be_refused_while_others_are_sampled)
{
    begin_with_cpu();
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EPERM, 1);
    poll_after(4 * NSEC_PER_SEC);
    expect_state(CAPTURE_RUNNING);
    ck_assert_uint_eq(captures_next_deadline(&rig.captures), UINT64_MAX);
    end();
    rig_finish(&rig);
    ck_assert_int_eq(rig.end.outcome, 0);
    ck_assert_uint_eq(rig.end.profile->sample_count, 1);
    ck_assert(rig_warned(&rig, "offcpu is not in this profile: the broker says -1"));
    ck_assert_uint_eq(rig.captures.counts.events_left_out, 1);
}
END_TEST

/* ---- one that has nothing ready ---- */

static void start_slow(uint64_t duration_ns)
{
    struct capture_request req = rig_request(&rig, "cpu", PERIOD);

    req.duration_ns = duration_ns;
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1000);
    ck_assert_int_eq(rig_start(&rig, &req, NULL), 0);
}

START_TEST(nothing_ready_is_waited_for_as_the_answer_allows)
{
    start_slow(2 * NSEC_PER_SEC);
    poll_after(4400 * NSEC_PER_MSEC);
    expect_state(CAPTURE_PREPARING);
    poll_after(4500 * NSEC_PER_MSEC);
    ck_assert_int_eq(rig.end.outcome, BACKEND_UNAVAILABLE);
    ck_assert_str_eq(rig.end.err.msg, "the broker says -115");
    ck_assert(strstr(rig.end.err.remedy, "ask again in a second"));
    ck_assert_uint_eq(rig.begun, 0);
}
END_TEST

START_TEST(its_duration_counts_from_its_first_sample)
{
    struct capture *c;

    start_slow(4 * NSEC_PER_SEC);
    c = rig.captures.running;
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, 0, 0);
    c->asked_ns = clock_monotonic_ns() - NSEC_PER_SEC;
    captures_poll(&rig.captures, clock_monotonic_ns());
    expect_state(CAPTURE_RUNNING);
    ck_assert_uint_eq(c->end_ns, c->start_ns + c->duration_ns);
}
END_TEST

START_TEST(one_that_begins_very_late_is_shorter)
{
    struct capture *c;

    start_slow(4 * NSEC_PER_SEC);
    c = rig.captures.running;
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, 0, 0);
    c->asked_ns = clock_monotonic_ns() - 4 * NSEC_PER_SEC;
    captures_poll(&rig.captures, clock_monotonic_ns());
    expect_state(CAPTURE_RUNNING);
    ck_assert_uint_eq(c->end_ns, c->asked_ns + 7500 * NSEC_PER_MSEC);
    end();
    rig_finish(&rig);
    ck_assert(rig_warned(&rig, "s long and not 4.0 s; take it again"));
}
END_TEST

static void no_answer(void *cookie, int r, struct profile *p, const struct error *err)
{
    (void)cookie;
    (void)r;
    (void)p;
    (void)err;
}

/* Names have all 4 s if no request waits for a given duration, and else the rest of the time in
 * which the answer is due. */
START_TEST(one_that_begins_late_waits_for_names)
{
    static const struct {
        unsigned late_ms, rest_ms;
        bool waited, endless;
    } BEGINS[] = {
        { 0, 4000, true, false },     { 3000, 1000, true, false },   { 3500, 500, true, false },
        { 6000, 500, true, false },   { 15000, 4000, true, true },   { 0, 4000, false, false },
        { 3900, 4000, false, false }, { 15000, 4000, false, false },
    };
    struct capture c = { .asked_ns = 60 * NSEC_PER_SEC };

    for (size_t i = 0; i < ARRAY_SIZE(BEGINS); i++) {
        c.to.waiter.done = BEGINS[i].waited ? no_answer : NULL;
        c.duration_ns = BEGINS[i].endless ? 0 : NSEC_PER_SEC;
        c.start_ns = c.asked_ns + BEGINS[i].late_ms * NSEC_PER_MSEC;
        c.end_ns = c.start_ns + NSEC_PER_SEC;
        ck_assert_uint_eq(capture_answer_ns(&c) - c.end_ns, BEGINS[i].rest_ms * NSEC_PER_MSEC);
    }
}
END_TEST

START_TEST(one_that_is_hardly_shorter_has_no_warning)
{
    struct capture *c;
    uint64_t shorter_ns;

    start_slow(4 * NSEC_PER_SEC);
    c = rig.captures.running;
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, 0, 0);
    c->asked_ns = clock_monotonic_ns() - 3510 * NSEC_PER_MSEC;
    captures_poll(&rig.captures, clock_monotonic_ns());
    expect_state(CAPTURE_RUNNING);
    shorter_ns = c->start_ns + c->duration_ns - c->end_ns;
    ck_assert_uint_ge(shorter_ns, 10 * NSEC_PER_MSEC);
    end();
    rig_finish(&rig);
    /* A slow machine can make it shorter by more than 50 ms. */
    ck_assert_int_eq(rig_warned(&rig, " long and not 4.0 s"), shorter_ns >= 50 * NSEC_PER_MSEC);
}
END_TEST

START_TEST(one_without_any_time_left_fails)
{
    start_slow(NSEC_PER_SEC / 10);
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, 0, 0);
    poll_after(3600 * NSEC_PER_MSEC);
    ck_assert_int_eq(rig.end.outcome, BACKEND_UNAVAILABLE);
    ck_assert_str_eq(rig.end.err.msg,
                     "installing the programs and probes of this capture took 3.6 s, and "
                     "nothing is left of its 0.1 s");
    ck_assert(strstr(rig.end.err.remedy, "ask again in a second"));
    ck_assert_uint_eq(rig.begun, 0);
}
END_TEST

START_TEST(none_ends_before_it_begins)
{
    struct capture *c;

    start_slow(NSEC_PER_SEC / 10);
    c = rig.captures.running;
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, 0, 0);
    c->asked_ns = clock_monotonic_ns() - 5 * NSEC_PER_SEC;
    captures_poll(&rig.captures, c->asked_ns + 3500 * NSEC_PER_MSEC); /* later by the clock */
    expect_state(CAPTURE_RUNNING);
    ck_assert_uint_eq(c->end_ns, c->start_ns);
    rig_finish(&rig);
    ck_assert_uint_le(rig.end.profile->start_ns, rig.end.profile->end_ns);
    ck_assert(rig_warned(&rig, "so it is 0.0 s long and not 0.1 s"));
}
END_TEST

/* ---- ends before its end ---- */

START_TEST(refused_where_it_would_cost_too_much)
{
    uint64_t until_ns;

    rig_read_symbols(&rig);
    rig_begin(&rig, "malloc", MALLOC_PERIOD);
    until_ns = clock_monotonic_ns() + 30 * NSEC_PER_SEC;
    for (uint64_t calls = 0; !rig.end.done && clock_monotonic_ns() < until_ns; calls += 100000) {
        expect_state(CAPTURE_RUNNING);
        fake_broker_mallocs(rig.fake, calls);
        usleep(10000);
        /* Independent of the clock: a capture that is 2 s old keeps its sets. */
        captures_reconcile(&rig.captures, rig.captures.running->start_ns);
        if (rig.captures.running->refusal.code)
            rig_tick(&rig);
    }
    ck_assert_int_eq(rig.end.outcome, BACKEND_CONFLICT);
    ck_assert_msg(strstr(rig.end.err.msg, "are not sampled"), "%s", rig.end.err.msg);
    ck_assert_ptr_null(rig.captures.running);
}
END_TEST

static const enum capture_state CANCELLED[] = { CAPTURE_RUNNING, CAPTURE_FLUSHING, CAPTURE_SETTLING,
                                                CAPTURE_NAMING };

START_TEST(done_when_cancelled_in_any_state)
{
    fake_broker_flush(rig.fake, 7, 1);
    rig_begin(&rig, "offcpu", PERIOD);
    for (int i = 1; i <= _i; i++)
        capture_enter(&rig.captures, rig.captures.running, CANCELLED[i]);
    expect_state(CANCELLED[_i]);
    captures_end(&rig.captures, rig.handle, /* keep= */ false);
    ck_assert_int_eq(rig.end.outcome, -ECANCELED);
    ck_assert_ptr_null(rig.captures.running);
    ck_assert_uint_eq(sample_sets_used(&rig.captures.sets), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("capture_states"), *unread = tcase_create("unread");
    Suite *s = suite_create("capture_states");
    int skip = rig_missing();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, preparing_until_its_sets_sample);
    tcase_add_test(tc, running_until_its_end);
    tcase_add_test(tc, running_after_the_end_of_its_process);
    tcase_add_test(tc, running_after_the_end_of_a_first_thread);
    tcase_add_test(tc, settling_until_the_flush_is_read);
    tcase_add_test(tc, flushing_while_stacks_are_pending);
    tcase_add_test(tc, naming_while_symbols_are_read);
    tcase_add_test(tc, an_event_may_begin_after_the_others);
    tcase_add_test(tc, an_event_may_be_left_out);
    tcase_add_test(tc, a_left_out_event_is_no_event_without_samples);
    tcase_add_test(tc, an_event_may_be_refused_while_others_are_sampled);
    tcase_add_test(tc, nothing_ready_is_waited_for_as_the_answer_allows);
    tcase_add_test(tc, its_duration_counts_from_its_first_sample);
    tcase_add_test(tc, one_that_begins_very_late_is_shorter);
    tcase_add_test(tc, one_that_begins_late_waits_for_names);
    tcase_add_test(tc, one_that_is_hardly_shorter_has_no_warning);
    tcase_add_test(tc, one_without_any_time_left_fails);
    tcase_add_test(tc, none_ends_before_it_begins);
    tcase_add_test(tc, refused_where_it_would_cost_too_much);
    tcase_add_loop_test(tc, done_when_cancelled_in_any_state, 0, ARRAY_SIZE(CANCELLED));
    tcase_add_checked_fixture(unread, setup_unread, teardown);
    tcase_set_timeout(unread, 120);
    tcase_add_test(unread, preparing_until_tables_are_read);
    tcase_add_test(unread, tables_that_take_long_are_not_waited_for);
    suite_add_tcase(s, tc);
    suite_add_tcase(s, unread);
    return suite_run(s);
}
