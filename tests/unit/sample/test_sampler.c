/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF sampler on the running kernel: exact rates, filters, pid namespaces. Needs root. */
#include "sampler_fixture.h"

#include "base/clock.h"
#include "sample/loss_abi.h"
#include "sample/sampler_events.h"
#include "sample/stack_abi.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Calls fork(2), with the child in new @namespaces. */
static pid_t fork_into(unsigned long namespaces)
{
    return (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, NULL, NULL, NULL, NULL);
}

/* A child that burns CPU on processor 0. Sampling counts the time that it is scheduled in, so
 * results are compared with that time. Its CPU time is less: it excludes interrupts and
 * hypervisors. */
struct burner {
    pid_t pid;
    int clock_fd;
};

static int start_kind(struct sampler *s, enum event_kind kind, uint64_t period, uint32_t *ret_set,
                      struct error *e)
{
    struct sampler_event event;
    int r = sampler_describe(kind, SPAN_NULL, /* devices_fd= */ -1, &event, e);

    return r < 0 ? r : sampler_start_event(s, &event, period, ret_set, e);
}

static struct burner start_burner_in(unsigned long namespaces)
{
    struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
                                    .size = sizeof(attr),
                                    .config = PERF_COUNT_SW_TASK_CLOCK };
    struct burner b = { .pid = fork_into(namespaces) };

    cpu_set_t one;

    ck_assert_int_ge(b.pid, 0);
    if (b.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned i = 0;; i++)
            ;
    }
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    ck_assert_int_eq(sched_setaffinity(b.pid, sizeof(one), &one), 0);
    b.clock_fd = (int)syscall(SYS_perf_event_open, &attr, b.pid, -1, -1,
                              (unsigned long)PERF_FLAG_FD_CLOEXEC);
    ck_assert_int_ge(b.clock_fd, 0);
    return b;
}

static struct burner start_burner(void)
{
    return start_burner_in(0);
}

/* Makes @b run before others on its processor, if that is allowed. Threads that a timer wakes run
 * shortly after a tick and end before the next one, so the burner also gets the ticks of their
 * time. */
static void prefer_burner(const struct burner *b)
{
    const struct sched_param lowest = { .sched_priority = 1 };

    if (sched_setscheduler(b->pid, SCHED_FIFO, &lowest) < 0)
        printf("no real-time priority here: %s\n", strerrordesc_np(errno));
}

/* Returns how long it has been scheduled in since its start. */
static uint64_t burner_ns(const struct burner *b)
{
    uint64_t ns;

    ck_assert_int_eq(read(b->clock_fd, &ns, sizeof(ns)), sizeof(ns));
    return ns;
}

/* Reads the file @name of @b in /proc. */
static void read_burner(const struct burner *b, const char *name, char *text, size_t size)
{
    char path[64];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/%s", b->pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = read(fd, text, size - 1);
    close(fd);
    ck_assert_int_gt(n, 0);
    text[n] = '\0';
}

/* Returns the CPU time: the same time without that of a hypervisor, during which no timer fires. */
static uint64_t burner_cpu_ns(const struct burner *b)
{
    char text[128];

    read_burner(b, "schedstat", text, sizeof(text));
    return strtoull(text, NULL, 10);
}

/* Returns how often it had to leave its processor to others. */
static double burner_switches(const struct burner *b)
{
    const char *field = "nonvoluntary_ctxt_switches:", *at;
    char text[4096];

    read_burner(b, "status", text, sizeof(text));
    at = strstr(text, field);
    ck_assert_ptr_nonnull(at);
    return (double)strtoull(at + strlen(field), NULL, 10);
}

static void end_burner(struct burner *b)
{
    kill(b->pid, SIGKILL);
    waitpid(b->pid, NULL, 0);
    close(b->clock_fd);
}

/* Samples @b until it was scheduled in for @seconds. Drains the ring as flamed does. */
static void sample_for(const struct burner *b, double seconds)
{
    uint64_t end_ns = burner_ns(b) + (uint64_t)(seconds * 1e9);

    memset(&got, 0, sizeof(got));
    got.pid = (uint32_t)b->pid;
    while (burner_ns(b) < end_ns) {
        usleep(10000);
        drain();
    }
}

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

