/* SPDX-License-Identifier: Apache-2.0 */
/* capture/looks_survey.c: what the threads of a JVM wait for, by the places that passes have
 * found. */
#include "survey_fixture.h"

START_TEST(names_the_lock_its_owner_and_what_that_does)
{
    struct waits_now w = { 0 };

    begin();
    lock(add(JVM, "load-1"), "shop.Catalog", NULL);
    lock(add(JVM, "load-2"), "shop.Catalog", "price-refresher-9");
    lock(add(JVM, "load-3"), "shop.Other", NULL);
    lock(add(JVM + 1, "load-4"), "shop.Other", NULL);
    place(add(JVM, "price-refresher"), "vfs_read", "refresh", false); /* 15 bytes are kept */
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_double_eq(w.lock.waiters, 2);
    ck_assert_str_eq(w.lock.name, "shop.Catalog");
    ck_assert_str_eq(w.lock.owner, "price-refresher-9");
    ck_assert_str_eq(w.lock.wait, "file");
    ck_assert_str_eq(w.lock.code, "Rates.refresh");
    ck_assert_double_eq(w.busy, 4);
    ck_assert_str_eq(w.pool.name, "");
    end();
}
END_TEST

/* A lock is passed on before its new owner wakes up: then it seems to wait for its own lock. */
START_TEST(an_owner_that_has_not_woken_up_yet)
{
    struct waits_now w = { 0 };

    begin();
    lock(add(JVM, "load-1"), "shop.Catalog", "load-2");
    lock(add(JVM, "load-2"), "shop.Catalog", "load-2");
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.lock.owner, "load-2");
    ck_assert_ptr_null(w.lock.wait);
    ck_assert_str_eq(w.lock.code, "");
    end();
}
END_TEST

/* They have run since, and wait again: the passes have no time to walk them all. */
START_TEST(threads_that_left_their_places)
{
    struct looked_threads *l;
    struct waits_now w = { 0 };

    begin();
    l = &looks->threads;
    lock(add(JVM, "load-1"), "shop.Catalog", "price-1");
    lock(add(JVM, "load-2"), "shop.Catalog", "price-1");
    place(add(JVM, "price-1"), "vfs_read", "refresh", false);
    place(add(JVM, "idle-1"), "vfs_read", "refresh", false);
    for (size_t i = 0; i < l->count; i++) {
        struct looked_thread *t = &l->threads[i];

        t->runs = t->placed = false;
        t->left_ns = NSEC_PER_SEC;
        t->left_lock = t->lock_stack;
        t->lock_stack = 0;
    }
    add(JVM, "new-1")->runs = false;
    l->threads[3].left_ns = 0;
    l->before_ns = 20 * NSEC_PER_SEC;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_double_eq(w.lock.waiters, 2);
    ck_assert_str_eq(w.lock.wait, "file");
    ck_assert_double_eq(w.busy, 3);
    l->before_ns = 31 * NSEC_PER_SEC;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_double_eq(w.lock.waiters, 0);
    ck_assert_double_eq(w.busy, 0);
    end();
}
END_TEST

/* The lock was left to them, and they wait for a processor. */
START_TEST(queued_threads_wait_for_no_lock)
{
    struct waits_now w = { 0 };

    begin();
    for (int i = 0; i < 4; i++) {
        struct looked_thread *t = add(JVM, "load-1");

        lock(t, "shop.Catalog", "price-1");
        t->runs = i % 2;
    }
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_double_eq(w.lock.waiters, 2);
    ck_assert_double_eq(w.busy, 4);
    end();
}
END_TEST

/* What a thread does says nothing of the lock that it held before it ran on. */
START_TEST(an_owner_that_has_run_on)
{
    struct looked_thread *t;
    struct waits_now w = { 0 };

    begin();
    lock(add(JVM, "load-1"), "shop.Catalog", "load-9");
    lock(add(JVM, "load-2"), "shop.Catalog", "price-1");
    place(add(JVM, "price-1"), "vfs_read", "refresh", false);
    t = looks->threads.threads;
    t[0].pass = 4;
    t[1].pass = 5;
    t[2].pass = 6;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.lock.owner, "price-1"); /* seen last */
    ck_assert_ptr_null(w.lock.wait);
    t[2].pass = 5;
    w.made_of = 0;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.lock.wait, "file");
    t[2].runs = true;
    looks->threads.no = 5;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.lock.wait, "");
    looks->threads.no = 6;
    w.made_of = 0;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_ptr_null(w.lock.wait);
    end();
}
END_TEST

