/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of a profile: its samples are few, or of several processes. */
#include "base/text.h"
#include "profile/view.h"
#include "unwind/unwind.h"

#include "tests/unit/store/store_fixture.h"

static int32_t cut_pid; /* of its samples the frozen frames are unknown; 0: of no process */

/* Makes a profile of @n samples of @event, of @pids processes named @name in turn. Each process
 * with an odd number has had one exec. */
static struct profile *sampled_of(const struct profile_event *event, unsigned n, unsigned pids,
                                  const char *name)
{
    struct profile meta = { .events = { *event }, .event_count = 1, .end_ns = NSEC_PER_SEC };
    struct frame_table *t = NULL;
    struct record *r = NULL;
    struct profile *p = NULL;
    uint32_t leaf;

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &t), 0);
    ck_assert_int_eq(record_new(t, 10000, &r), 0);
    leaf = frame_of(t, "a.B", "run", 1);
    for (unsigned i = 0; i < n; i++) {
        unsigned which = i % pids;
        struct profile_process process = { .host_pid = 100 + (int32_t)which,
                                           .exec_no = which % 2 && i >= pids,
                                           .name = str(t, name) };
        struct profile_thread thread = { .host_tid = process.host_pid };
        struct profile_sample s = { .time_ns = i, .value = 1, .count = 1 };
        uint32_t id;

        ck_assert_int_eq(record_process(r, &process, &thread.process), 0);
        ck_assert_int_eq(record_thread(r, &thread, &id), 0);
        s.thread = id;
        if (process.host_pid == cut_pid)
            s.flags = PROFILE_SAMPLE_FROZEN | UNWIND_END_THREAD << PROFILE_SAMPLE_END_SHIFT;
        ck_assert_int_eq(record_sample(r, &s, &leaf, 1), 0);
    }
    ck_assert_int_eq(record_finish(r, &meta, &p), 0);
    record_free(r);
    frame_table_free(t);
    return p;
}

static struct profile *sampled(const struct profile_event *event, unsigned n, unsigned pids)
{
    return sampled_of(event, n, pids, "Main");
}

static const struct {
    struct profile_event event;
    unsigned samples;
    const char *said[2]; /* parts of the warning; NULL: no warning */
} FEW[] = {
    { { .name = "cpu", .unit = "nanoseconds", .period = 1000 },
      13,
      { "13 samples are few: by chance, a frame that has half of them may be off by 28 points",
        "a higher hz; event=offcpu shows" } },
    { { .name = "cpu", .unit = "nanoseconds", .period = 1000 }, 1, { "1 sample is few", "50 " } },
    { { .name = "cpu", .unit = "nanoseconds", .period = 1000 }, 99, { "99 samples are few", "" } },
    { { .name = "cpu", .unit = "nanoseconds", .period = 1000 }, 100, { NULL } },
    { { .name = "live", .unit = "bytes", .period = 1000, .valued = true },
      13,
      { "Take more seconds or a smaller interval", "" } },
    { { .name = "page-faults", .unit = "count", .period = 100 }, 13, { "13 samples are few", "" } },
    { { .name = "page-faults", .unit = "count", .period = 1 }, 13, { NULL } }, /* no estimate */
    { { .name = "offcpu", .unit = "nanoseconds", .period = 1000, .valued = true }, 13, { NULL } },
};

START_TEST(few_samples_are_told)
{
    struct profile *p = sampled(&FEW[_i].event, FEW[_i].samples, 1);
    struct view_opts o = { 0 };
    struct error err = ERROR_NULL;
    struct view *v = NULL;

    ck_assert_int_eq(view_new(p, &o, &v, &err), 0);
    ck_assert_uint_eq(v->warning_count, FEW[_i].said[0] != NULL);
    for (size_t i = 0; i < ARRAY_SIZE(FEW[_i].said) && FEW[_i].said[0]; i++)
        ck_assert_msg(strstr(v->warnings[0], FEW[_i].said[i]) != NULL, "%s", v->warnings[0]);
    view_free(v);
    profile_unref(p);
}
END_TEST

