/* SPDX-License-Identifier: Apache-2.0 */
/* capture/looked_threads.c: the time of threads by place and state, estimated by passes over
 * them. */
#include "fixed_seed.h"
#include "suite.h"

#include "base/clock.h"
#include "capture/looked_threads.h"

#define MS NSEC_PER_MSEC
#define OWNER 1

/* Time that was put, by the tag of the place. */
struct sums {
    uint64_t ns[4][LOOKED_STATES];
    unsigned calls;
};

static void put(void *cookie, const struct looked_thread *t, enum looked_state state, uint64_t ns)
{
    struct sums *s = cookie;

    s->ns[t->stack][state] += ns;
    s->calls++;
}

static uint64_t pass_of(struct looked_threads *l, uint64_t ms, double weight,
                        const struct looks_entry *e)
{
    uint64_t ns;

    looked_threads_begin(l, ms * MS, weight, 1, 0);
    ns = looked_threads_take(l, e, OWNER);
    looked_threads_end(l);
    return ns;
}

/* Runs one pass over thread 7 alone, at @ms. */
static uint64_t pass(struct looked_threads *l, uint64_t ms, double weight, enum looks_found found,
                     bool runnable, uint64_t ran_ms, uint64_t queued_ms)
{
    struct looks_entry e = { .host_pid = 5,
                             .host_tid = 7,
                             .ran_ns = ran_ms * MS,
                             .queued_ns = queued_ms * MS,
                             .found = (uint8_t)found,
                             .runnable = runnable };

    return pass_of(l, ms, weight, &e);
}

/* Delivers the stack of thread 7: it is @stack, since @ns. */
static void place(struct looked_threads *l, uint32_t stack, enum looked_state state, uint64_t ns)
{
    struct looked_thread *t = looked_threads_find(l, 7);

    ck_assert_ptr_nonnull(t);
    t->stack = stack;
    t->placed = true;
    t->place_ns[state] += ns;
}

static struct looked_threads looked(struct sums *s)
{
    return (struct looked_threads){ .put = put, .cookie = s };
}

START_TEST(a_thread_that_stays_costs_a_sample_a_minute)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    ck_assert_uint_eq(pass(&l, 1000, 1, LOOKS_PLACE, false, 0, 0), 0); /* the first pass */
    place(&l, 1, LOOKED_BLOCKED, 0);
    for (uint64_t i = 2; i <= 181; i++)
        pass(&l, i * 1000, 1, LOOKS_SAME, false, 0, 0);
    ck_assert_uint_eq(s.calls, 3);
    ck_assert_uint_eq(s.ns[1][LOOKED_BLOCKED], 180000 * MS);
    looked_threads_put(&l);
    ck_assert_uint_eq(s.ns[1][LOOKED_BLOCKED], 180000 * MS);
    looked_threads_deinit(&l);
}
END_TEST

/* All places are written again. A thread that has not run keeps the time of its place until
 * then. */
START_TEST(a_place_stays_until_it_is_known_better)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 1000, 1, LOOKS_PLACE, false, 5, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    ck_assert_uint_eq(pass(&l, 2000, 8, LOOKS_PASSED, false, 5, 0), 0);
    ck_assert_uint_eq(pass(&l, 3000, 8, LOOKS_PLACE, false, 5, 0), 0);
    ck_assert_uint_eq(looked_threads_find(&l, 7)->pass, l.no);
    looked_threads_put(&l);
    ck_assert_uint_eq(s.ns[1][LOOKED_BLOCKED], 2000 * MS);
    place(&l, 2, LOOKED_BLOCKED, 0);
    pass(&l, 4000, 1, LOOKS_SAME, false, 5, 0);
    looked_threads_put(&l);
    ck_assert_uint_eq(s.ns[2][LOOKED_BLOCKED], 1000 * MS);
    ck_assert_uint_eq(l.lost_ns, 0);
    looked_threads_deinit(&l);
}
END_TEST

