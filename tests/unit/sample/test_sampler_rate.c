/* SPDX-License-Identifier: Apache-2.0 */
/* sample/: The rate of samples of CPU time, and their cost. */
#include "burner.h"

/* Rates that run at the same time. Each must be exact. */
static const struct {
    uint32_t hz[SAMPLER_SETS_MAX];
} RATES[] = {
    { { 1, 99, 999, 10000 } },
    { { 49, 10000, 97, 7 } },
};

START_TEST(rate_is_exact)
{
    struct burner burner = start_burner();
    uint64_t before_ns, spent_ns, before_cpu_ns, cpu_ns;
    double switches;
    uint32_t sets[SAMPLER_SETS_MAX];
    struct sample_stats stats;

    prefer_burner(&burner);
    usleep(50000);
    for (size_t i = 0; i < SAMPLER_SETS_MAX && RATES[_i].hz[i]; i++)
        ck_assert_msg(
            start_kind(sampler, EVENT_CPU, NSEC_PER_SEC / RATES[_i].hz[i], &sets[i], &err) == 0,
            "%s", err.msg);
    before_ns = burner_ns(&burner);
    before_cpu_ns = burner_cpu_ns(&burner);
    switches = burner_switches(&burner);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, (1U << SAMPLER_SETS_MAX) - 1), 0);
    sample_for(&burner, 3);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 0), 0);
    spent_ns = burner_ns(&burner) - before_ns;
    cpu_ns = burner_cpu_ns(&burner) - before_cpu_ns;
    switches = burner_switches(&burner) - switches;
    drain();
    end_burner(&burner);
    sampler_stats(sampler, &stats);
    ck_assert_uint_eq(got.others, 0);
    ck_assert_uint_eq(stats.lost_ring, 0);
    ck_assert_uint_eq(ring_malformed(ring), 0);
    ck_assert_uint_gt(stats.time_ns, 0);
    for (size_t i = 0; i < SAMPLER_SETS_MAX && RATES[_i].hz[i]; i++) {
        double want = (double)spent_ns / 1e9 * RATES[_i].hz[i];
        double is = (double)got.weight[sets[i]];
        double counted = is + (double)stats.lost_budget; /* samples left out are counted */
        double least = MIN(want, (double)cpu_ns / 1e9 * RATES[_i].hz[i]);

        printf("%5u Hz: %.0f samples, %.1f to %.1f expected, %.0f switches\n", RATES[_i].hz[i], is,
               least, want, switches);
        /* A tick during a switch of processes may count for either process. */
        ck_assert_msg(counted > least * 0.99 - 2 - switches && is < want * 1.01 + 2 + switches,
                      "%u Hz: %.0f samples, not %.0f to %.0f; %ju left out to save time",
                      RATES[_i].hz[i], is, least, want, (uintmax_t)stats.lost_budget);
    }
    printf("%.0f ns a sample in the program\n", (double)stats.time_ns / (double)stats.samples);
}
END_TEST

/* A timer of 100 Hz does not stay at one moment of each 10 ms. */
START_TEST(keeps_no_step_with_round_times)
{
    struct burner burner = start_burner();
    uint32_t set, sum = 0, hit = 0;

    prefer_burner(&burner);
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, PHASE_NS, &set, &err), 0);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    sample_for(&burner, 3);
    end_burner(&burner);
    for (size_t i = 0; i < ARRAY_SIZE(got.phases); i++)
        sum += got.phases[i];
    for (size_t i = 0; i < ARRAY_SIZE(got.phases); i++) {
        printf("%u%s", got.phases[i], i + 1 < ARRAY_SIZE(got.phases) ? " " : "\n");
        hit += got.phases[i] * 20 >= sum;
    }
    ck_assert_uint_gt(sum, 100);
    ck_assert_uint_ge(hit, 4); /* 3 s are 300 periods, and move by 5.9 ms */
}
END_TEST

START_TEST(costs_no_more_than_its_budget)
{
    struct burner burner = start_burner();
    struct sample_stats before, after;
    uint64_t began_ns = clock_monotonic_ns(), spent_ns, windows;
    uint32_t set;

    sampler_stats(sampler, &before);
    sampler_budget(sampler, 0); /* one sample, then none until the window ends */
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    sample_for(&burner, 1);
    sampler_budget(sampler, STACK_BUDGET_NS);
    spent_ns = MIN(burner_ns(&burner), burner_cpu_ns(&burner));
    windows = (clock_monotonic_ns() - began_ns) / STACK_BUDGET_WINDOW_NS + 2;
    end_burner(&burner);
    sampler_stats(sampler, &after);
    ck_assert_uint_gt(got.weight[set], 0);
    ck_assert_uint_le(got.weight[set], windows * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
    ck_assert_uint_gt(after.lost_budget - before.lost_budget,
                      spent_ns / NSEC_PER_MSEC * 8 / 10 - got.weight[set]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("kernel");

    tcase_add_loop_test(tc, rate_is_exact, 0, (int)ARRAY_SIZE(RATES));
    tcase_add_test(tc, keeps_no_step_with_round_times);
    tcase_add_test(tc, costs_no_more_than_its_budget);
    return run_cases("sampler_rate", tcase_create("pure"), tc);
}
