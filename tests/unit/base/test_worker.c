/* SPDX-License-Identifier: Apache-2.0 */
/* base/shares.h: how much an owner leaves for others. base/worker.h: the order of owners. */
#include "suite.h"

#include "base/clock.h"
#include "base/shares.h"
#include "base/worker.h"

#include <semaphore.h>

#define PIECE_NS (5 * NSEC_PER_MSEC) /* of processor time */
#define WAIT_NS (60 * NSEC_PER_SEC)
#define ALICE 1
#define BOB 2
#define CAROL 3

/* ---- shares ---- */

START_TEST(one_alone_gets_half)
{
    struct shares s;

    shares_init(&s, 400);
    ck_assert_uint_eq(shares_room(&s, ALICE), 200);
    ck_assert(shares_take(&s, ALICE, 150));
    ck_assert(shares_take(&s, ALICE, 50));
    ck_assert(!shares_take(&s, ALICE, 1));
    ck_assert_uint_eq(s.refused, 1);
    ck_assert_uint_eq(s.used, 200);
    shares_give(&s, ALICE, 200);
    ck_assert_uint_eq(s.used + shares_used(&s, ALICE), 0);
}
END_TEST

START_TEST(there_is_always_room_for_another)
{
    struct shares s;

    shares_init(&s, 1 << 20);
    s.seed = 1; /* with this seed no two of these owners share a place */
    for (uint64_t owner = 1; owner <= 12; owner++) {
        ck_assert_uint_ge(shares_room(&s, owner), s.max / SHARES_LITTLE);
        while (shares_take(&s, owner, 256))
            ;
    }
    ck_assert_uint_lt(s.used, s.max);
    ck_assert_uint_eq(shares_room(&s, 13), s.max / SHARES_LITTLE);
}
END_TEST

START_TEST(what_lasts_leaves_a_sixth)
{
    struct shares s;

    shares_init(&s, 1200);
    s.seed = 1;
    ck_assert_uint_eq(shares_room_lasting(&s, ALICE), 600);
    shares_force(&s, ALICE, 600);
    ck_assert_uint_eq(shares_room_lasting(&s, ALICE), 0);
    ck_assert_uint_eq(shares_room_lasting(&s, BOB), 300);
    shares_force(&s, BOB, 300);
    ck_assert_uint_eq(shares_room_lasting(&s, BOB), 0);
    ck_assert_uint_eq(shares_room_lasting(&s, CAROL), 200);
    shares_force(&s, CAROL, 200);
    ck_assert_uint_eq(shares_room_lasting(&s, CAROL), 0);
    ck_assert_uint_eq(shares_room_lasting(&s, 4), 100);
}
END_TEST

START_TEST(what_is_nobodys_gets_a_little)
{
    struct shares s;

    shares_init(&s, 6400);
    ck_assert_uint_eq(shares_room(&s, OWNER_FOREIGN), 100);
    ck_assert_uint_eq(shares_room_lasting(&s, OWNER_FOREIGN), 100);
    shares_force(&s, OWNER_FOREIGN, 100);
    ck_assert_uint_eq(shares_room(&s, OWNER_FOREIGN), 0);
    ck_assert_uint_eq(shares_room_lasting(&s, OWNER_FOREIGN), 0);
    shares_init(&s, 8); /* one of few places */
    ck_assert_uint_eq(shares_room(&s, OWNER_FOREIGN), 1);
}
END_TEST

START_TEST(what_is_forced_is_counted)
{
    struct shares s;

    shares_init(&s, 128);
    shares_force(&s, ALICE, 200);
    ck_assert_uint_eq(shares_room(&s, BOB), 0);
    ck_assert(!shares_take(&s, BOB, 1));
    shares_give(&s, ALICE, 200);
    ck_assert_uint_eq(shares_room(&s, BOB), 64);
}
END_TEST

/* ---- turns ---- */

static struct worker *worker;
static struct piece {
    struct work work;
    sem_t *until; /* NULL: the piece does not wait */
} pieces[64];
static sem_t begin;

