/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler without BPF programs on the running kernel. Samples of this process come through the
 * rings, with a copy of its stack. Features that need programs are refused with a reason. Needs
 * root. */
#include "suite.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "sample/perf_rings.h"
#include "sample/sampler.h"
#include "sample/sampler_events.h"
#include "sample/sampler_perf.h"
#include "unwind/process.h"

#include <sys/mman.h>

#define HZ 199
#define WHY "this kernel is of clay"
#define MARK UINT64_C(0x5eed5eed5eed5eed)

static struct sampler *sampler;
static struct perf_rings *rings;
static struct error err;

static void setup(void)
{
    struct error why = { .code = -ENOSYS, .msg = WHY, .remedy = "fire it" };
    int rows = memfd_create("rows", MFD_CLOEXEC), fds[SAMPLER_CPUS_MAX];
    size_t count = 0, bytes = 0;

    ck_assert_int_eq(ftruncate(rows, SAMPLER_ROWS_MAX * sizeof(struct unwind_row)), 0);
    ck_assert_msg(sampler_new_perf(rows, &why, &sampler, &err) == 0, "%s", err.msg);
    ck_assert_str_eq(sampler_without_bpf(sampler)->msg, WHY);
    while ((fds[count] = sampler_perf_ring(sampler, count, &bytes)) >= 0) {
        fds[count] = dup(fds[count]);
        count++;
    }
    ck_assert_uint_ge(count, 1);
    rings = perf_rings_new();
    ck_assert_msg(perf_rings_add(rings, fds, count, bytes, &err) == 0, "%s", err.msg);
}

static void teardown(void)
{
    rings = perf_rings_free(rings);
    sampler = sampler_free(sampler);
}

static struct {
    uint64_t samples[SAMPLER_SETS_MAX], marked, last_ns;
} got;

static void take(void *cookie, const struct perf_sample *s)
{
    (void)cookie;
    if (s->rec.host_pid != (uint32_t)getpid())
        return;
    got.samples[s->rec.set]++;
    got.last_ns = s->rec.time_ns;
    if (s->rec.flags & SAMPLE_REGISTERS && s->stack.n)
        got.marked += memmem(s->stack.p, s->stack.n, &(uint64_t){ MARK }, 8) != NULL;
}

/* Spins for @ns of CPU time, with the mark on its stack. */
static void __attribute__((noinline)) spin(uint64_t ns)
{
    volatile uint64_t mark = MARK;
    struct timespec ts;
    uint64_t begun, now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    begun = now = (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
    while (now - begun < ns && mark) {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        now = (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
        while (perf_rings_drain(rings, 100, take, NULL))
            ;
    }
}

static int start(enum event_kind kind, uint64_t hz, uint32_t *ret)
{
    struct sampler_event event;

    ck_assert_int_eq(sampler_describe(kind, SPAN_NULL, -1, &event, &err), 0);
    return sampler_start_event(sampler, &event, NSEC_PER_SEC / hz, ret, &err);
}

START_TEST(samples_come_with_their_stack)
{
    uint64_t before = clock_monotonic_ns(), all, due = HZ / 2;
    uint32_t slow, fast;

    ck_assert_msg(start(EVENT_CPU, HZ / 4, &slow) == 0, "%s", err.msg);
    ck_assert_msg(start(EVENT_CPU, HZ, &fast) == 0, "%s", err.msg);
    ck_assert_uint_ne(slow, fast);
    spin(NSEC_PER_SEC / 2);
    all = got.samples[slow] + got.samples[fast];
    ck_assert_uint_gt(got.samples[fast], due / 2);
    ck_assert_uint_lt(got.samples[fast], due * 3 / 2);
    ck_assert_uint_lt(got.samples[slow], got.samples[fast] / 2);
    ck_assert_uint_gt(got.samples[slow], 0);
    ck_assert_uint_ge(got.marked, all * 9 / 10);
    ck_assert(got.last_ns > before && got.last_ns < clock_monotonic_ns());
    ck_assert_uint_eq(perf_rings_malformed(rings), 0);

    ck_assert_int_eq(sampler_stop(sampler, fast), 0);
    ck_assert_int_eq(sampler_stop(sampler, slow), 0);
    spin(0);
    got.samples[fast] = got.samples[slow] = 0;
    spin(NSEC_PER_SEC / 10);
    ck_assert_uint_eq(got.samples[fast] + got.samples[slow], 0);
}
END_TEST

START_TEST(what_needs_programs_is_refused)
{
    static const enum event_kind KINDS[] = { EVENT_PAGE_FAULTS, EVENT_OFFCPU, EVENT_CYCLES };
    struct sampler_event event;
    uint32_t set;

    for (size_t i = 0; i < ARRAY_SIZE(KINDS); i++) {
        ck_assert_int_eq(sampler_describe(KINDS[i], SPAN_NULL, -1, &event, &err), 0);
        ck_assert_int_eq(sampler_check_home(sampler, &event, &err), -EOPNOTSUPP);
        ck_assert_ptr_nonnull(strstr(err.msg, WHY));
        ck_assert_str_eq(err.remedy, "fire it");
    }
    ck_assert_int_eq(sampler_check_program(sampler, PROGRAM_ALLOC, &err), -EOPNOTSUPP);
    ck_assert_int_eq(start(EVENT_CPU, HZ + 1, &set), -ERANGE);
    ck_assert_ptr_nonnull(strstr(err.msg, WHY));
    ck_assert_str_eq(err.remedy, "lower hz to 199");
}
END_TEST

/* No processor has that number: the failure to get its ring is remembered. */
START_TEST(a_later_processor_without_a_ring_is_told)
{
    struct error why = { .code = -ENOSYS, .msg = WHY };
    struct sampler_event event;
    struct perf_home *home;

    ck_assert_int_eq(perf_home_new(&why, &home, &err), 0);
    ck_assert_int_eq(perf_home_problem(home)->code, 0);
    ck_assert_int_eq(sampler_describe(EVENT_CPU, SPAN_NULL, -1, &event, &err), 0);
    ck_assert_int_lt(perf_home_open(home, &event, 1u << 20, 0, NSEC_PER_SEC / HZ, NULL), 0);
    ck_assert_int_lt(perf_home_problem(home)->code, 0);
    ck_assert_ptr_nonnull(strstr(perf_home_problem(home)->msg, "ring of perf events of CPU"));
    perf_home_free(home);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("kernel");
    Suite *s = suite_create("sampler_perf");

    if (geteuid() != 0) {
        puts("skipped: needs root");
        return 77;
    }
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, samples_come_with_their_stack);
    tcase_add_test(tc, what_needs_programs_is_refused);
    tcase_add_test(tc, a_later_processor_without_a_ring_is_told);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
