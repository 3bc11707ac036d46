/* SPDX-License-Identifier: Apache-2.0 */
/* engine/virtual_waits.c: the time before a pass that its samples do not cover, and the threads
 * that the look at the end of probes misses. */
#include "../capture/capture_rig.h"

#include "engine/virtual_waits.h"

#include <sys/mman.h>

#define THREADS 50
#define LACK "of waits of virtual threads are missing"

static struct rig rig;
static struct virtual_waits waits;
static struct process *jvm;
/* The result of the next pass. */
static int found;
static uint32_t broken, places;
static uint8_t stack;
static bool lists_all;

int __wrap_hotspot_dump_threads(struct hotspot_vm *vm, struct hotspot_dump_batch *b);
int __wrap_hotspot_dump_threads(struct hotspot_vm *vm, struct hotspot_dump_batch *b)
{
    (void)vm;
    jvm->vm = NULL; /* a JVM without a VM to read */
    b->broken = broken;
    b->places = places;
    b->weight = 1;
    b->tracks_all = lists_all;
    b->count = places ? THREADS : 0;
    for (uint32_t i = 0; i < b->count; i++)
        b->threads[i] = (struct hotspot_dump_thread){ .is_virtual = true,
                                                      .state = THREAD_STATE_WAITING,
                                                      .stack = stack };
    return found;
}

/* No wait is known. */
int __wrap_broker_yields_waits(struct broker *b, int32_t host_pid, int *ret_fd, struct error *err);
int __wrap_broker_yields_waits(struct broker *b, int32_t host_pid, int *ret_fd, struct error *err)
{
    (void)b;
    (void)host_pid;
    (void)err;
    *ret_fd = memfd_create("waits", MFD_CLOEXEC);
    return 0;
}

static void look(void)
{
    struct virtual_wishes *wishes = &rig.captures.virtual_threads.wishes;
    uint64_t now_ns = clock_monotonic_ns();

    jvm->jvm = JVM_READY;
    jvm->vm = (struct hotspot_vm *)&waits; /* the pointer is only compared with NULL */
    virtual_wishes_add(wishes, &jvm->id, 1, 0, /* locks= */ false, now_ns);
    wishes->of[0].due_ns = waits.paid_ns = 0;
    virtual_waits_tick(&waits, wishes, &rig.dispatch, now_ns);
    ck_assert_ptr_null(jvm->vm); /* the pass has run */
    jvm->jvm = JVM_NO;
}

/* Begins a capture, 30 s in the past. */
static void setup(void)
{
    struct capture_request req;

    rig_open(&rig);
    memset(&waits, 0, sizeof(waits));
    req = rig_request(&rig, "offcpu", 10 * NSEC_PER_MSEC);
    ck_assert_int_eq(rig_start(&rig, &req, NULL), 0);
    rig.captures.running->start_ns -= 30 * NSEC_PER_SEC;
    jvm = rig_process(&rig);
    jvm->exec_time_ns = 0;
    found = 0;
    broken = places = 0;
    stack = DUMP_STACK_NONE;
    lists_all = true;
}

static void teardown(void)
{
    virtual_waits_deinit(&waits);
    rig_close(&rig);
}

/* Returns the seconds of waits that the profile says are missing. */
static double seconds_missing(void)
{
    double seconds = 0;

    captures_end(&rig.captures, rig.handle, /* keep= */ true);
    rig_finish(&rig);
    if (!rig_warned(&rig, LACK))
        return 0;
    for (size_t i = 0; i < rig.end.profile->warning_count && seconds <= 0; i++) {
        const char *text = rig.end.profile->warnings[i];

        seconds = strstr(text, LACK) ? strtod(text, NULL) : 0;
    }
    return seconds;
}

START_TEST(a_look_without_threads_covers_its_time)
{
    static const struct {
        int found;
        uint32_t broken;
        bool warns;
    } LOOKS[] = { { 0, 0, false }, { 1, 0, false }, { 0, 1, true }, { -ETIMEDOUT, 0, true } };

    found = LOOKS[_i].found;
    broken = LOOKS[_i].broken;
    look();
    ck_assert_uint_lt(rig.captures.virtual_threads.wishes.of[0].due_ns,
                      clock_monotonic_ns() + NSEC_PER_SEC);
    found = 0;
    broken = 0;
    places = 64;
    look();
    ck_assert_int_eq(seconds_missing() > 0, LOOKS[_i].warns);
}
END_TEST

START_TEST(a_jvm_waits_from_its_start_on)
{
    double seconds;

    jvm->exec_time_ns = clock_monotonic_ns() - (_i ? 11 : 0) * NSEC_PER_SEC;
    places = 64;
    look();
    seconds = seconds_missing(); /* the pass covers the last second */
    if (_i) {
        ck_assert_double_ge(seconds, 10.0 * THREADS);
        ck_assert_double_lt(seconds, 20.0 * THREADS);
    } else {
        ck_assert_double_eq(seconds, 0);
    }
}
END_TEST

START_TEST(the_look_at_the_end_says_what_it_misses)
{
    static const struct {
        uint8_t stack;
        bool missed, lists_all, incomplete;
    } LOOKS[] = { { DUMP_STACK_WHOLE, false, true, false },
                  { DUMP_STACK_WHOLE, false, false, false },
                  { DUMP_STACK_WHOLE, true, true, true }, /* the begins of all are unknown */
                  { DUMP_STACK_CHANGED, false, true, true },
                  { DUMP_STACK_NONE, true, true, false } };
    struct waits_closing closing = { .missed = LOOKS[_i].missed, .from_ns = 1 };

    stack = LOOKS[_i].stack;
    lists_all = LOOKS[_i].lists_all;
    places = 64;
    jvm->jvm = JVM_READY;
    jvm->vm = (struct hotspot_vm *)&waits;
    ck_assert_uint_gt(virtual_waits_close(&waits, &rig.dispatch, jvm, &closing), 0);
    jvm->jvm = JVM_NO;
    ck_assert_int_eq(closing.incomplete, LOOKS[_i].incomplete);
    ck_assert_int_eq(closing.untracked, !LOOKS[_i].lists_all);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("virtual_waits");
    int skip = rig_missing();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_look_without_threads_covers_its_time, 0, 4);
    tcase_add_loop_test(tc, a_jvm_waits_from_its_start_on, 0, 2);
    tcase_add_loop_test(tc, the_look_at_the_end_says_what_it_misses, 0, 5);
    return suite_run_case("virtual_waits", tc);
}
