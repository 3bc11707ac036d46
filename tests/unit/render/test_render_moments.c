/* SPDX-License-Identifier: Apache-2.0 */
/* render/moments: which moments a page shows if there are too many. */
#include "suite.h"

#include "profile/profile.h"
#include "render/moments.h"

#include <jansson.h>

#define MS UINT64_C(1000000)

static struct profile profile;
static struct profile_moment moments[64];

static void add(enum profile_moment_kind kind, uint64_t at_ms, uint64_t ms)
{
    bool counts = profile_moment_counts(kind);

    moments[profile.moment_count++] = (struct profile_moment){ .kind = kind,
                                                               .start_ns = at_ms * MS,
                                                               .end_ns = (at_ms + ms) * MS,
                                                               .reach_ns = counts ? 10 : 0,
                                                               .count = counts };
}

/* Three pauses, ten compilations of 1 to 10 ms, and eight counts of a second each. */
static void setup(void)
{
    memset(&profile, 0, sizeof(profile));
    profile.moments = moments;
    ck_assert_int_eq(intern_new(1 << 10, &profile.strings), 0);
    add(MOMENT_IS_GC, 0, 1);
    for (uint64_t i = 0; i < 8; i++)
        add(MOMENT_COUNTS_COMPILATIONS, i * 1000, 1000);
    for (uint64_t i = 1; i <= 10; i++)
        add(MOMENT_IS_JIT, 8000 + i, i);
    add(MOMENT_IS_SAFEPOINT, 9000, 2);
    add(MOMENT_IS_GC, 9100, 5);
}

static void teardown(void)
{
    intern_free(profile.strings);
}

/* Returns the moments of a page with room for @max. The caller frees them. */
static json_t *shown(size_t max)
{
    _cleanup_buf_ struct buf out = BUF_NULL;
    json_error_t error;
    json_t *data;

    buf_init(&out, 1 << 20);
    buf_add_str(&out, "{\"first\":1");
    render_add_moments(&profile, max, &out);
    buf_add_char(&out, '}');
    ck_assert_int_eq(out.error, 0);
    data = json_loadb(out.p, out.n, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(data != NULL, "%s at %d", error.text, error.position);
    return data;
}

/* Returns how many moments of @kind there are. *ret: the sum of their member @name. */
static size_t sum_of(const json_t *data, const char *kind, const char *name, json_int_t *ret)
{
    json_t *one;
    size_t i, n = 0;

    *ret = 0;
    json_array_foreach(json_object_get(data, "moments"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "kind")), kind) != 0)
            continue;
        *ret += json_integer_value(json_object_get(one, name));
        n++;
    }
    return n;
}

static json_int_t number(const json_t *data, const char *name)
{
    return json_integer_value(json_object_get(data, name));
}

START_TEST(all_are_there_if_there_is_room)
{
    json_t *data = shown(profile.moment_count);

    ck_assert_uint_eq(json_array_size(json_object_get(data, "moments")), profile.moment_count);
    ck_assert_ptr_null(json_object_get(data, "moments_left_out"));
    json_decref(data);
}
END_TEST

START_TEST(pauses_go_last_and_counts_are_added_up)
{
    json_t *data = shown(8), *one;
    json_int_t sum, before = 0;
    size_t i;

    ck_assert_uint_eq(json_array_size(json_object_get(data, "moments")), 8);
    ck_assert_uint_eq(sum_of(data, "compilations", "count", &sum), 4); /* two in each */
    ck_assert_int_eq(sum, 8);
    ck_assert_uint_eq(sum_of(data, "compilations", "total_ns", &sum), 4);
    ck_assert_int_eq(sum, 80);
    ck_assert_uint_eq(sum_of(data, "compilations", "ns", &sum), 4);
    ck_assert_int_eq(sum, (json_int_t)(8000 * MS));
    ck_assert_uint_eq(sum_of(data, "gc", "ns", &sum), 2);
    ck_assert_uint_eq(sum_of(data, "safepoint", "ns", &sum), 1);
    ck_assert_uint_eq(sum_of(data, "jit", "ns", &sum), 1); /* the longest */
    ck_assert_int_eq(sum, (json_int_t)(10 * MS));
    ck_assert_int_eq(number(data, "moments_left_out"), 9);
    ck_assert_int_eq(number(data, "pauses_left_out"), 0);
    json_array_foreach(json_object_get(data, "moments"), i, one)
    {
        ck_assert_int_ge(number(one, "at_ns"), before);
        before = number(one, "at_ns");
    }
    json_decref(data);
}
END_TEST

START_TEST(the_longest_pauses_stay)
{
    json_t *data = shown(4);
    json_int_t sum;

    ck_assert_uint_eq(sum_of(data, "compilations", "count", &sum), 2);
    ck_assert_int_eq(sum, 8);
    ck_assert_uint_eq(sum_of(data, "gc", "ns", &sum), 1);
    ck_assert_int_eq(sum, (json_int_t)(5 * MS));
    ck_assert_uint_eq(sum_of(data, "safepoint", "ns", &sum), 1);
    ck_assert_int_eq(number(data, "moments_left_out"), 11);
    ck_assert_int_eq(number(data, "pauses_left_out"), 1);
    json_decref(data);
}
END_TEST

START_TEST(counts_of_two_processes_stay_apart)
{
    json_t *data;
    json_int_t sum;

    for (size_t i = 0; i < profile.moment_count; i++)
        moments[i].process = (uint32_t)i % 2;
    data = shown(2);
    ck_assert_uint_eq(sum_of(data, "compilations", "count", &sum), 2);
    ck_assert_int_eq(sum, 8);
    ck_assert_int_eq(number(data, "pauses_left_out"), 3);
    json_decref(data);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("render_moments");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, all_are_there_if_there_is_room);
    tcase_add_test(tc, pauses_go_last_and_counts_are_added_up);
    tcase_add_test(tc, the_longest_pauses_stay);
    tcase_add_test(tc, counts_of_two_processes_stay_apart);
    return suite_run_case("render_moments", tc);
}
