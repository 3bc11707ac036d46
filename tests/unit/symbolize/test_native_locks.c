/* SPDX-License-Identifier: Apache-2.0 */
/* The locks that native code waits for, by the functions on its stack. */
#include "suite.h"

#include "symbolize/native_locks.h"

#define FRAMES_MAX 4

struct made {
    const char *class_name, *name; /* NULL: behind the last frame */
    enum frame_kind kind;
};

static const struct {
    struct made frames[FRAMES_MAX]; /* leaf first */
    const char *kind;
    bool java;
} CASES[] = {
    { { { NULL, "pthread_mutex_lock", FRAME_NATIVE }, { NULL, "main", FRAME_NATIVE } },
      "[mutex]",
      false },
    { { { NULL, "__lll_lock_wait", FRAME_NATIVE },
        { NULL, "___pthread_mutex_lock", FRAME_NATIVE } },
      "[mutex]",
      false },
    { { { NULL, "__futex_abstimed_wait_common", FRAME_NATIVE },
        { NULL, "pthread_cond_timedwait", FRAME_NATIVE } },
      "[condition]",
      false },
    { { { NULL, "pthread_cond_wait", FRAME_NATIVE }, { NULL, "pthread_mutex_lock", FRAME_NATIVE } },
      "[condition]", /* the innermost function decides */
      false },
    { { { NULL, "__new_sem_wait_slow64", FRAME_NATIVE } }, "[semaphore]", false },
    { { { NULL, "pthread_rwlock_rdlock", FRAME_NATIVE } }, "[rwlock]", false },
    { { { NULL, "pthread_barrier_wait", FRAME_NATIVE } }, "[barrier]", false },
    { { { NULL, "__pthread_clockjoin_ex", FRAME_NATIVE } }, "[join]", false },
    { { { NULL, "runtime.futex", FRAME_NATIVE } }, "[futex]", false },
    { { { NULL, NULL, 0 } }, "[futex]", false },
    { { { NULL, "pthread_cond_wait", FRAME_NATIVE },
        { NULL, "Parker::park(bool, long)", FRAME_JVM } },
      "[condition]",
      true },
    { { { NULL, "pthread_cond_wait", FRAME_NATIVE },
        { NULL, "ObjectMonitor::enter(JavaThread*)", FRAME_JVM } },
      "[condition]",
      true },
    /* a VM without symbols */
    { { { NULL, "pthread_cond_wait", FRAME_NATIVE },
        { NULL, "libjvm.so+0x1234", FRAME_JVM },
        { "jdk.internal.misc.Unsafe", "park", FRAME_C2 } },
      "[condition]",
      true },
    { { { NULL, "pthread_cond_timedwait", FRAME_NATIVE },
        { "java.lang.Thread", "sleep0", FRAME_INTERPRETED } },
      "[condition]",
      true },
    /* native code called from Java, in a task of a pool */
    { { { NULL, "pthread_mutex_lock", FRAME_NATIVE },
        { "com.acme.Native", "call", FRAME_C2 },
        { "jdk.internal.misc.Unsafe", "park", FRAME_C2 } },
      "[mutex]",
      false },
    { { { NULL, "pthread_cond_wait", FRAME_NATIVE },
        { NULL, "Monitor::wait(unsigned long)", FRAME_JVM } },
      "[condition]",
      false },
};

static struct frame_table *table;

static void setup(void)
{
    ck_assert_int_eq(frame_table_new(1000, 1 << 20, &table), 0);
}

static void teardown(void)
{
    frame_table_free(table);
}

static uint32_t make(const struct made *m)
{
    struct function f = { 0 };
    struct frame frame = { .kind = (uint8_t)m->kind };
    uint32_t id = 0;

    if (m->class_name)
        frame_table_string(table, span_of(m->class_name), &f.class_name);
    frame_table_string(table, span_of(m->name), &f.name);
    frame_table_function(table, &f, &frame.function);
    frame_table_frame(table, &frame, &id);
    return id;
}

static void expect_name(uint32_t id, const char *name)
{
    const struct function *f =
        frame_table_get_function(table, frame_table_get(table, id)->function);

    ck_assert_msg(span_eq_str(frame_table_get_string(table, f->name), name), "%s", name);
}

START_TEST(tells_the_use)
{
    uint32_t frames[FRAMES_MAX];
    struct lock_frames found;
    size_t n = 0;
    bool native;

    for (; n < FRAMES_MAX && CASES[_i].frames[n].name; n++)
        frames[n] = make(&CASES[_i].frames[n]);
    native = native_lock_get(table, 0x7f000010002c, frames, n, &found);
    ck_assert(native == !CASES[_i].java);
    expect_name(found.kind, CASES[_i].kind);
    /* both words of a condition count as one lock */
    expect_name(found.class_frame,
                strcmp(CASES[_i].kind, "[condition]") == 0 ? "0x7f0000100028" : "0x7f000010002c");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("native_locks");
    TCase *tc = tcase_create("uses");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, tells_the_use, 0, ARRAY_SIZE(CASES));
    suite_add_tcase(s, tc);
    return suite_run(s);
}
