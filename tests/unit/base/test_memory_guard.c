/* SPDX-License-Identifier: Apache-2.0 */
/* base/memory_guard.c: what a guarded thread may take. */
#include "base/array.h"
#include "base/buf.h"
#include "base/id_table.h"
#include "base/intern.h"
#include "base/memory_guard.h"

#include "suite.h"

#define MIB ((size_t)1 << 20)

/* Grows each kind of table to 24 MiB. Returns how many of them did not fit. */
static int grow_all(void)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(64 * MIB);
    static char piece[64 << 10];
    struct intern *names = NULL;
    struct id_table ids;
    uint64_t *list = NULL, key[16] = { 0 };
    size_t cap = 0;
    int failed = 0, r = 0;
    uint32_t id;

    failed += !array_grow(&list, &cap, 24 * MIB / sizeof(*list), 16);
    free(list);
    while (text.n < 24 * MIB && !text.error)
        buf_add(&text, piece, sizeof(piece));
    failed += text.error == -ENOMEM;
    ck_assert_int_eq(intern_new(64 * MIB, &names), 0);
    for (uint64_t i = 0; i < 384 && r == 0; i++) {
        memcpy(piece, &i, sizeof(i));
        r = intern_add(names, (struct span){ piece, sizeof(piece) }, &id);
    }
    failed += r == -ENOMEM;
    intern_free(names);
    id_table_init(&ids, sizeof(key), 1 << 20);
    for (r = 0; key[0] < 24 * MIB / sizeof(key) && r >= 0; key[0]++)
        r = id_table_add(&ids, key, &id);
    failed += r == -ENOMEM;
    id_table_deinit(&ids);
    return failed;
}

START_TEST(what_is_not_guarded_grows)
{
    memory_guard_thread(true);
    ck_assert_int_eq(grow_all(), 0); /* there is no limit */
    ck_assert_int_eq(memory_guard_open(1), 0);
    memory_guard_thread(false);
    ck_assert_int_eq(grow_all(), 0);
}
END_TEST

START_TEST(a_request_gets_a_little)
{
    char *list = NULL;
    size_t cap = 0;

    ck_assert_int_eq(memory_guard_open(1), 0); /* flamed has more than that */
    for (int i = 0; i < 4; i++) {              /* for each request */
        memory_guard_thread(true);
        ck_assert(array_grow(&list, &cap, cap + 8 * MIB, 8 * MIB));
        ck_assert(!memory_guard_refused());
        free(list);
        list = NULL;
        cap = 0;
    }
    memory_guard_thread(true);
    ck_assert_int_eq(grow_all(), 4);
    ck_assert(memory_guard_refused());
}
END_TEST

START_TEST(there_is_room_below_the_limit)
{
    ck_assert_int_eq(memory_guard_open(UINT64_C(1) << 50), 0);
    memory_guard_thread(true);
    ck_assert_int_eq(grow_all(), 0);
    ck_assert(!memory_guard_refused());
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("memory_guard");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, what_is_not_guarded_grows);
    tcase_add_test(tc, a_request_gets_a_little);
    tcase_add_test(tc, there_is_room_below_the_limit);
    return suite_run_case("memory_guard", tc);
}