/* It has run, and waits with the same registers. Others stand neither for it nor it for them. */
START_TEST(a_thread_that_waits_as_before_stays_at_its_place)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    struct looks_entry again = {
        .host_pid = 5, .host_tid = 7, .ran_ns = 305 * MS, .found = LOOKS_PLACE, .alike = 1
    };

    pass(&l, 1000, 1, LOOKS_PLACE, false, 5, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    pass(&l, 2000, 8, LOOKS_ALIKE, false, 105, 0);
    pass(&l, 3000, 8, LOOKS_ALIKE, false, 205, 0);
    ck_assert(looked_thread_waits(&l, looked_threads_find(&l, 7)));
    looked_threads_put(&l);
    ck_assert_uint_eq(s.ns[1][LOOKED_BLOCKED], 1800 * MS);
    ck_assert_uint_eq(looked_threads_known_ns(&l), 3000 * MS);
    ck_assert_uint_eq(pass_of(&l, 4000, 8, &again), 900 * MS); /* not 8 times as long */
    ck_assert(!looked_threads_find(&l, 7)->placed);
    ck_assert_uint_eq(l.lost_ns, 0);
    looked_threads_forget(&l);
    pass(&l, 5000, 1, LOOKS_ALIKE, false, 405, 0);
    ck_assert(l.forgotten);
    looked_threads_deinit(&l);
}
END_TEST

/* The thread has run and waits again, and passes have no time for its stack. */
START_TEST(a_place_that_it_left_counts_for_a_while)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 1000, 1, LOOKS_PLACE, false, 5, 0);
    ck_assert(!looked_thread_waits(&l, looked_threads_find(&l, 7)));
    place(&l, 1, LOOKED_BLOCKED, 0);
    ck_assert(looked_thread_waits(&l, looked_threads_find(&l, 7)));
    pass(&l, 2000, 8, LOOKS_PASSED, false, 6, 0);
    ck_assert(!looked_threads_find(&l, 7)->placed);
    ck_assert(looked_thread_waits(&l, looked_threads_find(&l, 7)));
    pass(&l, 3000, 8, LOOKS_RUNS, false, 7, 0);
    ck_assert(!looked_thread_waits(&l, looked_threads_find(&l, 7)));
    pass(&l, 4000, 8, LOOKS_LEFT, false, 8, 0);
    ck_assert(looked_thread_waits(&l, looked_threads_find(&l, 7)));
    pass(&l, 31000, 8, LOOKS_PASSED, false, 9, 0);
    ck_assert(!looked_thread_waits(&l, looked_threads_find(&l, 7)));
    place(&l, 2, LOOKED_BLOCKED, 0);
    looked_threads_forget(&l); /* the stack is no longer valid */
    ck_assert(!looked_thread_waits(&l, looked_threads_find(&l, 7)));
    looked_threads_deinit(&l);
}
END_TEST

/* A thread that waits for a processor waits for nothing else, wherever it was seen before. */
START_TEST(a_queued_thread_runs)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 1000, 8, LOOKS_PASSED, true, 5, 0); /* its place was never known */
    ck_assert(looked_threads_find(&l, 7)->runs);
    pass(&l, 2000, 1, LOOKS_PLACE, false, 6, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    pass(&l, 3000, 1, LOOKS_SAME, true, 6, 1);
    ck_assert(!looked_thread_waits(&l, looked_threads_find(&l, 7)));
    pass(&l, 4000, 1, LOOKS_PASSED, true, 7, 2);
    ck_assert(looked_threads_find(&l, 7)->runs);
    ck_assert(!looked_thread_waits(&l, looked_threads_find(&l, 7)));
    pass(&l, 5000, 1, LOOKS_PASSED, false, 8, 3);
    ck_assert(looked_thread_waits(&l, looked_threads_find(&l, 7)));
    looked_threads_deinit(&l);
}
END_TEST

/* In each second the thread runs 0.2 s, waits 0.1 s for a processor, and blocks at one of two
 * places. */
START_TEST(time_goes_by_state_to_where_it_is_met)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    uint64_t runnable_ns = 0;

    pass(&l, 1000, 1, LOOKS_PLACE, false, 0, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    for (uint64_t i = 1; i <= 100; i++) {
        bool runs = i % 5 == 0, queued = i % 10 == 1;
        uint64_t ns =
            pass(&l, (i + 1) * 1000, 1, runs ? LOOKS_RUNS : LOOKS_PLACE, queued, 200 * i, 100 * i);

        if (runs)
            continue;
        place(&l, 1 + i % 2, queued ? LOOKED_RUNNABLE : LOOKED_BLOCKED, ns);
        runnable_ns += queued ? ns : 0;
    }
    looked_threads_put(&l);
    ck_assert_uint_eq(s.ns[1][LOOKED_RUNNABLE] + s.ns[2][LOOKED_RUNNABLE], runnable_ns);
    ck_assert_uint_ge(runnable_ns, 9000 * MS); /* of 10 s; the rest comes with the next pass */
    ck_assert_uint_le(runnable_ns, 10000 * MS);
    ck_assert_uint_ge(s.ns[1][LOOKED_BLOCKED] + s.ns[2][LOOKED_BLOCKED], 69000 * MS);
    ck_assert_uint_le(s.ns[1][LOOKED_BLOCKED] + s.ns[2][LOOKED_BLOCKED], 70000 * MS);
    looked_threads_deinit(&l);
}
END_TEST