/* Each loss counts for its set and process, and is reported once. */
START_TEST(losses_are_told_by_set_and_process)
{
    static struct loss losses[LOSSES_MAX];
    const uint64_t periods[] = { NSEC_PER_MSEC, 2 * NSEC_PER_MSEC };
    struct burner burners[] = { start_burner(), start_burner() };
    struct sample_stats before, stats;
    uint64_t lost[] = { 0, 0 };
    uint32_t sets[2];
    size_t count;

    ck_assert_int_eq(sampler_take_losses(sampler, losses, &count), 0); /* of other tests */
    sampler_stats(sampler, &before);
    sampler_budget(sampler, 0);
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
        ck_assert_int_eq(start_kind(sampler, EVENT_CPU, periods[i], &sets[i], &err), 0);
        ck_assert_int_eq(sampler_filter_process(sampler, burners[i].pid, 1U << sets[i]), 0);
    }
    sample_for(&burners[0], 1);
    for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
        ck_assert_int_eq(sampler_filter_process(sampler, burners[i].pid, 0), 0);
    usleep(1000);
    sampler_budget(sampler, STACK_BUDGET_NS);
    ck_assert_int_eq(sampler_take_losses(sampler, losses, &count), 0);
    sampler_stats(sampler, &stats);
    for (size_t k = 0; k < count; k++) {
        size_t i = losses[k].of.host_pid == (uint32_t)burners[1].pid;

        ck_assert_uint_eq(losses[k].of.host_pid, (uint32_t)burners[i].pid);
        ck_assert_uint_eq(losses[k].of.set, sets[i]);
        ck_assert_uint_gt(losses[k].of.start_boottime_ns, 0);
        ck_assert_uint_eq(losses[k].count.unread, 0);
        lost[i] += losses[k].count.costly;
    }
    ck_assert_uint_eq(count, ARRAY_SIZE(sets));
    ck_assert_uint_gt(lost[0], 0);
    ck_assert_uint_gt(lost[1], 0);
    ck_assert_uint_eq(lost[0] + lost[1], stats.lost_budget - before.lost_budget);
    ck_assert_int_eq(sampler_take_losses(sampler, losses, &count), 0);
    ck_assert_uint_eq(count, 0);
    for (size_t i = 0; i < ARRAY_SIZE(burners); i++)
        end_burner(&burners[i]);
}
END_TEST

START_TEST(facts_of_a_sample)
{
    struct burner burner = start_burner();
    uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME), now_ns, spent_ns;
    uint32_t set;

    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, 2 * NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    sample_for(&burner, 0.3);
    now_ns = clock_monotonic_ns();
    spent_ns = MIN(burner_ns(&burner), burner_cpu_ns(&burner));
    end_burner(&burner);
    ck_assert_uint_gt(got.weight[set], spent_ns / (2 * NSEC_PER_MSEC) * 8 / 10);
    ck_assert_uint_eq(got.tid, (uint32_t)burner.pid);
    ck_assert_uint_lt(now_ns - got.last_ns, NSEC_PER_SEC);
    ck_assert_uint_gt(got.start_boottime_ns, boot_ns - NSEC_PER_SEC);
    ck_assert_uint_lt(got.start_boottime_ns, boot_ns + NSEC_PER_SEC);
    ck_assert_uint_eq(got.user_frames, got.weight[set]); /* no tables: only the leaf of each */
    ck_assert_int_eq(strncmp(got.comm, program_invocation_short_name, SAMPLE_COMM_BYTES - 1), 0);
}
END_TEST

START_TEST(filters)
{
    struct burner burner = start_burner();
    uint64_t before_ns;
    uint32_t set, other;

    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, 10 * NSEC_PER_MSEC, &other, &err), 0);
    sample_for(&burner, 0.2);
    ck_assert_uint_eq(got.weight[set] + got.weight[other] + got.others, 0); /* no set wants them */

    ck_assert_int_eq(sampler_filter_all(sampler, 1U << other), 0);
    sample_for(&burner, 0.3);
    ck_assert_uint_gt(got.weight[other], 2);
    ck_assert_uint_eq(got.weight[set], 0);
    ck_assert_int_eq(sampler_filter_all(sampler, 0), 0);

    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    drain();
    before_ns = burner_ns(&burner);
    sample_for(&burner, 1);
    ck_assert_uint_gt(got.weight[set], (burner_ns(&burner) - before_ns) / NSEC_PER_MSEC / 2);
    ck_assert_uint_gt(got.weight[set], 0);
    ck_assert_uint_eq(got.weight[other] + got.others, 0);

    /* A new set with an old number does not have the old one's processes. */
    ck_assert_int_eq(sampler_stop(sampler, set), 0);
    ck_assert_int_eq(sampler_stop(sampler, set), -ENOENT);
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    drain();
    sample_for(&burner, 0.1);
    ck_assert_uint_eq(got.weight[set] + got.weight[other] + got.others, 0);
    end_burner(&burner);
}
END_TEST

