/* SPDX-License-Identifier: Apache-2.0 */
/* capture/store_writer.h: requests that wait for a profile are answered, whatever the disk does. */
#include "tests/unit/store/store_fixture.h"

#include "capture/store_writer.h"
#include "store/store_impl.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#define FIRST "00000000000000000000000000000001"
#define SECOND "00000000000000000000000000000002"

static sem_t entered, leave;
static atomic_int told;
static struct error told_err;

/* Blocks the writer's thread, as a slow disk does. */
static void hold(void *cookie, int outcome, struct profile *p, const struct error *err)
{
    (void)cookie;
    (void)outcome;
    (void)err;
    profile_unref(p);
    sem_post(&entered);
    sem_wait(&leave);
}

static void note(void *cookie, int outcome, struct profile *p, const struct error *err)
{
    ck_assert_ptr_eq(cookie, &told);
    ck_assert_int_eq(outcome, 0);
    ck_assert_str_eq(p->id, SECOND);
    profile_unref(p);
    if (err)
        told_err = *err;
    told++;
}

START_TEST(no_answer_waits_for_good)
{
    struct store *store = open_store(1 << 20, 0);
    struct store_writer *k = NULL;
    struct profile *found = NULL;
    uint64_t before_ns = clock_monotonic_ns();

    sem_init(&entered, 0, 0);
    sem_init(&leave, 0, 0);
    ck_assert_int_eq(store_writer_start(store, &k), 0);
    store_writer_put(k, make_profile(FIRST, NSEC_PER_SEC, 3, "leaf"), NULL, 0, STORE_WRITER_WAITED,
                     UINT64_MAX, hold, NULL);
    ck_assert_int_eq(sem_wait(&entered), 0);
    store_writer_put(k, make_profile(SECOND, NSEC_PER_SEC, 3, "leaf"), NULL, 0, STORE_WRITER_WAITED,
                     0, note, &told);

    store_writer_hurry(k, before_ns + STORE_WRITER_DELAY_NS - 1);
    ck_assert_int_eq(told, 0); /* the outcome of storing is not known yet */
    for (int i = 0; i < 2; i++) {
        store_writer_hurry(k, clock_monotonic_ns() + STORE_WRITER_DELAY_NS);
        ck_assert_int_eq(told, 1);
    }
    ck_assert_str_eq(told_err.msg, "");
    found = store_writer_find(k, SECOND, NULL); /* the id is valid, stored or not */
    ck_assert_ptr_nonnull(found);
    profile_unref(found);

    sem_post(&leave);
    store_writer_stop(k);
    ck_assert_int_eq(told, 1);
    ck_assert_int_eq(store_get(store, SECOND, &found, NULL), 0);
    profile_unref(found);
    store_close(store);
}
END_TEST

static sem_t putting, go_on;
static bool put_waits, put_waits_after;

int __real_store_put(struct store *s, const struct profile *p, const char *schedule,
                     uint64_t max_age_s, struct error *err);
int __wrap_store_put(struct store *s, const struct profile *p, const char *schedule,
                     uint64_t max_age_s, struct error *err);
int __wrap_store_put(struct store *s, const struct profile *p, const char *schedule,
                     uint64_t max_age_s, struct error *err)
{
    int r;

    if (put_waits) {
        sem_post(&putting);
        sem_wait(&go_on);
    }
    r = __real_store_put(s, p, schedule, max_age_s, err);
    if (put_waits_after) {
        sem_post(&putting);
        sem_wait(&go_on);
    }
    return r;
}

/* A deleted capture is not stored afterwards: not the first, which is being stored, nor a later
 * one. Nor does the note stay that it ran. */
