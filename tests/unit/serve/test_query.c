/* SPDX-License-Identifier: Apache-2.0 */
/* Query strings, and their values. */
#include "suite.h"

#include "base/clock.h"
#include "serve/params/query.h"
#include "serve/params/values.h"

static const struct {
    const char *raw, *decoded; /* "name=value;..." */
    int r;
} QUERIES[] = {
    { "", "", 0 },
    { "a=1", "a=1;", 0 },
    { "a=1&b=2", "a=1;b=2;", 0 },
    { "a=1&&b=2&", "a=1;b=2;", 0 },
    { "&&&", "", 0 },
    { "a", "a;", 0 },
    { "a=", "a=;", 0 },
    { "=1", "=1;", 0 },
    { "a=b=c", "a=b=c;", 0 },
    { "a=%41+%2b", "a=A +;", 0 },
    { "%61=%61", "a=a;", 0 },
    { "a=%e2%82%ac", "a=\xe2\x82\xac;", 0 },
    { "a=%26%3d", "a=&=;", 0 },
    { "a=%", "", -EINVAL },
    { "a=%4", "", -EINVAL },
    { "a=%4&b=1", "", -EINVAL },
    { "a=%4g", "", -EINVAL },
    { "%zz=1", "", -EINVAL },
    { "a=%00", "", -EINVAL },
    { "a=%c0%80", "", -EINVAL },
    { "a=%e2%82", "", -EINVAL },
    { "a=\xff", "", -EINVAL },
};

START_TEST(splits_and_decodes_a_query)
{
    struct query q = { 0 };
    struct error err = ERROR_NULL;
    char text[128] = "";

    ck_assert_int_eq(query_parse(span_of(QUERIES[_i].raw), &q, &err), QUERIES[_i].r);
    if (QUERIES[_i].r < 0)
        ck_assert_str_ne(err.msg, "");
    for (size_t i = 0; i < q.count; i++) {
        size_t n = strlen(text);

        ck_assert_int_eq(q.items[i].name.p[q.items[i].name.n], 0);
        ck_assert_int_eq(q.items[i].value.p[q.items[i].value.n], 0);
        snprintf(text + n, sizeof(text) - n, "%s%s%s;", q.items[i].name.p,
                 q.items[i].has_value ? "=" : "", q.items[i].value.p);
    }
    ck_assert_str_eq(text, QUERIES[_i].decoded);
    query_deinit(&q);
}
END_TEST

START_TEST(a_query_has_a_limit)
{
    char raw[QUERY_ITEMS_MAX * 2 + 3] = "";
    struct error err = ERROR_NULL;
    struct query q = { 0 };

    for (size_t i = 0; i < QUERY_ITEMS_MAX; i++)
        memcpy(raw + i * 2, "a&", 3);
    ck_assert_int_eq(query_parse(span_of(raw), &q, &err), 0);
    ck_assert_uint_eq(q.count, QUERY_ITEMS_MAX);
    query_deinit(&q);
    memcpy(raw + (size_t)QUERY_ITEMS_MAX * 2, "a", 2);
    ck_assert_int_eq(query_parse(span_of(raw), &q, &err), -E2BIG);
}
END_TEST

START_TEST(decodes_a_path)
{
    struct error err = ERROR_NULL;
    char *path = NULL;

    ck_assert_int_eq(query_decode_path(SPAN("/a%20b+c"), &path, &err), 0);
    ck_assert_str_eq(path, "/a b+c"); /* in paths, '+' is no blank */
    free(path);
    path = NULL;
    ck_assert_int_eq(query_decode_path(SPAN("/%"), &path, &err), -EINVAL);
    ck_assert_ptr_null(path);
}
END_TEST

START_TEST(shows_foreign_text_harmlessly)
{
    char buf[QUERY_SHOW_MAX], long_text[500];

    memset(long_text, 'x', sizeof(long_text));
    ck_assert_uint_le(strlen(query_show((struct span){ long_text, sizeof(long_text) }, buf)), 64);
    ck_assert_str_eq(query_show(SPAN("a\x1b[2J\n\xff"), buf),
                     "a\xef\xbf\xbd[2J\xef\xbf\xbd\xef\xbf\xbd");
}
END_TEST

