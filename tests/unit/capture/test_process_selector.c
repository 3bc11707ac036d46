/* SPDX-License-Identifier: Apache-2.0 */
/* capture/process_selector.c: jvm= beside JVMs whose names are made to be slow to match. */
#include "../discover/discover_fixture.h"

#include "base/text.h"
#include "capture/process_selector.h"
#include "profile/match.h"
#include "request/matcher.h"

#include <inttypes.h>

#define NAME_BYTES 2047 /* most of a main class */

/* Fills @name with repetitions of @text after a number. */
static void make_name(char name[NAME_BYTES + 1], const char *text, size_t number)
{
    size_t n = (size_t)snprintf(name, NAME_BYTES, "%zu", number);

    for (size_t i = n; i < NAME_BYTES; i++)
        name[i] = text[i % strlen(text)];
    name[NAME_BYTES] = '\0';
}

static bool matches_of(const struct target *t, uint64_t payer, char *main)
{
    return target_matches(t, &(struct process){ .jvm = JVM_READY, .main = main, .payer = payer });
}

static bool matches(const struct target *t, char *main)
{
    return matches_of(t, 99, main);
}

static const struct {
    const char *pattern, *hostile; /* JVMs of another owner have repetitions of it as names */
} PATTERNS[] = { { "order.*service", "order" }, { "shop|order-service", "os" } };

static struct target *make_target(const char *pattern)
{
    const struct target_selector s = { .viewer = &VIEWER_WHOLE, .jvm = pattern };
    struct target *t = NULL;

    ck_assert_int_eq(target_new(&s, &t, NULL), 0);
    return t;
}

START_TEST(a_native_image_is_selected_by_its_command)
{
    _cleanup_(target_freep) struct target *t = make_target("^shop-native-image$");
    char command[] = "shop-native-image";
    struct process p = {
        .jvm = JVM_NO, .native_image = IMAGE_NAMED, .command = command, .comm = "shop-native-im"
    };

    ck_assert_str_eq(target_main_of(&p), "shop-native-image");
    ck_assert(target_matches(t, &p));
    p.native_image = IMAGE_NO; /* another program */
    ck_assert_str_eq(target_main_of(&p), "");
    ck_assert(!target_matches(t, &p));
    p.jvm = JVM_READY; /* its main class is not known yet */
    ck_assert(!target_matches(t, &p));
}
END_TEST

/* A capture matches it every 100 ms. */
START_TEST(one_slow_name_hides_no_other)
{
    _cleanup_(target_freep) struct target *t = make_target(PATTERNS[_i].pattern);
    char name[NAME_BYTES + 1], service[] = "order-service", text[TARGET_SLOW_BYTES];
    uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), took_ns;

    make_name(name, PATTERNS[_i].hostile, 0);
    ck_assert(matches(t, service));
    ck_assert_str_eq(target_slow_text(t, text), "");
    for (size_t k = 0; k < 10000; k++)
        ck_assert(!matches(t, name));
    took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
    ck_assert_msg(took_ns < 2 * NSEC_PER_SEC, "%" PRIu64, took_ns); /* it is tried once */
    ck_assert(matches(t, service));
    ck_assert_int_eq(target_refuse_spent(t, NULL), 0);
    ck_assert_msg(strstr(target_slow_text(t, text), "on 1 main class here, which count"), "%s",
                  text);
}
END_TEST

/* Their number and the time are limited. Then names that are longer to match than most are missed,
 * and that is said. */
START_TEST(many_slow_names_are_told_of)
{
    _cleanup_(target_freep) struct target *t = make_target(PATTERNS[_i].pattern);
    char name[NAME_BYTES + 1], service[] = "order-service", text[TARGET_SLOW_BYTES];
    uint64_t spent = match_spent_total(), begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), took_ns;
    struct error err = ERROR_NULL;

    for (size_t k = 0; k < 1000; k++) {
        make_name(name, PATTERNS[_i].hostile, k);
        ck_assert(!matches_of(t, 1 + k % 16, name));
        ck_assert(matches(t, service));
    }
    took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
    ck_assert_msg(took_ns < 2 * NSEC_PER_SEC, "%" PRIu64, took_ns);
    ck_assert_uint_eq(match_spent_total(), spent + 16);
    ck_assert_int_eq(target_refuse_spent(t, &err), -EINVAL);
    ck_assert_str_eq(err.parameter, "jvm");
    ck_assert_msg(strstr(err.msg, "too many steps on 64 names"), "%s", err.msg);
    ck_assert_ptr_nonnull(strstr(target_slow_text(t, text), "only names with few steps matched"));
}
END_TEST

/* One owner's names leave out no other's, however many there are. */
START_TEST(an_owner_spends_its_own_share)
{
    _cleanup_(target_freep) struct target *t = make_target(PATTERNS[1].pattern);
    char name[NAME_BYTES + 1], longer[NAME_BYTES + 1], text[TARGET_SLOW_BYTES];
    uint64_t spent = match_spent_total();

    make_name(longer, PATTERNS[1].hostile, 0);
    memcpy(longer + 300, "shop", sizeof("shop"));
    for (size_t k = 0; k < 1000; k++) {
        ck_assert(matches_of(t, 1, longer) == (k < MATCH_OWNER_SLOW_NAMES_MAX));
        make_name(name, PATTERNS[1].hostile, k);
        ck_assert(!matches_of(t, 1, name));
        ck_assert(matches_of(t, 2, longer));
    }
    ck_assert_int_eq(target_refuse_spent(t, NULL), 0);
    ck_assert_uint_eq(match_spent_total(), spent + 1);
    ck_assert_ptr_nonnull(strstr(target_slow_text(t, text), "Of owners with many of them"));
}
END_TEST

