/* SPDX-License-Identifier: Apache-2.0 */
/* capture/live.c: which samples are of live objects, and their weight. The JVM may write anything
 * into the tables. */
#include "counted_budget.h"
#include "suite.h"

#include "base/cleanup.h"
#include "base/macros.h"
#include "capture/live.h"

#define INTERVAL 1000

static struct stream_live before[STREAM_LIVE_MAX], after[STREAM_LIVE_MAX];
static bool alive[STREAM_LIVE_MAX];
static struct record *record;

static struct live_tables tables(uint32_t collections)
{
    return (struct live_tables){
        .before = before, .after = after, .alive = alive, .collections = collections
    };
}

/* Puts object @id into both tables. */
static void follow(uint32_t place, uint32_t id, bool is_alive)
{
    before[place] = after[place] = (struct stream_live){
        .ref = 0x1000 + 8 * place, .bytes = 100, .id = id, .interval = INTERVAL
    };
    alive[place] = is_alive;
}

static void keep(struct live *l, uint32_t id, uint32_t collections)
{
    const struct live_sample s = { .object = id,
                                   .collections = collections,
                                   .sample = { .value = INTERVAL, .count = 1, .stack = id } };

    ck_assert(live_keep(l, NULL, &s));
}

static struct got {
    size_t count;
    uint64_t value;
    uint32_t ids[64], objects, age;
} got;

static void take(void *cookie, const struct live_sample *s, uint32_t objects, uint32_t age)
{
    ck_assert_ptr_null(cookie);
    ck_assert_uint_lt(got.count, ARRAY_SIZE(got.ids));
    got.ids[got.count++] = s->object;
    got.value += s->sample.value;
    got.objects = objects;
    got.age = age;
}

static struct live_found settle(struct live *l)
{
    struct live_found f;

    got = (struct got){ 0 };
    live_each(l, take, NULL, &f);
    return f;
}

static void setup(void)
{
    memset(before, 0, sizeof(before));
    memset(after, 0, sizeof(after));
    memset(alive, 0, sizeof(alive));
}

static void begin(void)
{
    setup();
    ck_assert_int_eq(record_new(/* frames= */ NULL, 1, &record), 0);
}

static void end(void)
{
    record = record_free(record);
}

static void live_freep(struct live **l)
{
    live_free(*l);
}
#define _cleanup_live_ _cleanup_(live_freep)

/* Before a JVM's first collection, 1 stands for none. 0 means that the JVM does not count them. */
START_TEST(the_first_collection_counts)
{
    static const struct {
        uint32_t sampled, looked, age;
        bool any;
    } CASES[] = { { 1, 1, 0, false }, { 1, 2, 1, true }, { 0, 0, 0, false } };
    _cleanup_live_ struct live *l = NULL;
    struct live_tables t = tables(CASES[_i].looked);
    struct live_found f;

    ck_assert_int_eq(live_new(record, &l), 0);
    keep(l, 1, CASES[_i].sampled);
    follow(1, 1, true);
    live_compare(l, &t);
    f = settle(l);
    ck_assert(f.any_looked_at == CASES[_i].any);
    ck_assert_uint_eq(got.age, CASES[_i].age);
}
END_TEST

START_TEST(those_alive_are_handed_out)
{
    _cleanup_live_ struct live *l = NULL;
    struct live_tables t = tables(7);
    struct live_found f;

    ck_assert_int_eq(live_new(record, &l), 0);
    for (uint32_t id = 1; id <= 6; id++)
        keep(l, id, 5);
    follow(40, 1, true);
    follow(3, 2, false);
    follow(4, 3, true);
    after[4].id = 9; /* the agent dropped it, and another object has its slot */
    follow(5, 5, true);
    after[5].ref += 8; /* its number was used again */
    follow(6, 6, true);
    live_compare(l, &t);
    f = settle(l);
    ck_assert(f.looked && f.any_looked_at && !f.thinned);
    ck_assert_uint_eq(got.count, 2);
    ck_assert_uint_eq(got.ids[0], 1);
    ck_assert_uint_eq(got.ids[1], 6);
    ck_assert_uint_eq(got.value, 2 * INTERVAL);
    ck_assert_uint_eq(got.objects, INTERVAL / 100);
    ck_assert_uint_eq(got.age, 2);
    ck_assert_uint_eq(f.alive, 2);
    ck_assert_uint_eq(f.gone, 4);
    ck_assert_uint_eq(f.collections, 2);
    settle(l);
    ck_assert_uint_eq(got.count, 0);
}
END_TEST

/* Objects that no collection has seen are left out, if any object was seen. */
static const struct {
    uint32_t collections, taken[3]; /* at the end; at each sample; 0: not known */
    uint32_t dead;                  /* the newest dead object; 0: none */
    bool under_way, young_blind;
    size_t expected;
} AGES[] = {
    { 5, { 4, 5, 5 }, 0, false, false, 1 },
    { 5, { 5, 5, 5 }, 0, false, false, 3 },
    { 5, { 3, 4, 5 }, 0, true, false, 1 },
    { 5, { 4, 4, 5 }, 0, true, false, 3 },
    { 5, { 4, 4, 5 }, 12, true, false, 2 },
    { 0, { 0, 0, 0 }, 11, false, false, 1 },
    { 0, { 0, 0, 0 }, 0, false, false, 3 },
    { 5, { 5, 5, 5 }, 13, false, false, 3 },
    { 2, { 9, 9, 9 }, 0, false, false, 3 }, /* fewer than before: invalid */
    /* All collections were of the young generation, or one of them has cleared the dead object. */
    { 9, { 2, 3, 5 }, 0, true, true, 3 },
    { 9, { 2, 3, 5 }, 11, true, true, 1 },
};

