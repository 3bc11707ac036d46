/* SPDX-License-Identifier: Apache-2.0 */
/* base/: spans, buffers, interning, clean text. */
#include "base/clock.h"
#include "base/intern.h"
#include "base/text.h"
#include "base/trusted_clock.h"

#include "suite.h"

#include <malloc.h>

/* The sanitizers' own count of allocated bytes. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated_bytes(void)
{
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes()
                                                   : mallinfo2().uordblks + mallinfo2().hblkhd;
}

static const struct {
    const char *in;
    size_t n;
    enum text_encoding encoding;
    const char *out;
} CLEAN_CASES[] = {
    { "plain", 5, TEXT_UTF8, "plain" },
    { "a\nb\x1b", 4, TEXT_UTF8,
      "a\xef\xbf\xbd"
      "b\xef\xbf\xbd" },
    { "\xc2\x9b", 2, TEXT_UTF8, "\xef\xbf\xbd" },          /* C1 */
    { "\xe2\x80\xae", 3, TEXT_UTF8, "\xef\xbf\xbd" },      /* bidi override */
    { "\xc0\x80", 2, TEXT_MODIFIED_UTF8, "\xef\xbf\xbd" }, /* NUL */
    { "\xc0\x80", 2, TEXT_UTF8, "\xef\xbf\xbd" },          /* overlong */
    { "\xed\xa0\xbd\xed\xb8\x80", 6, TEXT_MODIFIED_UTF8, "\xf0\x9f\x98\x80" },
    { "\xed\xa0\xbd!", 4, TEXT_MODIFIED_UTF8, "\xef\xbf\xbd!" }, /* lone surrogate */
    { "\xf0\x9f\x98\x80", 4, TEXT_UTF8, "\xf0\x9f\x98\x80" },
    { "\xe2\x80", 2, TEXT_UTF8, "\xef\xbf\xbd\xef\xbf\xbd" },  /* cut short */
    { "0123456789abcdef", 16, TEXT_UTF8, "0123456789abcdef" }, /* exactly the limit */
    { "0123456789abcdefg", 17, TEXT_UTF8, "0123456789abc..." },
    { "0123456789abc\xfe\xfe", 15, TEXT_UTF8, "0123456789abc..." }, /* 19 once cleaned */
    { "0123456789abc\xfe", 14, TEXT_UTF8, "0123456789abc\xef\xbf\xbd" },
};

START_TEST(the_lesser_evaluates_each_argument_once)
{
    int asked = 0;

    ck_assert_int_eq(MIN(++asked, 5), 1);
    ck_assert_int_eq(MAX(++asked, 0), 2);
    ck_assert_int_eq(CLAMP(++asked, 0, MIN(7, MAX(2, 1))), 2);
    ck_assert_int_eq(asked, 3);
}
END_TEST

START_TEST(cleans_one_text)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 1000);
    text_clean((struct span){ CLEAN_CASES[_i].in, CLEAN_CASES[_i].n }, CLEAN_CASES[_i].encoding, 16,
               &out);
    ck_assert_str_eq(out.p, CLEAN_CASES[_i].out);
}
END_TEST

START_TEST(knows_well_formed_utf8)
{
    static const struct {
        const char *text;
        bool good;
    } CASES[] = {
        { "", true },
        { "plain", true },
        { "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xef\xbf\xbd", true },
        { "\xff", false },
        { "a\xc3", false },            /* cut short */
        { "\xc0\x80", false },         /* overlong */
        { "\xe0\x80\x80", false },     /* overlong */
        { "\xed\xa0\x80", false },     /* surrogate */
        { "\xf4\x90\x80\x80", false }, /* past U+10FFFF */
        { "\x80", false },
    };

    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        ck_assert_msg(text_is_utf8(span_of(CASES[i].text)) == CASES[i].good, "row %zu", i);
}
END_TEST

START_TEST(escapes_for_json_and_html)
{
    _cleanup_buf_ struct buf out = BUF_NULL;

    buf_init(&out, 1000);
    text_add_json(&out, SPAN("a\"\\</script>\x01"));
    ck_assert_str_eq(out.p, "a\\\"\\\\\\u003c/script>\\u0001");
    buf_clear(&out);
    text_add_html(&out, SPAN("<a b='c' d=\"e\">&"));
    ck_assert_str_eq(out.p, "&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;");
}
END_TEST

