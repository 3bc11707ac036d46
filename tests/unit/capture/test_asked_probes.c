/* SPDX-License-Identifier: Apache-2.0 */
/* capture/probe/asked_probes.c: when the broker is asked again for probes, and the reasons given
 * for missing ones. */
#include "suite.h"

#include "base/clock.h"
#include "capture/probe/asked_probes.h"

static struct asked_probes a;

static void setup(void)
{
    a = (struct asked_probes){ 0 };
}

/* Notes the result @r of a try, with a reason. Returns the milliseconds until the next try. */
static uint64_t note(int r)
{
    struct error reason = ERROR_NULL;
    uint64_t now_ns = clock_monotonic_ns();

    error_set(&reason, -EIO, "because");
    asked_probes_note(&a, r, &reason);
    return (a.again_ns - now_ns) / NSEC_PER_MSEC;
}

START_TEST(until_they_are_there)
{
    struct error err = ERROR_NULL;

    ck_assert(!asked_probes_want(&a));
    ck_assert(a.wanted && !asked_probes_stand(&a));
    ck_assert_uint_lt(note(-EAGAIN), 1000);
    ck_assert_int_eq(asked_probes_answer(&a, 0, &err), -EAGAIN);
    ck_assert_str_eq(err.msg, ""); /* no failure: the broker is asked again */
    ck_assert_uint_lt(note(-EINPROGRESS), 100);
    ck_assert_int_eq(asked_probes_answer(&a, 0, &err), -EINPROGRESS);
    ck_assert_str_eq(err.msg, "because");
    ck_assert(asked_probes_stand(&a) && !a.there);
    note(0);
    ck_assert_int_eq(asked_probes_answer(&a, 0, NULL), 0);
    ck_assert(asked_probes_want(&a) && asked_probes_stand(&a));
}
END_TEST

START_TEST(while_symbols_are_read)
{
    struct error err = ERROR_NULL;
    uint64_t now_ns = clock_monotonic_ns();

    ck_assert_uint_lt(note(ASKED_PROBES_READING), 1000);
    ck_assert(!asked_probes_stand(&a)); /* the broker was not asked yet */
    ck_assert_int_eq(asked_probes_answer(&a, now_ns + NSEC_PER_SEC, &err), -EINPROGRESS);
    ck_assert_str_eq(err.msg, "its symbols are still being read");
    ck_assert_int_eq(asked_probes_answer(&a, now_ns, &err), -EAGAIN);
}
END_TEST

START_TEST(where_they_cannot_be)
{
    struct error err = ERROR_NULL;

    ck_assert_uint_ge(note(-ENOEXEC), 5000);
    ck_assert_int_eq(asked_probes_answer(&a, 0, &err), -ENOEXEC);
    ck_assert_int_eq(err.code, -ENOEXEC);
    ck_assert(!asked_probes_stand(&a));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("asked_probes");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, until_they_are_there);
    tcase_add_test(tc, while_symbols_are_read);
    tcase_add_test(tc, where_they_cannot_be);
    return suite_run_case("asked_probes", tc);
}