/* A stack that was not read to a name does not say what the owner waits for. */
START_TEST(an_owner_whose_stack_is_not_read)
{
    struct waits_now w = { 0 };
    struct looked_thread *t;
    uint32_t leaf;

    begin();
    leaf = frame(NULL, "schedule", FRAME_KERNEL);
    lock(add(JVM, "load-1"), "shop.Catalog", "price-1");
    t = add(JVM, "price-1");
    t->stack = hold(&leaf, 1);
    t->placed = true;
    t->runs = false;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.lock.owner, "price-1");
    ck_assert_ptr_null(w.lock.wait);
    t->placed = false;
    w.made_of = 0;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_ptr_null(w.lock.wait); /* not "" either: it does not run */
    end();
}
END_TEST

START_TEST(an_owner_that_runs)
{
    struct waits_now w = { 0 };

    begin();
    lock(add(JVM, "load-1"), "shop.Catalog", "busy-1");
    add(JVM, "busy-1");
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.lock.wait, "");
    ck_assert_double_eq(w.busy, 2);
    end();
}
END_TEST

START_TEST(finds_the_pool_whose_threads_all_wait_alike)
{
    struct waits_now w = { 0 };

    begin();
    for (int i = 0; i < 3; i++) {
        char name[20];

        snprintf(name, sizeof(name), "http-%d", i);
        place(add(JVM, name), "sk_wait_data", "fetch", true);
        snprintf(name, sizeof(name), "mail-%d", i);
        place(add(JVM, name), "sk_wait_data", i ? "send" : "greet", true);
        snprintf(name, sizeof(name), "own-%d", i);
        place(add(JVM, name), "hrtimer_nanosleep", "beat", false);
    }
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.name, "http-*");
    ck_assert_str_eq(w.pool.wait, "network");
    ck_assert_str_eq(w.pool.code, "Rates.fetch");
    ck_assert_double_eq(w.pool.threads, 3);
    ck_assert_double_eq(w.pool.waiting, 3);
    ck_assert(w.pool.host_tids[0] && w.pool.host_tids[1] && w.pool.host_tids[2]);
    ck_assert_uint_eq(w.pool.host_tids[1] - w.pool.host_tids[0], 3); /* those of http-* alone */
    ck_assert_uint_eq(w.pool.host_tids[3], 0);
    ck_assert_double_eq(w.busy, 6); /* threads that sleep between tasks count as idle */
    /* If one thread of the pool runs, or may belong to it, the pool as a whole does not wait. */
    add(JVM, "http-7");
    add(JVM, NULL);
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.name, "http-*");
    ck_assert_double_eq(w.pool.threads, 5);
    ck_assert_double_eq(w.pool.waiting, 3);
    end();
}
END_TEST

/* A pool that waits for the results of a smaller one is not the cause. */
START_TEST(a_pool_that_waits_for_another_is_not_named)
{
    struct waits_now w = { 0 };

    begin();
    for (int i = 0; i < 6; i++) {
        char name[20];

        snprintf(name, sizeof(name), "http-%d", i);
        park(add(JVM, name), "java.util.concurrent.FutureTask", "get", "shop.Checkout", "handle",
             true);
        snprintf(name, sizeof(name), "payment-%d", i);
        if (i < 3)
            place(add(JVM, name), "sk_wait_data", "charge", true);
    }
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.name, "payment-*");
    ck_assert_str_eq(w.pool.wait, "network");
    ck_assert_double_eq(w.pool.late, 6);
    ck_assert_str_eq(w.pool.late_name, "http-*");
    /* If half of it runs, the others wait for something else. */
    for (int i = 3; i < 6; i++) {
        char name[20];

        snprintf(name, sizeof(name), "payment-%d", i);
        add(JVM, name);
    }
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.name, "http-*");
    ck_assert_double_eq(w.pool.late, 0);
    end();
}
END_TEST

/* Threads that wait for results may wait for those of threads that run. Only if all of their pool
 * wait, it is exhausted itself, and its threads count. */
