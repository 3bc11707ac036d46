/* SPDX-License-Identifier: Apache-2.0 */
/* capture/native_live.c: which samples are of blocks that were not freed. */
#include "counted_budget.h"
#include "suite.h"

#include "capture/native_live.h"

static struct native_live *l;
static struct record *record;
static uint64_t sum, last_ns;

static void setup(void)
{
    ck_assert_int_eq(record_new(/* frames= */ NULL, 1, &record), 0);
    ck_assert_int_eq(native_live_new(record, &l), 0);
    sum = 0;
}

static void teardown(void)
{
    l = native_live_free(l);
    record = record_free(record);
}

static const struct proc_id ODD = { .host_pid = 100, .start_ticks = 1 },
                            EVEN = { .host_pid = 200, .start_ticks = 1 };

static bool keep(uint32_t block, uint64_t time_ns)
{
    return native_live_keep(l, block, block % 2 ? &ODD : &EVEN,
                            &(struct profile_sample){ .time_ns = time_ns, .value = 10 });
}

static void give_back(uint32_t block, bool early)
{
    native_live_end(l, block, NATIVE_LIVE_FREED, early);
}

static void add(void *cookie, const struct profile_sample *s)
{
    sum += s->value;
    last_ns = s->time_ns;
    (void)cookie;
}

static struct native_live_found look(uint64_t until_ns)
{
    struct native_live_found f;

    native_live_each(l, until_ns, add, NULL, &f);
    return f;
}

START_TEST(what_is_freed_goes)
{
    struct native_live_found f;

    for (uint32_t i = 1; i <= 5; i++)
        ck_assert(keep(i * 16384, i)); /* all hash to one head */
    give_back(2 * 16384, /* early= */ false);
    give_back(5 * 16384, /* early= */ false);
    give_back(5 * 16384, /* early= */ false);
    give_back(77, /* early= */ false);
    ck_assert_uint_eq(native_live_kept(l), 3);
    f = look(4);
    ck_assert_uint_eq(native_live_kept(l), 0);
    ck_assert_uint_eq(f.ended[NATIVE_LIVE_FREED], 2);
    ck_assert_uint_eq(f.live, 2); /* 1, 3 */
    ck_assert_uint_eq(f.young, 1);
    ck_assert_uint_eq(f.bytes, 50);
    ck_assert_uint_eq(sum, 20);
    ck_assert_uint_eq(look(100).live, 2); /* no sample is passed twice */
    ck_assert_uint_eq(sum, 20);
}
END_TEST

START_TEST(an_end_before_its_sample)
{
    struct native_live_found f;

    give_back(7, /* early= */ true);
    ck_assert(keep(7, 1));
    ck_assert(keep(7, 2));            /* another block with this number */
    give_back(8, /* early= */ false); /* of no block that is to come */
    ck_assert(keep(8, 3));
    f = look(100);
    ck_assert_uint_eq(f.live, 2);
    ck_assert_uint_eq(f.ended[NATIVE_LIVE_FREED], 1);
    ck_assert_uint_eq(f.lost_ends, 0);
}
END_TEST

/* Blocks that are no longer followed count neither as freed nor as live. */
START_TEST(what_nobody_follows_any_more)
{
    struct native_live_found f;

    for (uint32_t i = 1; i <= 6; i++)
        ck_assert(keep(i, i));
    native_live_end(l, 1, NATIVE_LIVE_LOST, /* early= */ false);
    native_live_end(l, 1, NATIVE_LIVE_LOST, /* early= */ false);
    native_live_end(l, 7, NATIVE_LIVE_CROWDED, /* early= */ true);
    ck_assert(keep(7, 7));
    native_live_end_process(l, &EVEN, NATIVE_LIVE_LOST); /* 2, 4, 6 */
    give_back(2, /* early= */ false);
    f = look(100);
    ck_assert_uint_eq(f.ended[NATIVE_LIVE_FREED], 0);
    ck_assert_uint_eq(f.live, 2); /* 3, 5 */
    ck_assert_uint_eq(f.bytes, 70);
    ck_assert_uint_eq(f.missed_bytes, 50);
    ck_assert_uint_eq(f.ended[NATIVE_LIVE_LOST], 4);
    ck_assert_uint_eq(f.ended[NATIVE_LIVE_CROWDED], 1);
}
END_TEST

