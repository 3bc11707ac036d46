/* SPDX-License-Identifier: Apache-2.0 */
/* profile/waits.h: what a thread waited for, and whether it was idle, by the names on its stack.
 * Also views of waits. */
#include "base/buf.h"
#include "profile/changes.h"

#include "suite.h"

#define STACK_MAX 6

static const struct {
    struct {
        const char *class_name, *name;
        enum frame_kind kind;
    } stack[STACK_MAX]; /* leaf first; no name ends it */
    enum wait wait;
    bool idle;
} CASES[] = {
#define K(name)                                                                                    \
    {                                                                                              \
        "", name, FRAME_KERNEL                                                                     \
    }
#define N(name)                                                                                    \
    {                                                                                              \
        "", name, FRAME_NATIVE                                                                     \
    }
#define V(name)                                                                                    \
    {                                                                                              \
        "", name, FRAME_JVM                                                                        \
    }
#define J(class, name)                                                                             \
    {                                                                                              \
        class, name, FRAME_C2                                                                      \
    }
    { { K("schedule"), K("futex_wait_queue"), K("__futex_wait"), N("pthread_cond_wait") },
      WAIT_LOCK,
      false },
    { { K("schedule"), K("do_nanosleep"), N("clock_nanosleep") }, WAIT_SLEEP, false },
    { { K("schedule"), K("futex_wait"), V("Parker::park(bool, long)"),
        J("jdk.internal.misc.Unsafe", "park") },
      WAIT_PARK,
      false },
    { { K("schedule"), K("futex_wait"), J("java.lang.Thread", "sleepNanos0") }, WAIT_SLEEP, false },
    { { K("schedule"), K("futex_wait.isra.0"), V("ObjectMonitor::enter(JavaThread*)"),
        J("java.lang.Object", "notify") },
      WAIT_LOCK,
      false },
    { { K("futex_wait"), V("ObjectMonitor::wait(long, bool, JavaThread*)"),
        J("java.lang.Object", "wait0") },
      WAIT_NOTIFY,
      false },
    /* a thread that returns from Object.wait() waits for the lock */
    { { K("futex_wait"), V("ObjectMonitor::ReenterI"), V("ObjectMonitor::wait"),
        J("java.lang.Object", "wait") },
      WAIT_LOCK,
      false },
    /* the frame nearest to the leaf decides: a safepoint at the end of a park */
    { { K("futex_wait"), V("SafepointSynchronize::block(JavaThread*)"), V("Parker::park") },
      WAIT_VM,
      false },
    { { K("schedule"), K("do_epoll_wait"), J("sun.nio.ch.EPoll", "wait") }, WAIT_POLL, true },
    { { K("schedule"), K("do_sys_poll"), J("sun.nio.ch.Net", "poll"),
        J("sun.nio.ch.NioSocketImpl", "implRead") },
      WAIT_NETWORK,
      false },
    { { K("schedule"), K("do_sys_poll"), J("sun.nio.ch.Net", "poll"),
        J("sun.nio.ch.NioSocketImpl", "accept") },
      WAIT_NETWORK,
      true },
    { { K("schedule"), K("inet_csk_accept"), N("accept") }, WAIT_NETWORK, true },
    { { K("schedule"), K("anon_pipe_read"), K("vfs_read") }, WAIT_PIPE, false },
    { { K("schedule"), K("vfs_read"), N("read") }, WAIT_FILE, false },
    { { K("io_schedule"), K("filemap_read"), K("vfs_read") }, WAIT_DISK, false },
    { { K("io_schedule"), K("filemap_fault"), K("handle_mm_fault"), J("Main", "run") },
      WAIT_FAULT,
      false },
    { { K("do_signal_stop"), K("get_signal"), J("jdk.internal.misc.Unsafe", "park"),
        J("java.util.concurrent.ThreadPoolExecutor", "getTask") },
      WAIT_STOPPED,
      false },
    /* virtual threads without a carrier have no kernel */
    { { J("java.lang.VirtualThread", "yieldContinuation"),
        J("java.lang.VirtualThread", "parkNanos"), J("java.util.concurrent.Semaphore", "acquire") },
      WAIT_PARK,
      false },
    { { J("java.lang.VirtualThread", "park"), J("sun.nio.ch.Poller", "poll"),
        J("sun.nio.ch.NioSocketImpl", "implRead") },
      WAIT_NETWORK,
      false },
    { { J("java.lang.VirtualThread", "park"), J("sun.nio.ch.Poller", "poll"),
        J("sun.nio.ch.Poller", "subPollerLoop") },
      WAIT_NETWORK,
      true },
    { { J("java.lang.VirtualThread", "parkNanos"), J("java.lang.VirtualThread", "sleepNanos"),
        J("java.lang.Thread", "sleep") },
      WAIT_SLEEP,
      false },
    { { K("schedule"), K("do_wait"), N("wait4") }, WAIT_BLOCKED, false },
    { { N("read") }, WAIT_BLOCKED, false },
    { { K("schedule"), K("futex_wait"), K("do_syscall_64") }, WAIT_BLOCKED, false },
    { { { NULL } }, WAIT_BLOCKED, false },
    /* similar names of other functions */
    { { K("schedule"), N("do_futex"), J("Parker", "park") }, WAIT_BLOCKED, false },
    { { K("schedule"), J("jdk.internal.misc.UnsafeX", "park") }, WAIT_BLOCKED, false },
    { { K("schedule"), J("jdk.internal.misc.Unsafe", "parked") }, WAIT_BLOCKED, false },
    /* idle */
    { { J("jdk.internal.misc.Unsafe", "park"),
        J("java.util.concurrent.LinkedBlockingQueue", "take"),
        J("java.util.concurrent.ThreadPoolExecutor", "getTask") },
      WAIT_PARK,
      true },
    { { J("sun.misc.Unsafe", "park"), J("java.util.concurrent.ForkJoinPool", "awaitWork") },
      WAIT_PARK,
      true },
    { { J("java.lang.Object", "wait"), J("java.lang.ref.ReferenceQueue", "remove0"),
        J("java.lang.ref.Finalizer$FinalizerThread", "run") },
      WAIT_NOTIFY,
      true },
    { { K("futex_wait"), V("Monitor::wait(unsigned long)"),
        V("CompileQueue::get(CompilerThread*)") },
      WAIT_NOTIFY,
      true },
    { { K("futex_wait"), V("VMThread::loop()"), V("VMThread::run()") }, WAIT_NOTIFY, true },
    { { K("futex_wait"), V("Monitor::wait_without_safepoint_check(long)"),
        V("NMethodSweeper::sweeper_loop()") },
      WAIT_NOTIFY,
      true },
    { { K("futex_wait"), V("Monitor::wait(long)"), V("Threads::destroy_vm()") },
      WAIT_NOTIFY,
      true },
    { { K("futex_wait"), N("__new_sem_wait_slow64"), V("PosixSemaphore::wait()"),
        V("signal_thread_entry(JavaThread*, JavaThread*)") },
      WAIT_NOTIFY,
      true },
    /* two threads of the VM, or of a pool, and one lock */
    { { K("futex_wait"), V("Mutex::lock_contended(Thread*)"),
        V("CompileQueue::get(CompilerThread*)") },
      WAIT_LOCK,
      true },
    { { K("futex_wait"), V("ObjectMonitor::enter(JavaThread*)"),
        J("java.util.TimerThread", "mainLoop") },
      WAIT_LOCK,
      true },
    { { K("futex_wait"), V("VM_G1CollectForAllocation::doit()"), V("VMThread::loop()") },
      WAIT_LOCK,
      false },
    { { K("futex_wait"), V("Semaphore::wait()"), V("WorkerThread::run()") }, WAIT_NOTIFY, true },
    { { K("futex_wait"), V("G1EvacuateRegionsTask::work(unsigned int)"), V("WorkerThread::run()") },
      WAIT_LOCK,
      false },
    { { K("futex_wait"), V("PosixSemaphore::wait()"), V("G1ConcurrentRefineThread::run_service()"),
        V("ConcurrentGCThread::run()") },
      WAIT_NOTIFY,
      true },
    { { K("futex_wait"), V("Monitor::wait(long)"), V("VMThread::execute(VM_Operation*)"),
        V("ZDriver::run_service()"), V("ConcurrentGCThread::run()") },
      WAIT_VM,
      false },
    { { K("futex_wait"), V("PosixSemaphore::wait()"), V("SuspendibleThreadSet::yield()"),
        V("G1ConcurrentRefineThread::run_service()"), V("ConcurrentGCThread::run()") },
      WAIT_VM,
      false },
    /* frozen by cgroups v2; ended by a signal with a core dump */
    { { K("schedule"), K("get_signal"), K("do_syscall_64"), J("java.lang.Thread", "sleep") },
      WAIT_STOPPED,
      false },
    { { K("schedule"), K("vfs_coredump"), K("get_signal"), N("raise") }, WAIT_FILE, false },
};

