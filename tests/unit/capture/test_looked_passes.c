/* SPDX-License-Identifier: Apache-2.0 */
/* capture/looked_threads.c: Passes over parts of the threads, lost time, and the room of owners. */
#include "looked_threads_fixture.h"

START_TEST(what_the_hypervisor_takes_does_not_add_up)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    for (uint64_t i = 1; i <= 100; i++) /* half of the time is stolen */
        pass(&l, i * 1000, 1, LOOKS_RUNS, false, i * 500, 0);
    ck_assert_uint_le(pass(&l, 101000, 1, LOOKS_PLACE, false, 50500, 0), LOOKED_OWED_MAX_NS);
    looked_threads_deinit(&l);
}
END_TEST

/* Runs one pass over @count threads, of which it handles a part. */
static uint64_t pass_over(struct looked_threads *l, uint64_t ms, uint32_t count, uint32_t parts,
                          uint32_t part)
{
    uint64_t ns = 0;

    looked_threads_begin(l, ms * MS, 1, parts, part);
    for (uint32_t tid = 1; tid <= count; tid++) {
        struct looks_entry e = { .host_pid = 1, .host_tid = tid, .found = LOOKS_PLACE };

        if (tid % parts == part)
            ns += looked_threads_take(l, &e, OWNER);
    }
    looked_threads_end(l);
    return ns;
}

START_TEST(a_part_at_a_time_has_the_right_weights)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    uint64_t ns = 0;

    pass_over(&l, 1000, 30000, 1, 0);
    ck_assert_uint_eq(l.count, 30000);
    for (uint64_t i = 0; i < 10; i++)
        ns += pass_over(&l, 2000 + i * 1000, 30000, 2, i % 2);
    ck_assert_uint_eq(l.count, 30000);
    ck_assert_uint_ge(ns, UINT64_C(30000) * 9500 * MS);
    ck_assert_uint_le(ns, UINT64_C(30000) * 10000 * MS);
    pass_over(&l, 12000, 15000, 2, 0); /* half of them have ended; this part is met */
    ck_assert_uint_eq(l.count, 22500);
    looked_threads_deinit(&l);
}
END_TEST

START_TEST(there_is_room_for_so_many)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass_over(&l, 1000, LOOKED_THREADS_MAX + 100, 1, 0);
    ck_assert_uint_eq(l.count, LOOKED_THREADS_MAX);
    ck_assert_uint_eq(l.left_out, 100);
    looked_threads_forget(&l);
    ck_assert_uint_eq(s.calls, 0);
    looked_threads_deinit(&l);
}
END_TEST

#define CROWD (LOOKED_THREADS_MAX + LOOKED_THREADS_MAX / 2)
#define FEW 1000

/* Runs one pass over the threads of an owner with very many. Behind them come those of two others,
 * @other and OWNER + 2. */
static void pass_over_owners(struct looked_threads *l, uint64_t i, uint64_t other)
{
    uint32_t parts = (uint32_t)(l->count / LOOKED_A_PASS_MAX) + 1;

    looked_threads_begin(l, i * NSEC_PER_SEC, 1, parts, (uint32_t)(i % parts));
    for (uint32_t tid = 1; tid <= CROWD + 2 * FEW; tid++) {
        struct looks_entry e = { .host_pid = 1, .host_tid = tid, .found = LOOKS_PLACE };

        if (tid % parts == l->part)
            looked_threads_take(l, &e, tid <= CROWD ? OWNER : tid % 2 ? OWNER + 2 : other);
    }
    looked_threads_end(l);
}

START_TEST(one_owner_leaves_room_for_others)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    size_t n = 0;

    for (uint64_t i = 0; i < 4; i++) /* one over all threads, then one over each of three parts */
        pass_over_owners(&l, i + 1, OWNER + 1);
    for (uint32_t tid = CROWD + 1; tid <= CROWD + 2 * FEW; tid++)
        n += looked_threads_find(&l, tid) != NULL;
    ck_assert_uint_eq(n, 2 * FEW);
    ck_assert_uint_ge(l.count, LOOKED_THREADS_MAX - LOOKED_THREADS_FREE); /* OWNER has the rest */
    ck_assert_uint_gt(l.left_out, 0);
    looked_threads_deinit(&l);
}
END_TEST

