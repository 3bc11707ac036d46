/* SPDX-License-Identifier: Apache-2.0 */
/* Pauses of the collector in comparisons: of the history's minutes, and of a recorder's counts. */
#include "api/api_impl.h"
#include "api/deploys.h"
#include "api/past_impl.h"
#include "discover/service.h"
#include "history_fixture.h"
#include "request/json_text.h"

#define BEFORE 60 /* minutes of the release before */
#define AFTER 16
#define MINUTE(n) (T0 + (uint64_t)(n)*HISTORY_MINUTE_NS)
#define MS NSEC_PER_MSEC

static struct history *history;
static const char *unread; /* event whose samples cannot be read: past_profile() gives `failure` */
static int failure;

int __real_past_profile(struct api *a, const struct target_selector *t,
                        const struct time_range *range, const char *event, unsigned sources,
                        struct profile **ret, struct past_recorder *ret_recorder,
                        struct error *err);
int __wrap_past_profile(struct api *a, const struct target_selector *t,
                        const struct time_range *range, const char *event, unsigned sources,
                        struct profile **ret, struct past_recorder *ret_recorder,
                        struct error *err);

int __wrap_past_profile(struct api *a, const struct target_selector *t,
                        const struct time_range *range, const char *event, unsigned sources,
                        struct profile **ret, struct past_recorder *ret_recorder, struct error *err)
{
    return unread && strcmp(event, unread) == 0
               ? error_set(err, failure, "cannot be read now")
               : __real_past_profile(a, t, range, event, sources, ret, ret_recorder, err);
}

static struct engine_opts opts;
static struct api api;

/* Pauses and samples of a minute, before and after the release. */
struct made {
    unsigned pauses[2], ms[2]; /* of each pause */
    unsigned work[2];          /* samples of each function */
};

static void put(int minute, const struct made *made)
{
    unsigned side = minute >= BEFORE, i = (unsigned)minute,
             pauses = made->pauses[side] ? made->pauses[side] + i % 2 : 0;
    int32_t pid = side ? 43 : 42;
    const struct made_jvm jvms[] = {
        { pid, 1000, "shop", "work", made->work[side] + i % 7, NULL },
        { pid, 1000, "shop", "rest", made->work[side] + i % 5, NULL },
    };
    struct profile *slice = make_slice(MINUTE(minute), jvms, ARRAY_SIZE(jvms));
    struct history_image image = made_image(pid, "shop");

    image.version = side ? "2" : "1";
    image.java = "21";
    image.started_ns = MINUTE(side ? BEFORE : 0);
    image.stopped =
        (struct history_stopped){ .pauses = pauses,
                                  .pause_ns = pauses * (made->ms[side] * MS + i % 5 * MS) };
    put_images(history, MINUTE(minute), slice, &image, 1);
}

static void make(const struct made *made, int minutes)
{
    history = open_history(1 << 30, 864000);
    api = (struct api){ .engine = { .history = history, .opts = &opts } };
    for (int i = 0; i < minutes; i++)
        put(i, made);
}

/* Compares the minutes before the release with those after it. */
static json_t *compare(const struct made *made)
{
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    const struct time_range a = { MINUTE(0), MINUTE(BEFORE) },
                            b = { MINUTE(BEFORE), MINUTE(BEFORE + AFTER) };
    struct error err = ERROR_NULL;
    json_t *answer = NULL;

    make(made, BEFORE + AFTER);
    ck_assert_msg(changes_kept(&api, &t, &a, &b, &answer, &err) == 0, "%s", err.msg);
    history_close(history);
    return answer;
}

/* Returns the only change of pauses; NULL: there is none. */
static const json_t *only_pause(const json_t *answer)
{
    const json_t *changes = json_object_get(answer, "changes"), *found = NULL, *one;
    size_t i;

    json_array_foreach(changes, i, one)
    {
        if (strcmp(json_text(one, "kind"), "pause") != 0)
            continue;
        ck_assert_ptr_null(found);
        found = one;
    }
    return found;
}

