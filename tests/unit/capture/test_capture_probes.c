/* SPDX-License-Identifier: Apache-2.0 */
/* capture/: captures that probe functions. */
#include "capture_rig.h"

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

START_TEST(a_function_is_probed_before_it_begins)
{
    rig_read_symbols(&rig);
    rig_begin(&rig, CALLED, 1);
    fake_broker_expect(rig.fake, "sample_start " CALLED " 1\n"
                                 "sample_begun 0\n"
                                 "probe_put P call 0\n"
                                 "take_losses\n"
                                 "filter_process P 1\n");
    captures_end(&rig.captures, rig.handle, /* keep= */ false);
    fake_broker_expect(rig.fake, "sample_stop 0\n"
                                 "probe_drop P call 0\n"
                                 "filter_process P 0\n");
}
END_TEST

START_TEST(a_function_that_is_not_there_is_said)
{
    struct capture_request req = rig_request(&rig, "libc.so.6:no_such_function", 1);
    struct error err = ERROR_NULL;
    int r;

    rig_read_symbols(&rig);
    r = rig_start(&rig, &req, &err);
    if (r == 0) { /* its debug file is being looked for */
        rig_run(&rig);
        r = rig.end.outcome;
        err = rig.end.err;
    }
    ck_assert_int_eq(r, BACKEND_CONFLICT);
    ck_assert_msg(strstr(err.msg, "has no function no_such_function"), "%s", err.msg);
    ck_assert_str_eq(err.parameter, "event");
    fake_broker_expect(rig.fake, "sample_start libc.so.6:no_such_function 1\n"
                                 "sample_begun 0\n"
                                 "sample_stop 0\n");
}
END_TEST

START_TEST(a_refused_probe_is_said)
{
    struct capture_request req = rig_request(&rig, CALLED, 1);
    struct error err = ERROR_NULL;

    rig_read_symbols(&rig);
    fake_broker_answer(rig.fake, BROKER_PROBE_PUT, -ENOEXEC, 1);
    ck_assert_int_eq(rig_start(&rig, &req, &err), BACKEND_CONFLICT);
    ck_assert_str_eq(err.msg, "the broker says -8");
    ck_assert(strstr(err.remedy, "choose another function"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("capture_probes");
    int skip = rig_missing();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_function_is_probed_before_it_begins);
    tcase_add_test(tc, a_function_that_is_not_there_is_said);
    tcase_add_test(tc, a_refused_probe_is_said);
    return suite_run_case("capture_probes", tc);
}
