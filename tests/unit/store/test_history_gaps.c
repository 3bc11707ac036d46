/* SPDX-License-Identifier: Apache-2.0 */
/* store/history_gaps.c: the times in which the recorder did not run. */
#include "history_fixture.h"

#define MINUTE(n) (T0 + (uint64_t)(n)*HISTORY_MINUTE_NS)

struct found {
    uint64_t from_ns[8], to_ns[8];
    size_t count;
};

static void see_gap(void *cookie, uint64_t from_ns, uint64_t to_ns)
{
    struct found *f = cookie;

    ck_assert_uint_lt(f->count, ARRAY_SIZE(f->from_ns));
    f->from_ns[f->count] = from_ns;
    f->to_ns[f->count++] = to_ns;
}

static struct found gaps_in(struct history *h, uint64_t from_ns, uint64_t to_ns)
{
    struct error err = ERROR_NULL;
    struct found f = { 0 };

    ck_assert_msg(history_gaps(h, from_ns, to_ns, see_gap, &f, &err) == 0, "%s", err.msg);
    return f;
}

static void check_gap(const struct found *f, size_t i, uint64_t from_ns, uint64_t to_ns)
{
    ck_assert_uint_lt(i, f->count);
    ck_assert_uint_eq(f->from_ns[i], from_ns);
    ck_assert_uint_eq(f->to_ns[i], to_ns);
}

/* Minutes 0, 1, 4 and 6 are written. */
static struct history *with_minutes(void)
{
    static const struct made_jvm JVM = { 42, 1000, "shop", "work", 40, NULL };
    static const unsigned WRITTEN[] = { 0, 1, 4, 6 };
    struct history *h = open_history(1 << 30, 86400);

    for (size_t i = 0; i < ARRAY_SIZE(WRITTEN); i++)
        ck_assert_int_eq(put_minute(h, MINUTE(WRITTEN[i]), &JVM, 1), 0);
    return h;
}

START_TEST(test_gaps)
{
    struct history *h = with_minutes();
    struct found f = gaps_in(h, MINUTE(-10), MINUTE(9));

    ck_assert_uint_eq(f.count, 3); /* the time before the first minute is none */
    check_gap(&f, 0, MINUTE(2), MINUTE(4));
    check_gap(&f, 1, MINUTE(5), MINUTE(6));
    check_gap(&f, 2, MINUTE(7), MINUTE(9));
    history_close(h);
}
END_TEST

/* Ends of the range cut gaps. */
static const struct {
    uint64_t from_ns, to_ns;
    size_t count;
} RANGES[] = {
    { MINUTE(0), MINUTE(2), 0 },
    { MINUTE(0) + 1, MINUTE(1) + 1, 0 },
    { MINUTE(3), MINUTE(3) + HISTORY_GAP_NS, 1 },
    { MINUTE(3), MINUTE(3) + HISTORY_GAP_NS - 1, 0 },
    { MINUTE(8), MINUTE(9), 1 },
    { MINUTE(4) - HISTORY_GAP_NS + 1, MINUTE(5), 0 },
    { MINUTE(-9), MINUTE(0), 0 },
};

START_TEST(test_ranges)
{
    struct history *h = with_minutes();
    struct found f = gaps_in(h, RANGES[_i].from_ns, RANGES[_i].to_ns);

    ck_assert_uint_eq(f.count, RANGES[_i].count);
    if (f.count)
        check_gap(&f, 0, RANGES[_i].from_ns, RANGES[_i].to_ns);
    history_close(h);
}
END_TEST

START_TEST(test_an_empty_history)
{
    struct history *h = open_history(1 << 30, 86400);

    ck_assert_uint_eq(gaps_in(h, 0, UINT64_MAX).count, 0);
    history_close(h);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("history_gaps");

    tcase_add_test(tc, test_gaps);
    tcase_add_loop_test(tc, test_ranges, 0, ARRAY_SIZE(RANGES));
    tcase_add_test(tc, test_an_empty_history);
    return run_store_tests("history_gaps", tc);
}