static double number(const json_t *one, const char *key)
{
    return json_number_value(json_object_get(one, key));
}

START_TEST(pauses_that_take_more)
{
    json_t *answer = compare(&(struct made){ { 12, 54 }, { 20, 40 }, { 200, 200 } });
    const json_t *one = only_pause(answer);
    const char *diff;

    ck_assert_ptr_nonnull(one);
    ck_assert_str_eq(json_text(one, "name"), "garbage collection");
    ck_assert_str_eq(json_text(one, "unit"), "percent");
    ck_assert_double_eq_tol(number(one, "before"), 12.5 * 22 / 600, 0.03);
    ck_assert_double_eq_tol(number(one, "after"), 54.5 * 42 / 600, 0.2);
    ck_assert_msg(
        strstr(json_text(one, "sentence"),
               "Pauses for garbage collection take 3.3 % of the time more than before (") &&
            strstr(json_text(one, "sentence"),
                   "0.5 %, now 3.8 %; 12.5 a minute of 22.0 ms, now 54."),
        "%s", json_text(one, "sentence"));
    diff = json_text(one, "diff");
    ck_assert_msg(strncmp(diff, "/api/v1/timeline?by=category&service=shop&from=", 47) == 0, "%s",
                  diff);
    ck_assert_str_eq(json_text(answer, "times"), "asked");
    ck_assert_double_eq_tol(number(json_object_get(answer, "samples"), "a"), 203 * BEFORE, BEFORE);
    ck_assert_double_eq_tol(number(json_object_get(answer, "samples"), "b"), 203 * AFTER, AFTER);
    ck_assert_double_eq(number(json_object_get(answer, "needed"), "samples"), 300);
    ck_assert_double_eq(number(json_object_get(answer, "needed"), "seconds"), 45);
    json_decref(answer);
}
END_TEST

/* Few long pauses for many short ones that took as much. They are no percent of anything. */
START_TEST(fewer_pauses)
{
    json_t *answer = compare(&(struct made){ { 60, 6 }, { 10, 105 }, { 200, 200 } });
    const json_t *one = only_pause(answer);

    ck_assert_ptr_nonnull(one);
    ck_assert_str_eq(json_text(one, "name"), "garbage collections");
    ck_assert_str_eq(json_text(one, "unit"), "pauses/min");
    ck_assert_double_eq_tol(number(one, "difference"), -54, 2);
    ck_assert_msg(strstr(json_text(one, "sentence"),
                         "Pauses for garbage collection are 54.0 a minute fewer than before"),
                  "%s", json_text(one, "sentence"));
    json_decref(answer);
}
END_TEST

/* With twice the work come twice the pauses. */
START_TEST(twice_the_load)
{
    json_t *answer = compare(&(struct made){ { 20, 40 }, { 50, 50 }, { 150, 300 } });

    ck_assert_ptr_null(only_pause(answer));
    json_decref(answer);
}
END_TEST

/* Pauses of one side alone may be unknown on the other. */
START_TEST(pauses_of_one_side)
{
    json_t *answer = compare(&(struct made){ { 0, 40 }, { 0, 50 }, { 200, 200 } });
    char *text = json_dumps(answer, 0);

    ck_assert_ptr_null(only_pause(answer));
    ck_assert_msg(strstr(text, "No pauses are known before: pauses were not compared"), "%s", text);
    free(text);
    json_decref(answer);
}
END_TEST

/* An event that cannot be read was not unrecorded: the comparison is refused. Only without a store
 * there is nothing to read. */
