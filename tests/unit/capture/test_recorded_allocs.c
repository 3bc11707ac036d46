/* SPDX-License-Identifier: Apache-2.0 */
/* capture/recorded_allocs.c: the recorder's set of allocations, its JVMs, and those that rest. */
#include "fake_broker.h"
#include "fixed_seed.h"
#include "suite.h"

#include "capture/capture_impl.h"
#include "capture/recorder.h"

#define BEGIN_NS (100 * NSEC_PER_SEC)
#define CROWD 666 /* an owner */
#define MANY (RECORDED_ALLOCS_MAX + 1)

static struct captures c;
static struct recorder rec;
static struct fake_broker *fake;
static struct process jvms[MANY];
static uint64_t now_ns;
static int result; /* of putting probes */
static unsigned puts_done, taken_out;

static int put(struct probe_table *t, const struct probe_env *env, struct probe_entry *e,
               struct process *p, const void *what, struct error *err)
{
    (void)t;
    (void)env;
    (void)e;
    (void)p;
    (void)what;
    puts_done++;
    return result < 0 ? error_set(err, result, "because") : result;
}

static void take_out(struct broker *b, const struct probe_entry *e)
{
    (void)b;
    (void)e;
    taken_out++;
}

static const struct probe_kind KIND = { .entry_bytes = sizeof(struct heap_probe),
                                        .entries_max = PROBES_MAX,
                                        .standing_max = PROBES_MAX,
                                        .have_all = "JVMs have probes",
                                        .put = put,
                                        .take_out = take_out };

static void setup(void)
{
    uint32_t id;
    int fd;

    c = (struct captures){ .probes.kind = &KIND, .recording = { .recorder = &rec, .sets = 1 } };
    c.recording.allocs.on = true;
    rec = (struct recorder){ .allocs = &c.recording.allocs };
    id_table_init(&rec.jvms, sizeof(struct proc_id), RECORDER_JVMS_MAX);
    for (int i = 0; i < MANY; i++) {
        jvms[i] = (struct process){ .id = { .host_pid = 100 + i, .start_ticks = 7 },
                                    .jvm = JVM_READY,
                                    .payer = CROWD };
        ck_assert_int_ge(id_table_add(&rec.jvms, &jvms[i].id, &id), 0);
    }
    fake = fake_broker_start(&fd);
    ck_assert_int_eq(broker_new(fd, &c.broker), 0);
    now_ns = BEGIN_NS;
    result = 0;
    puts_done = taken_out = 0;
}

static void teardown(void)
{
    probe_table_deinit(&c.probes);
    id_table_deinit(&rec.jvms);
    broker_free(c.broker);
    fake = fake_broker_stop(fake);
}

/* Reconciles the first @n JVMs after @passed_ns. */
static void reconcile(int n, uint64_t passed_ns)
{
    now_ns += passed_ns;
    probe_table_sweep_begin(&c.probes);
    recorded_allocs_begin(&c, now_ns);
    for (int i = 0; i < n; i++)
        recorded_allocs_want(&c, &jvms[i], now_ns, UINT64_MAX);
    recorded_allocs_end(&c);
    probe_table_sweep_end(&c.probes, c.broker);
}

/* Fails unless the last request started the set. */
static void expect_start(void)
{
    char line[64];

    snprintf(line, sizeof(line), "sample_start alloc %llu\n",
             (unsigned long long)(EVENT_PACED | NSEC_PER_SEC / RECORDED_ALLOCS_HZ));
    fake_broker_expect(fake, line);
}

static int why(int i, struct error *err)
{
    *err = ERROR_NULL;
    return recorded_allocs_why(&c, &jvms[i], err);
}

START_TEST(nothing_is_done_if_it_is_off)
{
    struct error err;

    c.recording.allocs.on = false;
    reconcile(1, 0);
    reconcile(1, RECORDED_ALLOCS_AFTER_NS);
    fake_broker_expect(fake, "");
    ck_assert_uint_eq(puts_done, 0);
    ck_assert_uint_eq(c.recording.sets, 1);
    ck_assert(!recorder_takes(&rec, 1));
    ck_assert_int_eq(why(0, &err), -EOPNOTSUPP);
    ck_assert_str_eq(err.msg, "recorder_alloc is off");
}
END_TEST

START_TEST(the_set_has_a_pace)
{
    reconcile(0, 0);
    expect_start();
    ck_assert_uint_eq(c.recording.sets, 1 | 1U << c.recording.allocs.set);
    ck_assert(recorder_takes(&rec, c.recording.allocs.set));
    reconcile(0, NSEC_PER_SEC);
    fake_broker_expect(fake, "");
}
END_TEST

