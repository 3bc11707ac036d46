/* SPDX-License-Identifier: Apache-2.0 */
/* base/array.h: room that doubles, exact room, and refused sizes. base/fnv1a.h: known values. */
#include "suite.h"

#include "base/array.h"
#include "base/fnv1a.h"

#include <stdlib.h>

START_TEST(room_doubles)
{
    uint32_t *list = NULL;
    size_t cap = 0;

    ck_assert(array_grow(&list, &cap, 1, 3));
    ck_assert_uint_eq(cap, 3);
    list[0] = 7;
    ck_assert(array_grow(&list, &cap, 3, 3));
    ck_assert_uint_eq(cap, 3);
    ck_assert(array_grow(&list, &cap, 13, 3));
    ck_assert_uint_eq(cap, 24);
    ck_assert_uint_eq(list[0], 7);
    free(list);
}
END_TEST

START_TEST(new_ones_are_zero)
{
    uint64_t *list = NULL;
    size_t cap = 0;

    ck_assert(array_extend(&list, &cap, 5));
    ck_assert_uint_eq(cap, 5);
    for (size_t i = 0; i < 5; i++)
        ck_assert_uint_eq(list[i], 0);
    list[4] = 9;
    ck_assert(array_extend(&list, &cap, 2));
    ck_assert_uint_eq(cap, 5);
    ck_assert(array_extend(&list, &cap, 100));
    ck_assert_uint_eq(list[4], 9);
    for (size_t i = 5; i < 100; i++)
        ck_assert_uint_eq(list[i], 0);
    free(list);
}
END_TEST

/* A size beyond the limit is refused, and the array stays unchanged. */
START_TEST(what_cannot_be_changes_nothing)
{
    uint64_t *list = NULL;
    size_t cap = 0;

    ck_assert(array_grow(&list, &cap, 1, 1));
    list[0] = 9;
    ck_assert(!array_grow(&list, &cap, SIZE_MAX, 1));
    ck_assert_uint_eq(cap, 1);
    ck_assert_uint_eq(list[0], 9);
    free(list);
}
END_TEST

/* Values of the draft that defines the hash (draft-eastlake-fnv). */
START_TEST(fnv1a_of_known_texts)
{
    ck_assert_uint_eq(fnv1a(FNV1A_START, "", 0), UINT64_C(0xcbf29ce484222325));
    ck_assert_uint_eq(fnv1a(FNV1A_START, "a", 1), UINT64_C(0xaf63dc4c8601ec8c));
    ck_assert_uint_eq(fnv1a(FNV1A_START, "foobar", 6), UINT64_C(0x85944171f73967e8));
    ck_assert_uint_eq(fnv1a(fnv1a(FNV1A_START, "foo", 3), "bar", 3), UINT64_C(0x85944171f73967e8));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("array");

    tcase_add_test(tc, room_doubles);
    tcase_add_test(tc, new_ones_are_zero);
    tcase_add_test(tc, what_cannot_be_changes_nothing);
    tcase_add_test(tc, fnv1a_of_known_texts);
    return suite_run_case("array", tc);
}
