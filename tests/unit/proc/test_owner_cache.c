/* SPDX-License-Identifier: Apache-2.0 */
/* proc/owner_cache.c: an owner is computed once in a while, for the process that was asked about.
 */
#include "suite.h"

#include "proc/owner_cache.h"

#include "base/shares.h"

static unsigned computed;
static bool unreadable;

/* Each computation gives another number. */
uint64_t __wrap_proc_owner_now(int proc_fd, const struct proc_id *id);
uint64_t __wrap_proc_owner_now(int proc_fd, const struct proc_id *id)
{
    (void)proc_fd;
    if (unreadable)
        return OWNER_FOREIGN;
    return (uint64_t)id->host_pid << 32 | ++computed;
}

static struct owner_cache cache;

static void setup(void)
{
    memset(&cache, 0, sizeof(cache));
    computed = 0;
    unreadable = false;
}

START_TEST(computes_once)
{
    struct proc_id id = { .host_pid = 7, .start_ticks = 1 };
    uint64_t owner = owner_cache_get(&cache, -1, &id, UINT64_MAX);

    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(owner_cache_get(&cache, -1, &id, UINT64_MAX), owner);
    ck_assert_uint_eq(computed, 1);
}
END_TEST

START_TEST(an_old_owner_is_computed_again)
{
    struct proc_id id = { .host_pid = 7, .start_ticks = 1 };
    uint64_t owner = owner_cache_get(&cache, -1, &id, NSEC_PER_SEC);

    cache.slots[7].at_ns -= 2 * NSEC_PER_SEC;
    ck_assert_uint_ne(owner_cache_get(&cache, -1, &id, NSEC_PER_SEC), owner);
}
END_TEST

/* A process with files that cannot be read for a moment is foreign only for that long. */
START_TEST(a_failure_is_no_owner_for_good)
{
    struct proc_id id = { .host_pid = 7, .start_ticks = 1 };

    unreadable = true;
    ck_assert_uint_eq(owner_cache_get(&cache, -1, &id, UINT64_MAX), OWNER_FOREIGN);
    unreadable = false;
    ck_assert_uint_eq(owner_cache_get(&cache, -1, &id, UINT64_MAX), OWNER_FOREIGN);
    cache.slots[7].at_ns -= 2 * OWNER_UNREAD_NS;
    ck_assert_uint_ne(owner_cache_get(&cache, -1, &id, UINT64_MAX), OWNER_FOREIGN);
    cache.slots[7].at_ns -= 2 * OWNER_UNREAD_NS;
    owner_cache_get(&cache, -1, &id, UINT64_MAX);
    ck_assert_uint_eq(computed, 1);
}
END_TEST

/* The next process with that pid, a process with the same slot, and a pid alone. */
START_TEST(no_other_process_gets_it)
{
    static const struct proc_id OTHERS[] = {
        { .host_pid = 7, .start_ticks = 2 },
        { .host_pid = 7, .exec_no = 1, .start_ticks = 1 },
        { .host_pid = 7 + OWNER_CACHE_SLOTS, .start_ticks = 1 },
        { .host_pid = 7 },
    };
    struct proc_id id = { .host_pid = 7, .start_ticks = 1 };
    uint64_t owner = owner_cache_get(&cache, -1, &id, UINT64_MAX);

    ck_assert_uint_ne(owner_cache_get(&cache, -1, &OTHERS[_i], UINT64_MAX), owner);
    ck_assert_uint_eq(computed, 2);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("owner_cache");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, computes_once);
    tcase_add_test(tc, an_old_owner_is_computed_again);
    tcase_add_test(tc, a_failure_is_no_owner_for_good);
    tcase_add_loop_test(tc, no_other_process_gets_it, 0, 4);
    return suite_run_case("owner_cache", tc);
}
