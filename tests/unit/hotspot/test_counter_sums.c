/* SPDX-License-Identifier: Apache-2.0 */
/* hotspot/counter_sums.h: what a collection of the old generation left there. */
#include "suite.h"

#include "hotspot/counter_sums.h"
#include "hotspot/counters.h"

/* Counters of Serial with a full old generation, whose last collection was of it. */
static struct counters full(void)
{
    struct counters c = {
        .generations = { { .whole = { .name = "new", .committed = 22, .max = 22 },
                           .spaces = { { .name = "eden", .used = 17, .max = 17 },
                                       { .name = "s0", .used = 2, .max = 2 } } },
                         { .whole = { .name = "old", .committed = 44, .max = 44 },
                           .spaces = { { .name = "old", .used = 43, .max = 44 } } } },
        .collectors = { { .name = "Copy", .count = 3, .exit_ns = 50 },
                        { .name = "MSC", .count = 2, .exit_ns = 60 } },
    };

    return c;
}

static struct counter_sums sums_of(const struct counters *c)
{
    struct counter_sums s;

    counter_sums_of(c, &s);
    return s;
}

START_TEST(of_the_old_generation)
{
    struct counters c = full();
    struct counter_sums s = sums_of(&c);

    ck_assert_int_eq(s.heap_kept, 45);
    ck_assert_int_eq(s.old_left, 43);
    ck_assert_int_eq(s.old_max, 44);
    c.collectors[0].exit_ns = 61; /* it may have moved garbage there */
    ck_assert_int_eq(sums_of(&c).old_left, COUNTERS_UNKNOWN);
    c = full();
    c.collectors[1].exit_ns = 0; /* there was none yet */
    c.collectors[0].exit_ns = 0;
    ck_assert_int_eq(sums_of(&c).old_left, COUNTERS_UNKNOWN);
    c = full();
    c.generations[0].whole.max = 0; /* Shenandoah: the other one is all of the heap, with garbage */
    ck_assert_int_eq(sums_of(&c).old_left, COUNTERS_UNKNOWN);
    c = full();
    c.generations[1].spaces[0].used = COUNTERS_UNKNOWN;
    ck_assert_int_eq(sums_of(&c).old_left, COUNTERS_UNKNOWN);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("counter_sums");

    tcase_add_test(tc, of_the_old_generation);
    return suite_run_case("counter_sums", tc);
}
