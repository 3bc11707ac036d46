/* SPDX-License-Identifier: Apache-2.0 */
/* The search for events by parts of names and by patterns for whole names. */
#include "suite.h"

#include "event/event_match.h"

static const struct {
    const char *pattern, *text;
    bool fits;
} CASES[] = {
    { "futex", "syscalls:sys_enter_futex", true },
    { "FUTEX", "syscalls:sys_enter_futex", true },
    { "futex", "FUTEX", true },
    { "futexes", "futex", false },
    { "", "futex", true },
    { "a", "", false },
    { "sched:*", "sched:sched_switch", true },
    { "sched:*", "x-sched:sched_switch", false },
    { "*switch", "sched:sched_switch", true },
    { "*switch", "sched:sched_switches", false },
    { "*-m?sses", "LLC-load-Misses", true },
    { "*-m?sses", "LLC-load-msses", false },
    { "?", "", false },
    { "?", "a", true },
    { "?", "ab", false },
    { "*", "", true },
    { "**", "ab", true },
    { "*a*b*a", "abbba", true },
    { "*a*b*a", "abbbab", false },
    { "a*aab", "aaaaab", true },
    { "[a]", "[A]", true },
    { "[a]", "a", false },
};

START_TEST(fits_or_not)
{
    ck_assert_msg(event_match(span_of(CASES[_i].pattern), span_of(CASES[_i].text)) ==
                      CASES[_i].fits,
                  "'%s' and '%s'", CASES[_i].pattern, CASES[_i].text);
}
END_TEST

START_TEST(many_stars_take_no_time)
{
    char pattern[257], text[257];

    for (size_t i = 0; i < 256; i += 2) {
        pattern[i] = '*';
        pattern[i + 1] = 'a';
    }
    memset(text, 'a', 256);
    pattern[255] = 'b';
    pattern[256] = text[256] = '\0';
    for (int i = 0; i < 1000; i++)
        ck_assert(!event_match(span_of(pattern), span_of(text)));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("event_match");
    TCase *tc = tcase_create("patterns");

    tcase_add_loop_test(tc, fits_or_not, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, many_stars_take_no_time);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
