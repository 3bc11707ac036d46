/* SPDX-License-Identifier: Apache-2.0 */
/* Matchers: their syntax, and the processes that they match. */
#include "suite.h"

#include "base/clock.h"
#include "profile/match.h"
#include "request/matcher.h"

#include <inttypes.h>

static const struct {
    const char *text, *spelt; /* NULL: refused, with why */
    const char *why;
} MATCHERS[] = {
    { "main=\"a\"", "{main=\"a\"}", NULL },
    { " pod != 'x' ", "{pod!=\"x\"}", NULL },
    { "{main=~\"com.acme.*\",namespace=\"prod\"}", "{main=~\"com.acme.*\",namespace=\"prod\"}",
      NULL },
    { "{ main =~ `com\\.acme` , pod!~\"b\" , }", "{main=~\"com\\\\.acme\",pod!~\"b\"}", NULL },
    { "{}", "", NULL },
    { "container=\"a\\\"b\\\\c\\n\"", "{container=\"a\\\"b\\\\c\\n\"}", NULL },
    { "main=\"\"", "{main=\"\"}", NULL },
    { "", NULL, "does not begin with main" },
    { "jvm=\"a\"", NULL, "does not begin with main" },
    { "service=\"a\"", "{service=\"a\"}", NULL },
    { "mainly=\"a\"", NULL, "does not begin with main" },
    { "main", NULL, "none of =" },
    { "main~\"a\"", NULL, "none of =" },
    { "main==\"a\"", NULL, "in quotes" },
    { "main=com.acme", NULL, "in quotes" },
    { "main=\"a", NULL, "not closed" },
    { "main=\"a\\", NULL, "written twice" },
    { "main=\"a\\.b\"", NULL, "written twice" },
    { "main=~\"(\"", NULL, "no regular expression" },
    { "main=~\"a)|(b\"", NULL, "no regular expression" },
    { "main=~\"(?\"", NULL, "no regular expression" },
    { "{main=\"a\"", NULL, "commas" },
    { "{main=\"a\" pod=\"b\"}", NULL, "commas" },
    { "main=\"a\",pod=\"b\"", NULL, "left over" },
    { "{main=\"a\"} x", NULL, "left over" },
    { "{,}", NULL, "does not begin" },
};

START_TEST(reads_matchers)
{
    struct matcher_list list = { .count = 0 };
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct error err = ERROR_NULL;
    int r = matchers_parse(span_of(MATCHERS[_i].text), &list, &err);

    buf_init(&text, 4096);
    matchers_write(&list, &text);
    if (MATCHERS[_i].spelt) {
        ck_assert_msg(r == 0, "%s: %s", MATCHERS[_i].text, err.msg);
        ck_assert_str_eq(text.p ? text.p : "", MATCHERS[_i].spelt);
    } else {
        ck_assert_int_eq(r, -EINVAL);
        ck_assert_msg(strstr(err.msg, MATCHERS[_i].why) != NULL, "%s: %s", MATCHERS[_i].text,
                      err.msg);
    }
    matchers_clear(&list);
}
END_TEST

static const struct matcher_values CHECKOUT = {
    .main = "com.acme.Checkout",
    .pod = "checkout-7d9f",
    .pod_uid = "4f6f0a32-0000-0000-0000-000000000001",
    .pod_namespace = "prod",
    .container = "app",
    .container_id = "3f2a9c1b0d4e00000000000000000000000000000000000000000000000000ff",
    .service = "checkout",
};
static const struct matcher_values BARE = { "", "", "", "", "", "", "", 0 };
static const struct matcher_values NAMELESS = {
    "", "", "", "", "", "3f2a9c1b0d4e00000000000000000000000000000000000000000000000000ff", NULL, 0
};

static const struct {
    const char *text;
    bool checkout, bare, nameless;
} HOLDS[] = {
    { "{}", true, true, true },
    { "main=\"com.acme.Checkout\"", true, false, false },
    { "main=\"com.acme\"", false, false, false },
    { "main!=\"com.acme\"", true, true, true },
    { "main=~\"com.acme.*\"", true, false, false },
    { "main=~\"com.acme\"", false, false, false }, /* anchored at both ends */
    { "main=~\"Checkout\"", false, false, false },
    { "main=~\"x|com[.]acme[.]Check.*\"", true, false, false }, /* the anchors enclose the bar */
    { "main=~\"com.*|\"", true, true, true },
    { "main!~\"com.acme.*\"", false, true, true },
    { "main=~\".+\"", true, false, false },
    { "pod=\"\"", false, true, true },
    { "pod!=\"\"", true, false, false },
    { "pod=\"4f6f0a32-0000-0000-0000-000000000001\"", true, false, false },
    { "pod!=\"4f6f0a32-0000-0000-0000-000000000001\"", false, true, true },
    { "pod=\"4f6f0a32\"", false, false, false },
    { "container=\"app\"", true, false, false },
    { "container=\"3f2a9c1b0d4e\"", true, false, true },
    { "container=\"3f2a9\"", false, false, false }, /* fewer than 6 digits */
    { "container!=\"3f2a9c1b0d4e\"", false, true, false },
    { "container=~\"3f2a.*\"", true, false, true },
    { "container=\"\"", false, true, false },
    { "{namespace=\"prod\",main=~\".*Checkout\"}", true, false, false },
    { "{namespace=\"prod\",main=~\".*Basket\"}", false, false, false },
    { "main=~\"(a+)+b\"", false, false, false },
    { "service=\"checkout\"", true, false, false },
    { "service!=\"\"", true, false, false },
};

