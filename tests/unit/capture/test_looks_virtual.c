/* SPDX-License-Identifier: Apache-2.0 */
/* capture/looks_survey_virtual.c, looked_virtual.c: virtual threads in a survey. */
#include "survey_fixture.h"

static uint64_t look_ns; /* of virtual threads */

/* Frames that pin a virtual thread, between the method that waits and VirtualThread.run. */
static const struct {
    struct {
        const char *class_name, *name;
        enum frame_kind kind;
    } frames[2];
    const char *place;
} PINS[] = {
    { { { NULL, "callback", FRAME_NATIVE }, { "shop.Native", "call", FRAME_C2 } }, "Native.call" },
    { { { "shop.Config", "<clinit>", FRAME_INTERPRETED },
        { NULL, "InstanceKlass::initialize_impl(JavaThread*)", FRAME_JVM } },
      "Config.<clinit>" },
    { { { "shop.Rates", "locked", FRAME_C2 }, { "shop.Rates", "all", FRAME_C2 } }, "" },
};

/* Adds a carrier on which a virtual thread waits, pinned by PINS[@pin]. */
static void pin(const char *name, size_t pin)
{
    uint32_t frames[STACK_MAX] = { frame("jdk.internal.misc.Unsafe", "park", FRAME_C2),
                                   frame("shop.Rates", "load", FRAME_C2) };
    struct looked_thread *t = add(JVM, name);

    for (size_t i = 0; i < 2; i++)
        frames[2 + i] = frame(PINS[pin].frames[i].class_name, PINS[pin].frames[i].name,
                              PINS[pin].frames[i].kind);
    frames[4] = frame("java.lang.VirtualThread", "run", FRAME_C2);
    frames[5] = frame("jdk.internal.vm.Continuation", "enter", FRAME_C2);
    frames[6] = frame("java.lang.VirtualThread", "runContinuation", FRAME_C2);
    t->stack = hold(frames, 7);
    t->placed = true;
    t->runs = false;
}

START_TEST(finds_pinned_carriers_and_what_pins_them)
{
    struct waits_now w = { 0 };

    begin();
    pin("ForkJoinPool-1-worker-1", (size_t)_i);
    pin("ForkJoinPool-1-worker-2", (size_t)_i);
    pin("ForkJoinPool-1-worker-3", ((size_t)_i + 1) % ARRAY_SIZE(PINS));
    add(JVM, "ForkJoinPool-1-worker-4"); /* this thread runs */
    park(add(JVM, "ForkJoinPool-2-worker-1"), "java.util.concurrent.ForkJoinPool", "awaitWork",
         "shop.Rates", "load", false);
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_double_eq(w.carriers.carriers, 4);
    ck_assert_double_eq(w.carriers.pinned, 3);
    ck_assert_str_eq(w.carriers.code, "Rates.load");
    ck_assert_str_eq(w.carriers.place, PINS[_i].place);
    ck_assert_str_eq(w.carriers.wait, "park");
    ck_assert(isnan(w.runnable) && isnan(w.mounted));
    end();
}
END_TEST

/* Adds @threads virtual threads that wait in @method of shop.Orders. @of: what that calls. */
static void add_virtual(double threads, const char *of, const char *call, const char *method)
{
    const uint32_t frames[] = { frame("java.lang.VirtualThread", "park", FRAME_C2),
                                frame(of, call, FRAME_C2), frame("shop.Orders", method, FRAME_C2),
                                frame("java.lang.VirtualThread", "run", FRAME_C2) };
    struct looked_virtual *jvm = looked_virtuals_keep(&looks->virtuals, JVM, look_ns);

    ck_assert_ptr_nonnull(jvm);
    looked_virtual_add(jvm, hold(frames, 4), threads);
}

/* Many wait for a permit, or for a connection. Those that have one wait for a server, below the
 * same method. Others wait for something else. */
