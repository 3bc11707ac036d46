/* SPDX-License-Identifier: Apache-2.0 */
/* serve/words.h: which sentences there are, and how long a time they are about. */
#include "serve/words.h"

#include "../profile/recorded.h"
#include "base/clock.h"

#include "suite.h"

#define PERIOD_NS 10000000
#define MINUTE_NS (60 * NSEC_PER_SEC)
#define HOUR_NS (60 * MINUTE_NS)

static uint64_t recorded_ns;    /* the service was recorded for this long */
static uint32_t recorded_a_min; /* samples of each minute */
static size_t asked;            /* how often samples of the past were read */

static struct profile *profile_of(uint32_t samples)
{
    struct profile meta = { .event_count = 1,
                            .events = { { "cpu", "nanoseconds", PERIOD_NS, false } } };
    uint32_t frame = recorded_frame("shop.Cart", "total", FRAME_C2, 0);
    struct profile_sample s = { .time_ns = 1,
                                .thread = main_thread,
                                .count = samples,
                                .value = (uint64_t)samples * PERIOD_NS };
    struct profile *p = NULL;

    ck_assert_int_eq(record_sample(rec, &s, &frame, 1), 0);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    rec = record_free(rec);
    ck_assert_int_eq(record_new(table, 100, &rec), 0);
    ck_assert_int_eq(record_thread(rec, &(struct profile_thread){ .name = recorded_string("main") },
                                   &main_thread),
                     0);
    return p;
}

static int fake_past(void *ctx, const struct target_selector *t, const struct time_range *range,
                     const char *event, enum past_from from, struct profile **ret,
                     struct error *err)
{
    uint64_t ns = MIN(range->to_ns - range->from_ns, recorded_ns);

    (void)ctx, (void)t, (void)event, (void)from, (void)err;
    asked++;
    *ret = profile_of((uint32_t)(ns / MINUTE_NS) * recorded_a_min);
    return 0;
}

static json_t *signal_of(const char *name, int severity)
{
    return json_pack("{s:s, s:i, s:s, s:s}", "signal", name, "severity", severity, "sentence",
                     "it is so", "evidence", "/evidence");
}

/* The backend orders signals by JVM: the most severe one is not the first. */
static int fake_document(void *ctx, enum backend_document which, const struct document_query *q,
                         json_t **ret, struct error *err)
{
    (void)ctx, (void)q, (void)err;
    if (which == DOCUMENT_SIGNALS)
        *ret = json_pack("{s:[o,o,o]}", "signals", signal_of("cpu-limit", 2),
                         signal_of("code-cache", 1), signal_of("heap-full", 3));
    else
        *ret = json_pack("{s:[s], s:[{s:s, s:s}]}", "sentences", "more", "changes", "sentence",
                         "more", "diff", "/diff");
    return 0;
}

/* Composes sentences about @samples of the range that ended @ago_ns ago. */
static void compose(uint32_t samples, uint64_t ago_ns, struct words *ret)
{
    const struct api_backend be = { .past = fake_past, .document = fake_document };
    const struct target_selector target = { .service = "shop" };
    struct words_request q = { .target = &target };
    struct profile *p = samples ? profile_of(samples) : NULL;
    struct view_opts o = { .exact = true, .waits = true };

    q.range.to_ns = clock_realtime_ns() - ago_ns;
    q.range.from_ns = q.range.to_ns - MINUTE_NS;
    if (p)
        ck_assert_int_eq(view_new(p, &o, &q.view, NULL), 0);
    profile_unref(p);
    asked = 0;
    words_compose(&be, &q, ret);
    view_free(q.view);
}

static void assert_kinds(const struct words *w, const char *kinds)
{
    _cleanup_buf_ struct buf b = BUF_UPTO(256);

    for (size_t i = 0; i < w->count; i++)
        buf_printf(&b, "%s%s", i ? " " : "", words_kind_name(w->list[i].kind));
    ck_assert_str_eq(b.p, kinds);
}

/* The shortest of the ranges that has 300 samples. */
static const struct {
    uint32_t had, a_minute;
    uint64_t recorded_ns;
    const char *said, *kinds;
    uint64_t about_ns;
} WIDER[] = {
    { 20, 60, HOUR_NS, "20 samples: too few to tell; what follows is about 5 min, with 300",
      "few time signal signal change", 5 * MINUTE_NS },
    { 1, 59, HOUR_NS, "1 sample: too few to tell; what follows is about 15 min, with 885",
      "few time signal signal change", 15 * MINUTE_NS },
    { 5, 5, HOUR_NS, "5 samples: too few to tell; what follows is about 60 min, with 300",
      "few time signal signal change", HOUR_NS },
    { 5, 5, HOUR_NS - MINUTE_NS, "5 samples: too few to tell, as are those of 60 min: 295",
      "few signal signal change", HOUR_NS },
    { 4, 2, 4 * HOUR_NS, "4 samples: too few to tell; what follows is about 4 h, with 480",
      "few time signal signal change", 4 * HOUR_NS },
    { 0, 1, 24 * HOUR_NS, "0 samples: too few to tell; what follows is about 24 h, with 1440",
      "few time signal signal change", 24 * HOUR_NS },
    { 299, 0, HOUR_NS, "299 samples: too few to tell", "few signal signal change", MINUTE_NS },
};

START_TEST(few_samples_widen_the_time)
{
    struct words w;

    recorded_ns = WIDER[_i].recorded_ns;
    recorded_a_min = WIDER[_i].a_minute;
    compose(WIDER[_i].had, 0, &w);
    ck_assert_str_eq(w.list[0].text, WIDER[_i].said);
    assert_kinds(&w, WIDER[_i].kinds);
    ck_assert_uint_eq(w.to_ns - w.from_ns, WIDER[_i].about_ns);
    words_deinit(&w);
}
END_TEST

/* Five at most: with the sentence that samples are few, that about errors has no room. */
START_TEST(enough_samples_have_all_sentences)
{
    struct words w;

    compose(300, 0, &w);
    ck_assert_uint_eq(asked, 0);
    assert_kinds(&w, "time signal signal change sure");
    ck_assert_uint_eq(w.count, WORDS_MAX);
    ck_assert_uint_eq(w.count, 5);
    ck_assert_str_eq(w.list[1].text, "heap-full: it is so");
    ck_assert_str_eq(w.list[2].text, "cpu-limit: it is so");
    words_deinit(&w);
}
END_TEST

/* Signals are of now, and say nothing about an hour ago. */
START_TEST(the_past_has_no_signals)
{
    struct words w;

    compose(300, HOUR_NS, &w);
    assert_kinds(&w, "time sure");
    words_deinit(&w);
}
END_TEST

/* A person reads the times of a link, and changes them. */
START_TEST(links_have_whole_seconds)
{
    struct words w;

    compose(300, HOUR_NS, &w);
    for (size_t i = 0; i < w.count; i++) {
        ck_assert_ptr_nonnull(strstr(w.list[i].link, "&service=shop&from=20"));
        ck_assert_ptr_nonnull(strstr(w.list[i].link, "Z&to=20"));
        ck_assert_ptr_null(strchr(w.list[i].link, '.'));
    }
    words_deinit(&w);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("words_composed");

    tcase_add_checked_fixture(tc, recorded_setup, recorded_teardown);
    tcase_add_loop_test(tc, few_samples_widen_the_time, 0, ARRAY_SIZE(WIDER));
    tcase_add_test(tc, enough_samples_have_all_sentences);
    tcase_add_test(tc, the_past_has_no_signals);
    tcase_add_test(tc, links_have_whole_seconds);
    return suite_run_case("words_composed", tc);
}
