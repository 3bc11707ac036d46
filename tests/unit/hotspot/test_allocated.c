/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that threads have allocated, over several readings, with threads that begin, end, and
 * reuse a place. */
#include "suite.h"

#include "hotspot/allocated.h"

struct one {
    uint64_t thread, bytes;
    int32_t tid;
};

static void look(struct allocated *a, const struct one *all, size_t n)
{
    struct allocated_thread *now = calloc(n, sizeof(*now));

    for (size_t i = 0; i < n; i++)
        now[i] = (struct allocated_thread){ all[i].thread, all[i].bytes, all[i].tid, false };
    allocated_add(a, now, n);
}
#define LOOK(...)                                                                                  \
    look(&a, (const struct one[]){ __VA_ARGS__ },                                                  \
         sizeof((const struct one[]){ __VA_ARGS__ }) / sizeof(struct one))

START_TEST(adds_up)
{
    struct allocated a = { .count = 0 };

    LOOK({ 0x300, 30, 3 }, { 0x100, 10, 1 }, { 0x200, 20, 2 });
    ck_assert_uint_eq(a.bytes, 60);
    LOOK({ 0x100, 15, 1 }, { 0x200, 20, 2 }, { 0x300, 100, 3 });
    ck_assert_uint_eq(a.bytes, 135);
    LOOK({ 0x100, 15, 1 }, { 0x300, 100, 3 }, { 0x400, 7, 4 }); /* thread 2 ended, thread 4 began */
    ck_assert_uint_eq(a.bytes, 142);
    free(a.threads);
}
END_TEST

START_TEST(never_falls)
{
    struct allocated a = { .count = 0 };

    LOOK({ 0x100, 100, 1 });
    LOOK({ 0x100, 40, 1 }); /* read between two buffers */
    ck_assert_uint_eq(a.bytes, 100);
    LOOK({ 0x100, 120, 1 });
    ck_assert_uint_eq(a.bytes, 120);
    free(a.threads);
}
END_TEST

START_TEST(knows_another_in_the_same_place)
{
    struct allocated a = { .count = 0 };

    LOOK({ 0x100, 100, 1 });
    LOOK({ 0x100, 40, 2 });
    ck_assert_uint_eq(a.bytes, 140);
    LOOK({ 0x100, 50, 2 });
    ck_assert_uint_eq(a.bytes, 150);
    free(a.threads);
}
END_TEST

START_TEST(one_that_is_missed_counts_once)
{
    struct allocated a = { .count = 0 };

    LOOK({ 0x100, 100, 1 }, { 0x200, 1000, 2 });
    LOOK({ 0x100, 100, 1 });
    LOOK({ 0x100, 100, 1 }, { 0x200, 1010, 2 });
    ck_assert_uint_eq(a.bytes, 1110);
    ck_assert_uint_eq(a.count, 2);
    LOOK({ 0x100, 100, 1 });
    LOOK({ 0x100, 100, 1 });
    ck_assert_uint_eq(a.count, 1); /* the thread has ended */
    free(a.threads);
}
END_TEST

START_TEST(nonsense_is_bounded)
{
    struct allocated a = { .count = 0 };

    LOOK({ 0x100, UINT64_MAX, 1 }, { 0x200, UINT64_MAX, 2 });
    ck_assert_uint_eq(a.bytes, 2 * ALLOCATED_BYTES_MAX);
    LOOK({ 0x100, UINT64_MAX, 1 }, { 0x100, 5, 1 });
    ck_assert_uint_le(a.bytes, 3 * ALLOCATED_BYTES_MAX);
    free(a.threads);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("allocated");
    TCase *tc = tcase_create("allocated");

    tcase_add_test(tc, adds_up);
    tcase_add_test(tc, never_falls);
    tcase_add_test(tc, knows_another_in_the_same_place);
    tcase_add_test(tc, one_that_is_missed_counts_once);
    tcase_add_test(tc, nonsense_is_bounded);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