START_TEST(a_pool_is_not_blamed_for_results_of_others)
{
    struct waits_now w = { 0 };
    char name[20];

    begin();
    for (int i = 0; i < 24; i++) {
        struct looked_thread *t;

        snprintf(name, sizeof(name), "http-%d", i);
        t = add(JVM, name);
        if (i < 18)
            park(t, "java.util.concurrent.FutureTask", "get", "shop.Search", "handle", true);
        snprintf(name, sizeof(name), "cpu-%d", i);
        add(JVM, name);
        snprintf(name, sizeof(name), "audit-%d", i);
        if (i < 2)
            place(add(JVM, name), "sk_wait_data", "send", true);
    }
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.name, "audit-*");
    ck_assert_double_eq(w.pool.late, 0);
    end();
}
END_TEST

/* A pool that is named stays so while it nearly waits: the name does not change with each look. */
START_TEST(a_pool_that_is_named_stays_so)
{
    struct waits_now w = { 0 };
    struct looked_thread *t;
    char name[20];

    begin();
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), i < 10 ? "http-%d" : "payment-%d", i);
        if (i < 10)
            park(add(JVM, name), "java.util.concurrent.FutureTask", "get", "shop.Checkout",
                 "handle", true);
        else
            place(add(JVM, name), "sk_wait_data", "charge", true);
    }
    for (int run = 0; run < 4; run++) {
        ck_assert(looks_survey(looks, JVM, &w));
        ck_assert_str_eq(w.pool.name, run < 3 ? "payment-*" : "http-*");
        ck_assert_double_eq(w.pool.waiting, 10 - run % 3);
        ck_assert_double_eq(w.pool.late, run < 3 ? 10 : 0);
        t = &looks->threads.threads[10 + run];
        t->runs = true;
        t->placed = false;
    }
    looks->threads.threads[12].runs = looks->threads.threads[13].runs = false;
    looks->threads.threads[12].placed = looks->threads.threads[13].placed = true;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.name, "http-*"); /* 8 of 10 name no pool that was not named */
    end();
}
END_TEST

/* Threads that only lack a processor do not wait for each other. */
START_TEST(a_pool_that_lacks_processors_does_not_wait)
{
    struct waits_now w = { 0 };

    begin();
    for (int i = 0; i < 3; i++) {
        const uint32_t frames[] = {
            frame(NULL, "[runnable]", FRAME_WAIT_RUNNABLE), frame("shop.Search", "rank", FRAME_C2),
            frame("java.util.concurrent.ThreadPoolExecutor", "runWorker", FRAME_INTERPRETED)
        };
        struct looked_thread *t;
        char name[20];

        snprintf(name, sizeof(name), "http-%d", i);
        t = add(JVM, name);
        t->stack = hold(frames, 3);
        t->placed = true;
        t->runs = false;
    }
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.name, "");
    ck_assert_double_eq(w.busy, 3);
    end();
}
END_TEST

/* Consumers of a queue block by design, until a thread waits for a result of the pool. */
START_TEST(a_pool_of_listeners_needs_who_waits_for_it)
{
    static const char QUEUE[] = "java.util.concurrent.LinkedBlockingQueue";
    struct waits_now w = { 0 };

    begin();
    for (int i = 0; i < 3; i++) {
        char name[32];

        snprintf(name, sizeof(name), "consumer-%d", i);
        park(add(JVM, name), QUEUE, "take", "shop.Mail", "next", true);
    }
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.name, "");
    park(add(JVM, "main"), "java.util.concurrent.FutureTask", "get", "shop.Mail", "send", false);
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.name, "consumer-*");
    ck_assert_double_eq(w.pool.late, 0);
    end();
}
END_TEST

/* A pool of connections also hands them out by a queue. Threads that wait there do wait for
 * others. */
START_TEST(a_pool_that_waits_for_connections)
{
    static const char QUEUE[] = "java.util.concurrent.SynchronousQueue";
    struct waits_now w = { 0 };

    begin();
    for (int i = 0; i < 2; i++) {
        char name[32];

        snprintf(name, sizeof(name), "http-%d", i);
        park(add(JVM, name), QUEUE, "poll", "com.zaxxer.hikari.util.ConcurrentBag", "borrow", true);
    }
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.name, "http-*");
    end();
}
END_TEST

START_TEST(threads_that_wait_for_a_lock_are_no_pool_that_waits)
{
    struct waits_now w = { 0 };

    begin();
    lock(add(JVM, "load-1"), "shop.Catalog", NULL);
    lock(add(JVM, "load-2"), "shop.Catalog", NULL);
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.pool.name, "");
    end();
}
END_TEST