/* Three of four passes skip the thread. The fourth stands for all, and no time is lost. */
/* Its stack may be delivered late. */
START_TEST(a_thread_is_found_before_the_next_pass_meets_it)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    struct looks_entry before = { .host_pid = 5, .host_tid = 6, .found = LOOKS_RUNS };

    pass(&l, 1000, 1, LOOKS_PLACE, false, 0, 0);
    looked_threads_begin(&l, 2000 * MS, 1, 1, 0);
    looked_threads_take(&l, &before, OWNER);
    place(&l, 1, LOOKED_BLOCKED, 0);
    before.host_tid = 8; /* thread 7 has ended */
    looked_threads_take(&l, &before, OWNER);
    ck_assert_ptr_null(looked_threads_find(&l, 7));
    looked_threads_end(&l);
    ck_assert_ptr_null(looked_threads_find(&l, 7));
    ck_assert_ptr_nonnull(looked_threads_find(&l, 8));
    looked_threads_deinit(&l);
}
END_TEST

START_TEST(a_share_stands_for_all)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    uint64_t ns = 0;

    pass(&l, 1000, 1, LOOKS_PASSED, false, 0, 0);
    for (uint64_t i = 2; i <= 401; i++)
        ns += pass(&l, i * 1000, 4, i % 4 ? LOOKS_PASSED : LOOKS_PLACE, false, i, 0);
    ck_assert_uint_ge(ns, 399000 * MS);
    ck_assert_uint_le(ns, 401000 * MS);
    ck_assert_uint_eq(l.lost_ns, 0);
    pass(&l, 402000, 1, LOOKS_PASSED, false, 402, 0); /* no pass stands for this one */
    ck_assert_uint_gt(l.lost_ns, 900 * MS);
    looked_threads_deinit(&l);
}
END_TEST

/* A pass that ran out of time does not find a thread's place. The next pass that does gets all the
 * time. */
START_TEST(time_of_a_pass_that_was_cut_short_stays_owed)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 1000, 4, LOOKS_LEFT, false, 0, 0);
    pass(&l, 2000, 4, LOOKS_LEFT, false, 1, 0);
    pass(&l, 3000, 4, LOOKS_LEFT, false, 2, 0);
    ck_assert_uint_eq(pass(&l, 4000, 1, LOOKS_PLACE, false, 3, 0), 2997 * MS);
    ck_assert_uint_eq(l.lost_ns, 0);
    for (uint64_t i = 5; i <= 24; i++)
        pass(&l, i * 1000, 4, LOOKS_LEFT, false, 3, 0);
    ck_assert_uint_eq(l.lost_ns, 20000 * MS - LOOKED_OWED_MAX_NS);
    looked_threads_deinit(&l);
}
END_TEST

/* The program reports an unchanged place, but the place is no longer known. */
START_TEST(a_forgotten_place_is_noticed_and_its_time_stays_owed)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 1000, 1, LOOKS_PLACE, false, 0, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    pass(&l, 2000, 1, LOOKS_SAME, false, 0, 0);
    ck_assert(!l.forgotten);
    looked_threads_forget(&l);
    pass(&l, 3000, 1, LOOKS_SAME, false, 0, 0);
    ck_assert(l.forgotten);
    ck_assert_uint_eq(pass(&l, 4000, 1, LOOKS_PLACE, false, 0, 0), 2000 * MS);
    ck_assert(!l.forgotten);
    ck_assert_uint_eq(l.lost_ns, 0);
    looked_threads_deinit(&l);
}
END_TEST

