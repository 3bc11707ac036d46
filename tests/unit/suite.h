/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the suite that a test's main() has built. */
#pragma once

#include "base/cleanup.h"

#include <check.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/* Without fork, Check keeps each passed assertion, and moves all of them for each that it reads. A
 * sanitizer reports the place of a crash better. */
#define _mark_point(file, line) ((void)0)
#endif

/* Closes *f if it is open. */
static inline void cleanup_fclosep(FILE **f)
{
    if (*f)
        fclose(*f);
}
#define _cleanup_fclose_ _cleanup_(cleanup_fclosep)

static inline int suite_run_as(Suite *s, enum fork_status fork)
{
    SRunner *runner = srunner_create(s);
    int failed;

    srunner_set_fork_status(runner, fork);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

/* Runs @s, which it takes, as verbose as CK_VERBOSITY says. Returns the value for main(). */
static inline int suite_run(Suite *s)
{
    return suite_run_as(s, CK_FORK_GETENV);
}

/* Does the same without fork: for children that another test or main() waits for. */
static inline int suite_run_unforked(Suite *s)
{
    return suite_run_as(s, CK_NOFORK);
}

/* Does the same for a suite of one test case. Takes @tc. */
static inline int suite_run_case(const char *name, TCase *tc)
{
    Suite *s = suite_create(name);

    suite_add_tcase(s, tc);
    return suite_run(s);
}