START_TEST(what_cannot_be_read_is_not_none)
{
    static const int FAILURES[] = { -ENOMEM, -EBUSY, BACKEND_UNAVAILABLE };
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    const struct time_range a = { MINUTE(0), MINUTE(BEFORE) },
                            b = { MINUTE(BEFORE), MINUTE(BEFORE + AFTER) };
    struct error err = ERROR_NULL;
    json_t *answer = NULL;

    make(&(struct made){ { 20, 40 }, { 50, 50 }, { 150, 300 } }, BEFORE + AFTER);
    unread = "offcpu";
    failure = FAILURES[_i];
    ck_assert_int_eq(changes_kept(&api, &t, &a, &b, &answer, &err), MIN(failure, 0));
    ck_assert_str_eq(err.msg, failure < 0 ? "cannot be read now" : "");
    unread = NULL;
    json_decref(answer);
    history_close(history);
}
END_TEST

/* A release with fewer pauses has no figure in percent. One with more time in pauses has. */
START_TEST(of_a_release)
{
    const struct made made = { { 60, _i ? 60 : 6 }, { 10, _i ? 60 : 105 }, { 200, 200 } };
    _cleanup_buf_ struct buf out = BUF_UPTO(1 << 16);
    struct deploys *d = NULL;
    struct process p = { .owner = 1000, .start_realtime_ns = MINUTE(BEFORE) };
    struct service service = { .name = "shop", .version = "2" };
    struct rule_release release = { 0 };

    make(&made, BEFORE + AFTER);
    ck_assert_int_eq(deploys_new(&api, &d), 0);
    ck_assert_int_eq(deploys_look(d, MINUTE(BEFORE + 14), NULL), 0);
    deploys_metrics(d, &VIEWER_WHOLE, &out);
    p.service = &service;
    deploys_release(d, &p, 0, &release);
    ck_assert_msg(strstr(out.p, _i ? "version=\"2\"} 5." : "version=\"2\"} 0\n"), "%s", out.p);
    ck_assert_msg(strstr(release.text, _i ? "since 2: +5.0 \u00b1"
                                          : "since 2: Pauses for garbage collection are 54."),
                  "%s", release.text);
    if (_i)
        ck_assert_msg(strstr(release.text, " % pauses, garbage collection"), "%s", release.text);
    deploys_free(d);
    history_close(history);
}
END_TEST

/* A minute of the history is a minute, also if steps are shorter. */
START_TEST(minutes_in_shorter_steps)
{
    const struct made made = { { 10, 10 }, { 600, 600 }, { 20, 20 } };
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    const struct time_range range = { MINUTE(0), MINUTE(20) };
    const struct change_steps steps = {
        .a_ns = MINUTE(0), .b_ns = MINUTE(10), .step_ns = HISTORY_MINUTE_NS / 2, .a = 20, .b = 20
    };
    struct profile p = { .moment_count = 0 };
    struct change *found = NULL;
    struct change_set s;
    size_t n;
    bool any = false;

    make(&made, 20);
    ck_assert_int_eq(change_set_init(&s, &steps), 0);
    for (size_t i = 0; i < 40; i += 2) /* samples of a minute are in one step, too */
        s.whole[CHANGE_FUNCTION][i] = 100;
    ck_assert_int_eq(changes_pauses(&api, &t, &range, &p, UINT64_MAX, &s, &any, NULL), 0);
    ck_assert_int_eq(changes_find(&s, &found, &n), 0);
    ck_assert_double_eq_tol(change_set_mean(&s, CHANGE_PAUSE_TIME, 0), 10.5 * 0.6 / 60 * 100, 0.2);
    ck_assert_double_eq_tol(change_set_mean(&s, CHANGE_PAUSE_COUNT, 1), 10.5, 0.2);
    free(found);
    change_set_deinit(&s);
    history_close(history);
}
END_TEST

/* After two days, the history has samples in parts of 10 minutes, but pauses by minute. Their sums
 * are of different times. */