/* For a minute there was no pass. Little of that time counts, for new and known threads. */
START_TEST(a_long_time_without_a_pass_is_lost_and_counted)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    looked_threads_begin(&l, 1000 * MS, 1, 1, 0);
    looked_threads_end(&l);
    ck_assert_uint_eq(pass(&l, 61000, 1, LOOKS_PLACE, false, 0, 0), LOOKED_OWED_MAX_NS);
    ck_assert_uint_eq(l.lost_ns, 60000 * MS - LOOKED_OWED_MAX_NS);
    ck_assert_uint_eq(pass(&l, 121000, 1, LOOKS_PLACE, false, 1, 0), LOOKED_OWED_MAX_NS);
    ck_assert_uint_eq(l.lost_ns, 119999 * MS - 2 * LOOKED_OWED_MAX_NS);
    looked_threads_deinit(&l);
}
END_TEST

/* Threads that each wait for a second, one after another. Each ends before the second pass after
 * its start. Those that passes meet stand for the others. */
START_TEST(a_new_thread_stands_for_those_between_passes)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);

    pass(&l, 1000, 1, LOOKS_PLACE, false, 0, 0);
    place(&l, 1, LOOKED_BLOCKED, 0);
    looked_threads_begin(&l, 2000 * MS, 1, 1, 0);
    looked_threads_end(&l); /* the thread has ended */
    ck_assert_ptr_null(looked_threads_find(&l, 7));
    ck_assert_uint_eq(pass(&l, 3500, 1, LOOKS_PLACE, false, 0, 0), 1500 * MS);
    ck_assert_uint_eq(pass(&l, 4000, 1, LOOKS_PLACE, false, 0, 0), 500 * MS);
    ck_assert_uint_eq(pass(&l, 5000, 1, LOOKS_RUNS, false, 900, 0), 0);
    ck_assert_uint_eq(pass(&l, 6000, 1, LOOKS_RUNS, false, 1800, 0), 0);
    ck_assert_uint_eq(pass(&l, 7000, 1, LOOKS_PLACE, false, 2000, 0), (100 + 100 + 800) * MS);
    looked_threads_deinit(&l);
}
END_TEST

/* Each pass may find the threads of other JVMs, as many as before. */
START_TEST(each_pass_has_its_jvms)
{
    struct sums s = { 0 };
    struct looked_threads l = looked(&s);
    struct looks_entry e = { .host_tid = 7, .found = LOOKS_RUNS };

    ck_assert_ptr_nonnull(looked_threads_pids(&l)); /* no thread is known yet */
    for (uint32_t i = 1; i <= 3; i++) {
        e.host_pid = i;
        pass_of(&l, i * 1000, 1, &e);
        ck_assert_uint_eq(looked_threads_pids(&l)[0], i);
    }
    looked_threads_deinit(&l);
}
END_TEST

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
    TCase *tc = tcase_create("looked_threads");

    tcase_add_test(tc, a_thread_that_stays_costs_a_sample_a_minute);
    tcase_add_test(tc, a_place_stays_until_it_is_known_better);
    tcase_add_test(tc, what_is_known_ends_where_time_is_owed);
    tcase_add_test(tc, a_place_is_forgotten_if_its_stack_is_lost);
    tcase_add_test(tc, a_thread_that_waits_as_before_stays_at_its_place);
    tcase_add_test(tc, a_place_that_it_left_counts_for_a_while);
    tcase_add_test(tc, a_queued_thread_runs);
    tcase_add_test(tc, time_goes_by_state_to_where_it_is_met);
    tcase_add_test(tc, a_thread_is_found_before_the_next_pass_meets_it);
    tcase_add_test(tc, a_share_stands_for_all);
    tcase_add_test(tc, time_of_a_pass_that_was_cut_short_stays_owed);
    tcase_add_test(tc, a_forgotten_place_is_noticed_and_its_time_stays_owed);
    tcase_add_test(tc, a_long_time_without_a_pass_is_lost_and_counted);
    tcase_add_test(tc, a_new_thread_stands_for_those_between_passes);
    tcase_add_test(tc, what_the_hypervisor_takes_does_not_add_up);
    tcase_add_test(tc, a_part_at_a_time_has_the_right_weights);
    tcase_add_test(tc, each_pass_has_its_jvms);
    tcase_add_test(tc, there_is_room_for_so_many);
    tcase_add_test(tc, one_owner_leaves_room_for_others);
    tcase_add_test(tc, owners_stay_apart_while_room_is_short);
    return suite_run_case("looked_threads", tc);
}
