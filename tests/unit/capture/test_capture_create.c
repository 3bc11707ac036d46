/* SPDX-License-Identifier: Apache-2.0 */
/* capture/: captures that run on their own, and their state in the store. */
#include "capture_rig.h"
#include "tests/unit/store/store_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define PERIOD (10 * NSEC_PER_MSEC)
#define TICKET 42

static struct rig rig;
static char id[CAPTURE_ID_BYTES];
static unsigned begun; /* number of calls of begun() */
static int begun_result;
static struct error begun_err;
static bool gone; /* true: no request waits for begun() */

static bool note_begun(void *cookie, const struct capture_begun *b)
{
    ck_assert_ptr_eq(cookie, &rig);
    ck_assert_uint_eq(b->ticket, b->schedule[0] ? 0 : TICKET);
    if (b->r == 0) /* a sample taken after the answer belongs to the request */
        ck_assert_uint_le(rig.captures.running->start_ns, clock_monotonic_ns());
    ck_assert_str_eq(b->id, id);
    begun++;
    begun_result = b->r;
    if (b->err)
        begun_err = *b->err;
    return !gone;
}

static void open_rig(void)
{
    setup();
    rig_open(&rig);
    rig.captures.store = open_store(1 << 20, 0);
    rig.captures.hooks.begun = note_begun;
    rig.captures.hooks.begun_cookie = &rig;
    begun = 0;
    gone = false;
    begun_err = ERROR_NULL;
}

static void close_rig(void)
{
    struct store *store = rig.captures.store;

    rig_close(&rig);
    store_close(store);
    teardown();
}

/* Creates a capture. With a @schedule no request waits for its first sample. */
static int create(const char *schedule, struct error *err)
{
    struct capture_request req = rig_request(&rig, "cpu", PERIOD);

    return captures_create(&rig.captures, &req, schedule, /* max_age_s= */ 0, schedule ? 0 : TICKET,
                           id, err);
}

struct stored {
    enum store_state state;
    char failure[ERROR_MSG_MAX];
};

static int take_facts(void *cookie, const struct store_capture *c)
{
    struct stored *s = cookie;

    s->state = c->state;
    snprintf(s->failure, sizeof(s->failure), "%s", c->failure);
    return 0;
}

/* Finds the capture in the store. 0; STORE_NOT_FOUND. */
static int find_stored(struct stored *ret)
{
    return store_get_facts(rig.captures.store, id, take_facts, ret, NULL);
}

START_TEST(it_may_run_at_once)
{
    struct stored s;

    ck_assert_int_eq(create(NULL, NULL), 0);
    ck_assert_uint_eq(begun, 0); /* create() itself has reported that */
    ck_assert_int_eq(find_stored(&s), 0);
    ck_assert_int_eq((int)s.state, (int)STORE_RUNNING);
}
END_TEST

START_TEST(its_first_sample_is_waited_for)
{
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 2);
    ck_assert_int_eq(create(NULL, NULL), -EINPROGRESS);
    ck_assert_uint_eq(begun, 0);
    rig_run(&rig);
    ck_assert_uint_eq(begun, 1);
    ck_assert_int_eq(begun_result, 0);
    ck_assert_int_eq((int)rig.captures.running->state, (int)CAPTURE_RUNNING);
}
END_TEST

START_TEST(one_that_fails_at_once_is_not_stored)
{
    struct error err = ERROR_NULL;

    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EPERM, 1);
    ck_assert_int_eq(create(NULL, &err), -EPERM);
    ck_assert_uint_eq(begun, 0);
    ck_assert_ptr_null(rig.captures.running);
}
END_TEST

START_TEST(one_that_fails_before_its_first_sample_is_not_stored)
{
    struct stored s;

    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1);
    ck_assert_int_eq(create(NULL, NULL), -EINPROGRESS);
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EPERM, 1);
    rig_run(&rig);
    ck_assert_uint_eq(begun, 1);
    ck_assert_int_eq(begun_result, -EPERM);
    ck_assert_str_eq(begun_err.msg, "the broker says -1");
    ck_assert_int_eq(find_stored(&s), STORE_NOT_FOUND); /* the request got the error */
}
END_TEST

/* Creates a capture and waits for its first sample. */
static void create_waiting(unsigned polls)
{
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, polls);
    ck_assert_int_eq(create(NULL, NULL), -EINPROGRESS);
}

/* Checks that no trace of the capture is left, and that its request got @r and @text. */
static void expect_failed(int r, const char *text)
{
    struct stored s;

    ck_assert_int_eq(begun_result, r);
    if (text)
        ck_assert_ptr_nonnull(strstr(begun_err.msg, text));
    ck_assert_ptr_null(rig.captures.running);
    ck_assert_int_eq(find_stored(&s), STORE_NOT_FOUND);
}

START_TEST(one_that_nobody_waits_for_does_not_run)
{
    create_waiting(2);
    gone = true;
    rig_run(&rig);
    ck_assert_uint_eq(begun, 1);
    expect_failed(0, NULL);
}
END_TEST

START_TEST(one_may_be_removed_before_its_first_sample)
{
    create_waiting(100);
    captures_end(&rig.captures, rig.captures.running->handle, /* keep= */ false);
    expect_failed(BACKEND_CONFLICT, "was removed");
}
END_TEST

START_TEST(nothing_waits_for_its_first_sample_once_flamed_stops)
{
    struct error err = ERROR_NULL;

    create_waiting(2);
    captures_stop_preparing(&rig.captures);
    expect_failed(BACKEND_UNAVAILABLE, "is stopping");
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1);
    ck_assert_int_eq(create(NULL, &err), BACKEND_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.msg, "is stopping"));
    ck_assert_ptr_null(rig.captures.running);
}
END_TEST

START_TEST(its_process_may_end_before_its_first_sample)
{
    create_waiting(100);
    kill(rig.pid, SIGKILL);
    waitpid(rig.pid, NULL, 0);
    rig_run(&rig);
    rig.pid = fork(); /* rig_close() ends it */
    if (rig.pid == 0)
        _exit(0);
    expect_failed(BACKEND_NOT_FOUND, "there is no process");
}
END_TEST

START_TEST(the_store_is_told_why_a_scheduled_one_fails)
{
    struct stored s;

    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EINPROGRESS, 1);
    ck_assert_int_eq(create("nightly", NULL), -EINPROGRESS);
    fake_broker_answer(rig.fake, BROKER_SAMPLE_BEGUN, -EPERM, 1);
    rig_run(&rig);
    ck_assert_int_eq(find_stored(&s), 0);
    ck_assert_int_eq((int)s.state, (int)STORE_FAILED);
    ck_assert_str_eq(s.failure, "the broker says -1");
    ck_assert_uint_eq(begun, 1); /* its schedule counts it */
    ck_assert_int_eq(begun_result, -EPERM);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("capture_create");
    int skip = rig_missing();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, open_rig, close_rig);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, it_may_run_at_once);
    tcase_add_test(tc, its_first_sample_is_waited_for);
    tcase_add_test(tc, one_that_fails_at_once_is_not_stored);
    tcase_add_test(tc, one_that_fails_before_its_first_sample_is_not_stored);
    tcase_add_test(tc, one_that_nobody_waits_for_does_not_run);
    tcase_add_test(tc, one_may_be_removed_before_its_first_sample);
    tcase_add_test(tc, nothing_waits_for_its_first_sample_once_flamed_stops);
    tcase_add_test(tc, its_process_may_end_before_its_first_sample);
    tcase_add_test(tc, the_store_is_told_why_a_scheduled_one_fails);
    return suite_run_case("capture_create", tc);
}
