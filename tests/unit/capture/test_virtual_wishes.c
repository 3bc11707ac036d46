/* SPDX-License-Identifier: Apache-2.0 */
/* capture/virtual_wishes.c: which captures need which data of which JVM, and for how long. */
#include "suite.h"

#include "base/clock.h"
#include "capture/virtual_wishes.h"

#include <math.h>

static struct virtual_wishes w;

static struct proc_id id_of(int32_t pid)
{
    return (struct proc_id){ .host_pid = pid, .start_ticks = 7 };
}

static bool wish_of(uint64_t owner, int32_t pid, uint32_t set, bool locks, uint64_t now_ns)
{
    struct proc_id id = id_of(pid);

    return virtual_wishes_add(&w, &id, owner, set, locks, now_ns) != NULL;
}

static bool wish(int32_t pid, uint32_t set, bool locks, uint64_t now_ns)
{
    return wish_of(1, pid, set, locks, now_ns);
}

START_TEST(sets_of_a_jvm_add_up)
{
    wish(1, 0, false, 1);
    wish(1, 3, true, 2);
    wish(2, 1, false, 2);
    ck_assert_uint_eq(w.count, 2);
    ck_assert_uint_eq(w.of[0].sets, 1);
    ck_assert_uint_eq(w.of[0].lock_sets, 8);
    ck_assert_uint_eq(w.of[1].sets, 2);
}
END_TEST

START_TEST(wishes_end_that_are_not_renewed)
{
    uint64_t now_ns = VIRTUAL_WISH_NS + 2;

    wish(1, 0, false, 1);
    wish(2, 0, false, 1);
    wish(2, 0, false, now_ns);
    virtual_wishes_age(&w, now_ns);
    ck_assert_uint_eq(w.count, 1);
    ck_assert_int_eq(w.of[0].id.host_pid, 2);
}
END_TEST

START_TEST(another_image_is_another_jvm)
{
    struct proc_id id = id_of(1);

    wish(1, 0, false, 1);
    id.exec_no = 1;
    virtual_wishes_add(&w, &id, 1, 0, false, 1);
    ck_assert_uint_eq(w.count, 2);
}
END_TEST

START_TEST(says_what_finds_no_room)
{
    for (int32_t pid = 1; pid <= VIRTUAL_JVMS_MAX + 2; pid++)
        ck_assert_int_eq(wish(pid, 0, false, 1), pid <= VIRTUAL_JVMS_MAX);
    ck_assert_uint_eq(w.count, VIRTUAL_JVMS_MAX);
}
END_TEST

START_TEST(many_jvms_of_one_leave_room_for_those_of_others)
{
    size_t others = 0;

    for (int round = 0; round < 2; round++) { /* as at each reconciliation */
        for (int32_t pid = 1; pid <= 2 * VIRTUAL_JVMS_MAX; pid++)
            wish_of(666, pid, 0, false, 1);
        for (int32_t pid = 1001; pid <= 1003; pid++)
            ck_assert(wish_of((uint64_t)pid, pid, 0, false, 1));
    }
    ck_assert_uint_eq(w.count, VIRTUAL_JVMS_MAX);
    for (uint32_t i = 0; i < w.count; i++)
        others += w.of[i].owner != 666;
    ck_assert_uint_eq(others, 3);
    virtual_wishes_age(&w, VIRTUAL_WISH_NS + 2);
    ck_assert_uint_eq(w.count, 0);
    ck_assert_uint_eq(w.places.shares.used, 0);
}
END_TEST

START_TEST(what_a_look_found_is_of_its_jvm_alone)
{
    struct proc_id one = id_of(1), other = id_of(2);

    wish(1, 0, false, 1);
    wish(2, 0, false, 1);
    w.of[1].untracked = true;
    ck_assert(!virtual_wishes_add(&w, &one, 1, 0, false, 2)->untracked);
    ck_assert(virtual_wishes_add(&w, &other, 1, 0, false, 2)->untracked);
}
END_TEST

START_TEST(looks_give_a_mean_load)
{
    struct proc_id one = id_of(1), none = id_of(9);
    double runnable, mounted;

    wish(1, 0, false, 1);
    virtual_wishes_load(&w, &one, &runnable, &mounted);
    ck_assert(isnan(runnable) && isnan(mounted));
    w.of[0].looks = 4;
    w.of[0].runnable = 10;
    w.of[0].mounted = 2;
    virtual_wishes_load(&w, &none, &runnable, &mounted);
    ck_assert(isnan(runnable) && isnan(mounted));
    virtual_wishes_load(&w, &one, &runnable, &mounted);
    ck_assert_double_eq(runnable, 2.5);
    ck_assert_double_eq(mounted, 0.5);
    virtual_wishes_load(&w, &one, &runnable, &mounted);
    ck_assert(isnan(runnable) && isnan(mounted));
    /* Nothing is known if threads that are not listed may be runnable. */
    w.of[0].looks = 1;
    w.of[0].untracked = true;
    virtual_wishes_load(&w, &one, &runnable, &mounted);
    ck_assert(isnan(runnable));
    ck_assert_double_eq(mounted, 0);
}
END_TEST

static void setup(void)
{
    memset(&w, 0, sizeof(w));
}

int main(void)
{
    TCase *tc = tcase_create("virtual_wishes");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, sets_of_a_jvm_add_up);
    tcase_add_test(tc, wishes_end_that_are_not_renewed);
    tcase_add_test(tc, another_image_is_another_jvm);
    tcase_add_test(tc, says_what_finds_no_room);
    tcase_add_test(tc, many_jvms_of_one_leave_room_for_those_of_others);
    tcase_add_test(tc, what_a_look_found_is_of_its_jvm_alone);
    tcase_add_test(tc, looks_give_a_mean_load);
    return suite_run_case("virtual_wishes", tc);
}