START_TEST(a_deleted_capture_is_not_stored)
{
    struct store *store = open_store(1 << 20, 0);
    struct store_writer *k = NULL;
    struct profile *p = make_profile(SECOND, NSEC_PER_SEC, 3, "leaf");

    sem_init(&putting, 0, 0);
    sem_init(&go_on, 0, 0);
    told = 0;
    put_waits = true;
    ck_assert_int_eq(store_put_running(store, SECOND, p, NULL, NULL), 0);
    ck_assert_int_eq(store_writer_start(store, &k), 0);
    store_writer_put(k, make_profile(FIRST, NSEC_PER_SEC, 3, "leaf"), NULL, 0, STORE_WRITER_WAITED,
                     UINT64_MAX, NULL, NULL);
    ck_assert_int_eq(sem_wait(&putting), 0);
    store_writer_put(k, p, NULL, 0, STORE_WRITER_WAITED, UINT64_MAX, note, &told);
    put_waits = false;
    ck_assert(!store_writer_drop(k, "3"));
    ck_assert(store_writer_drop(k, FIRST));
    ck_assert(store_writer_drop(k, SECOND));
    ck_assert(!store_writer_drop(k, SECOND));
    ck_assert_ptr_null(store_writer_find(k, FIRST, NULL));
    ck_assert_ptr_null(store_writer_find(k, SECOND, NULL));
    sem_post(&go_on);
    store_writer_stop(k);
    ck_assert_int_eq(told, 1); /* the request has its answer */
    ck_assert_str_eq(told_err.msg, "the capture was deleted");
    ck_assert_int_eq(store_get(store, FIRST, &p, NULL), STORE_NOT_FOUND);
    ck_assert_int_eq(store_delete(store, SECOND, NULL), STORE_NOT_FOUND);
    store_close(store);
}
END_TEST

/* The disk stalls once a capture is stored that was deleted meanwhile. */
START_TEST(a_stalled_disk_keeps_no_deleted_capture)
{
    struct store *store = open_store(1 << 20, 0);
    struct store_writer *k = NULL;
    struct profile *found = NULL;

    sem_init(&putting, 0, 0);
    sem_init(&go_on, 0, 0);
    told = 0;
    put_waits_after = true;
    ck_assert_int_eq(store_writer_start(store, &k), 0);
    store_writer_put(k, make_profile(SECOND, NSEC_PER_SEC, 3, "leaf"), NULL, 0, STORE_WRITER_WAITED,
                     UINT64_MAX, note, &told);
    ck_assert_int_eq(sem_wait(&putting), 0);
    ck_assert(store_writer_drop(k, SECOND));
    store_enter_patiently(store);
    store->entered_ns = 1; /* since the machine's start */
    sem_post(&go_on);
    for (int i = 0; i < 50 && !told; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 10 * NSEC_PER_MSEC }, NULL);
    store_leave(store);
    store_writer_stop(k);
    put_waits_after = false;
    ck_assert_int_eq(told, 1);
    ck_assert_int_eq(store_get(store, SECOND, &found, NULL), STORE_NOT_FOUND);
    store_close(store);
}
END_TEST

/* Once it is stored, store_delete() deletes it. */
START_TEST(a_stored_capture_is_not_dropped)
{
    struct store *store = open_store(1 << 20, 0);
    struct store_writer *k = NULL;

    sem_init(&entered, 0, 0);
    sem_init(&leave, 0, 0);
    ck_assert_int_eq(store_writer_start(store, &k), 0);
    store_writer_put(k, make_profile(FIRST, NSEC_PER_SEC, 3, "leaf"), NULL, 0, STORE_WRITER_WAITED,
                     UINT64_MAX, hold, NULL);
    ck_assert_int_eq(sem_wait(&entered), 0);
    ck_assert(!store_writer_drop(k, FIRST));
    ck_assert_int_eq(store_delete(store, FIRST, NULL), 0);
    sem_post(&leave);
    store_writer_stop(k);
    store_close(store);
}
END_TEST

static int note_queued(void *cookie, const struct profile *p, const char *schedule)
{
    char *text = cookie;

    ck_assert_int_eq(p->hold.refs, 2); /* the queue has one */
    text[strlen(text)] = p->id[31];
    strncat(text, schedule, 1);
    return 0;
}

