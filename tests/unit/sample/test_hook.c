/* SPDX-License-Identifier: Apache-2.0 */
/* sample: hooks, dropped at any time. */
#include "suite.h"

#include "sample/hook.h"

#include <pthread.h>

/* A hook that counts the calls of its functions. */
struct counts {
    int puts, outs, parts, result;
    _Atomic int frees;        /* written by both threads */
    struct hook *drop_in_put; /* this hook is dropped while it is being put */
};

static int put(void *arg, struct error *err)
{
    struct counts *c = arg;

    c->puts++;
    if (c->drop_in_put)
        hook_drop(c->drop_in_put);
    return c->result < 0 ? error_set(err, c->result, "it has no place") : 0;
}

static bool take_out(void *arg)
{
    struct counts *c = arg;

    c->outs++;
    return --c->parts > 0;
}

static void count_free(void *arg)
{
    ((struct counts *)arg)->frees++;
}

static const struct hook_type COUNTED = { put, take_out, count_free };

/* Hooks passed to the worker, in that order. */
static struct hook *given[8];
static size_t given_count;

static void give(void *ctx, struct hook *h)
{
    ck_assert_ptr_eq(ctx, given);
    given[given_count++] = h;
}

static const struct hook_worker LATER = { give, NULL, given }, AT_ONCE = { 0 };
static struct counts counts;
static struct hook *h;

static void setup(void)
{
    counts = (struct counts){ .parts = 1 };
    given_count = 0;
    h = NULL;
}

static void check(int puts, int outs, int frees)
{
    ck_assert_int_eq(counts.puts, puts);
    ck_assert_int_eq(counts.outs, outs);
    ck_assert_int_eq(counts.frees, frees);
}

START_TEST(is_put_by_its_worker)
{
    struct error err = ERROR_NULL;

    ck_assert_int_eq(hook_new(&LATER, &COUNTED, &counts, &h), 0);
    check(0, 0, 0);
    ck_assert_ptr_eq(hook_arg(h), &counts);
    ck_assert_int_eq(hook_state(h, &err), -EINPROGRESS);
    ck_assert_int_eq(err.code, -EINPROGRESS);
    ck_assert_uint_eq(given_count, 1);
    ck_assert(!hook_work(given[0]));
    ck_assert_int_eq(hook_state(h, NULL), 0);
    check(1, 0, 0);
    counts.parts = 3;
    ck_assert_ptr_null(hook_drop(h));
    ck_assert_uint_eq(given_count, 2);
    check(1, 0, 0); /* its caller did not wait */
    ck_assert(hook_work(given[1]));
    ck_assert(hook_work(given[1]));
    check(1, 2, 0);
    ck_assert(!hook_work(given[1]));
    check(1, 3, 1);
}
END_TEST

START_TEST(is_not_put_if_it_is_dropped_before)
{
    ck_assert_int_eq(hook_new(&LATER, &COUNTED, &counts, &h), 0);
    hook_drop(h);
    ck_assert_uint_eq(given_count, 1); /* passed to the worker */
    ck_assert(!hook_work(given[0]));
    check(0, 0, 1);
}
END_TEST

/* Whether the worker has begun. */
static bool begun;

static bool take_back(void *ctx, struct hook *one)
{
    ck_assert_ptr_eq(ctx, given);
    ck_assert_ptr_eq(one, h);
    return !begun;
}

START_TEST(is_freed_at_once_if_its_worker_has_not_begun)
{
    const struct hook_worker by = { give, take_back, given };

    begun = false;
    ck_assert_int_eq(hook_new(&by, &COUNTED, &counts, &h), 0);
    hook_drop(h);
    check(0, 0, 1);
    begun = true;
    ck_assert_int_eq(hook_new(&by, &COUNTED, &counts, &h), 0);
    hook_drop(h);
    check(0, 0, 1);
    ck_assert(!hook_work(given[1]));
    check(0, 0, 2);
}
END_TEST

START_TEST(is_taken_out_if_it_is_dropped_while_it_is_put)
{
    ck_assert_int_eq(hook_new(&LATER, &COUNTED, &counts, &h), 0);
    counts.drop_in_put = h;
    ck_assert(!hook_work(given[0]));
    ck_assert_uint_eq(given_count, 1);
    check(1, 1, 1);
}
END_TEST