START_TEST(pauses_beside_longer_parts)
{
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    const struct made made = { { 20, 20 }, { 50, 50 }, { 200, 200 } };
    const int old = 100, later = 3 * 24 * 60, fresh = 60;
    const struct time_range a = { MINUTE(0), MINUTE(old) },
                            b = { MINUTE(later), MINUTE(later + fresh) };
    struct error err = ERROR_NULL;
    json_t *answer = NULL;
    char *text;

    make(&made, old);
    ck_assert_int_eq(history_roll(history, MINUTE(old + 60), NULL), 0);
    for (int i = later; i < later + fresh; i++)
        put(i, &made);
    ck_assert_int_eq(history_roll(history, MINUTE(later + fresh), NULL), 0);
    ck_assert_msg(changes_kept(&api, &t, &a, &b, &answer, &err) == 0, "%s", err.msg);
    text = json_dumps(answer, 0);
    ck_assert_uint_eq(json_array_size(json_object_get(answer, "changes")), 0);
    ck_assert_msg(strstr(text, "In the time before, samples are kept in parts of up to 10 minutes, "
                               "each counted as one minute: pauses were not compared"),
                  "%s", text);
    ck_assert_msg(json_is_true(json_object_get(answer, "enough")), "%s", text);
    free(text);
    json_decref(answer);
    history_close(history);
}
END_TEST

/* The recorder has counts of seconds, and the history the minutes before. */
START_TEST(counts_of_the_recorder)
{
    const struct made made = { { 10, 10 }, { 100, 100 }, { 20, 20 } };
    const struct target_selector t = { .service = "shop", .viewer = &VIEWER_WHOLE };
    const struct time_range range = { MINUTE(0), MINUTE(20) };
    const struct change_steps steps = {
        .a_ns = MINUTE(0), .b_ns = MINUTE(10), .step_ns = HISTORY_MINUTE_NS, .a = 10, .b = 10
    };
    struct profile_moment moments[] = {
        { .kind = MOMENT_COUNTS_COLLECTIONS, .count = 3, .reach_ns = 600 * MS },
        { .kind = MOMENT_COUNTS_COLLECTIONS, .count = 2, .reach_ns = 400 * MS },
        { .kind = MOMENT_COUNTS_SAFEPOINTS, .count = 7, .reach_ns = 900 * MS },
    };
    struct profile p = { .start_ns = 5,
                         .start_realtime_ns = MINUTE(15),
                         .moments = moments,
                         .moment_count = ARRAY_SIZE(moments) };
    struct change_set s;
    bool any = false;

    for (size_t i = 0; i < ARRAY_SIZE(moments); i++) {
        moments[i].start_ns = 5 + HISTORY_MINUTE_NS * i + NSEC_PER_SEC;
        moments[i].end_ns = moments[i].start_ns + NSEC_PER_SEC;
    }
    make(&made, 20);
    ck_assert_int_eq(change_set_init(&s, &steps), 0);
    ck_assert_int_eq(changes_pauses(&api, &t, &range, &p, MINUTE(15) + 1, &s, &any, NULL), 0);
    ck_assert(any);
    ck_assert_uint_eq(s.count, 2);
    for (size_t m = 0; m < 20; m++)
        ck_assert_msg(s.series[1].by_step[m] == (m < 15    ? 10 + (double)(m % 2)
                                                 : m == 15 ? 3
                                                 : m == 16 ? 2
                                                           : 0),
                      "%zu: %g", m, s.series[1].by_step[m]);
    ck_assert_double_eq_tol(s.series[0].by_step[15], 6e8, 1);
    change_set_deinit(&s);
    history_close(history);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("changes_pauses");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, pauses_that_take_more);
    tcase_add_test(tc, fewer_pauses);
    tcase_add_test(tc, twice_the_load);
    tcase_add_test(tc, pauses_of_one_side);
    tcase_add_loop_test(tc, what_cannot_be_read_is_not_none, 0, 3);
    tcase_add_loop_test(tc, of_a_release, 0, 2);
    tcase_add_test(tc, minutes_in_shorter_steps);
    tcase_add_test(tc, counts_of_the_recorder);
    tcase_add_test(tc, pauses_beside_longer_parts);
    return run_store_tests("changes_pauses", tc);
}