static struct frame_table *table;
static struct record *rec;
static uint32_t thread;

static void setup(void)
{
    struct profile_process p = { .host_pid = 42 };
    struct profile_thread t = { .host_tid = 43 };

    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &table), 0);
    ck_assert_int_eq(record_new(table, 100, &rec), 0);
    ck_assert_int_eq(record_process(rec, &p, &t.process), 0);
    ck_assert_int_eq(record_thread(rec, &t, &thread), 0);
}

static void teardown(void)
{
    record_free(rec);
    frame_table_free(table);
}

static void add_sample(int row, enum thread_state state, uint64_t value)
{
    struct profile_sample s = { .thread = thread,
                                .count = 1,
                                .value = value,
                                .flags = (uint16_t)(state << PROFILE_SAMPLE_STATE_SHIFT) };
    uint32_t stack[STACK_MAX], n = 0;

    for (; n < STACK_MAX && CASES[row].stack[n].name; n++) {
        struct function fn = { 0 };
        struct frame f = { .kind = (uint8_t)CASES[row].stack[n].kind };

        frame_table_string(table, span_of(CASES[row].stack[n].class_name), &fn.class_name);
        frame_table_string(table, span_of(CASES[row].stack[n].name), &fn.name);
        frame_table_function(table, &fn, &f.function);
        ck_assert_int_eq(frame_table_frame(table, &f, &stack[n]), 0);
    }
    ck_assert_int_eq(record_sample(rec, &s, stack, n), 0);
}