START_TEST(says_why_it_could_not_be_put)
{
    struct error err = ERROR_NULL;

    counts.result = -ENOSPC;
    ck_assert_int_eq(hook_new(&LATER, &COUNTED, &counts, &h), 0);
    ck_assert(!hook_work(given[0]));
    ck_assert_int_eq(hook_state(h, &err), -ENOSPC);
    ck_assert_str_eq(err.msg, "it has no place");
    hook_drop(h);
    ck_assert(!hook_work(given[1]));
    check(1, 0, 1); /* it had not been put */
}
END_TEST

START_TEST(one_that_failed_says_why_among_several)
{
    const struct error failed = { .code = -EBUSY, .msg = "it has no place" },
                       coming = { .code = -EINPROGRESS, .msg = "not yet" };
    struct error err = coming;

    ck_assert_int_eq(hook_and(-EINPROGRESS, -EBUSY, &failed, &err), -EBUSY);
    ck_assert_str_eq(err.msg, failed.msg);
    ck_assert_int_eq(hook_and(-EBUSY, -EINPROGRESS, &coming, &err), -EBUSY);
    ck_assert_int_eq(hook_and(-EBUSY, 0, &coming, &err), -EBUSY);
    ck_assert_str_eq(err.msg, failed.msg);
    ck_assert_int_eq(hook_and(-ENOENT, 0, &coming, NULL), 0);
    ck_assert_int_eq(hook_and(0, -EINPROGRESS, &coming, &err), -EINPROGRESS);
    ck_assert_str_eq(err.msg, coming.msg);
}
END_TEST

START_TEST(fails_and_is_dropped_at_the_same_time)
{
    counts.result = -ENOSPC;
    ck_assert_int_eq(hook_new(&LATER, &COUNTED, &counts, &h), 0);
    counts.drop_in_put = h;
    ck_assert(!hook_work(given[0]));
    check(1, 0, 1);
}
END_TEST

START_TEST(is_done_at_once_without_a_worker)
{
    counts.parts = 2;
    ck_assert_int_eq(hook_new(&AT_ONCE, &COUNTED, &counts, &h), 0);
    ck_assert_int_eq(hook_state(h, NULL), 0);
    hook_drop(h);
    check(1, 2, 1);
    hook_drop(NULL);
}
END_TEST

/* ---- at any moment: threads ---- */

#define ROUNDS 20000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct hook *queue[ROUNDS * 2];
static size_t queue_begin, queue_end;
static bool ended;

static void enqueue(void *ctx, struct hook *one)
{
    (void)ctx;
    pthread_mutex_lock(&lock);
    queue[queue_end++] = one;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

static size_t taken_back;

static bool dequeue(void *ctx, struct hook *one)
{
    bool found = false;

    (void)ctx;
    pthread_mutex_lock(&lock);
    for (size_t i = queue_begin; i < queue_end && !found; i++) {
        found = queue[i] == one;
        if (found)
            queue[i] = NULL;
    }
    taken_back += found;
    pthread_mutex_unlock(&lock);
    return found;
}

static void *work(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&lock);
    while (!ended || queue_begin < queue_end) {
        struct hook *one;

        if (queue_begin == queue_end) {
            pthread_cond_wait(&changed, &lock);
            continue;
        }
        one = queue[queue_begin++];
        pthread_mutex_unlock(&lock);
        while (one && hook_work(one))
            ;
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

START_TEST(all_are_freed_whenever_they_are_dropped)
{
    const struct hook_worker by = { enqueue, dequeue, NULL };
    pthread_t thread;

    counts.parts = -1;
    ck_assert_int_eq(pthread_create(&thread, NULL, work, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        ck_assert_int_eq(hook_new(&by, &COUNTED, &counts, &h), 0);
        for (int k = i % 200; k > 0; k--)
            hook_state(h, NULL);
        hook_drop(h);
    }
    pthread_mutex_lock(&lock);
    ended = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_gt(taken_back, 0);
    ck_assert_int_eq(counts.frees, ROUNDS);
    ck_assert_int_eq(counts.puts, counts.outs);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("hook");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, is_put_by_its_worker);
    tcase_add_test(tc, is_not_put_if_it_is_dropped_before);
    tcase_add_test(tc, is_freed_at_once_if_its_worker_has_not_begun);
    tcase_add_test(tc, is_taken_out_if_it_is_dropped_while_it_is_put);
    tcase_add_test(tc, says_why_it_could_not_be_put);
    tcase_add_test(tc, one_that_failed_says_why_among_several);
    tcase_add_test(tc, fails_and_is_dropped_at_the_same_time);
    tcase_add_test(tc, is_done_at_once_without_a_worker);
    tcase_add_test(tc, all_are_freed_whenever_they_are_dropped);
    return suite_run_case("hook", tc);
}
