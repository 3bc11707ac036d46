/* SPDX-License-Identifier: Apache-2.0 */
/* How main() of a test runs what it has put together. */
#pragma once

#include <check.h>

/* Runs @s, as loud as CK_VERBOSITY says; what main() returns. Takes @s. */
static inline int suite_run(Suite *s)
{
    SRunner *runner = srunner_create(s);
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

/* The same for a suite of one test case. Takes @tc. */
static inline int suite_run_case(const char *name, TCase *tc)
{
    Suite *s = suite_create(name);

    suite_add_tcase(s, tc);
    return suite_run(s);
}
