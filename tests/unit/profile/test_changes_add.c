/* SPDX-License-Identifier: Apache-2.0 */
/* change_set_add(): which samples count, and in which series. */
#include "suite.h"

#include "profile/changes.h"
#include "recorded.h"

#define MINUTES 10
#define MINUTE_NS (60 * NSEC_PER_SEC)
#define PERIOD_NS 50

static uint32_t kernel(const char *name)
{
    return recorded_frame("", name, FRAME_KERNEL, 0);
}

/* Returns the value of the series @name of @kind in the first minute; -1: there is none. */
static double value_of(const struct change_set *s, enum change_kind kind, const char *name)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->series[i].kind == kind && strcmp(s->series[i].name, name) == 0)
            return s->series[i].by_step[0];
    }
    return -1;
}

/* Samples within interrupts, of the scheduler's upkeep, and of a thread that another one replaced
 * are of no function. Those of system calls and page faults are, also what the thread caused itself
 * on its way out of them. */
START_TEST(interrupts_are_not_of_the_service)
{
    struct profile meta = { .event_count = 1,
                            .events = { { "cpu", "nanoseconds", PERIOD_NS, false } } };
    struct view_opts o = { .exact = true, .names = VIEW_NAMES_MERGED };
    struct change_steps steps = {
        .b_ns = MINUTES * MINUTE_NS, .step_ns = MINUTE_NS, .a = MINUTES, .b = MINUTES
    };
    uint32_t run = recorded_frame("shop.Main", "run", FRAME_C2, 0), call = kernel("do_syscall_64"),
             schedule = kernel("__schedule");
    struct change_set set;
    struct profile *p = NULL;
    struct view *v = NULL;

    recorded_sample((uint32_t[]){ run }, 1, 100, CATEGORY_JAVA);
    recorded_sample((uint32_t[]){ schedule, call, run }, 3, 20, CATEGORY_KERNEL);
    recorded_sample((uint32_t[]){ kernel("handle_mm_fault"), kernel("asm_exc_page_fault"), run }, 3,
                    3, CATEGORY_KERNEL);
    recorded_sample((uint32_t[]){ schedule, kernel("irqentry_exit_to_user_mode"),
                                  kernel("asm_sysvec_reschedule_ipi"), run },
                    4, 1000, CATEGORY_KERNEL);
    recorded_sample((uint32_t[]){ schedule, kernel("exit_to_user_mode_loop"), call, run }, 4, 2000,
                    CATEGORY_KERNEL);
    recorded_sample((uint32_t[]){ kernel("handle_softirqs"), kernel("el0t_64_irq_handler"), run },
                    3, 4000, CATEGORY_KERNEL);
    recorded_sample((uint32_t[]){ kernel("tcp_close"), kernel("task_work_run"),
                                  kernel("exit_to_user_mode_loop"), call, run },
                    5, 40, CATEGORY_KERNEL);
    recorded_sample((uint32_t[]){ kernel("copy_fpstate_to_sigframe"),
                                  kernel("arch_do_signal_or_restart"),
                                  kernel("irqentry_exit_to_user_mode"), run },
                    4, 500, CATEGORY_KERNEL);
    recorded_sample((uint32_t[]){ kernel("handle_softirqs"), kernel("asm_sysvec_apic_timer"),
                                  kernel("task_work_run"), kernel("exit_to_user_mode_loop"), run },
                    5, 8000, CATEGORY_KERNEL);
    recorded_sample((uint32_t[]){ kernel("change_protection"), kernel("task_numa_work"),
                                  kernel("task_work_run"), kernel("irqentry_exit_to_user_mode"),
                                  run },
                    5, 16000, CATEGORY_KERNEL);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    ck_assert_int_eq(change_set_init(&set, &steps), 0);
    ck_assert_int_eq(change_set_add(&set, v, CHANGE_FUNCTION), 0);
    ck_assert_int_eq(change_set_add(&set, v, CHANGE_CATEGORY), 0);
    ck_assert_double_eq(set.whole[CHANGE_FUNCTION][0], 663);
    ck_assert_double_eq(set.whole[CHANGE_CATEGORY][0], 663);
    ck_assert_double_eq(value_of(&set, CHANGE_FUNCTION, "shop.Main.run"), 663);
    ck_assert_double_eq(value_of(&set, CHANGE_FUNCTION, "__schedule"), 20);
    ck_assert_double_eq(value_of(&set, CHANGE_FUNCTION, "handle_mm_fault"), 3);
    ck_assert_double_eq(value_of(&set, CHANGE_FUNCTION, "tcp_close"), 40);
    ck_assert_double_eq(value_of(&set, CHANGE_FUNCTION, "copy_fpstate_to_sigframe"), 500);
    ck_assert_double_eq(value_of(&set, CHANGE_FUNCTION, "handle_softirqs"), -1);
    ck_assert_double_eq(value_of(&set, CHANGE_FUNCTION, "change_protection"), -1);
    ck_assert_double_eq(value_of(&set, CHANGE_CATEGORY, "kernel"), 563);
    ck_assert_double_eq(set.whole[CHANGE_LOCK][0], 31663 * PERIOD_NS); /* its thread was busy */
    change_set_deinit(&set);
    view_free(v);
    profile_unref(p);
}
END_TEST