/* The queue is passed with schedules, but without histories of runs and deleted captures. */
START_TEST(what_waits_is_listed)
{
    struct store *store = open_store(1 << 20, 0);
    struct store_runs runs = { .runs = 1 };
    struct store_writer *k = NULL;
    char text[16] = "", schedule[STORE_WRITER_SCHEDULE_BYTES];
    struct profile *found;

    sem_init(&putting, 0, 0);
    sem_init(&go_on, 0, 0);
    put_waits = true;
    ck_assert_int_eq(store_writer_start(store, &k), 0);
    ck_assert_int_eq(store_writer_each(k, note_queued, text), 0);
    ck_assert_str_eq(text, "");
    store_writer_put(k, make_profile(FIRST, NSEC_PER_SEC, 3, "leaf"), "night", 0, STORE_WRITER_LAST,
                     UINT64_MAX, NULL, NULL);
    ck_assert_int_eq(sem_wait(&putting), 0);
    put_waits = false;
    store_writer_put_runs(k, "night", &runs);
    store_writer_put(k, make_profile(SECOND, NSEC_PER_SEC, 3, "leaf"), NULL, 0, STORE_WRITER_LAST,
                     UINT64_MAX, NULL, NULL);
    ck_assert_int_eq(store_writer_each(k, note_queued, text), 0);
    ck_assert_str_eq(text, "1n2");
    found = store_writer_find(k, FIRST, schedule);
    ck_assert_str_eq(schedule, "night");
    profile_unref(found);
    ck_assert(store_writer_drop(k, FIRST));
    memset(text, 0, sizeof(text));
    ck_assert_int_eq(store_writer_each(k, note_queued, text), 0);
    ck_assert_str_eq(text, "2");
    sem_post(&go_on);
    store_writer_stop(k);
    store_close(store);
}
END_TEST

static char order[8];

static void note_order(void *cookie, int outcome, struct profile *p, const struct error *err)
{
    (void)cookie;
    (void)outcome;
    (void)err;
    order[strlen(order)] = p->id[0];
    profile_unref(p);
}

/* Captures without a waiting request are stored after those with one, however many there are. */
START_TEST(who_waits_comes_first)
{
    static const struct {
        const char *id;
        enum store_writer_turn turn;
    } PUT[] = {
        { "e", STORE_WRITER_LAST },  { "f", STORE_WRITER_LAST },   { "c", STORE_WRITER_WAITED },
        { "b", STORE_WRITER_FIRST }, { "d", STORE_WRITER_WAITED },
    };
    struct store *store = open_store(1 << 20, 0);
    struct store_writer *k = NULL;

    sem_init(&entered, 0, 0);
    sem_init(&leave, 0, 0);
    ck_assert_int_eq(store_writer_start(store, &k), 0);
    store_writer_put(k, make_profile("a", NSEC_PER_SEC, 3, "leaf"), NULL, 0, STORE_WRITER_LAST,
                     UINT64_MAX, hold, NULL);
    ck_assert_int_eq(sem_wait(&entered), 0);
    for (size_t i = 0; i < ARRAY_SIZE(PUT); i++)
        store_writer_put(k, make_profile(PUT[i].id, NSEC_PER_SEC, 3, "leaf"), NULL, 0, PUT[i].turn,
                         UINT64_MAX, note_order, NULL);
    sem_post(&leave);
    store_writer_stop(k);
    ck_assert_str_eq(order, "bcdef");
    store_close(store);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("store_writer");

    tcase_add_test(tc, no_answer_waits_for_good);
    tcase_add_test(tc, a_deleted_capture_is_not_stored);
    tcase_add_test(tc, a_stalled_disk_keeps_no_deleted_capture);
    tcase_add_test(tc, a_stored_capture_is_not_dropped);
    tcase_add_test(tc, what_waits_is_listed);
    tcase_add_test(tc, who_waits_comes_first);
    return run_store_tests("store_writer", tc);
}