static struct profile *finish(const char *event)
{
    struct profile meta = { .event_count = 1, .end_ns = 100 }, *p = NULL;

    meta.events[0] = profile_event_of(events_find(event), 10);
    ck_assert_int_eq(record_finish(rec, &meta, &p), 0);
    return p;
}

START_TEST(by_stack)
{
    struct waits *w = NULL;
    struct profile *p;
    bool idle;

    add_sample(_i, STATE_BLOCKED, 1);
    p = finish("offcpu");
    ck_assert_int_eq(waits_new(p, &w), 0);
    for (int again = 0; again < 2; again++) {
        ck_assert_str_eq(WAIT_NAMES[waits_of(w, p->samples[0].stack, &idle)],
                         WAIT_NAMES[CASES[_i].wait]);
        ck_assert_int_eq(idle, CASES[_i].idle);
    }
    waits_free(w);
    profile_unref(p);
}
END_TEST

START_TEST(states)
{
    struct profile *p;

    add_sample(0, STATE_NONE, 1);
    add_sample(1, STATE_RUNNABLE, 1);
    p = finish("offcpu");
    ck_assert_int_eq(sample_state(p, &p->samples[0]), STATE_RUNNING);
    ck_assert_int_eq(sample_state(p, &p->samples[1]), STATE_RUNNABLE);
    profile_unref(p);
    p = finish("page-faults");
    ck_assert_int_eq(sample_state(p, &p->samples[0]), STATE_NONE);
    profile_unref(p);
}
END_TEST