/* ---- values ---- */

static const struct {
    const char *text;
    uint64_t scale;
    bool good;
    uint64_t value;
} SCALED[] = {
    { "0", 1000, true, 0 },
    { "2.5", 1000, true, 2500 },
    { "0.001", 1000, true, 1 },
    { "0.0019", 1000, true, 1 },
    { "3600", NSEC_PER_SEC, true, 3600 * NSEC_PER_SEC },
    { "9223372036", NSEC_PER_SEC, true, UINT64_C(9223372036000000000) },
    { "9223372037", NSEC_PER_SEC, false, 0 },
    { "18446744073709551615", 1, false, 0 },
    { "", 1, false, 0 },
    { ".5", 10, false, 0 },
    { "5.", 10, false, 0 },
    { "-5", 10, false, 0 },
    { "+5", 10, false, 0 },
    { " 5", 10, false, 0 },
    { "5 ", 10, false, 0 },
    { "1e3", 10, false, 0 },
    { "0x10", 10, false, 0 },
    { "1.2.3", 10, false, 0 },
};

START_TEST(reads_a_number)
{
    uint64_t v = 0;

    ck_assert_msg(value_scaled(span_of(SCALED[_i].text), SCALED[_i].scale, &v) == SCALED[_i].good,
                  "%s", SCALED[_i].text);
    ck_assert_uint_eq(v, SCALED[_i].value);
}
END_TEST

static const struct {
    const char *text;
    bool good;
    uint64_t ns;
} INTERVALS[] = {
    { "10ms", true, 10 * NSEC_PER_MSEC },
    { "100us", true, 100 * NSEC_PER_USEC },
    { "1s", true, NSEC_PER_SEC },
    { "0.5s", true, NSEC_PER_SEC / 2 },
    { "10", false, 0 },
    { "ms", false, 0 },
    { "10 ms", false, 0 },
    { "10m", false, 0 },
    { "10ns", false, 0 },
    { "", false, 0 },
    { "s", false, 0 },
    { "-1s", false, 0 },
};

START_TEST(reads_an_interval)
{
    uint64_t ns = 0;

    ck_assert_msg(value_interval(span_of(INTERVALS[_i].text), &ns) == INTERVALS[_i].good, "%s",
                  INTERVALS[_i].text);
    ck_assert_uint_eq(ns, INTERVALS[_i].ns);
}
END_TEST

START_TEST(guesses_what_was_meant)
{
    static const char *const NAMES[] = { "seconds", "symbols", "pid", "pod", "interval" };
    static const struct {
        const char *word, *near;
    } CASES[] = {
        { "secnods", "seconds" },
        { "second", "seconds" },
        { "symbol", "symbols" },
        { "pidd", "pid" },
        { "intervall", "interval" },
        { "POD", "pod" },
        { "xyz", NULL },
        { "", NULL },
        { "banana", NULL },
        { "a-very-long-word-that-is-nothing-at-all", NULL },
    };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        const char *near = value_nearest(span_of(CASES[i].word), NAMES, ARRAY_SIZE(NAMES));

        ck_assert_msg(CASES[i].near ? near && strcmp(near, CASES[i].near) == 0 : near == NULL,
                      "%s: %s", CASES[i].word, near ? near : "-");
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("query");

    tcase_add_loop_test(tc, splits_and_decodes_a_query, 0, ARRAY_SIZE(QUERIES));
    tcase_add_test(tc, a_query_has_a_limit);
    tcase_add_test(tc, decodes_a_path);
    tcase_add_test(tc, shows_foreign_text_harmlessly);
    tcase_add_loop_test(tc, reads_a_number, 0, ARRAY_SIZE(SCALED));
    tcase_add_loop_test(tc, reads_an_interval, 0, ARRAY_SIZE(INTERVALS));
    tcase_add_test(tc, guesses_what_was_meant);
    return suite_run_case("query", tc);
}