START_TEST(a_set_that_cannot_start_is_tried_again)
{
    fake_broker_answer(fake, BROKER_SAMPLE_START, -EINPROGRESS, 1);
    reconcile(0, 0);
    ck_assert(!c.recording.allocs.runs);
    fake_broker_forget(fake);
    fake_broker_answer(fake, BROKER_SAMPLE_START, -EOPNOTSUPP, 1);
    reconcile(0, NSEC_PER_SEC);
    expect_start();
    ck_assert_int_eq(c.recording.allocs.problem.code, -EOPNOTSUPP);
    reconcile(0, NSEC_PER_SEC);
    fake_broker_expect(fake, "");
    reconcile(0, 60 * NSEC_PER_SEC);
    expect_start();
    ck_assert(c.recording.allocs.runs);
    ck_assert_int_eq(c.recording.allocs.problem.code, 0);
}
END_TEST

START_TEST(a_jvm_has_probes_while_it_lives)
{
    struct error err;

    reconcile(1, 0);
    ck_assert_uint_eq(puts_done, 0); /* it may soon end */
    ck_assert_int_eq(why(0, &err), -EAGAIN);
    reconcile(1, RECORDED_ALLOCS_AFTER_NS);
    ck_assert_uint_eq(puts_done, 1);
    ck_assert_int_eq(why(0, &err), 0);
    ck_assert(recorded_allocs_of(&c.recording.allocs, &jvms[0].id));
    reconcile(1, NSEC_PER_SEC);
    ck_assert_uint_eq(puts_done, 1);
    ck_assert_uint_eq(taken_out, 0);
    reconcile(0, NSEC_PER_SEC);
    ck_assert_uint_eq(taken_out, 1);
    ck_assert_uint_eq(c.recording.allocs.count, 0);
    ck_assert(!recorded_allocs_of(&c.recording.allocs, &jvms[0].id));
}
END_TEST

START_TEST(another_set_that_stops_leaves_the_probes)
{
    reconcile(1, 0);
    reconcile(1, RECORDED_ALLOCS_AFTER_NS);
    captures_filter_stopped(&c, c.recording.allocs.set + 1);
    reconcile(1, NSEC_PER_SEC);
    ck_assert_uint_eq(puts_done, 1);
    c.recording.allocs.runs = false; /* its set was the last one */
    captures_filter_stopped(&c, c.recording.allocs.set + 1);
    reconcile(1, NSEC_PER_SEC);
    ck_assert_uint_eq(puts_done, 2);
}
END_TEST

START_TEST(an_idle_jvm_has_none)
{
    jvms[0].id.host_pid = 99; /* the recorder does not know it */
    reconcile(1, 0);
    reconcile(1, RECORDED_ALLOCS_AFTER_NS);
    ck_assert_uint_eq(puts_done, 0);
}
END_TEST

START_TEST(a_starting_jvm_is_not_refused)
{
    struct error err;

    reconcile(0, 0);
    jvms[0].jvm = JVM_STARTING;
    ck_assert_int_eq(why(0, &err), -EAGAIN);
    jvms[0].jvm = JVM_NO;
    ck_assert_int_eq(why(0, &err), -EOPNOTSUPP);
}
END_TEST

START_TEST(a_refused_probe_is_said)
{
    struct error err;

    result = -EPERM;
    reconcile(1, 0);
    reconcile(1, RECORDED_ALLOCS_AFTER_NS);
    ck_assert_int_eq(why(0, &err), -EPERM);
    ck_assert_str_eq(err.msg, "because");
}
END_TEST

START_TEST(a_jvm_with_many_hits_rests)
{
    struct error err;

    reconcile(1, 0);
    reconcile(1, RECORDED_ALLOCS_AFTER_NS);
    fake_broker_heap_hits(fake, 1000000); /* since a time that is not known */
    reconcile(1, NSEC_PER_SEC);
    ck_assert_int_eq(why(0, &err), 0);
    fake_broker_heap_hits(fake, 1000000 + 2 * RECORDED_ALLOCS_HITS_MAX);
    reconcile(1, RECORDED_ALLOCS_LOOK_NS);
    ck_assert_int_eq(why(0, &err), 0);
    fake_broker_heap_hits(fake, 1000000 + 5 * RECORDED_ALLOCS_HITS_MAX);
    reconcile(1, RECORDED_ALLOCS_LOOK_NS);
    ck_assert_uint_eq(taken_out, 1);
    ck_assert_uint_eq(c.recording.allocs.rested, 1);
    ck_assert_int_eq(why(0, &err), -EDQUOT);
    ck_assert_msg(strstr(err.msg, "15000 times a second, and the limit is 10000"), "%s", err.msg);
    ck_assert(!recorded_allocs_of(&c.recording.allocs, &jvms[0].id));
    reconcile(1, RECORDED_ALLOCS_REST_NS - 1);
    ck_assert_uint_eq(puts_done, 1);
    fake_broker_heap_hits(fake, 3);
    reconcile(1, 1);
    ck_assert_uint_eq(puts_done, 2);
    reconcile(1, RECORDED_ALLOCS_LOOK_NS);
    ck_assert_int_eq(why(0, &err), 0);
}
END_TEST

