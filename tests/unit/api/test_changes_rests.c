/* SPDX-License-Identifier: Apache-2.0 */
/* The minutes without allocations in a comparison: rests of the JVMs compared, and none else. */
#include "suite.h"

#include "api/past_impl.h"
#include "capture/captures.h"

#define STEP NSEC_PER_SEC
#define STEPS 8 /* of each side */

static struct captures captures;
static struct api api = { .engine = { .captures = &captures } };
static struct change_set set;
static uint64_t begin_ns; /* CLOCK_MONOTONIC of the first step */

int __wrap_api_ask(struct api *a, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err);
int __wrap_api_ask(struct api *a, int (*fn)(struct api *api, void *arg), void *arg,
                   struct error *err)
{
    (void)err;
    return fn(a, arg);
}

static void setup(void)
{
    const uint64_t realtime_ns = 2000000000 * NSEC_PER_SEC;
    const struct change_steps steps = { .a_ns = realtime_ns,
                                        .b_ns = realtime_ns + STEPS * STEP,
                                        .step_ns = STEP,
                                        .a = STEPS,
                                        .b = STEPS };

    memset(&captures.recording.allocs, 0, sizeof(captures.recording.allocs));
    begin_ns = past_to_monotonic(realtime_ns);
    ck_assert_int_eq(change_set_init(&set, &steps), 0);
}

static void teardown(void)
{
    change_set_deinit(&set);
}

/* Notes a rest of half a step, in the middle of @step. */
static void rest(int32_t pid, uint64_t start_ticks, uint32_t exec_no, size_t step)
{
    struct recorded_allocs *a = &captures.recording.allocs;

    a->rests[a->rested++ % RECORDED_RESTS_MAX] = (struct recorded_rest){
        .id = { .host_pid = pid, .start_ticks = start_ticks, .exec_no = exec_no },
        .from_ns = begin_ns + step * STEP + STEP / 4,
        .to_ns = begin_ns + step * STEP + STEP / 4 * 3,
    };
}

/* Returns the skipped steps as bits, after a comparison of process 42. */
static unsigned skipped(void)
{
    struct profile_process processes[] = {
        { .host_pid = 7, .start_ticks = 1 },
        { .host_pid = 42, .start_ticks = 100, .exec_no = 1 },
    };
    const struct profile p = { .processes = processes, .process_count = ARRAY_SIZE(processes) };
    struct error err = ERROR_NULL;
    unsigned bits = 0;

    ck_assert_int_eq(changes_rests(&api, &p, &set, &err), 0);
    for (unsigned i = 0; i < 2 * STEPS; i++)
        bits |= (unsigned)set.skipped[i] << i;
    return bits;
}

START_TEST(rests_of_the_compared_jvms)
{
    ck_assert_uint_eq(skipped(), 0);
    rest(42, 100, 1, 3);
    rest(42, 100, 1, 9);
    ck_assert_uint_eq(skipped(), 1 << 3 | 1 << 9);
}
END_TEST

/* Another process, an earlier one with that pid, and what this one was before exec(). */
START_TEST(rests_of_others)
{
    rest(43, 100, 1, 1);
    rest(42, 99, 1, 2);
    rest(42, 100, 0, 3);
    ck_assert_uint_eq(skipped(), 0);
}
END_TEST

/* Rests before the oldest one that is kept are forgotten, so all that time counts as a rest. */
START_TEST(forgotten_rests)
{
    rest(42, 100, 1, 0);
    for (size_t i = 1; i < RECORDED_RESTS_MAX; i++)
        rest(43, 100, 1, 5);
    ck_assert_uint_eq(skipped(), 1);
    rest(43, 100, 1, 6);
    ck_assert_uint_eq(skipped(), 0x3f); /* up to the middle of step 5 */
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("changes_rests");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, rests_of_the_compared_jvms);
    tcase_add_test(tc, rests_of_others);
    tcase_add_test(tc, forgotten_rests);
    return suite_run_case("changes_rests", tc);
}