START_TEST(matches_a_process)
{
    struct matcher_list list = { .count = 0 };
    struct matcher_set *set = NULL;
    struct error err = ERROR_NULL;

    ck_assert_msg(matchers_parse(span_of(HOLDS[_i].text), &list, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(matcher_set_new(&list, &set, &err), 0);
    matchers_clear(&list);
    ck_assert_msg(matcher_set_holds(set, &CHECKOUT) == HOLDS[_i].checkout, "%s", HOLDS[_i].text);
    ck_assert_msg(matcher_set_holds(set, &BARE) == HOLDS[_i].bare, "%s", HOLDS[_i].text);
    ck_assert_msg(matcher_set_holds(set, &NAMELESS) == HOLDS[_i].nameless, "%s", HOLDS[_i].text);
    ck_assert_int_eq(matcher_set_uses(set, MATCHER_MAIN), strstr(HOLDS[_i].text, "main") != NULL);
    matcher_set_free(set);
}
END_TEST

/* A matcher that takes too long on a name does not hold, not even one that is negated. All names
 * together take bounded time. */
START_TEST(a_slow_name_matches_nothing)
{
    static const char *const TEXTS[] = { "main=~\"(a+)+\"", "main!~\"(a+)+\"" };
    uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), took_ns;
    struct matcher_list list = { .count = 0 };
    struct matcher_set *set = NULL;
    struct error err = ERROR_NULL;
    char name[64];

    ck_assert_int_eq(matchers_parse(span_of(TEXTS[_i]), &list, &err), 0);
    ck_assert_int_eq(matcher_set_new(&list, &set, &err), 0);
    matchers_clear(&list);
    for (size_t k = 0; k < 2000; k++) {
        ck_assert_int_eq(matcher_set_refuse_spent(set, NULL),
                         k < MATCH_SLOW_NAMES_MAX ? 0 : -EINVAL);
        snprintf(name, sizeof(name), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac%zu", k);
        ck_assert(!matcher_set_holds(
            set, &(struct matcher_values){ name, "", "", "", "", "", "", 1 + k % 16 }));
    }
    took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
    ck_assert_msg(took_ns < 2 * NSEC_PER_SEC, "%" PRIu64, took_ns);
    ck_assert_uint_eq(matcher_set_slow_names(set), MATCH_SLOW_NAMES_MAX);
    ck_assert(matcher_set_holds(set, &CHECKOUT) == (_i == 1));
    ck_assert_int_eq(matcher_set_refuse_spent(set, &err), -EINVAL);
    ck_assert_str_eq(err.parameter, "match");
    matcher_set_free(set);
}
END_TEST

/* Names of processes that another matcher leaves out spend no steps of a regular expression. */
START_TEST(names_of_others_spend_nothing)
{
    static const char TEXT[] = "{main=~\"(a+)+\",namespace=\"team-a\",pod!=\"old\"}";
    struct matcher_list list = { .count = 0 };
    struct matcher_set *set = NULL;
    struct error err = ERROR_NULL;
    char name[64];

    ck_assert_int_eq(matchers_parse(span_of(TEXT), &list, &err), 0);
    ck_assert_int_eq(matcher_set_new(&list, &set, &err), 0);
    matchers_clear(&list);
    for (size_t k = 0; k < 2000; k++) {
        snprintf(name, sizeof(name), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac%zu", k);
        ck_assert(!matcher_set_holds(
            set, &(struct matcher_values){ name, "", "", "evil", "", "", "", 1 + k % 16 }));
    }
    ck_assert_uint_eq(matcher_set_slow_names(set), 0);
    ck_assert_int_eq(matcher_set_refuse_spent(set, &err), 0);
    ck_assert(
        matcher_set_holds(set, &(struct matcher_values){ "aaa", "", "", "team-a", "", "", "", 7 }));
    matcher_set_free(set);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("matcher");

    tcase_add_loop_test(tc, reads_matchers, 0, ARRAY_SIZE(MATCHERS));
    tcase_add_loop_test(tc, matches_a_process, 0, ARRAY_SIZE(HOLDS));
    tcase_add_loop_test(tc, a_slow_name_matches_nothing, 0, 2);
    tcase_add_test(tc, names_of_others_spend_nothing);
    tcase_set_timeout(tc, 60);
    return suite_run_case("matcher", tc);
}