START_TEST(young_ones_are_left_out)
{
    _cleanup_live_ struct live *l = NULL;
    struct live_tables t = tables(AGES[_i].collections);

    ck_assert_int_eq(live_new(record, &l), 0);
    t.newest_dead = AGES[_i].dead;
    t.under_way = AGES[_i].under_way;
    t.young_blind = AGES[_i].young_blind;
    for (uint32_t i = 0; i < 3; i++) {
        keep(l, 11 + i, AGES[_i].taken[i]);
        follow(i, 11 + i, true);
    }
    live_compare(l, &t);
    settle(l);
    ck_assert_uint_eq(got.count, AGES[_i].expected);
}
END_TEST

/* Numbers wrap around. A dead object found while reading counts as one that the agent has found. */
START_TEST(the_newest_dead)
{
    _cleanup_live_ struct live *l = NULL;
    struct live_tables t = tables(0);
    struct live_found f;

    ck_assert_int_eq(live_new(record, &l), 0);
    keep(l, UINT32_MAX, 0);
    keep(l, 1, 0);
    keep(l, 2, 0);
    keep(l, 3, 0);
    follow(0, UINT32_MAX, true);
    follow(1, 1, true);
    follow(2, 2, false);
    follow(3, 3, true);
    t.newest_dead = UINT32_MAX - 5;
    live_compare(l, &t);
    f = settle(l);
    ck_assert_uint_eq(got.count, 2);
    ck_assert_uint_eq(got.age, LIVE_NO_AGE);
    ck_assert_uint_eq(f.young, 1);
}
END_TEST

/* Weights of samples with a chance below 1, and tables with false values. */
START_TEST(worth_by_chance)
{
    _cleanup_live_ struct live *l = NULL;
    struct live_tables t = tables(0);
    struct live_found f;

    ck_assert_int_eq(live_new(record, &l), 0);
    for (uint32_t id = 1; id <= 4; id++) {
        keep(l, id, 0);
        keep(l, id, 0); /* the same number again */
        follow(id, id, true);
    }
    after[1].threshold = 8 * INTERVAL;
    after[2].bytes = 0;
    after[2].interval = 0;
    after[2].threshold = UINT64_MAX;
    after[3].threshold = UINT64_MAX;
    after[4].bytes = UINT64_MAX;
    live_compare(l, &t);
    f = settle(l);
    ck_assert(f.thinned);
    ck_assert_uint_eq(got.count, 4);
    ck_assert_uint_ge(got.value, (uint64_t)1 << 50 | 8 * INTERVAL);
    ck_assert_uint_lt(got.value, UINT64_MAX / 2 / STREAM_LIVE_MAX * got.count);
    ck_assert_uint_eq(got.objects, 1);
    ck_assert_uint_eq(f.gone, 4);
}
END_TEST

START_TEST(there_is_an_end_of_room)
{
    _cleanup_live_ struct live *l = NULL;
    const struct live_sample s = { .object = 1 };
    size_t n = 0;

    ck_assert_int_eq(live_new(record, &l), 0);
    while (live_keep(l, NULL, &s))
        n++;
    ck_assert_uint_eq(n, 2 * STREAM_LIVE_MAX);
    ck_assert_uint_eq(live_count(l), n);
    ck_assert(!settle(l).looked);
    ck_assert_uint_eq(got.count, 0);
}
END_TEST

/* Of samples with the same number one stays. So readings of the table stay rare, whatever it
 * says. */
START_TEST(what_is_followed_no_more_goes)
{
    _cleanup_live_ struct live *l = NULL;

    ck_assert_int_eq(live_new(record, &l), 0);
    for (uint32_t i = 0; i < 2 * STREAM_LIVE_MAX; i++)
        keep(l, 1 + i % (STREAM_LIVE_MAX + 100), 0);
    for (uint32_t i = 0; i < STREAM_LIVE_MAX; i++)
        follow(i, 1 + i, true);
    live_let_go(l, before);
    ck_assert_uint_eq(live_count(l), STREAM_LIVE_MAX);
    memset(before, 0, sizeof(before) / 2);
    live_let_go(l, before);
    ck_assert_uint_eq(live_count(l), STREAM_LIVE_MAX / 2);
    setup();
    live_let_go(l, before);
    ck_assert_uint_eq(live_count(l), 0);
}
END_TEST

START_TEST(samples_count_in_the_memory_of_captures)
{
    const struct live_sample s = { .object = 1 };
    unsigned times = 0;
    struct record_budget budget = counted_budget(&times);
    struct live *l;
    size_t n = 0;

    record_set_budget(record, &budget);
    budget.max_bytes = budget.used_bytes + 2000 * sizeof(s);
    ck_assert_int_eq(live_new(record, &l), 0);
    while (live_keep(l, NULL, &s))
        n++;
    ck_assert_uint_gt(n, 1000);
    ck_assert_uint_le(n, 2000);
    ck_assert_uint_le(budget.used_bytes, budget.max_bytes);
    ck_assert_uint_eq(times, 1);
    live_free(l);
    record = record_free(record);
    ck_assert_uint_eq(budget.used_bytes, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("live");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, those_alive_are_handed_out);
    tcase_add_loop_test(tc, the_first_collection_counts, 0, 3);
    tcase_add_loop_test(tc, young_ones_are_left_out, 0, ARRAY_SIZE(AGES));
    tcase_add_test(tc, the_newest_dead);
    tcase_add_test(tc, worth_by_chance);
    tcase_add_test(tc, there_is_an_end_of_room);
    tcase_add_test(tc, samples_count_in_the_memory_of_captures);
    tcase_add_test(tc, what_is_followed_no_more_goes);
    return suite_run_case("live", tc);
}