/* An exec drops the blocks of the old program. Those of the new one stay. */
START_TEST(what_an_exec_replaced)
{
    const struct proc_id next = { .host_pid = 100, .exec_no = 1, .start_ticks = 1 };
    const struct profile_sample s = { .time_ns = 1, .value = 10 };
    struct native_live_found f;

    ck_assert(keep(1, 1));
    ck_assert(keep(2, 1));
    ck_assert(keep(3, 1));
    ck_assert(native_live_keep(l, 5, &next, &s));
    native_live_end_process(l, &ODD, NATIVE_LIVE_REPLACED);
    native_live_count(l, 10, NATIVE_LIVE_REPLACED); /* arrived late */
    f = look(100);
    ck_assert_uint_eq(f.live, 2); /* 2, 5 */
    ck_assert_uint_eq(f.ended[NATIVE_LIVE_REPLACED], 3);
    ck_assert_uint_eq(f.bytes, 50);
    ck_assert_uint_eq(f.missed_bytes, 0);
}
END_TEST

START_TEST(what_another_set_followed)
{
    struct native_live_found f;

    for (uint32_t i = 1; i <= 3; i++)
        ck_assert(keep(i, i));
    native_live_lose_all(l, 5);
    ck_assert(keep(4, 4)); /* it was on its way */
    ck_assert(keep(5, 5));
    f = look(100);
    ck_assert_uint_eq(f.live, 1);
    ck_assert_uint_eq(last_ns, 5);
    ck_assert_uint_eq(f.missed_bytes, 40);
}
END_TEST

START_TEST(no_more_than_fits)
{
    struct native_live_found f;

    for (uint32_t i = 0; i < NATIVE_LIVE_MAX; i++)
        ck_assert(keep(i * 3, 1));
    ck_assert(!keep(UINT32_MAX, 1));
    give_back(3, /* early= */ false);
    ck_assert(keep(UINT32_MAX, 1));
    for (uint32_t i = 0; i < NATIVE_LIVE_EARLY + 5; i++)
        give_back(i * 3 + 1, /* early= */ true);
    native_live_count(l, 1000, NATIVE_LIVE_LOST);
    f = look(2);
    ck_assert_uint_eq(f.live, NATIVE_LIVE_MAX);
    ck_assert_uint_eq(f.lost_ends, 5);
    ck_assert_uint_eq(f.missed_bytes, 1000);
    ck_assert_uint_eq(f.bytes, 1000 + 10 * (NATIVE_LIVE_MAX + 2));
    ck_assert(!keep(2, 1)); /* counting has ended */
}
END_TEST

START_TEST(samples_count_in_the_memory_of_captures)
{
    unsigned times = 0;
    struct record_budget budget = counted_budget(&times);
    const size_t room = 2000 * sizeof(struct profile_sample);
    uint32_t n = 0;

    record_set_budget(record, &budget);
    budget.max_bytes = budget.used_bytes + room;
    while (keep(n, 1))
        n++;
    ck_assert_uint_ge(n, 512);
    ck_assert_uint_le(n, 2000);
    ck_assert_uint_gt(budget.used_bytes, budget.max_bytes - room);
    ck_assert_uint_le(budget.used_bytes, budget.max_bytes);
    ck_assert_uint_eq(times, 1);
    give_back(1, /* early= */ false);
    ck_assert(keep(n, 1));
    record = record_free(record);
    ck_assert_uint_eq(budget.used_bytes, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("native_live");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_is_freed_goes);
    tcase_add_test(tc, an_end_before_its_sample);
    tcase_add_test(tc, what_nobody_follows_any_more);
    tcase_add_test(tc, what_an_exec_replaced);
    tcase_add_test(tc, what_another_set_followed);
    tcase_add_test(tc, no_more_than_fits);
    tcase_add_test(tc, samples_count_in_the_memory_of_captures);
    return suite_run_case("native_live", tc);
}