/* Returns the rows of a view as "leaf state value\n" each. */
static void rows_of(struct profile *p, const struct view_opts *o, struct buf *out)
{
    struct view *v = NULL;

    buf_clear(out);
    ck_assert_int_eq(view_new(p, o, &v, NULL), 0);
    for (size_t i = 0; i < v->row_count; i++) {
        const struct view_row *row = &v->rows[i];
        struct span leaf = view_string(v, v->frames[v->stack[row->first + row->n - 1]].name);

        buf_printf(out, "%.*s %s %llu\n", (int)leaf.n, leaf.p, STATE_NAMES[row->state],
                   (unsigned long long)row->value);
    }
    buf_printf(out, "idle %llu %llu", (unsigned long long)v->idle.samples,
               (unsigned long long)v->idle.value);
    view_free(v);
}

#define LOCK_ROW 0
#define IDLE_ROW 8

START_TEST(views)
{
    static const struct {
        struct view_opts opts;
        const char *rows;
    } VIEWS[] = {
        { { 0 },
          "schedule running 5\nschedule runnable 7\nschedule blocked 30\nschedule blocked 100\n"
          "idle 0 0" },
        { { .waits = true },
          "schedule running 5\nschedule runnable 7\n[lock] blocked 30\n[poll] blocked 100\n"
          "idle 0 0" },
        { { .annotate = true, .states = STATE_BIT(STATE_BLOCKED) },
          "[lock] blocked 30\n[poll] blocked 100\nidle 0 0" },
        { { .states = STATE_BIT(STATE_RUNNING) | STATE_BIT(STATE_RUNNABLE) },
          "schedule running 5\nschedule runnable 7\nidle 0 0" },
        { { .no_idle = true, .states = STATE_BIT(STATE_BLOCKED) },
          "schedule blocked 30\nidle 1 100" },
    };
    struct buf out = BUF_NULL;
    struct profile *p;

    add_sample(LOCK_ROW, STATE_NONE, 5);
    add_sample(LOCK_ROW, STATE_RUNNABLE, 7);
    add_sample(LOCK_ROW, STATE_BLOCKED, 10);
    add_sample(LOCK_ROW, STATE_BLOCKED, 20);
    add_sample(IDLE_ROW, STATE_BLOCKED, 100);
    p = finish("offcpu");
    buf_init(&out, 4096);
    for (size_t i = 0; i < ARRAY_SIZE(VIEWS); i++) {
        rows_of(p, &VIEWS[i].opts, &out);
        ck_assert_str_eq(out.p, VIEWS[i].rows);
    }
    buf_deinit(&out);
    profile_unref(p);
}
END_TEST

/* Adds a wait for an object of @class_name, whose lock or notification is @kind. */
static void add_lock_wait(enum frame_kind kind, const char *class_name)
{
    struct profile_sample s = { .thread = thread,
                                .count = 1,
                                .value = 5,
                                .flags = STATE_BLOCKED << PROFILE_SAMPLE_STATE_SHIFT };
    struct frame f = { .kind = (uint8_t)kind };
    struct function fn = { 0 };
    uint32_t frame;

    frame_table_string(table, span_of(class_name), &fn.name);
    frame_table_function(table, &fn, &f.function);
    ck_assert_int_eq(frame_table_frame(table, &f, &frame), 0);
    ck_assert_int_eq(record_sample(rec, &s, &frame, 1), 0);
}

/* A thread that waits to be notified wants no lock: it has no work. */
START_TEST(locks_that_changes_compare)
{
    const struct change_steps steps = { .b_ns = 100, .step_ns = 10, .a = 10, .b = 10 };
    struct change_set set;
    struct view *v = NULL;
    struct profile *p;

    add_lock_wait(FRAME_WAIT_LOCK, "Prices");
    add_lock_wait(FRAME_WAIT_NOTIFY, "Queue");
    p = finish("lock");
    ck_assert_int_eq(change_set_init(&set, &steps), 0);
    ck_assert_int_eq(view_new(p, &(struct view_opts){ .exact = true }, &v, NULL), 0);
    ck_assert_int_eq(change_set_add(&set, v, CHANGE_LOCK), 0);
    ck_assert_uint_eq(set.count, 1);
    ck_assert_str_eq(set.series[0].name, "Prices");
    change_set_deinit(&set);
    view_free(v);
    profile_unref(p);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("waits");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, by_stack, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, states);
    tcase_add_test(tc, views);
    tcase_add_test(tc, locks_that_changes_compare);
    return suite_run_case("waits", tc);
}