START_TEST(virtual_threads_that_wait_for_others)
{
    static const char *const WAITS[][2] = {
        { "java.util.concurrent.Semaphore", "acquire" },
        { "com.zaxxer.hikari.util.ConcurrentBag", "borrow" },
        { "java.util.concurrent.ArrayBlockingQueue", "take" }, /* may be idle */
    };
    struct waits_now w = { 0 };

    begin();
    look_ns = clock_monotonic_ns();
    add(JVM, "main");
    add_virtual(20, WAITS[_i][0], WAITS[_i][1], "save");
    add_virtual(3, WAITS[_i][0], WAITS[_i][1], "load");
    add_virtual(4, "sun.nio.ch.Poller", "poll", "save");
    add_virtual(2, "sun.nio.ch.Poller", "poll", "answer");
    add_virtual(7, "java.util.concurrent.SynchronousQueue", "take", "next");
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_double_eq(w.virtual.waiting, _i < 2 ? 20 : 0);
    /* Who waits in load() for a permit that nobody has may be idle. */
    ck_assert_double_eq(w.virtual.busy, _i == 0 ? 26 : _i == 1 ? 29 : 0);
    ck_assert_int_eq(w.virtual.pooled, _i == 1);
    ck_assert_str_eq(w.virtual.code, _i < 2 ? "Orders.save" : "");
    ck_assert_double_eq(w.virtual.having, _i < 2 ? 4 : 0);
    ck_assert_str_eq(w.virtual.having_code, _i < 2 ? "Orders.save" : "");
    if (_i < 2)
        ck_assert_str_eq(w.virtual.having_wait, "network");
    end();
}
END_TEST

/* Idle threads may wait for a semaphore, too: with nobody that has a permit. They hide no others.
 */
START_TEST(idle_threads_hide_no_queue)
{
    struct waits_now w = { 0 };

    begin();
    look_ns = clock_monotonic_ns();
    add(JVM, "main");
    add_virtual(200, "java.util.concurrent.Semaphore", "acquire", "next");
    add_virtual(20, "java.util.concurrent.Semaphore", "acquire", "save");
    add_virtual(4, "sun.nio.ch.Poller", "poll", "save");
    looks->virtuals.jvms[0].left_out = 3;
    ck_assert(looks_survey(looks, JVM, &w));
    ck_assert_str_eq(w.virtual.code, "Orders.save");
    ck_assert_double_eq(w.virtual.waiting, 20);
    ck_assert_double_eq(w.virtual.having, 4);
    ck_assert_double_eq(w.virtual.busy, 24 + 3);
    end();
}
END_TEST

/* One look is kept for each survey. One that is old says nothing. */
START_TEST(looks_at_virtual_threads)
{
    struct looked_virtuals *l;

    begin();
    l = &looks->virtuals;
    look_ns = 100 * NSEC_PER_SEC;
    add_virtual(20, "java.util.concurrent.Semaphore", "acquire", "save");
    ck_assert_ptr_null(looked_virtuals_keep(l, JVM, look_ns + 1));
    ck_assert_ptr_null(looked_virtuals_get(l, JVM + 1, look_ns));
    ck_assert_uint_eq(looked_virtuals_get(l, JVM, look_ns + LOOKED_VIRTUAL_NS)->count, 1);
    ck_assert_ptr_null(looked_virtuals_keep(l, JVM, look_ns - 1)); /* was named late */
    ck_assert_uint_eq(looked_virtuals_keep(l, JVM, look_ns + 1)->count, 0);
    look_ns++;
    for (size_t i = 0; i < LOOKED_VIRTUAL_MAX + 3; i++)
        add_virtual(2, "java.util.concurrent.Semaphore", "acquire", "save");
    ck_assert_uint_eq(looked_virtuals_get(l, JVM, look_ns)->count, LOOKED_VIRTUAL_MAX);
    ck_assert_double_eq(looked_virtuals_get(l, JVM, look_ns)->left_out, 6);
    ck_assert_ptr_null(looked_virtuals_get(l, JVM, look_ns + LOOKED_VIRTUAL_NS + 1));
    for (int32_t i = 1; i < VIRTUAL_JVMS_MAX; i++)
        ck_assert_ptr_nonnull(looked_virtuals_keep(l, JVM + i, look_ns));
    ck_assert_ptr_null(looked_virtuals_keep(l, 1, look_ns));     /* there is no room */
    ck_assert_ptr_null(looked_virtuals_keep(l, 1, look_ns - 2)); /* was named late */
    ck_assert_ptr_nonnull(looked_virtuals_keep(l, 1, look_ns + LOOKED_VIRTUAL_NS + 1));
    looked_virtuals_forget(l);
    ck_assert_ptr_null(looked_virtuals_get(l, 1, look_ns + LOOKED_VIRTUAL_NS + 1));
    end();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("looks_virtual");

    tcase_add_loop_test(tc, finds_pinned_carriers_and_what_pins_them, 0, ARRAY_SIZE(PINS));
    tcase_add_loop_test(tc, virtual_threads_that_wait_for_others, 0, 3);
    tcase_add_test(tc, idle_threads_hide_no_queue);
    tcase_add_test(tc, looks_at_virtual_threads);
    return suite_run_case("looks_virtual", tc);
}
