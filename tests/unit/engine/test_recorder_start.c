/* SPDX-License-Identifier: Apache-2.0 */
/* engine/recorder_start.c: the flight recorder of an engine whose machine samples late. */
#include "fake_broker.h"
#include "suite.h"

#include "engine/engine.h"
#include "engine/engine_parts.h"

#include <fcntl.h>
#include <unistd.h>

#define WAIT_US (20 * 1000 * 1000)
#define STEP_US 10000

/* Waits until the problem of the recorder is there, or is gone. Returns whether it came to that. */
static bool wait_for_problem(const struct engine_parts *parts, bool there)
{
    const char *problem = parts->problems[ENGINE_PROBLEM_RECORDER];

    for (int waited = 0; waited < WAIT_US; waited += STEP_US) {
        if ((*(const volatile char *)problem != '\0') == there && (there || *parts->recorder))
            return true;
        usleep(STEP_US);
    }
    return false;
}

START_TEST(a_recorder_that_cannot_start_is_started_later)
{
    struct engine_opts o = { .captures_max = 1,
                             .samples_max = 1000,
                             .captures_max_bytes = 1 << 20,
                             .recorder_hz = 10,
                             .recorder_keep_ns = 60 * NSEC_PER_SEC,
                             .recorder_max_bytes = 1 << 20 };
    struct engine_parts parts;
    struct fake_broker *fake = fake_broker_start(&o.broker_fd);
    struct error err = ERROR_NULL;
    struct engine *e = NULL;

    o.proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    fake_broker_sampling(fake, false);
    fake_broker_answer(fake, BROKER_SAMPLE_START, -EMFILE, 1);
    ck_assert_msg(engine_start(&o, &e, &err) == 0, "%s", err.msg);
    parts = engine_parts(e);
    ck_assert_ptr_null(*parts.recorder);
    fake_broker_sampling(fake, true);
    ck_assert(wait_for_problem(&parts, true));
    ck_assert_ptr_nonnull(strstr(parts.problems[ENGINE_PROBLEM_RECORDER], "the broker says -24"));
    ck_assert_ptr_null(*parts.recorder);
    ck_assert(wait_for_problem(&parts, false));
    ck_assert_uint_ne(parts.captures->recording.sets, 0);
    engine_stop(e);
    fake_broker_stop(fake);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("recorder_start");

    if (geteuid() != 0) {
        fprintf(stderr, "skipped: needs root\n");
        return 77;
    }
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_recorder_that_cannot_start_is_started_later);
    return suite_run_case("recorder_start", tc);
}
