/* SPDX-License-Identifier: Apache-2.0 */
/* engine/scheduled.c: how schedules and triggers count captures that take long to begin. */
#include "capture_rig.h"
#include "tests/unit/store/store_fixture.h"

#include "engine/scheduled.h"

#include <stdatomic.h>

#define RULES                                                                                      \
    "schedules: [{name: often, event: cpu, hz: 100, every: 1s, for: 100ms}]\n"                     \
    "triggers: [{name: alert, event: cpu, hz: 100, for: 60s, cooldown: 1h}]\n"

#define TICKET 42

static struct rig rig;
static struct scheduled *scheduled;
static struct store_writer *writer;
static bool unreadable;     /* another program has the store for itself */
static atomic_bool full;    /* the disk has no room */
static atomic_uint refused; /* histories while it had none */
static char id[CAPTURE_ID_BYTES];

int __wrap_store_get_runs(struct store *s, const char *name, struct store_runs *ret,
                          struct error *err);
int __real_store_get_runs(struct store *s, const char *name, struct store_runs *ret,
                          struct error *err);
int __wrap_store_get_runs(struct store *s, const char *name, struct store_runs *ret,
                          struct error *err)
{
    return unreadable ? -EBUSY : __real_store_get_runs(s, name, ret, err);
}

int __wrap_store_put_runs(struct store *s, const char *name, const struct store_runs *h,
                          struct error *err);
int __real_store_put_runs(struct store *s, const char *name, const struct store_runs *h,
                          struct error *err);
int __wrap_store_put_runs(struct store *s, const char *name, const struct store_runs *h,
                          struct error *err)
{
    if (!full)
        return __real_store_put_runs(s, name, h, err);
    refused++;
    return -ENOSPC;
}

static bool begun(void *cookie, const struct capture_begun *b)
{
    ck_assert_ptr_eq(cookie, &rig);
    scheduled_begun(scheduled, b);
    return true;
}

static void start_scheduled(void)
{
    struct scheduled_env env = { .captures = &rig.captures,
                                 .discover = rig.captures.discover,
                                 .store = rig.captures.store,
                                 .store_writer = writer };
    struct error err = ERROR_NULL;
    struct rules *rules;

    ck_assert_int_eq(scheduled_new(&env, &scheduled), 0);
    ck_assert_msg(rules_parse(span_of(RULES), "f.yaml", &rules, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(scheduled_set_rules(scheduled, rules), 0);
}

static void open_rig(void)
{
    setup();
    rig_open(&rig);
    rig.captures.store = open_store(1 << 20, 0);
    unreadable = full = false;
    refused = 0;
    ck_assert_int_eq(store_writer_start(rig.captures.store, &writer), 0);
    rig.captures.hooks.begun = begun;
    rig.captures.hooks.begun_cookie = &rig;
    start_scheduled();
}

static void close_rig(void)
{
    struct store *store = rig.captures.store;

    rig_close(&rig);
    scheduled_free(scheduled);
    store_writer_stop(writer);
    store_close(store);
    teardown();
}

static void take_history(void *cookie, const struct scheduled_facts *f)
{
    *(struct store_runs *)cookie = *f->history;
}

static struct store_runs history(bool of_trigger)
{
    struct store_runs h = { 0 };

    scheduled_each(scheduled, of_trigger, take_history, &h);
    return h;
}

static int trigger(struct error *err)
{
    return scheduled_trigger(scheduled, "alert", 0, TICKET, id, err);
}

START_TEST(a_trigger_cools_down)
{
    struct error err = ERROR_NULL;

    ck_assert(!scheduled_trigger_rests(scheduled, "alert"));
    ck_assert_int_eq(trigger(&err), 0);
    ck_assert(scheduled_trigger_rests(scheduled, "alert"));
    ck_assert(!scheduled_trigger_rests(scheduled, "other"));
    ck_assert_str_eq(history(true).last_id, id);
    ck_assert_int_eq(trigger(&err), BACKEND_TOO_MANY);
    ck_assert_ptr_nonnull(strstr(err.msg, "is cooling down"));
    ck_assert_uint_ge(err.retry_s, 3590);
    ck_assert_uint_eq(history(true).runs, 1);
    ck_assert_uint_eq(history(true).missed, 1);
}
END_TEST

START_TEST(a_trigger_cools_down_once_its_capture_begins)
{
    struct error err = ERROR_NULL;

    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1);
    ck_assert_int_eq(trigger(&err), -EINPROGRESS);
    ck_assert_uint_eq(history(true).runs, 0);
    ck_assert(scheduled_trigger_rests(scheduled, "alert"));
    ck_assert_int_eq(trigger(&err), BACKEND_TOO_MANY);
    ck_assert_str_eq(err.msg, "trigger 'alert' is starting a capture");
    ck_assert_uint_eq(err.retry_s, 1);
    rig_run(&rig);
    ck_assert_uint_eq(history(true).runs, 1);
    ck_assert_str_eq(history(true).last_id, id);
    ck_assert_int_eq(trigger(&err), BACKEND_TOO_MANY);
    ck_assert_ptr_nonnull(strstr(err.msg, "is cooling down"));
}
END_TEST

START_TEST(a_trigger_whose_capture_never_begins_does_not_cool_down)
{
    struct error err = ERROR_NULL;

    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1);
    ck_assert_int_eq(trigger(&err), -EINPROGRESS);
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EPERM, 1);
    rig_run(&rig);
    ck_assert_ptr_null(rig.captures.running);
    ck_assert_uint_eq(history(true).runs, 0);
    ck_assert_uint_eq(history(true).missed, 1);
    ck_assert_str_eq(history(true).last_error, "the broker says -1");
    ck_assert(!scheduled_trigger_rests(scheduled, "alert"));
    ck_assert_int_eq(trigger(&err), 0);
}
END_TEST