START_TEST(several_processes_are_told)
{
    static const struct {
        unsigned pids;
        const char *said;
    } CASES[] = {
        { 1, NULL },
        { 2, "jvm=Main chose 2 processes, and this profile adds them up: 100 (Main), 101 (Main). "
             "pid= chooses one" },
        { 7, "jvm=Main chose 7 processes, and this profile adds them up: 100 (Main), 101 (Main), "
             "102 (Main), 103 (Main), and 3 more. pid= chooses one" },
    };
    struct profile *p = sampled(&FEW[0].event, 200, CASES[_i].pids);

    profile_warn_several(p, "jvm=Main");
    ck_assert_uint_eq(p->warning_count, CASES[_i].said != NULL);
    if (CASES[_i].said)
        ck_assert_str_eq(p->warnings[0], CASES[_i].said);
    profile_unref(p);
}
END_TEST

START_TEST(a_long_name_is_cut_between_characters)
{
    char name[82] = "a"; /* an even number of bytes ends within a character */
    struct profile *p;

    for (size_t i = 1; i < sizeof(name) - 1; i += 2)
        memcpy(name + i, "\xc3\xa9", 2);
    p = sampled_of(&FEW[0].event, 200, 2, name);
    profile_warn_several(p, "jvm=a");
    ck_assert_uint_eq(p->warning_count, 1);
    ck_assert_msg(text_is_utf8(span_of(p->warnings[0])), "%s", p->warnings[0]);
    ck_assert_ptr_nonnull(strstr(p->warnings[0], "\xc3\xa9...), 101 (a\xc3\xa9"));
    profile_unref(p);
}
END_TEST

START_TEST(no_more_warnings_than_there_is_room_for)
{
    struct profile *p = sampled(&FEW[0].event, 13, 1);
    struct view_opts o = { 0 };
    struct error err = ERROR_NULL;
    struct view *v = NULL;

    for (int i = 0; i < PROFILE_WARNINGS_MAX + 3; i++)
        profile_warn(p, "warning %d", i);
    ck_assert_uint_eq(p->warning_count, PROFILE_WARNINGS_MAX);
    ck_assert_int_eq(view_new(p, &o, &v, &err), 0);
    ck_assert_uint_eq(v->warning_count, PROFILE_WARNINGS_MAX + 1);
    ck_assert_ptr_nonnull(strstr(v->warnings[PROFILE_WARNINGS_MAX], "are few"));
    view_free(v);
    profile_unref(p);
}
END_TEST

static bool wants_first(void *cookie, const struct profile *p,
                        const struct profile_process *process)
{
    (void)cookie;
    (void)p;
    return process->host_pid == 100;
}

/* One of two processes has a cut stack. A profile of the other one must not report it. */
START_TEST(cut_stacks_are_told_of_what_is_taken)
{
    struct profile meta = { .events = { FEW[0].event }, .event_count = 1, .end_ns = NSEC_PER_SEC };
    struct profile_slice first = { .to_ns = UINT64_MAX, .wants = wants_first },
                         all = { .to_ns = UINT64_MAX };
    struct profile *p, *part = NULL, *whole = NULL;

    cut_pid = 101;
    p = sampled(&FEW[0].event, 200, 2);
    cut_pid = 0;
    ck_assert_uint_eq(p->warning_count, 1);
    ck_assert_ptr_nonnull(strstr(p->warnings[0], "100 of 200 samples are of virtual threads"));
    ck_assert_int_eq(profile_merge(&p, 1, &first, &meta, &part), 0);
    ck_assert_uint_eq(part->total, 100);
    ck_assert_uint_eq(part->warning_count, 0);
    ck_assert_int_eq(profile_merge((struct profile *[]){ p, p }, 2, &all, &meta, &whole), 0);
    ck_assert_uint_eq(whole->warning_count, 1);
    ck_assert_ptr_nonnull(strstr(whole->warnings[0], "200 of 400 samples are of virtual threads"));
    profile_unref(whole);
    profile_unref(part);
    profile_unref(p);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("warnings");

    tcase_add_loop_test(tc, few_samples_are_told, 0, ARRAY_SIZE(FEW));
    tcase_add_loop_test(tc, several_processes_are_told, 0, 3);
    tcase_add_test(tc, a_long_name_is_cut_between_characters);
    tcase_add_test(tc, cut_stacks_are_told_of_what_is_taken);
    tcase_add_test(tc, no_more_warnings_than_there_is_room_for);
    return suite_run_case("warnings", tc);
}