START_TEST(interns_equal_strings_once)
{
    struct intern *t = NULL;
    uint32_t a, b, c;
    char text[32];

    ck_assert_int_eq(intern_new(1 << 20, &t), 0);
    for (int i = 0; i < 10000; i++) {
        snprintf(text, sizeof(text), "name-%d", i);
        ck_assert_int_eq(intern_add(t, span_of(text), &a), 0);
        ck_assert_int_eq(intern_add(t, span_of(text), &b), 0);
        ck_assert_uint_eq(a, b);
        ck_assert_uint_eq(a, (unsigned)i + 1);
    }
    ck_assert(span_eq_str(intern_get(t, 1), "name-0"));
    ck_assert_int_eq(intern_add(t, SPAN(""), &c), 0);
    ck_assert_uint_eq(c, 0);
    intern_free(t);
    ck_assert_int_eq(intern_new(10, &t), 0);
    ck_assert_int_eq(intern_add(t, SPAN("0123456789"), &a), -ENOSPC);
    intern_free(t);
}
END_TEST

/* Each slice of the flight recorder has a table of its own: tables with few strings are small, and
 * the budget of memory counts what they take. */
START_TEST(interning_counts_the_memory_that_it_takes)
{
    size_t before = allocated_bytes(), strings = 0;
    struct intern *t = NULL;
    uint32_t id;

    ck_assert_int_eq(intern_new(16 << 20, &t), 0);
    for (int i = 0; i < 20000; i++) {
        char text[64];
        size_t taken;

        snprintf(text, sizeof(text), "com.acme.shop.Order%d.method%d", i, i);
        ck_assert_int_eq(intern_add(t, span_of(text), &id), 0);
        strings += strlen(text) + 1;
        taken = allocated_bytes() - before;
        ck_assert_uint_le(taken, intern_bytes(t) + intern_bytes(t) / 16 + 4096);
        ck_assert_uint_le(taken, 3 * (strings + (size_t)i * INTERN_EXTRA_BYTES) + 32768);
    }
    intern_free(t);
}
END_TEST

START_TEST(a_buffer_keeps_to_its_ceiling)
{
    _cleanup_buf_ struct buf b = BUF_NULL;

    buf_init(&b, 4);
    buf_add_str(&b, "abcd");
    ck_assert_int_eq(b.error, 0);
    buf_add_char(&b, 'e');
    ck_assert_int_eq(b.error, -EFBIG);
    ck_assert_str_eq(b.p, "abcd");
}
END_TEST

START_TEST(formatting_keeps_to_the_ceiling)
{
    _cleanup_buf_ struct buf b = BUF_NULL, all = BUF_NULL;

    buf_init(&b, 6);
    buf_printf(&b, "%d", 123);
    buf_printf(&b, "%d", 456); /* fits into the present room */
    ck_assert_str_eq(b.p, "123456");
    buf_printf(&b, "%s", "");
    ck_assert_int_eq(b.error, 0);
    buf_printf(&b, "%d", 7);
    ck_assert_int_eq(b.error, -EFBIG);
    ck_assert_str_eq(b.p, "123456");
    buf_init(&all, 100000);
    for (unsigned i = 0; i < 10000; i++) /* grows from one size to the next */
        buf_printf(&all, "%04u,", i);
    ck_assert_uint_eq(all.n, 50000);
    for (unsigned i = 0; i < 10000; i++) {
        char text[8];

        snprintf(text, sizeof(text), "%04u,", i);
        ck_assert_int_eq(memcmp(all.p + (size_t)i * 5, text, 5), 0);
    }
}
END_TEST

START_TEST(takers_stop_at_the_end)
{
    struct span s = SPAN("18446744073709551616"), w;
    uint64_t v;

    ck_assert(!span_take_dec(&s, &v)); /* overflow */
    ck_assert_uint_eq(s.n, 20);
    s = SPAN("  ab cd");
    ck_assert(span_take_word(&s, &w));
    ck_assert(span_eq_str(w, "ab"));
    s = SPAN("ffffffffffffffff0");
    ck_assert(!span_take_hex(&s, &v));
    s = SPAN("one\ntwo");
    ck_assert(span_take_line(&s, &w) && span_eq_str(w, "one"));
    ck_assert(span_take_line(&s, &w) && span_eq_str(w, "two"));
    ck_assert(!span_take_line(&s, &w));
}
END_TEST

