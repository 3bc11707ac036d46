/* SPDX-License-Identifier: Apache-2.0 */
/* Signals about a JVM that has ended. */
#include "suite.h"

#include "signal/watched.h"

#include <signal.h>

#define EXIT(code) ((code) << 8)
#define MIB 1048576.0

static const struct {
    struct end_facts e;
    bool worth;
    unsigned severity;
    const char *contains;
} CASES[] = {
    { { true, EXIT(0), 0, 3600, NAN, NAN }, true, 1, "status 0 after 60 min" },
    { { true, EXIT(0), 0, 5, NAN, NAN }, false, 1, "" }, /* a tool that ran to its end */
    { { true, EXIT(143), 0, 3600, NAN, NAN },
      true,
      1,
      "it was ended by SIGTERM (status 143) after 60 min" },
    { { true, EXIT(3), 0, 5, NAN, NAN }, true, 2, "status 3, which is an error" },
    { { true, SIGKILL, 1, 600, 60 * MIB, 64 * MIB },
      true,
      3,
      "its container was out of memory; at last it used 60 MiB of its container's limit of 64 "
      "MiB" },
    { { true, SIGKILL, 0, 600, 60 * MIB, NAN }, true, 2, "no process ended for want of memory" },
    { { true, SIGKILL, NAN, 600, NAN, NAN },
      true,
      2,
      "it was ended by SIGKILL, perhaps for want of memory" },
    { { true, SIGKILL, 0, 5, NAN, NAN }, false, 1, "" },
    { { true, SIGABRT | 0x80, 0, 600, NAN, NAN }, true, 3, "crashed and ended by signal 6" },
    { { true, SIGTERM, 0, 600, NAN, NAN }, true, 1, "was ended by signal 15" },
    { { false, 0, NAN, 600, NAN, NAN }, true, 1, "how is not known" },
    { { false, 0, 1, 5, NAN, NAN }, true, 3, "for want of memory" },
};

START_TEST(says_how)
{
    struct rule_finding f = { .strength = 0 };

    ck_assert_int_eq(ended_find(&CASES[_i].e, &f), CASES[_i].worth);
    ck_assert_uint_eq(f.severity, CASES[_i].severity);
    ck_assert_msg(strstr(f.sentence, CASES[_i].contains) != NULL, "%s", f.sentence);
    if (strstr(f.sentence, "it was ended by SIGKILL")) /* ends of one cause share a sentence */
        ck_assert_uint_eq(f.cause,
                          strlen(isnan(CASES[_i].e.oom_kills)
                                     ? "it was ended by SIGKILL, perhaps for want of memory"
                                     : "it was ended by SIGKILL"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("ended");

    tcase_add_loop_test(tc, says_how, 0, ARRAY_SIZE(CASES));
    return suite_run_case("ended", tc);
}