START_TEST(a_schedule_counts_captures_that_begin)
{
    struct store_runs h;

    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1);
    while (!rig.captures.running) {
        scheduled_tick(scheduled);
        usleep(1000);
    }
    ck_assert_uint_eq(history(false).runs, 0);
    if (_i)
        fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EPERM, 1);
    rig_run(&rig);
    h = history(false);
    ck_assert_uint_eq(h.runs, !_i);
    ck_assert_uint_eq(h.missed, _i);
    ck_assert_str_eq(h.last_error, _i ? "the broker says -1" : "");
}
END_TEST

/* Puts @h into the store as the history of the trigger, as an earlier flamed did. */
static void put_history(const struct store_runs *h)
{
    ck_assert_int_eq(store_put_runs(rig.captures.store, "alert", h, NULL), 0);
}

START_TEST(a_restart_does_not_end_a_cooldown)
{
    struct store_runs old = { .runs = 7, .last_id = "0123456789abcdef" };
    struct error err = ERROR_NULL;

    old.last_ns = clock_realtime_ns() - (_i ? 2 : 59 * 60) * (_i ? 3600 : 1) * NSEC_PER_SEC;
    put_history(&old);
    scheduled_free(scheduled);
    start_scheduled();
    ck_assert_int_eq(trigger(&err), _i ? 0 : BACKEND_TOO_MANY);
    ck_assert_uint_eq(history(true).runs, 7 + _i);
    if (!_i)
        ck_assert_uint_le(err.retry_s, 61);
}
END_TEST

/* Returns the stored history of the trigger, once it has another number of runs than @runs. */
static struct store_runs stored_after(uint64_t runs)
{
    struct store_runs got = { .runs = runs };

    for (int i = 0; i < 1000 && got.runs == runs; i++) {
        usleep(10000);
        ck_assert_int_ge(store_get_runs(rig.captures.store, "alert", &got, NULL), 0);
    }
    return got;
}

/* What the store has is not replaced by what was counted while it could not be read. */
START_TEST(a_history_that_cannot_be_read_is_not_lost)
{
    struct store_runs old = { .runs = 7, .missed = 3, .unmatched = 2, .last_id = "old" }, got = old;
    struct error err = ERROR_NULL;

    put_history(&old);
    scheduled_free(scheduled);
    unreadable = true;
    start_scheduled();
    ck_assert_int_eq(trigger(&err), 0);
    scheduled_save(scheduled);
    ck_assert_uint_eq(history(true).runs, 1);
    unreadable = false;
    scheduled_save(scheduled);
    got = stored_after(old.runs);
    ck_assert_uint_eq(got.runs, 8);
    ck_assert_uint_eq(got.missed, 3);
    ck_assert_uint_eq(got.unmatched, 2);
    ck_assert_str_eq(got.last_id, id);
}
END_TEST

/* A cooldown of hours would else end at a restart. */
START_TEST(a_history_that_cannot_be_written_is_written_later)
{
    struct error err = ERROR_NULL;

    full = true;
    ck_assert_int_eq(trigger(&err), 0);
    scheduled_save(scheduled);
    while (!refused)
        usleep(1000);
    full = false;
    for (int i = 0; i < 100; i++) { /* the writer says so a moment after the refusal */
        scheduled_save(scheduled);
        usleep(1000);
    }
    ck_assert_uint_eq(stored_after(0).runs, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("scheduled");
    int skip = rig_missing();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, open_rig, close_rig);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_trigger_cools_down);
    tcase_add_test(tc, a_trigger_cools_down_once_its_capture_begins);
    tcase_add_test(tc, a_trigger_whose_capture_never_begins_does_not_cool_down);
    tcase_add_loop_test(tc, a_schedule_counts_captures_that_begin, 0, 2);
    tcase_add_loop_test(tc, a_restart_does_not_end_a_cooldown, 0, 2);
    tcase_add_test(tc, a_history_that_cannot_be_read_is_not_lost);
    tcase_add_test(tc, a_history_that_cannot_be_written_is_written_later);
    return suite_run_case("scheduled", tc);
}
