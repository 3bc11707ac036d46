/* SPDX-License-Identifier: Apache-2.0 */
/* capture/looks_survey_stacks.c: each stack is read once. */
#include "survey_fixture.h"

/* A stack is read once. A survey of known stacks says the same, also beside new ones. */
START_TEST(stacks_that_surveys_have_met)
{
    struct waits_now first = { 0 }, again = { 0 };

    begin();
    for (int i = 0; i < 3; i++)
        place(add(JVM, "load-1"), "tcp_recvmsg", "load", true);
    ck_assert(looks_survey(looks, JVM, &first));
    ck_assert_str_eq(first.pool.code, "Rates.load");
    ck_assert(looks_survey(looks, JVM, &again));
    ck_assert_mem_eq(&again.pool, &first.pool, sizeof(first.pool));
    ck_assert_double_eq(again.busy, first.busy);
    lock(add(JVM, "lock-1"), "shop.Catalog", "load-9");
    again.made_of = 0;
    ck_assert(looks_survey(looks, JVM, &again));
    ck_assert_double_eq(again.pool.waiting, 3);
    ck_assert_str_eq(again.pool.code, "Rates.load");
    ck_assert_str_eq(again.lock.name, "shop.Catalog");
    ck_assert_str_eq(again.lock.owner, "load-9");
    end();
}
END_TEST

/* Once the stacks are dropped, their numbers stand for others. */
START_TEST(stacks_that_are_dropped)
{
    struct waits_now w = { 0 };

    begin();
    place(add(JVM, "load-1"), "vfs_read", "load", true);
    place(add(JVM, "load-2"), "vfs_read", "load", true);
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.code, "Rates.load");
    ck_assert_str_eq(w.pool.wait, "file");
    looks_use_table(looks, table);
    for (size_t i = 0; i < 2; i++)
        place(&looks->threads.threads[i], "do_nanosleep", "store", true);
    w.made_of = 0;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.code, "");
    add(JVM, "main"); /* waits for their results */
    park(&looks->threads.threads[2], "java.util.concurrent.FutureTask", "get", "shop.Main", "main",
         false);
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.code, "Rates.store");
    ck_assert_str_eq(w.pool.wait, "sleep");
    end();
}
END_TEST

/* More different stacks than are remembered. */
START_TEST(more_stacks_than_are_remembered)
{
    enum { EACH = SURVEY_THREADS_MAX - 2, ROUNDS = SURVEY_STACKS_MAX / EACH + 2 };
    struct waits_now w = { 0 };
    char method[32];

    begin();
    frame_table_free(table);
    ck_assert_int_eq(frame_table_new(4 * SURVEY_STACKS_MAX, 4 << 20, &table), 0);
    looks_use_table(looks, table);
    for (size_t i = 0; i < SURVEY_THREADS_MAX; i++)
        add(JVM, i < EACH ? "alone" : "load-1");
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < SURVEY_THREADS_MAX; i++) {
            snprintf(method, sizeof(method), "m%d_%d", round, MIN(i, (int)EACH));
            place(&looks->threads.threads[i], "tcp_recvmsg", method, true);
        }
        ck_assert(looks_survey(looks, JVM, &w));
        ck_assert_double_eq(w.busy, SURVEY_THREADS_MAX);
        ck_assert_double_eq(w.pool.waiting, 2);
        ck_assert_str_eq(w.pool.code + strlen("Rates."), method);
    }
    end();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("survey_stacks");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, stacks_that_surveys_have_met);
    tcase_add_test(tc, stacks_that_are_dropped);
    tcase_add_test(tc, more_stacks_than_are_remembered);
    return suite_run_case("survey_stacks", tc);
}