START_TEST(takes_all_sets)
{
    uint32_t set;

    for (int i = 0; i < SAMPLER_SETS_MAX; i++)
        ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_SEC, &set, &err), 0);
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_SEC, &set, &err), -EBUSY);
    ck_assert_int_eq(sampler_stop(sampler, 2), 0);
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_SEC, &set, &err), 0);
    ck_assert_uint_eq(set, 2);
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, 1000, &set, &err), -EINVAL);
    ck_assert_int_eq(sampler_filter_process(sampler, 0, 1), -EINVAL);
    ck_assert_int_eq(sampler_filter_process(sampler, 1, 1U << SAMPLER_SETS_MAX), -EINVAL);
}
END_TEST

/* The burner runs on processor 0. The set follows the list of online processors. */
START_TEST(follows_processors)
{
    struct burner burner = start_burner();
    uint32_t cpus[2] = { 0, 1 }, set;

    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    ck_assert_int_eq(sampler_follow_cpus(sampler), 0); /* no processor came or went */
    ck_assert_int_gt(sampler_set_cpus(sampler, cpus + 1, 1), 0);
    drain();
    sample_for(&burner, 0.2);
    ck_assert_uint_eq(got.weight[set], 0);
    ck_assert_int_eq(sampler_set_cpus(sampler, cpus, 2), 1);
    sample_for(&burner, 0.3);
    ck_assert_uint_gt(got.weight[set], 10);
    ck_assert_int_ge(sampler_follow_cpus(sampler), 0);
    ck_assert_int_eq(sampler_follow_cpus(sampler), 0);
    end_burner(&burner);
}
END_TEST

/* Describes all code that this process may execute by one row. */
static void describe_burner(struct unwind_process *p, pid_t pid, uint32_t slot)
{
    *p = (struct unwind_process){ .slot = slot, .mapping_count = 1 };
    p->mappings[0] =
        (struct unwind_mapping){ .start = 4096, .end = UINT64_C(1) << 47, .row_count = 1 };
    ck_assert_int_eq(sampler_put_process(sampler, pid, p), 0);
}

/* Memory of a program that counts like a JVM. Addresses are of the burner, a copy of this one. */
static struct {
    uint64_t classes, shared;
    uint8_t redefines[2];
} counted;

static const struct {
    uintptr_t classes, redefines;
    uint64_t unloads; /* of a sample */
} COUNTS[] = {
    { (uintptr_t)&counted.classes, (uintptr_t)&counted.redefines[0], 1 + 7 + 4 },
    { (uintptr_t)&counted.classes, (uintptr_t)&counted.redefines[1], 0 },
    { (uintptr_t)&counted.classes, 0, 0 }, /* not known */
    { 16, (uintptr_t)&counted.redefines[0], 0 },
    { UINT64_MAX - 7, (uintptr_t)&counted.redefines[0], 0 },
};

/* A sample has the number of classes that its JVM has unloaded. */
START_TEST(a_sample_counts_unloads)
{
    struct unwind_row root = { .base = UNWIND_BASE_ROOT };
    struct unwind_process p;
    struct burner burner;
    uint32_t set;

    counted.classes = 7; /* written, so that the burner has these pages */
    counted.shared = 4;
    counted.redefines[1] = 1;
    burner = start_burner();
    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(sampler_put_rows(sampler, 0, &root, 1), 0);
    describe_burner(&p, burner.pid, 9);
    p.unloads = (struct unwind_unloads){ .at = { COUNTS[_i].classes, (uintptr_t)&counted.shared },
                                         .can_redefine = COUNTS[_i].redefines };
    ck_assert_int_eq(sampler_put_process(sampler, burner.pid, &p), 0);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    sample_for(&burner, 0.1);
    ck_assert_uint_gt(got.ends[UNWIND_END_ROOT], 5);
    ck_assert_uint_eq(got.unloads, COUNTS[_i].unloads);
    sampler_put_process(sampler, burner.pid, NULL);
    end_burner(&burner);
}
END_TEST

