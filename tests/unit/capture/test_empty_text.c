/* SPDX-License-Identifier: Apache-2.0 */
/* capture/empty_text.c: the sentence for each event without samples. */
#include "suite.h"

#include "capture/source/agent_sampling.h"

static char buf[EMPTY_TEXT_BYTES];

/* Returns the sentence of event @name, as its source writes it. */
static const char *text_of(const struct event_info *info, const char *name, uint64_t period)
{
    return empty_text(event_source_of(info)->empty, name, period, buf);
}

/* Words that the sentence must contain. */
static const struct {
    const char *event, *why;
    uint64_t period;
} CASES[] = {
    { "cpu", "used no CPU time while it was sampled; event=cpu", 10101010 },
    { "offcpu", "no thread of the target waited, or none was sampled by chance", 10000000 },
    { "wall", "no thread of the target ran or waited, or none was sampled by chance", 10000000 },
    { "lock", "no Java thread of the target waited for a lock", 10000000 },
    { "nativelock", "waited for a futex, or none was sampled by chance", 10000000 },
    { "safepoint", "had a safepoint while it was sampled; try more seconds", 1000000 },
    { "alloc", "(TLAB), or by chance none was sampled at an interval of 524288 bytes", 524288 },
    { "live", "still reachable. It picks one object for each 524288 bytes", 524288 },
    { "malloc",
      "malloc was not called, or by chance none was sampled at an interval of 65536 bytes", 65536 },
    { "nativelive", "was freed, or by chance none was sampled at an interval of 65536 bytes",
      65536 },
    { "nativemem", "touched no new memory, or less than 131072 bytes", 131072 },
    { "libc.so.6:malloc", "of libc.so.6:malloc: it was not called, or no process", 1 },
    { "page-faults", "on each CPU page-faults are sampled one in 32", 32 },
    { "sched:sched_switch", "on each CPU sched:sched_switch are sampled one in 1,", 1 },
    { "page-faults", "had no page-faults while it was sampled; try more seconds",
      EVENT_PACED | 1000000 },
};

START_TEST(each_has_its_own)
{
    const char *text = text_of(events_find(CASES[_i].event), CASES[_i].event, CASES[_i].period);
    ck_assert_msg(strstr(text, CASES[_i].why) != NULL, "%s: %s", CASES[_i].event, text);
}
END_TEST

START_TEST(by_an_agent)
{
    ck_assert_ptr_nonnull(
        strstr(empty_text(AGENT_SAMPLING_EMPTY, "alloc", 4096, buf),
               "picked none of the objects that it allocated. It picks one object for "
               "each 4096 bytes"));
}
END_TEST

START_TEST(all_that_there_are)
{
    size_t count;
    const struct event_info *all = events_table(&count);
    char name[EVENT_NAME_BYTES];

    for (size_t i = 0; i < count; i++)
        ck_assert(strncmp(text_of(&all[i], all[i].name, 1), "no samples: ", 12) == 0);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    text_of(events_find("libc.so.6:malloc"), name, EVENT_PERIOD_MAX_COUNT);
    ck_assert_str_eq(buf + strlen(buf) - 16, "calls is sampled"); /* the whole sentence fits */
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("empty_text");

    tcase_add_loop_test(tc, each_has_its_own, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, by_an_agent);
    tcase_add_test(tc, all_that_there_are);
    return suite_run_case("empty_text", tc);
}