START_TEST(has_no_carriers_without_virtual_threads)
{
    struct waits_now w = { 0 };

    begin();
    lock(add(JVM, "ForkJoinPool-1-worker-1"), "shop.Catalog", NULL);
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_double_eq(w.carriers.carriers, 0);
    ck_assert_double_eq(w.carriers.pinned, 0);
    end();
}
END_TEST

START_TEST(nothing_moved_and_nothing_known)
{
    struct waits_now w = { 0 };

    begin();
    ck_assert(!looks_survey(looks, JVM, &w));
    lock(add(JVM, "load-1"), "shop.Catalog", NULL);
    ck_assert(looks_survey(looks, JVM, &w));
    w.busy = 42; /* unchanged: nothing is computed again */
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_double_eq(w.busy, 42);
    looks->threads.threads[0].placed = false;
    looks->threads.threads[0].runs = true;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_double_eq(w.busy, 1);
    end();
}
END_TEST

START_TEST(hostile_names_and_too_many_threads)
{
    char name[400], pool[400];
    struct waits_now w = { 0 };

    begin();
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memcpy(name + 60, "\xe2\x82\xac", 3); /* at the cut */
    memcpy(pool, name, sizeof(name));
    snprintf(pool + 50, sizeof(pool) - 50, "-1");
    for (size_t i = 0; i < SURVEY_THREADS_MAX + 100; i++)
        lock(add(JVM, i % 2 ? pool : name), name, name);
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_double_eq(w.lock.waiters, SURVEY_THREADS_MAX);
    ck_assert_uint_eq(w.left_out, 100);
    lock(add(JVM, name), name, name); /* one more waiter, for none of the locks looked at */
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_uint_eq(w.left_out, 101);
    looks->threads.count = SURVEY_THREADS_MAX;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_uint_eq(w.left_out, 0);
    ck_assert_uint_lt(strlen(w.lock.name), sizeof(w.lock.name));
    ck_assert_uint_lt(strlen(w.lock.owner), sizeof(w.lock.owner));
    end();
}
END_TEST

/* The VM's own threads move all the time. They are not read, and nothing is read again for them. */
START_TEST(threads_without_a_method_do_not_count)
{
    struct looked_thread *vm;
    struct waits_now w = { 0 };
    uint64_t made_of;

    begin();
    lock(add(JVM, "load-1"), "shop.Catalog", NULL);
    vm = add(JVM, "VM Periodic Tas");
    place(vm, "futex_wait", "sleep", false);
    vm->no_java = true;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_double_eq(w.busy, 1);
    made_of = w.made_of;
    place(vm, "nanosleep", "sleep", false);
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_uint_eq(w.made_of, made_of);
    vm->no_java = false;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_uint_ne(w.made_of, made_of);
    end();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("looks_survey");

    tcase_add_test(tc, threads_without_a_method_do_not_count);
    tcase_add_test(tc, names_the_lock_its_owner_and_what_that_does);
    tcase_add_test(tc, an_owner_that_has_not_woken_up_yet);
    tcase_add_test(tc, threads_that_left_their_places);
    tcase_add_test(tc, queued_threads_wait_for_no_lock);
    tcase_add_test(tc, an_owner_that_has_run_on);
    tcase_add_test(tc, an_owner_whose_stack_is_not_read);
    tcase_add_test(tc, an_owner_that_runs);
    tcase_add_test(tc, finds_the_pool_whose_threads_all_wait_alike);
    tcase_add_test(tc, a_pool_that_waits_for_another_is_not_named);
    tcase_add_test(tc, a_pool_is_not_blamed_for_results_of_others);
    tcase_add_test(tc, a_pool_that_is_named_stays_so);
    tcase_add_test(tc, a_pool_that_lacks_processors_does_not_wait);
    tcase_add_test(tc, a_pool_of_listeners_needs_who_waits_for_it);
    tcase_add_test(tc, a_pool_that_waits_for_connections);
    tcase_add_test(tc, threads_that_wait_for_a_lock_are_no_pool_that_waits);
    tcase_add_test(tc, has_no_carriers_without_virtual_threads);
    tcase_add_test(tc, nothing_moved_and_nothing_known);
    tcase_add_test(tc, hostile_names_and_too_many_threads);
    return suite_run_case("looks_survey", tc);
}