/* A walk's cached result for a slot is dropped when slots are reused. */
START_TEST(forgets_when_slots_begin_anew)
{
    struct unwind_row root = { .base = UNWIND_BASE_ROOT },
                      wrong = { .base = UNWIND_BASE_SP_LOAD, .cfa = INT16_MAX };
    struct burner burner = start_burner();
    struct unwind_process p;
    uint32_t set;

    ck_assert_int_eq(start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(sampler_put_rows(sampler, 0, &root, 1), 0);
    describe_burner(&p, burner.pid, 9);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    sample_for(&burner, 0.5);
    ck_assert_uint_gt(got.ends[UNWIND_END_ROOT], 20);
    ck_assert_int_eq(sampler_put_rows(sampler, 0, &wrong, 1), 0);
    describe_burner(&p, burner.pid, 9); /* the same slot: cached, right or wrong */
    drain();
    sample_for(&burner, 0.3);
    ck_assert_uint_gt(got.ends[UNWIND_END_ROOT], 10);
    describe_burner(&p, burner.pid, 3);
    describe_burner(&p, burner.pid, 9);
    drain();
    sample_for(&burner, 0.3);
    ck_assert_uint_eq(got.ends[UNWIND_END_ROOT], 0);
    ck_assert_uint_gt(got.weight[set], 10);
    sampler_put_process(sampler, burner.pid, NULL);
    end_burner(&burner);
}
END_TEST

START_TEST(refuses_a_depth_that_it_cannot_have)
{
    static const uint32_t DEPTHS[] = { 0, SAMPLE_USER_MIN - 1, SAMPLE_USER_MAX + 1, UINT32_MAX };
    struct sampler *none = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(DEPTHS); i++) {
        ck_assert_int_eq(sampler_new(-1, RING_BYTES, DEPTHS[i], &none, &err), -EINVAL);
        ck_assert_ptr_null(none);
        ck_assert(err.msg[0]);
    }
}
END_TEST

/* Inside a pid namespace with another one in it, both have the numbers that the outer one sees. */
START_TEST(numbers_of_a_pid_namespace)
{
    pid_t outer = fork_into(CLONE_NEWPID); /* pid 1 of the outer namespace: this sampler */
    int status;

    ck_assert_int_ge(outer, 0);
    if (outer == 0) {
        struct burner inner;
        uint32_t set;
        _cleanup_close_ int ns = open("/proc/thread-self/ns/pid", O_RDONLY | O_CLOEXEC);

        if (getpid() != 1)
            _exit(2);
        inner = start_burner_in(CLONE_NEWPID); /* pid 1 of the inner namespace, 2 outside */
        if (ns < 0)
            _exit(3);
        teardown();
        open_sampler(ns);
        if (start_kind(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err) < 0)
            _exit(4);
        if (sampler_filter_process(sampler, inner.pid, 1U << set) < 0)
            _exit(5);
        sample_for(&inner, 0.3);
        if (inner.pid != 2 || got.tid != 2 || got.weight[set] < 10 || got.others)
            _exit(6);
        /* All processes: those outside are counted, but not shown. */
        sampler_filter_process(sampler, inner.pid, 0);
        sampler_filter_all(sampler, 1U << set);
        sample_for(&inner, 0.3);
        if (got.weight[set] < 10)
            _exit(7);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(outer, &status, 0), outer);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "inside: %x", status);
}
END_TEST

static const struct {
    const char *text;
    int r;
    uint32_t last;
} CPU_LISTS[] = {
    { "0\n", 1, 0 },       { "0-3\n", 4, 3 },          { "0,2,4-5\n", 4, 5 },
    { "", 0, 0 },          { "3-1", -EBADMSG, 0 },     { "x", -EBADMSG, 0 },
    { "0-", -EBADMSG, 0 }, { "1-99999", -EBADMSG, 0 }, { "1 2", -EBADMSG, 0 },
};

START_TEST(parses_cpu_lists)
{
    static uint32_t cpus[SAMPLER_CPUS_MAX];
    int r = sampler_parse_cpus(span_of(CPU_LISTS[_i].text), cpus);

    ck_assert_int_eq(r, CPU_LISTS[_i].r);
    if (r > 0)
        ck_assert_uint_eq(cpus[r - 1], CPU_LISTS[_i].last);
}
END_TEST

int main(void)
{
    TCase *pure = tcase_create("pure"), *tc = tcase_create("kernel");

    tcase_add_loop_test(pure, parses_cpu_lists, 0, (int)ARRAY_SIZE(CPU_LISTS));
    tcase_add_test(pure, refuses_a_depth_that_it_cannot_have);
    tcase_add_loop_test(tc, rate_is_exact, 0, (int)ARRAY_SIZE(RATES));
    tcase_add_test(tc, keeps_no_step_with_round_times);
    tcase_add_test(tc, costs_no_more_than_its_budget);
    tcase_add_test(tc, losses_are_told_by_set_and_process);
    tcase_add_test(tc, facts_of_a_sample);
    tcase_add_test(tc, filters);
    tcase_add_test(tc, takes_all_sets);
    tcase_add_test(tc, follows_processors);
    tcase_add_loop_test(tc, a_sample_counts_unloads, 0, (int)ARRAY_SIZE(COUNTS));
    tcase_add_test(tc, forgets_when_slots_begin_anew);
    tcase_add_test(tc, numbers_of_a_pid_namespace);
    return run_cases("sampler", pure, tc);
}