START_TEST(takes_ranges)
{
    struct span s = SPAN("0-3,8"), bad[] = { SPAN("-3"), SPAN("3-"),    SPAN("4-3"),
                                             SPAN("1x"), SPAN("1-2-3"), SPAN(",1") };
    uint64_t first, last;

    ck_assert_int_eq(span_take_range(&s, &first, &last), 1);
    ck_assert(first == 0 && last == 3);
    ck_assert_int_eq(span_take_range(&s, &first, &last), 1);
    ck_assert(first == 8 && last == 8);
    ck_assert_int_eq(span_take_range(&s, &first, &last), 0);
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ck_assert_int_eq(span_take_range(&bad[i], &first, &last), -EBADMSG);
    ck_assert(first == 8 && last == 8);
}
END_TEST

START_TEST(a_rate_is_what_was_asked_for)
{
    static const unsigned HZ[] = { 1, 19, 49, 97, 99, 199, 499, 997, 999, 4999, 10000 };

    for (size_t i = 0; i < ARRAY_SIZE(HZ); i++)
        ck_assert_double_eq(clock_hz((NSEC_PER_SEC + HZ[i] / 2) / HZ[i]), HZ[i]);
    ck_assert_double_eq_tol(clock_hz(1500000), 666.667, 1e-9);
    ck_assert_double_eq(clock_hz(0), 0);
}
END_TEST

/* A node that started just now has no time before its start. */
START_TEST(a_time_before_the_start_is_none)
{
    uint64_t minute_ns = 60 * NSEC_PER_SEC, now_ns = clock_monotonic_ns();

    ck_assert_uint_eq(clock_monotonic_of(0), 0);
    ck_assert_uint_eq(clock_monotonic_of(clock_realtime_ns() - now_ns - minute_ns), 0);
    ck_assert_uint_ge(clock_monotonic_of(UINT64_MAX), now_ns);
    ck_assert_uint_le(clock_monotonic_of(clock_realtime_ns() - now_ns / 2),
                      clock_monotonic_ns() - now_ns / 2 + NSEC_PER_SEC);
}
END_TEST

START_TEST(doubts_a_clock_that_was_set)
{
    const uint64_t min = 60 * NSEC_PER_SEC, year = UINT64_C(365) * 24 * 60 * min;
    const uint64_t slewed = year + 10 * min + NSEC_PER_SEC / 2;
    struct steady s = { 0 };

    ck_assert_uint_eq(steady_now(&s, min, year), 0); /* NTP may set it soon after a boot */
    ck_assert_uint_eq(steady_now(&s, 11 * min - 1, slewed - 1), 0);
    ck_assert_uint_eq(steady_now(&s, 11 * min, slewed), slewed);
    ck_assert_uint_eq(steady_now(&s, 12 * min, 2 * year), 0); /* set ahead */
    ck_assert_uint_eq(steady_now(&s, 21 * min, 2 * year + 9 * min), 0);
    ck_assert_uint_eq(steady_now(&s, 22 * min, 2 * year + 10 * min), 2 * year + 10 * min);
    ck_assert_uint_eq(steady_now(&s, 23 * min, year), 0); /* and back */
    ck_assert_uint_eq(steady_now(&s, 29 * min, year - 24 * 60 * min), 0);
    ck_assert_uint_eq(steady_now(&s, 39 * min - 1, year - 24 * 60 * min + 10 * min), 0);
    ck_assert_uint_gt(steady_now(&s, 39 * min, year - 24 * 60 * min + 10 * min), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("base");

    tcase_add_loop_test(tc, cleans_one_text, 0, ARRAY_SIZE(CLEAN_CASES));
    tcase_add_test(tc, the_lesser_evaluates_each_argument_once);
    tcase_add_test(tc, knows_well_formed_utf8);
    tcase_add_test(tc, escapes_for_json_and_html);
    tcase_add_test(tc, interns_equal_strings_once);
    tcase_add_test(tc, interning_counts_the_memory_that_it_takes);
    tcase_add_test(tc, formatting_keeps_to_the_ceiling);
    tcase_add_test(tc, a_buffer_keeps_to_its_ceiling);
    tcase_add_test(tc, a_rate_is_what_was_asked_for);
    tcase_add_test(tc, a_time_before_the_start_is_none);
    tcase_add_test(tc, doubts_a_clock_that_was_set);
    tcase_add_test(tc, takers_stop_at_the_end);
    tcase_add_test(tc, takes_ranges);
    return suite_run_case("base", tc);
}
