/* SPDX-License-Identifier: Apache-2.0 */
/* Answers about the past that have less than was asked for say so. */
#include "api/past_reach.h"

#include "base/clock.h"

#include "tests/unit/suite.h"

#include <string.h>

/* Seconds before the moment at which it is asked. @recorded 0: the recorder is not used. */
static const struct {
    unsigned from, recorded, keep;
    bool full, store_asked;
    unsigned captures, captured;
    const char *said; /* a part; NULL: nothing is said */
} CASES[] = {
    { 600, 700, 720, false, true, 0, 0, NULL },
    { 600, 600, 720, false, true, 0, 0, NULL },
    { 0, 30, 720, false, true, 0, 0, NULL }, /* since ever */
    { 600, 30, 720, false, true, 0, 0, "570 s later than what was asked for: flamed has recorded" },
    { 600, 30, 720, false, false, 0, 0, "flamed has recorded since then" },
    { 600, 30, 720, false, true, 0, 0, "No capture of the time before it is stored" },
    { 600, 300, 720, true, true, 0, 0, "300 s later than what was asked for: its memory is full" },
    { 3600, 730, 720, false, true, 0, 0, "it keeps 720 s (recorder_seconds)" },
    { 3600, 730, 720, false, true, 2, 40, "this answer has 2 stored captures, of 40 s together" },
    { 3600, 730, 720, false, true, 9, 2870, NULL }, /* they fill it */
    { 3600, 0, 0, false, true, 1, 40,
      "of the 3600 s that were asked for, this answer has 1 stored "
      "capture, of 40 s together" },
    { 3600, 0, 0, false, true, 60, 3600, NULL },
};

START_TEST(an_answer_says_what_it_lacks)
{
    uint64_t now = clock_realtime_ns();
    struct past_reach r = {
        .from_ns = CASES[_i].from ? now - CASES[_i].from * NSEC_PER_SEC : 0,
        .to_ns = now,
        .recorded_ns = CASES[_i].recorded ? now - CASES[_i].recorded * NSEC_PER_SEC : 0,
        .recorder_keep_ns = CASES[_i].keep * NSEC_PER_SEC,
        .recorder_full = CASES[_i].full,
        .store_asked = CASES[_i].store_asked,
        .captures = CASES[_i].captures,
        .captured_ns = CASES[_i].captured * NSEC_PER_SEC,
    };
    char text[PAST_REACH_BYTES];

    ck_assert_int_eq(past_reach_text(&r, text), CASES[_i].said != NULL);
    if (!CASES[_i].said)
        ck_assert_str_eq(text, "");
    else
        ck_assert_msg(strstr(text, CASES[_i].said) != NULL, "%s", text);
    if (!CASES[_i].store_asked)
        ck_assert_ptr_null(strstr(text, "stored"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("past_reach");

    tcase_add_loop_test(tc, an_answer_says_what_it_lacks, 0, ARRAY_SIZE(CASES));
    return suite_run_case("past_reach", tc);
}
