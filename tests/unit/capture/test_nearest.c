/* SPDX-License-Identifier: Apache-2.0 */
/* capture/nearest.h: the name that a sentence suggests, and the cost of finding it. */
#include "suite.h"

#include "capture/nearest.h"

#define PROCESSES 4096 /* a full node */
#define WANTED "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct nearest n;
static char list[200];

static void keep(const char *name)
{
    nearest_keep(&n, name, name, "");
}

static const char *kept(void)
{
    nearest_text(&n, list, sizeof(list));
    return list;
}

static void setup(void)
{
    n = (struct nearest){ .wanted = "worker" };
}

START_TEST(the_nearest_come_first)
{
    static const char *const NAMES[] = {
        "zzzzzz", "walker", "com.acme.Worker", "workers-7", "org.x/Wroker2", "postgres", "", "wor"
    };

    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++)
        keep(NAMES[i]);
    ck_assert_str_eq(kept(), "com.acme.Worker, workers-7, walker, org.x/Wroker2, wor");
}
END_TEST

/* Of an entry with two names, either may be the nearest. */
START_TEST(both_names_count)
{
    keep("xxxxx");
    nearest_keep(&n, "0123456789ab worker-1", "0123456789ab", "worker-1");
    ck_assert_str_eq(kept(), "0123456789ab worker-1, xxxxx");
}
END_TEST

/* One name with many texts, as for each process of a main class: the first ones are kept. */
START_TEST(one_name_is_computed_once)
{
    char text[32];

    for (unsigned i = 0; i < PROCESSES; i++) {
        snprintf(text, sizeof(text), "%u (Walker)", i);
        nearest_keep(&n, text, "Walker", "");
    }
    ck_assert_str_eq(kept(), "0 (Walker), 1 (Walker), 2 (Walker), 3 (Walker), 4 (Walker)");
    ck_assert_uint_eq(n.computed, 1);
}
END_TEST

/* Many processes of few containers, most of which are not kept. */
START_TEST(a_name_is_compared_once)
{
    char name[32];

    for (unsigned i = 0; i < PROCESSES; i++) {
        snprintf(name, sizeof(name), "%u-other", i % 100 + 100);
        keep(name);
    }
    ck_assert_uint_le(n.name_count, 100);
    ck_assert_uint_le(n.computed, 200);
}
END_TEST

START_TEST(many_names_are_computed_in_bounds)
{
    char id[65], name[128];

    n.wanted = WANTED;
    for (unsigned i = 0; i < PROCESSES; i++) { /* each one nearer than its predecessor */
        memset(id, 'b', 64);
        memset(id, 'a', MIN(i, 60U));
        snprintf(id + 60, 5, "%04x", i);
        snprintf(name, sizeof(name), "%.61s.%.63s", id, id);
        nearest_keep(&n, name, id, name);
    }
    ck_assert_uint_eq(n.name_count, NEAREST_NAMES_MAX);
    ck_assert_uint_le(n.computed, 6 * NEAREST_NAMES_MAX);
}
END_TEST

START_TEST(too_short_or_long_is_not_computed)
{
    char name[16];

    for (unsigned i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "worke%u", i);
        keep(name);
    }
    n.computed = 0;
    for (unsigned i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "%u", i);
        keep(name);
    }
    ck_assert_uint_eq(n.computed, 0);
    ck_assert_str_eq(kept(), "worke0, worke1, worke2, worke3, worke4");
}
END_TEST

/* Beyond the limit a name is still found if it contains the wanted text. */
START_TEST(a_match_is_found_behind_many)
{
    char name[16];

    for (unsigned i = 0; i < 2 * NEAREST_NAMES_MAX; i++) {
        snprintf(name, sizeof(name), "%u", i);
        keep(name);
    }
    keep("my-Worker-5");
    ck_assert_str_eq(n.best[0].text, "my-Worker-5");
    keep("walker");
    ck_assert_ptr_null(strstr(kept(), "walker"));
}
END_TEST

START_TEST(without_a_name_the_first_are_kept)
{
    char name[16];

    n.wanted = NULL;
    for (unsigned i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "%u", i / 2);
        keep(name);
    }
    ck_assert_str_eq(kept(), "0, 1, 2, 3, 4");
    ck_assert_uint_eq(n.computed, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("nearest");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, the_nearest_come_first);
    tcase_add_test(tc, both_names_count);
    tcase_add_test(tc, one_name_is_computed_once);
    tcase_add_test(tc, a_name_is_compared_once);
    tcase_add_test(tc, many_names_are_computed_in_bounds);
    tcase_add_test(tc, too_short_or_long_is_not_computed);
    tcase_add_test(tc, a_match_is_found_behind_many);
    tcase_add_test(tc, without_a_name_the_first_are_kept);
    return suite_run_case("nearest", tc);
}