static void burn(struct work *w)
{
    struct piece *p = (struct piece *)w;
    uint64_t until_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + PIECE_NS;

    if (p->until)
        sem_wait(p->until);
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
        ;
}

static void setup(void)
{
    ck_assert_int_eq(worker_new("test", 64, -1, &worker), 0);
    ck_assert_int_eq(sem_init(&begin, 0, 0), 0);
}

static void drop(struct work *w)
{
    (void)w;
}

static void teardown(void)
{
    worker_free(worker, drop);
    sem_destroy(&begin);
}

static bool put(size_t i, uint64_t owner)
{
    /* The first piece holds the thread until all are queued. */
    pieces[i] =
        (struct piece){ .work = { .run = burn, .owner = owner }, .until = i ? NULL : &begin };
    return worker_put(worker, &pieces[i].work);
}

/* Returns the position at which piece @i was done. Earlier pieces are gone. */
static size_t done_as(size_t i)
{
    for (size_t n = 0;; n++) {
        struct work *w;

        while (!(w = worker_take(worker)))
            ck_assert(worker_wait(worker, clock_monotonic_ns() + WAIT_NS));
        if (w == &pieces[i].work)
            return n;
    }
}

START_TEST(a_hundred_of_one_delay_another_by_one)
{
    for (size_t i = 0; i < 30; i++)
        ck_assert(put(i, ALICE));
    ck_assert(put(30, BOB));
    ck_assert(put(31, BOB));
    sem_post(&begin);
    ck_assert_uint_le(done_as(30), 2);
    ck_assert_uint_le(done_as(31), 2);
}
END_TEST

START_TEST(within_an_owner_the_oldest_comes_first)
{
    for (size_t i = 0; i < 10; i++)
        ck_assert(put(i, ALICE));
    sem_post(&begin);
    for (size_t i = 0; i < 10; i++)
        ck_assert_uint_eq(done_as(i), 0);
}
END_TEST

/* An owner that was idle for long has saved up no turns. */
START_TEST(nobody_saves_up)
{
    for (size_t i = 0; i < 8; i++)
        ck_assert(put(i, ALICE));
    sem_post(&begin);
    done_as(7);
    for (size_t i = 0; i < 10; i++)
        ck_assert(put(i, BOB));
    for (size_t i = 10; i < 20; i++)
        ck_assert(put(i, CAROL));
    sem_post(&begin);
    ck_assert_uint_le(done_as(11), 6);
}
END_TEST

START_TEST(the_queue_has_room_for_another)
{
    size_t i = 0;

    while (put(i, ALICE))
        i++;
    ck_assert_uint_eq(i, 32);
    ck_assert(put(i, BOB));
    sem_post(&begin);
    done_as(i);
}
END_TEST

START_TEST(what_another_waits_for_is_hurried)
{
    for (size_t i = 0; i < 20; i++)
        ck_assert(put(i, ALICE));
    worker_hurry(worker, &pieces[19].work, BOB);
    sem_post(&begin);
    ck_assert_uint_le(done_as(19), 2);
    ck_assert_uint_eq(pieces[19].work.owner, BOB);
}
END_TEST

int main(void)
{
    TCase *shares = tcase_create("shares"), *turns = tcase_create("turns");
    Suite *s = suite_create("worker");

    tcase_add_test(shares, one_alone_gets_half);
    tcase_add_test(shares, what_is_nobodys_gets_a_little);
    tcase_add_test(shares, there_is_always_room_for_another);
    tcase_add_test(shares, what_lasts_leaves_a_sixth);
    tcase_add_test(shares, what_is_forced_is_counted);
    suite_add_tcase(s, shares);
    tcase_add_checked_fixture(turns, setup, teardown);
    tcase_set_timeout(turns, 120);
    tcase_add_test(turns, a_hundred_of_one_delay_another_by_one);
    tcase_add_test(turns, within_an_owner_the_oldest_comes_first);
    tcase_add_test(turns, nobody_saves_up);
    tcase_add_test(turns, the_queue_has_room_for_another);
    tcase_add_test(turns, what_another_waits_for_is_hurried);
    suite_add_tcase(s, turns);
    return suite_run(s);
}
