/* SPDX-License-Identifier: Apache-2.0 */
/* sample/: The rate of samples of CPU time, and their cost. */
#include "burner.h"

#include <sys/mman.h>

#define CONTROL_NS (100 * NSEC_PER_USEC)
#define CONTROL_BYTES ((size_t)4 << 20) /* some 26 s of samples */
/* A sampler that takes longer would delay the control, too. */
#define SAMPLE_MOST_NS 10000.0

/* Rates that run at the same time. Each must be exact. */
static const struct {
    uint32_t hz[SAMPLER_SETS_MAX];
} RATES[] = {
    { { 1, 99, 999, 10000 } },
    { { 49, 10000, 97, 7 } },
};

/* A timer of the kernel on processor 0, without a BPF program. Where a hypervisor stops the
 * processor and does not report it, no timer fires, and the kernel counts that as CPU time. */
struct control {
    int fd;
    struct perf_event_mmap_page *ring;
    size_t page;
    uint64_t from; /* where its records begin that count */
};

static struct control start_control(void)
{
    struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof(attr),
                                    .config = PERF_COUNT_SW_CPU_CLOCK,
                                    .sample_period = CONTROL_NS,
                                    .sample_type = PERF_SAMPLE_TID };
    struct control c = { .page = (size_t)sysconf(_SC_PAGESIZE) };

    c.fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
    ck_assert_int_ge(c.fd, 0);
    c.ring = mmap(NULL, c.page + CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, c.fd, 0);
    ck_assert_ptr_ne(c.ring, MAP_FAILED);
    return c;
}

/* Makes only ticks of @c from now on count. The start of a control takes long enough on a busy
 * machine for many of them. */
static void begin_control(struct control *c)
{
    c->from = __atomic_load_n(&c->ring->data_head, __ATOMIC_ACQUIRE);
}

/* Ends @c. Returns the time of process @pid that its timer has seen since begin_control();
 * UINT64_MAX: there was no room for all samples. */
static uint64_t end_control(struct control *c, int32_t pid)
{
    const char *data = (const char *)c->ring + c->page;
    uint64_t end = __atomic_load_n(&c->ring->data_head, __ATOMIC_ACQUIRE), ticks = 0;
    struct {
        struct perf_event_header header;
        uint32_t pid, tid;
    } record;
    bool full = end + 4 * sizeof(record) > CONTROL_BYTES; /* the kernel leaves some room */

    for (uint64_t at = c->from; at < end; at += record.header.size) {
        memcpy(&record, data + at, sizeof(record));
        ticks += record.header.type == PERF_RECORD_SAMPLE && record.pid == (uint32_t)pid;
    }
    munmap(c->ring, c->page + CONTROL_BYTES);
    close(c->fd);
    return full ? UINT64_MAX : ticks * CONTROL_NS;
}

START_TEST(rate_is_exact)
{
    struct burner burner = start_burner();
    struct control control;
    uint64_t before_ns, spent_ns, before_cpu_ns, cpu_ns, seen_ns;
    double switches;
    uint32_t sets[SAMPLER_SETS_MAX];
    struct sample_stats stats;

    prefer_burner(&burner);
    usleep(50000);
    for (size_t i = 0; i < SAMPLER_SETS_MAX && RATES[_i].hz[i]; i++)
        ck_assert_msg(
            start_kind(sampler, EVENT_CPU, NSEC_PER_SEC / RATES[_i].hz[i], &sets[i], &err) == 0,
            "%s", err.msg);
    control = start_control();
    before_ns = burner_ns(&burner);
    before_cpu_ns = burner_cpu_ns(&burner);
    switches = burner_switches(&burner);
    begin_control(&control);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, (1U << SAMPLER_SETS_MAX) - 1), 0);
    sample_for(&burner, 3);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 0), 0);
    spent_ns = burner_ns(&burner) - before_ns;
    cpu_ns = burner_cpu_ns(&burner) - before_cpu_ns;
    switches = burner_switches(&burner) - switches;
    seen_ns = end_control(&control, burner.pid);
    drain();
    end_burner(&burner);
    sampler_stats(sampler, &stats);
    ck_assert_uint_eq(got.others, 0);
    ck_assert_uint_eq(stats.lost_ring, 0);
    ck_assert_uint_eq(ring_malformed(ring), 0);
    ck_assert_uint_gt(stats.time_ns, 0);
    ck_assert_double_lt((double)stats.time_ns / (double)stats.samples, SAMPLE_MOST_NS);
    for (size_t i = 0; i < SAMPLER_SETS_MAX && RATES[_i].hz[i]; i++) {
        double want = (double)spent_ns / 1e9 * RATES[_i].hz[i];
        double is = (double)got.weight[sets[i]];
        double counted = is + (double)stats.lost_budget; /* samples left out are counted */
        double least = MIN(want, (double)MIN(cpu_ns, seen_ns) / 1e9 * RATES[_i].hz[i]);

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
