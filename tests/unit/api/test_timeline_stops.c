/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_stops(): pauses and throttling before the recorder's time, by bucket. */
#include "api/api_impl.h"
#include "history_fixture.h"

#define MINUTES 30
#define MINUTE(n) (T0 + (uint64_t)(n)*HISTORY_MINUTE_NS)

static struct history *history;
static struct api api;

static struct history_image image_of(int32_t pid, const struct history_stopped *stopped)
{
    struct history_image image = made_image(pid, pid == 42 ? "shop" : "cart");

    image.stopped = *stopped;
    return image;
}

/* Writes two JVMs: 42 collects each minute, 43 is throttled every other minute. */
static void make(void)
{
    static const struct made_jvm JVMS[] = { { 42, 1000, "shop", "work", 40, NULL },
                                            { 43, 1000, "cart", "work", 40, NULL } };

    history = open_history(1 << 30, 864000);
    api = (struct api){ .engine = { .history = history } };
    for (unsigned i = 0; i < MINUTES; i++) {
        struct profile *slice = make_slice(MINUTE(i), JVMS, ARRAY_SIZE(JVMS));
        struct history_image images[] = {
            image_of(42, &(struct history_stopped){ 2, NSEC_PER_SEC, 0 }),
            image_of(43, &(struct history_stopped){ 0, 0, i % 2 * NSEC_PER_SEC }),
        };

        put_images(history, MINUTE(i), slice, images, ARRAY_SIZE(images));
    }
}

/* Asks for the minutes of @range in @buckets. Returns the sum for @kind, and the seconds of its
 * entries in *ret_seconds. */
static size_t sum_in(const struct target_selector *t, struct time_range range, size_t buckets,
                     uint64_t recorded_ns, const char *kind, double *ret_stopped,
                     double *ret_seconds, long *ret_count)
{
    json_t *moments = json_array(), *one;
    size_t left_out = 0, i, n = 0;

    *ret_stopped = 0;
    *ret_seconds = 0;
    *ret_count = 0;
    ck_assert_int_eq(
        timeline_stops(&api, t, &range, buckets, recorded_ns, moments, &left_out, NULL), 0);
    ck_assert_uint_eq(left_out, 0);
    json_array_foreach(moments, i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "kind")), kind) != 0)
            continue;
        n++;
        *ret_stopped += json_number_value(json_object_get(one, "stopped_seconds"));
        *ret_seconds += json_number_value(json_object_get(one, "seconds"));
        *ret_count += json_integer_value(json_object_get(one, "count"));
    }
    json_decref(moments);
    return n;
}

/* Asks for all minutes. */
static size_t sum(const struct target_selector *t, size_t buckets, uint64_t recorded_ns,
                  const char *kind, double *ret_stopped, long *ret_count)
{
    double seconds;

    return sum_in(t, (struct time_range){ MINUTE(0), MINUTE(MINUTES) }, buckets, recorded_ns, kind,
                  ret_stopped, &seconds, ret_count);
}

START_TEST(stops_by_bucket)
{
    static const struct target_selector ALL = { .viewer = &VIEWER_WHOLE },
                                        SHOP = { .viewer = &VIEWER_WHOLE, .service = "shop" };
    double stopped;
    long count;

    make();
    ck_assert_uint_eq(sum(&ALL, MINUTES, UINT64_MAX, "collections", &stopped, &count), MINUTES);
    ck_assert_double_eq_tol(stopped, MINUTES, 1e-9);
    ck_assert_int_eq(count, 2 * MINUTES);
    ck_assert_uint_eq(sum(&ALL, 3, UINT64_MAX, "collections", &stopped, &count), 3);
    ck_assert_double_eq_tol(stopped, MINUTES, 1e-9);
    ck_assert_uint_eq(sum(&ALL, 3, UINT64_MAX, "throttled", &stopped, &count), 3);
    ck_assert_double_eq_tol(stopped, MINUTES / 2, 1e-9);
    ck_assert_uint_eq(sum(&SHOP, 3, UINT64_MAX, "throttled", &stopped, &count), 0);
    ck_assert_uint_eq(sum(&SHOP, 1000, UINT64_MAX, "collections", &stopped, &count), MINUTES);
    /* the recorder has single collections of the last ten minutes, but no throttling */
    ck_assert_uint_eq(sum(&ALL, 30, MINUTE(20), "collections", &stopped, &count), 20);
    ck_assert_uint_eq(sum(&ALL, 30, MINUTE(20), "throttled", &stopped, &count), MINUTES / 2);
    history_close(history);
}
END_TEST

/* The recorder begins within a bucket of ten minutes: its first minutes still count. */
START_TEST(recorder_within_bucket)
{
    static const struct target_selector ALL = { .viewer = &VIEWER_WHOLE };
    const struct time_range range = { MINUTE(0), MINUTE(MINUTES) },
                            later = { MINUTE(4) + 1, MINUTE(MINUTES) };
    double stopped, seconds;
    long count;

    make();
    sum_in(&ALL, range, 3, MINUTE(25), "collections", &stopped, &seconds, &count);
    ck_assert_double_eq_tol(stopped, 25, 1e-9);
    ck_assert_int_eq(count, 2 * 25);
    ck_assert_double_eq_tol(seconds, 25 * 60, 1e-6);
    sum_in(&ALL, range, 3, MINUTE(25), "throttled", &stopped, &seconds, &count);
    ck_assert_double_eq_tol(stopped, MINUTES / 2, 1e-9);
    ck_assert_double_eq_tol(seconds, MINUTES * 60, 1e-6);
    /* single collections also count in whole minutes */
    sum_in(&ALL, range, 3, MINUTE(25) - 1, "collections", &stopped, &seconds, &count);
    ck_assert_double_eq_tol(stopped, 24, 1e-9);
    /* the first entry begins with the first minute of the range */
    sum_in(&ALL, later, 2, UINT64_MAX, "collections", &stopped, &seconds, &count);
    ck_assert_double_eq_tol(stopped, MINUTES - 4, 1e-9);
    ck_assert_double_eq_tol(seconds, (MINUTES - 4) * 60, 1e-6);
    history_close(history);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("timeline_stops");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, stops_by_bucket);
    tcase_add_test(tc, recorder_within_bucket);
    return suite_run_case("timeline_stops", tc);
}