/* Has the first JVM rest for its hits. */
static void rest(void)
{
    reconcile(1, 0);
    reconcile(1, RECORDED_ALLOCS_AFTER_NS);
    fake_broker_heap_hits(fake, 0);
    reconcile(1, NSEC_PER_SEC);
    fake_broker_heap_hits(fake, 3 * RECORDED_ALLOCS_HITS_MAX);
    reconcile(1, RECORDED_ALLOCS_LOOK_NS);
    ck_assert_uint_eq(c.recording.allocs.rested, 1);
    puts_done = 0;
}

START_TEST(a_jvm_rests_without_a_place)
{
    struct error err;

    rest();
    reconcile(0, NSEC_PER_SEC);
    ck_assert_uint_eq(c.recording.allocs.count, 0);
    for (int i = 0; i < 3; i++) { /* it may lose its place again */
        reconcile(1, NSEC_PER_SEC);
        reconcile(1, RECORDED_ALLOCS_AFTER_NS);
        ck_assert_int_eq(why(0, &err), -EDQUOT);
        ck_assert_msg(strstr(err.msg, "15000 times a second"), "%s", err.msg);
        reconcile(0, NSEC_PER_SEC);
    }
    ck_assert_uint_eq(puts_done, 0);
    now_ns += RECORDED_ALLOCS_REST_NS;
    reconcile(1, 0);
    reconcile(1, RECORDED_ALLOCS_AFTER_NS);
    ck_assert_uint_eq(puts_done, 1);
}
END_TEST

START_TEST(another_process_with_its_pid_does_not_rest)
{
    rest();
    jvms[0].id.start_ticks++;
    reconcile(0, NSEC_PER_SEC);
    ck_assert_int_ge(id_table_add(&rec.jvms, &jvms[0].id, &(uint32_t){ 0 }), 0);
    reconcile(1, NSEC_PER_SEC);
    reconcile(1, RECORDED_ALLOCS_AFTER_NS);
    ck_assert_uint_eq(puts_done, 1);
}
END_TEST

START_TEST(new_probes_count_from_the_start)
{
    struct error err;

    reconcile(1, 0);
    reconcile(1, RECORDED_ALLOCS_AFTER_NS);
    fake_broker_heap_hits(fake, 5000000);
    reconcile(1, NSEC_PER_SEC);
    fake_broker_heap_hits(fake, 10); /* they were put again */
    reconcile(1, RECORDED_ALLOCS_LOOK_NS);
    ck_assert_int_eq(why(0, &err), 0);
    ck_assert_uint_eq(c.recording.allocs.rested, 0);
}
END_TEST

START_TEST(an_owner_with_all_places_gives_one)
{
    struct error err;

    jvms[MANY - 1].payer = CROWD + 1;
    reconcile(MANY - 1, 0);
    ck_assert_uint_eq(c.recording.allocs.count, RECORDED_ALLOCS_MAX);
    reconcile(MANY, NSEC_PER_SEC);
    ck_assert_uint_eq(c.recording.allocs.count, RECORDED_ALLOCS_MAX);
    reconcile(MANY, RECORDED_ALLOCS_AFTER_NS);
    ck_assert_int_eq(why(MANY - 1, &err), 0);
    ck_assert_uint_eq(c.recording.allocs.left_out, 1);
}
END_TEST

START_TEST(one_more_of_an_owner_is_left_out)
{
    struct error err;

    reconcile(MANY, 0);
    ck_assert_uint_eq(c.recording.allocs.left_out, 1);
    ck_assert_int_eq(why(MANY - 1, &err), -E2BIG);
    jvms[MANY - 1].id.host_pid = 99; /* it is idle */
    ck_assert_int_eq(why(MANY - 1, &err), -EAGAIN);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("recorded_allocs");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, nothing_is_done_if_it_is_off);
    tcase_add_test(tc, the_set_has_a_pace);
    tcase_add_test(tc, a_set_that_cannot_start_is_tried_again);
    tcase_add_test(tc, a_jvm_has_probes_while_it_lives);
    tcase_add_test(tc, another_set_that_stops_leaves_the_probes);
    tcase_add_test(tc, an_idle_jvm_has_none);
    tcase_add_test(tc, a_starting_jvm_is_not_refused);
    tcase_add_test(tc, a_refused_probe_is_said);
    tcase_add_test(tc, a_jvm_with_many_hits_rests);
    tcase_add_test(tc, a_jvm_rests_without_a_place);
    tcase_add_test(tc, another_process_with_its_pid_does_not_rest);
    tcase_add_test(tc, new_probes_count_from_the_start);
    tcase_add_test(tc, an_owner_with_all_places_gives_one);
    tcase_add_test(tc, one_more_of_an_owner_is_left_out);
    return suite_run_case("recorded_allocs", tc);
}