/* Returns an owner that counts together with OWNER if the seed is @seed. */
static uint64_t counted_with_owner(int seed)
{
    int before = seed_byte;
    struct shares s;
    uint64_t other = OWNER + 10;

    seed_byte = seed;
    shares_init(&s, /* max= */ 0);
    seed_byte = before;
    shares_force(&s, OWNER, 1);
    while (!shares_used(&s, other))
        other++;
    return other;
}

/* The room of each owner follows from the counts of the pass before. */
START_TEST(owners_stay_apart_while_room_is_short)
{
    const int NEXT_SEED = seed_byte + 1;
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    uint64_t other = counted_with_owner(NEXT_SEED);
    size_t n = 0;

    pass_over_owners(&l, 1, other);
    ck_assert_uint_eq(shares_used(&l.wanted, other), FEW);
    seed_byte = NEXT_SEED;
    for (uint64_t i = 1; i < 4; i++)
        pass_over_owners(&l, i + 1, other);
    seed_byte = NEXT_SEED - 1;
    for (uint32_t tid = CROWD + 1; tid <= CROWD + 2 * FEW; tid++)
        n += looked_threads_find(&l, tid) != NULL;
    ck_assert_uint_eq(n, 2 * FEW);
    looked_threads_deinit(&l);
}
END_TEST

/* What a thread is owed is missing from the time before, until it is met where it waits. */
START_TEST(what_is_known_ends_where_time_is_owed)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    ck_assert_uint_eq(looked_threads_known_ns(&l), 0);
    pass(&l, 100000, 1, LOOKS_PLACE, false, 5, 0);
    ck_assert_uint_eq(looked_threads_known_ns(&l), 100000 * MS - LOOKED_OWED_MAX_NS); /* no names */
    place(&l, 1, LOOKED_BLOCKED, 0);
    ck_assert_uint_eq(looked_threads_known_ns(&l), 100000 * MS);
    pass(&l, 101000, 1, LOOKS_RUNS, false, 105, 0); /* and waited for 900 ms */
    ck_assert_uint_eq(looked_threads_known_ns(&l), (101000 - 900) * MS);
    pass(&l, 102000, 1, LOOKS_RUNS, false, 205, 0);
    ck_assert_uint_eq(looked_threads_known_ns(&l), (102000 - 1800) * MS);
    ck_assert_uint_eq(pass(&l, 103000, 1, LOOKS_PLACE, false, 305, 0), 2700 * MS);
    place(&l, 2, LOOKED_BLOCKED, 2700 * MS);
    looked_threads_put(&l);
    ck_assert_uint_eq(s.ns[2][LOOKED_BLOCKED], 2700 * MS);
    ck_assert_uint_eq(looked_threads_known_ns(&l), 103000 * MS);
    looked_threads_deinit(&l);
}
END_TEST

/* Otherwise what is known would never advance, as the thread does not run again. */
START_TEST(a_place_is_forgotten_if_its_stack_is_lost)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 99000, 1, LOOKS_PLACE, false, 5, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    ck_assert_uint_eq(pass(&l, 100000, 1, LOOKS_PLACE, false, 105, 0), 900 * MS);
    for (uint64_t ms = 101000; ms < 116000; ms += 1000) {
        pass(&l, ms, 1, LOOKS_SAME, false, 105, 0);
        ck_assert(!l.forgotten);
    }
    pass(&l, 116000, 1, LOOKS_SAME, false, 105, 0);
    ck_assert(l.forgotten); /* its place is written again */
    ck_assert_uint_eq(l.lost_ns, 15000 * MS);
    ck_assert_uint_ge(looked_threads_known_ns(&l), 115000 * MS);
    pass(&l, 117000, 1, LOOKS_SAME, false, 105, 0);
    ck_assert(l.forgotten);
    ck_assert_uint_eq(pass(&l, 118000, 1, LOOKS_PLACE, false, 105, 0), 3000 * MS);
    looked_threads_deinit(&l);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("looked_passes");

    tcase_add_test(tc, what_is_known_ends_where_time_is_owed);
    tcase_add_test(tc, a_place_is_forgotten_if_its_stack_is_lost);
    tcase_add_test(tc, what_the_hypervisor_takes_does_not_add_up);
    tcase_add_test(tc, a_part_at_a_time_has_the_right_weights);
    tcase_add_test(tc, there_is_room_for_so_many);
    tcase_add_test(tc, one_owner_leaves_room_for_others);
    tcase_add_test(tc, owners_stay_apart_while_room_is_short);
    return suite_run_case("looked_passes", tc);
}