/* Adds a wait of 5 ns of the main thread below @caller for a blocker of class @name. */
static void wait_in(uint32_t caller, const char *name, enum frame_kind kind)
{
    uint32_t stack[] = { recorded_frame("", name, kind, 0), caller };
    struct profile_sample s = { .time_ns = 1,
                                .thread = main_thread,
                                .count = 1,
                                .value = 5,
                                .flags = STATE_BLOCKED << PROFILE_SAMPLE_STATE_SHIFT };

    ck_assert_int_eq(record_sample(rec, &s, stack, ARRAY_SIZE(stack)), 0);
}

/* Idle threads of pools park at a blocker, too: that is not a lock that anything waits for. */
START_TEST(idle_threads_wait_for_no_lock)
{
    struct profile meta = { .event_count = 1, .events = { { "lock", "nanoseconds", 1, true } } };
    struct view_opts o = { .exact = true, .names = VIEW_NAMES_MERGED };
    struct change_steps steps = {
        .b_ns = MINUTES * MINUTE_NS, .step_ns = MINUTE_NS, .a = MINUTES, .b = MINUTES
    };
    uint32_t pool =
                 recorded_frame("java.util.concurrent.ThreadPoolExecutor", "getTask", FRAME_C2, 0),
             code = recorded_frame("shop.Orders", "place", FRAME_C2, 0);
    struct change_set set;
    struct profile *p = NULL;
    struct view *v = NULL;

    wait_in(pool, "java.util.concurrent.SynchronousQueue$TransferStack", FRAME_WAIT_PARK);
    wait_in(code, "java.util.concurrent.locks.StampedLock", FRAME_WAIT_PARK);
    wait_in(code, "shop.Stock", FRAME_WAIT_LOCK);
    wait_in(code, "shop.Queue", FRAME_WAIT_NOTIFY);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    ck_assert_int_eq(change_set_init(&set, &steps), 0);
    ck_assert_int_eq(change_set_add(&set, v, CHANGE_LOCK), 0);
    ck_assert_double_eq(
        value_of(&set, CHANGE_LOCK, "java.util.concurrent.SynchronousQueue$TransferStack"), -1);
    ck_assert_double_eq(value_of(&set, CHANGE_LOCK, "java.util.concurrent.locks.StampedLock"), 5);
    ck_assert_double_eq(value_of(&set, CHANGE_LOCK, "shop.Stock"), 5);
    ck_assert_double_eq(value_of(&set, CHANGE_LOCK, "shop.Queue"), -1);
    change_set_deinit(&set);
    view_free(v);
    profile_unref(p);
}
END_TEST

/* Where flamed could not see further is not a function of the service. */
START_TEST(cut_stacks_are_no_function)
{
    struct profile meta = { .event_count = 1,
                            .events = { { "cpu", "nanoseconds", PERIOD_NS, false } } };
    struct view_opts o = { .exact = true, .names = VIEW_NAMES_MERGED };
    struct change_steps steps = {
        .b_ns = MINUTES * MINUTE_NS, .step_ns = MINUTE_NS, .a = MINUTES, .b = MINUTES
    };
    struct profile_sample s = {
        .time_ns = 1, .thread = main_thread, .count = 7, .flags = PROFILE_SAMPLE_TRUNCATED
    };
    uint32_t code = recorded_frame("shop.Orders", "place", FRAME_C2, 0),
             stack[] = { 0, code }; /* a frame without a name */
    struct change_set set;
    struct profile *p = NULL;
    struct view *v = NULL;

    ck_assert_int_eq(record_sample(rec, &s, stack, ARRAY_SIZE(stack)), 0);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    ck_assert_int_eq(view_new(p, &o, &v, NULL), 0);
    ck_assert_int_eq(change_set_init(&set, &steps), 0);
    ck_assert_int_eq(change_set_add(&set, v, CHANGE_FUNCTION), 0);
    ck_assert_double_eq(set.whole[CHANGE_FUNCTION][0], 7);
    ck_assert_double_eq(value_of(&set, CHANGE_FUNCTION, "shop.Orders.place"), 7);
    ck_assert_uint_eq(set.count, 1);
    change_set_deinit(&set);
    view_free(v);
    profile_unref(p);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("changes_add");

    tcase_add_checked_fixture(tc, recorded_setup, recorded_teardown);
    tcase_add_test(tc, interrupts_are_not_of_the_service);
    tcase_add_test(tc, idle_threads_wait_for_no_lock);
    tcase_add_test(tc, cut_stacks_are_no_function);
    return suite_run_case("changes_add", tc);
}
