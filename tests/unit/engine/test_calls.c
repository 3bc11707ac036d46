/* SPDX-License-Identifier: Apache-2.0 */
/* engine/mailbox.c: a caller of a stalled engine gets its error in time, and each call is
 * handled. */
#include "suite.h"

#include "engine/engine_impl.h"
#include "engine/mailbox.h"
#include "request/backend.h"

#include <sys/eventfd.h>
#include <unistd.h>

static struct mailbox m;
static pthread_t thread;
static atomic_bool begun, leave;
static atomic_int ran;

static void setup(void)
{
    mailbox_init(&m);
    m.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    begun = leave = false;
    ran = 0;
}

static void teardown(void)
{
    mailbox_deinit(&m);
    close(m.wake_fd);
}

/* Sets the engine's last sign of life to @ns ago. */
static void stand_since(uint64_t ns)
{
    atomic_store(&m.alive_ns, clock_monotonic_ns() - ns);
}

static int run(void *arg)
{
    ran++;
    return *(int *)arg;
}

/* Blocks the engine, like a broker that does not answer. */
static int hold(void *arg)
{
    stand_since(MAILBOX_STALLED_NS * 2);
    begun = true;
    while (!leave)
        usleep(1000);
    mailbox_alive(&m);
    return *(int *)arg;
}

static void *engine_thread(void *arg)
{
    while (mailbox_run(arg))
        usleep(1000);
    return NULL;
}

static void stop(void)
{
    mailbox_stop(&m);
    pthread_join(thread, NULL);
}

START_TEST(it_is_told_that_it_stands)
{
    struct error err = ERROR_NULL;
    int value = 7;
    uint64_t began_ns;

    stand_since(MAILBOX_STALLED_NS + NSEC_PER_SEC);
    ck_assert_uint_ge(mailbox_stalled_s(&m), 6);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(mailbox_ask(&m, run, &value, &err), BACKEND_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.msg, "is stalled"));
    ck_assert_str_ne(err.remedy, "");
    ck_assert_int_eq(err.code, -ETIMEDOUT);
    ck_assert_ptr_null(m.calls); /* no call points into this stack */

    began_ns = clock_monotonic_ns();
    stand_since(MAILBOX_STALLED_NS - NSEC_PER_SEC / 2); /* the caller waits until the limit */
    ck_assert_int_eq(mailbox_ask(&m, run, &value, &err), BACKEND_UNAVAILABLE);
    ck_assert_uint_ge(clock_monotonic_ns() - began_ns, NSEC_PER_SEC / 2);
    ck_assert_int_eq(ran, 0);
    mailbox_alive(&m);
    ck_assert_uint_eq(mailbox_stalled_s(&m), 0);
}
END_TEST

/* A call that has begun is not given up: it uses the caller's memory. */
struct asking {
    int value, result;
    struct error err;
};

static void *ask_hold(void *arg)
{
    struct asking *a = arg;

    a->result = mailbox_ask(&m, hold, &a->value, NULL);
    return NULL;
}

START_TEST(others_are_told_what_has_begun_is_waited_for)
{
    struct asking held = { .value = 42 };
    struct error err = ERROR_NULL;
    pthread_t asker;
    int value = 7;

    pthread_create(&thread, NULL, engine_thread, &m);
    ck_assert_int_eq(mailbox_ask(&m, run, &value, &err), 7);
    pthread_create(&asker, NULL, ask_hold, &held);
    while (!begun)
        usleep(1000);
    ck_assert_int_eq(mailbox_ask(&m, run, &value, &err), BACKEND_UNAVAILABLE);
    mailbox_post(&m, run, &value, sizeof(value)); /* does not wait; the call runs later */
    ck_assert_int_eq(held.result, 0);
    ck_assert_int_eq(ran, 1);
    leave = true;
    pthread_join(asker, NULL);
    ck_assert_int_eq(held.result, 42);
    ck_assert_int_eq(mailbox_ask(&m, run, &value, &err), 7);
    ck_assert_int_eq(ran, 3);
    stop();
    ck_assert_int_eq(mailbox_ask(&m, run, &value, &err), BACKEND_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(err.msg, "stopping"));
}
END_TEST

/* ---- what is answered later ---- */

static uint64_t ticket;

static int begin(void *arg)
{
    ticket = mailbox_ticket(&m);
    *(bool *)arg = true;
    return -EINPROGRESS;
}

static void *ask_begin(void *arg)
{
    struct asking *a = arg;
    bool ran_it = false;

    a->result = mailbox_ask(&m, begin, &ran_it, &a->err);
    ck_assert(ran_it);
    return NULL;
}

START_TEST(a_call_may_be_answered_later)
{
    struct asking a = { .err = ERROR_NULL };
    struct error err = ERROR_NULL;
    pthread_t asker;

    error_set(&err, -EPERM, "no probe may be there");
    pthread_create(&asker, NULL, ask_begin, &a);
    while (!m.later)
        mailbox_run(&m);
    ck_assert(!mailbox_answer(&m, ticket + 1, 0, NULL)); /* a ticket without a caller */
    ck_assert(mailbox_answer(&m, ticket, BACKEND_CONFLICT, &err));
    pthread_join(asker, NULL);
    ck_assert_int_eq(a.result, BACKEND_CONFLICT);
    ck_assert_str_eq(a.err.msg, "no probe may be there");
    ck_assert_ptr_null(m.later);
}
END_TEST

START_TEST(a_later_answer_is_given_up_where_it_stands)
{
    struct asking a = { .err = ERROR_NULL };
    pthread_t asker;

    pthread_create(&asker, NULL, ask_begin, &a);
    while (!m.later)
        mailbox_run(&m);
    stand_since(2 * MAILBOX_STALLED_NS);
    pthread_join(asker, NULL);
    ck_assert_int_eq(a.result, BACKEND_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(a.err.msg, "is stalled"));
    ck_assert(!mailbox_answer(&m, ticket, 0, NULL)); /* its caller is gone */
}
END_TEST

/* A problem of the configuration is reported once: a stalled engine takes it later. */
START_TEST(a_problem_reaches_a_stalled_engine)
{
    struct engine *e = calloc(1, sizeof(*e));

    ck_assert_ptr_nonnull(e);
    mailbox_init(&e->mailbox);
    atomic_store(&e->mailbox.alive_ns, clock_monotonic_ns() - 2 * MAILBOX_STALLED_NS);
    engine_set_problem(e, ENGINE_PROBLEM_TLS, "the certificate ended");
    engine_set_problem(e, ENGINE_PROBLEM_PUSH, "first");
    engine_set_problem(e, ENGINE_PROBLEM_PUSH, "");
    ck_assert(mailbox_run(&e->mailbox));
    ck_assert_str_eq(e->problems[ENGINE_PROBLEM_TLS], "the certificate ended");
    ck_assert_str_eq(e->problems[ENGINE_PROBLEM_PUSH], "");
    mailbox_deinit(&e->mailbox);
    free(e);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("calls");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, it_is_told_that_it_stands);
    tcase_add_test(tc, others_are_told_what_has_begun_is_waited_for);
    tcase_add_test(tc, a_call_may_be_answered_later);
    tcase_add_test(tc, a_later_answer_is_given_up_where_it_stands);
    tcase_add_test(tc, a_problem_reaches_a_stalled_engine);
    return suite_run_case("calls", tc);
}