/* The same for matchers, asked for or of an access rule: a profile says what they left out. */
START_TEST(matchers_are_told_of)
{
    struct matcher_list list = { .count = 0 };
    struct viewer viewer = { .whole = !_i, .uid = 64111 };
    struct target_selector s = { .viewer = &viewer };
    _cleanup_(target_freep) struct target *t = NULL;
    char name[NAME_BYTES + 1], text[TARGET_SLOW_BYTES];
    struct error err = ERROR_NULL;

    ck_assert_int_eq(matchers_parse(span_of("main=~\".*order.*service\""), &list, NULL), 0);
    if (_i)
        viewer.seen = &list;
    else
        s.matchers = &list;
    ck_assert_int_eq(target_new(&s, &t, NULL), 0);
    matchers_clear(&list);
    ck_assert_str_eq(target_slow_text(t, text), "");
    for (size_t k = 0; k < MATCH_SLOW_NAMES_MAX; k++) {
        ck_assert_int_eq(target_refuse_spent(t, NULL), 0);
        make_name(name, PATTERNS[0].hostile, k);
        ck_assert(!matches_of(t, 1 + k % 16, name));
        ck_assert_ptr_nonnull(
            strstr(target_slow_text(t, text), k ? " names here" : "too many steps on 1 name here"));
    }
    ck_assert_int_eq(target_refuse_spent(t, &err), -EINVAL);
    ck_assert_str_eq(err.parameter, "match");
}
END_TEST

/* Each try of a name that cannot be remembered costs a tenth of one that can. */
START_TEST(a_spent_pattern_takes_fewer_steps)
{
    _cleanup_(target_freep) struct target *t = make_target(PATTERNS[1].pattern);
    char name[NAME_BYTES + 1], longer[NAME_BYTES + 1];

    make_name(longer, PATTERNS[1].hostile, 0);
    memcpy(longer + 300, "shop", sizeof("shop"));
    ck_assert(matches(t, longer));
    for (size_t k = 0; k < MATCH_SLOW_NAMES_MAX; k++) {
        ck_assert(matches(t, longer));
        make_name(name, PATTERNS[1].hostile, k);
        ck_assert(!matches_of(t, 1 + k % 16, name));
    }
    ck_assert(!matches(t, longer));
}
END_TEST

/* A name that does not fit is cut between characters, at each length of what precedes it. */
START_TEST(the_words_are_valid_utf8)
{
    char name[201] = "", words[256];
    struct target_selector s = { .viewer = &VIEWER_WHOLE, .jvm = name, .pod = &"pod"[_i] };
    _cleanup_(target_freep) struct target *t = NULL;

    for (size_t i = 0; i + 2 < sizeof(name); i += 2)
        memcpy(name + i, "\xc3\xa9", 2);
    ck_assert_int_eq(target_new(&s, &t, NULL), 0);
    target_describe(t, NULL, words, 64);
    ck_assert_msg(text_is_utf8(span_of(words)), "%s", words);
    ck_assert_ptr_nonnull(strstr(words, "\xc3\xa9\xc3\xa9"));
}
END_TEST

/* Of several pids, and beside another selector, the one that the viewer does not see. */
START_TEST(the_missing_process_is_named)
{
    struct discover *d = make(NODE, false);
    struct process *own = discover_find(d, 42), *other = discover_find(d, 60);
    const int32_t pids[] = { 42, 60 };
    struct error err = ERROR_NULL;
    struct viewer viewer = { .whole = false };

    ck_assert_ptr_nonnull(own);
    ck_assert_ptr_nonnull(other);
    viewer.uid = own->owner = 1000;
    other->owner = 1001;
    for (size_t from = 0; from < 2; from++) {
        const struct target_selector s = { .viewer = &viewer,
                                           .pids = { pids[from], pids[1] },
                                           .pid_count = 2 - from,
                                           .container = from ? ID : NULL };
        _cleanup_(target_freep) struct target *t = NULL;

        ck_assert_int_eq(target_new(&s, &t, NULL), 0);
        ck_assert_int_eq(target_check(t, d, proc_fd, &err), BACKEND_NOT_FOUND);
        ck_assert_str_eq(err.parameter, "pid");
        ck_assert_str_eq(err.msg, "there is no process 60 of yours");
    }
    end(d);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("process_selector");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_native_image_is_selected_by_its_command);
    tcase_add_loop_test(tc, one_slow_name_hides_no_other, 0, ARRAY_SIZE(PATTERNS));
    tcase_add_loop_test(tc, many_slow_names_are_told_of, 0, ARRAY_SIZE(PATTERNS));
    tcase_add_test(tc, an_owner_spends_its_own_share);
    tcase_add_loop_test(tc, matchers_are_told_of, 0, 2);
    tcase_add_test(tc, a_spent_pattern_takes_fewer_steps);
    tcase_add_loop_test(tc, the_words_are_valid_utf8, 0, 2);
    tcase_add_test(tc, the_missing_process_is_named);
    return suite_run_case("process_selector", tc);
}
