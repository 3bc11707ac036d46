/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF sampler on the running kernel: exact rates, filters, pid namespaces. Needs root. */
#include "suite.h"

#include "sample/sampler.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "sample/cpu_abi.h"
#include "sample/sample.h"
#include "sample/sampler_alloc.h"
#include "sample/sampler_events.h"
#include "sample/sampler_shared.h"
#include "sample/stack_abi.h"
#include "unwind/unwind.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define RING_BYTES ((size_t)8 << 20)
#define PACED_NS NSEC_PER_MSEC
#define PACED_PAGES 16384u /* at a time, */
#define PACED_TIMES 24u    /* so often */

static struct sampler *sampler;
static struct ring *ring;
static struct error err;

static void open_sampler(int pid_ns_fd)
{
    size_t bytes;
    int fd;

    ck_assert_msg(sampler_new(pid_ns_fd, RING_BYTES, SAMPLE_USER_MAX, &sampler, &err) == 0, "%s",
                  err.msg);
    fd = sampler_ring_fd(sampler, &bytes);
    ck_assert_uint_eq(bytes, RING_BYTES);
    ck_assert_int_eq(ring_open(fd, bytes, &ring, &err), 0);
}

/* The kernel lowers what it allows by itself where interrupts take long, as they do on a busy
 * virtual machine; what these tests ask for is allowed again. */
static void allow_rates(void)
{
    static const char PATH[] = "/proc/sys/kernel/perf_event_max_sample_rate";
    char text[32] = "";
    _cleanup_close_ int fd = open(PATH, O_RDWR | O_CLOEXEC);

    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strtoul(text, NULL, 10) < 20000)
        ck_assert_int_eq(pwrite(fd, "100000", 6, 0), 6);
}

/* Loading takes the kernel's verifier half a second of CPU time: once for all tests. */
static void setup_once(void)
{
    err = ERROR_NULL;
    open_sampler(-1);
}

static void drain(void);

/* Nothing is left of the test before. */
static void setup(void)
{
    allow_rates();
    for (uint32_t set = 0; set < SAMPLER_SETS_MAX; set++)
        sampler_stop(sampler, set);
    sampler_filter_all(sampler, 0);
    drain();
}

static void teardown(void)
{
    ring = ring_close(ring);
    sampler = sampler_free(sampler);
}

/* fork(2), the child in @namespaces of its own. */
static pid_t fork_into(unsigned long namespaces)
{
    return (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, NULL, NULL, NULL, NULL);
}

/* A child that burns CPU on processor 0. Sampling goes by the clock while it is scheduled in, so
 * that is what it is held against: its CPU time leaves out what interrupts and hypervisors took. */
struct burner {
    pid_t pid;
    int clock_fd;
};

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

/* How long it was scheduled in since it was started. */
static uint64_t burner_ns(const struct burner *b)
{
    uint64_t ns;

    ck_assert_int_eq(read(b->clock_fd, &ns, sizeof(ns)), sizeof(ns));
    return ns;
}

/* Of its CPU time: the same, but for what a hypervisor took meanwhile, in which no timer fires. */
static uint64_t burner_cpu_ns(const struct burner *b)
{
    char path[64], text[128] = "";
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/schedstat", b->pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    ck_assert_int_gt(n, 0);
    return strtoull(text, NULL, 10);
}

static void end_burner(struct burner *b)
{
    kill(b->pid, SIGKILL);
    waitpid(b->pid, NULL, 0);
    close(b->clock_fd);
}

static struct {
    uint32_t pid;
    uint64_t weight[SAMPLER_SETS_MAX], value[SAMPLER_SETS_MAX], others, user_frames, last_ns;
    uint64_t start_boottime_ns;
    uint64_t ends[UNWIND_END_COUNT];
    uint32_t tid, exec_id;
    char comm[SAMPLE_COMM_BYTES];
} got;

static void take(void *cookie, const struct sample_record *rec, const uint64_t *frames)
{
    (void)cookie;
    if (rec->host_pid != got.pid) {
        got.others++;
        return;
    }
    ck_assert_uint_lt(rec->set, SAMPLER_SETS_MAX);
    got.weight[rec->set] += rec->weight;
    got.value[rec->set] += rec->value;
    got.tid = rec->host_tid;
    got.exec_id = rec->exec_id;
    got.start_boottime_ns = rec->start_boottime_ns;
    got.last_ns = rec->time_ns;
    memcpy(got.comm, rec->comm, sizeof(got.comm));
    got.user_frames += rec->user_count;
    ck_assert_uint_lt(rec->user_end, UNWIND_END_COUNT);
    got.ends[rec->user_end]++;
    if (rec->user_count)
        ck_assert_uint_ne(frames[rec->kernel_count], 0);
}

static void drain(void)
{
    while (ring_drain(ring, 10000, take, NULL) > 0)
        ;
}

/* Samples @b until it was scheduled in for @seconds, draining as flamed does. */
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

/* Rates that run at the same time, each of which must be exact. */
static const struct {
    uint32_t hz[SAMPLER_SETS_MAX];
} RATES[] = {
    { { 1, 99, 999, 10000 } },
    { { 49, 10000, 97, 7 } },
};

START_TEST(rate_is_exact)
{
    struct burner burner = start_burner();
    uint64_t before_ns, spent_ns, began_ns, before_cpu_ns, cpu_ns;
    double seconds;
    uint32_t sets[SAMPLER_SETS_MAX];
    struct sampler_stats stats;

    usleep(50000);
    for (size_t i = 0; i < SAMPLER_SETS_MAX && RATES[_i].hz[i]; i++)
        ck_assert_msg(
            sampler_start(sampler, EVENT_CPU, NSEC_PER_SEC / RATES[_i].hz[i], &sets[i], &err) == 0,
            "%s", err.msg);
    began_ns = clock_monotonic_ns();
    before_ns = burner_ns(&burner);
    before_cpu_ns = burner_cpu_ns(&burner);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, (1U << SAMPLER_SETS_MAX) - 1), 0);
    sample_for(&burner, 5);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 0), 0);
    spent_ns = burner_ns(&burner) - before_ns;
    cpu_ns = burner_cpu_ns(&burner) - before_cpu_ns;
    seconds = (double)(clock_monotonic_ns() - began_ns) / 1e9;
    drain();
    end_burner(&burner);
    sampler_stats(sampler, &stats);
    ck_assert_uint_eq(got.others, 0);
    ck_assert_uint_eq(stats.lost_ring, 0);
    ck_assert_uint_eq(ring_malformed(ring), 0);
    ck_assert_uint_gt(stats.time_ns, 0);
    for (size_t i = 0; i < SAMPLER_SETS_MAX && RATES[_i].hz[i]; i++) {
        double want = (double)spent_ns / 1e9 * RATES[_i].hz[i];
        double is = (double)got.weight[sets[i]], share = MIN((double)spent_ns / 1e9 / seconds, 1);
        /* Where others share the CPU, a tick hits the burner by chance. */
        double chance = 4 * sqrt(seconds * RATES[_i].hz[i] * share * (1 - share));
        double counted = is + (double)stats.lost_budget; /* what is left out is told */
        double least = MIN(want, (double)cpu_ns / 1e9 * RATES[_i].hz[i]);

        printf("%5u Hz: %.0f samples, %.1f to %.1f expected\n", RATES[_i].hz[i], is, least, want);
        ck_assert_msg(counted > least * 0.99 - 2 - chance && is < want * 1.01 + 2 + chance,
                      "%u Hz: %.0f samples, not %.0f to %.0f; %ju left out to save time",
                      RATES[_i].hz[i], is, least, want, (uintmax_t)stats.lost_budget);
    }
    printf("%.0f ns a sample in the program\n", (double)stats.time_ns / (double)stats.samples);
}
END_TEST

START_TEST(costs_no_more_than_its_budget)
{
    struct burner burner = start_burner();
    struct sampler_stats before, after;
    uint64_t began_ns = clock_monotonic_ns(), spent_ns, windows;
    uint32_t set;

    sampler_stats(sampler, &before);
    sampler_budget(sampler, 0); /* one sample, then none for the rest of the window */
    ck_assert_int_eq(sampler_start(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
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

START_TEST(facts_of_a_sample)
{
    struct burner burner = start_burner();
    uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME), now_ns, spent_ns;
    uint32_t set;

    ck_assert_int_eq(sampler_start(sampler, EVENT_CPU, 2 * NSEC_PER_MSEC, &set, &err), 0);
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
    ck_assert_uint_eq(got.user_frames, got.weight[set]); /* no tables: the leaf of each */
    ck_assert_int_eq(strncmp(got.comm, program_invocation_short_name, SAMPLE_COMM_BYTES - 1), 0);
}
END_TEST

START_TEST(filters)
{
    struct burner burner = start_burner();
    uint64_t before_ns;
    uint32_t set, other;

    ck_assert_int_eq(sampler_start(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(sampler_start(sampler, EVENT_CPU, 10 * NSEC_PER_MSEC, &other, &err), 0);
    sample_for(&burner, 0.2);
    ck_assert_uint_eq(got.weight[set] + got.weight[other] + got.others, 0); /* nobody asked */

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

    /* A set that starts under an old number knows nothing of the old one's processes. */
    ck_assert_int_eq(sampler_stop(sampler, set), 0);
    ck_assert_int_eq(sampler_stop(sampler, set), -ENOENT);
    ck_assert_int_eq(sampler_start(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
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
        ck_assert_int_eq(sampler_start(sampler, EVENT_CPU, NSEC_PER_SEC, &set, &err), 0);
    ck_assert_int_eq(sampler_start(sampler, EVENT_CPU, NSEC_PER_SEC, &set, &err), -EBUSY);
    ck_assert_int_eq(sampler_stop(sampler, 2), 0);
    ck_assert_int_eq(sampler_start(sampler, EVENT_CPU, NSEC_PER_SEC, &set, &err), 0);
    ck_assert_uint_eq(set, 2);
    ck_assert_int_eq(sampler_start(sampler, EVENT_CPU, 1000, &set, &err), -EINVAL);
    ck_assert_int_eq(sampler_filter_process(sampler, 0, 1), -EINVAL);
    ck_assert_int_eq(sampler_filter_process(sampler, 1, 1U << SAMPLER_SETS_MAX), -EINVAL);
}
END_TEST

/* The burner runs on processor 0: the set follows what it is told is online. */
START_TEST(follows_processors)
{
    struct burner burner = start_burner();
    uint32_t cpus[2] = { 0, 1 }, set;

    ck_assert_int_eq(sampler_start(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    ck_assert_int_eq(sampler_follow_cpus(sampler), 0); /* nothing has changed */
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

/* All that this process may execute, by one row. */
static void describe_burner(struct unwind_process *p, pid_t pid, uint32_t slot)
{
    *p = (struct unwind_process){ .slot = slot, .mapping_count = 1 };
    p->mappings[0] =
        (struct unwind_mapping){ .start = 4096, .end = UINT64_C(1) << 47, .row_count = 1 };
    ck_assert_int_eq(sampler_put_process(sampler, pid, p), 0);
}

/* What a walk remembered of a slot is gone when slots begin anew. */
START_TEST(forgets_when_slots_begin_anew)
{
    struct unwind_row root = { .base = UNWIND_BASE_ROOT },
                      wrong = { .base = UNWIND_BASE_SP_LOAD, .cfa = INT16_MAX };
    struct burner burner = start_burner();
    struct unwind_process p;
    uint32_t set;

    ck_assert_int_eq(sampler_start(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err), 0);
    ck_assert_int_eq(sampler_put_rows(sampler, 0, &root, 1), 0);
    describe_burner(&p, burner.pid, 9);
    ck_assert_int_eq(sampler_filter_process(sampler, burner.pid, 1U << set), 0);
    sample_for(&burner, 0.5);
    ck_assert_uint_gt(got.ends[UNWIND_END_ROOT], 20);
    ck_assert_int_eq(sampler_put_rows(sampler, 0, &wrong, 1), 0);
    describe_burner(&p, burner.pid, 9); /* the same slot: remembered, right or not */
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

/* A child that touches a page each time that it is told to, and answers. */
static pid_t start_toucher(int *ret_tell, int *ret_hear)
{
    int tell[2], hear[2];
    pid_t pid;

    ck_assert_int_eq(pipe(tell), 0);
    ck_assert_int_eq(pipe(hear), 0);
    pid = fork();
    if (pid == 0) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char told;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (read(tell[0], &told, 1) == 1) {
            char *pages = mmap(NULL, PACED_PAGES * page, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

            if (pages == MAP_FAILED)
                break;
            madvise(pages, PACED_PAGES * page, MADV_NOHUGEPAGE);
            for (size_t i = 0; i < PACED_PAGES; i++)
                pages[i * page] = 1;
            munmap(pages, PACED_PAGES * page);
            if (write(hear[1], &told, 1) != 1)
                break;
        }
        _exit(0);
    }
    close(tell[0]);
    close(hear[1]);
    *ret_tell = tell[1];
    *ret_hear = hear[0];
    return pid;
}

/* What hz of an event that counts comes to: by the BPF program's own count, and by what the kernel
 * says with each sample, as for counters of the processor, which few test machines have. */
static const struct {
    const char *what;
    bool picks;
    double least, most; /* of the sum: the kernel samples all processes of a CPU together */
} PACES[] = {
    { "the program picks", true, 0.98, 1.02 },
    { "the kernel steers", false, 0.25, 4 },
};

START_TEST(paced)
{
    struct sampler_event event;
    int tell, hear, status;
    pid_t toucher = start_toucher(&tell, &hear);
    uint32_t set;
    unsigned pages = PACED_PAGES * PACED_TIMES;
    char c = 'x';

    ck_assert_int_eq(sampler_describe(EVENT_PAGE_FAULTS, SPAN_NULL, -1, &event, &err), 0);
    event.picks = PACES[_i].picks;
    ck_assert_msg(sampler_start_event(sampler, &event, EVENT_PACED | PACED_NS, &set, &err) == 0,
                  "%s", err.msg);
    ck_assert_int_eq(sampler_filter_process(sampler, toucher, 1U << set), 0);
    for (unsigned i = 0; i < PACED_TIMES; i++) {
        ck_assert_int_eq(write(tell, &c, 1), 1);
        ck_assert_int_eq(read(hear, &c, 1), 1);
    }
    memset(&got, 0, sizeof(got));
    got.pid = (uint32_t)toucher;
    drain();
    printf("%s: %llu of %u in %llu samples\n", PACES[_i].what, (unsigned long long)got.value[set],
           pages, (unsigned long long)got.weight[set]);
    ck_assert_uint_lt(got.weight[set], pages / 2);
    ck_assert_double_ge((double)got.value[set] / pages, PACES[_i].least);
    ck_assert_double_le((double)got.value[set] / pages, PACES[_i].most);
    ck_assert_int_eq(sampler_stop(sampler, set), 0);
    close(tell);
    close(hear);
    kill(toucher, SIGKILL);
    ck_assert_int_eq(waitpid(toucher, &status, 0), toucher);
}
END_TEST

/* What a pace is of, and what not. */
START_TEST(paces_that_cannot_be)
{
    ck_assert(event_period_valid(EVENT_CYCLES, EVENT_PACED | PACED_NS));
    ck_assert(event_period_valid(EVENT_FUNCTION, EVENT_PACED | PACED_NS));
    ck_assert(!event_period_valid(EVENT_CPU, EVENT_PACED | PACED_NS));
    ck_assert(!event_period_valid(EVENT_SAFEPOINT, EVENT_PACED | PACED_NS));
    ck_assert(!event_period_valid(EVENT_ALLOC, EVENT_PACED | PACED_NS));
    ck_assert(!event_period_valid(EVENT_MALLOC, EVENT_PACED | PACED_NS));
    ck_assert(!event_period_valid(EVENT_CYCLES, EVENT_PACED));
    ck_assert(!event_period_valid(EVENT_CYCLES, EVENT_PACED | (EVENT_PERIOD_MIN_NS - 1)));
    ck_assert(!event_period_valid(EVENT_KINDS_ALL, EVENT_PACED | PACED_NS));
}
END_TEST

/* A child that makes some system calls when it is told to. */
static pid_t start_caller(int *ret_tell, int *ret_hear)
{
    int tell[2], hear[2];
    pid_t pid;

    ck_assert_int_eq(pipe(tell), 0);
    ck_assert_int_eq(pipe(hear), 0);
    pid = fork();
    if (pid == 0) {
        char calls;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (read(tell[0], &calls, 1) == 1) {
            for (int i = 0; i < 1000; i++)
                syscall(SYS_getppid);
            if (write(hear[1], &calls, 1) != 1)
                break;
        }
        _exit(0);
    }
    close(tell[0]);
    close(hear[1]);
    *ret_tell = tell[1];
    *ret_hear = hear[0];
    return pid;
}

/* Mounts tracefs, for this program alone, where it is not. */
static void mount_tracefs(void)
{
    if (access("/sys/kernel/tracing/events", F_OK) < 0 && unshare(CLONE_NEWNS) == 0 &&
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        mount("none", "/sys/kernel/tracing", "tracefs", 0, NULL);
}

/* Every hit of the wanted process, and none of another's; at an interval as many by value. */
START_TEST(tracepoints)
{
    struct sampler_points *points;
    struct sampler_event event;
    int tell, hear, r, status;
    pid_t caller = start_caller(&tell, &hear), other;
    uint32_t each, tenth;
    char c = 'x';

    other = start_caller(&(int){ -1 }, &(int){ -1 });
    mount_tracefs();
    r = sampler_describe(EVENT_KINDS_ALL, SPAN("syscalls:sys_enter_getppid"), -1, &event, &err);
    if (r == -ENOENT) { /* tracefs is not mounted, or the kernel has none of these */
        ck_assert_ptr_nonnull(strstr(err.msg, "tracepoint"));
        ck_assert_int_ne(err.remedy[0], '\0');
    } else {
        uint64_t began_ns = clock_monotonic_ns();

        ck_assert_msg(r == 0, "%s", err.msg);
        ck_assert_int_eq(sampler_start_event(sampler, &event, 1, &each, &err), -ENOSYS);
        ck_assert_int_eq(sampler_points_new(sampler, &points, &err), 0);
        ck_assert_msg(sampler_points_load(points, &err) == 0, "%s", err.msg);
        sampler_take_points(sampler, points);
        ck_assert_msg(sampler_start_event(sampler, &event, 1, &each, &err) == 0, "%s", err.msg);
        printf("%.1f ms until tracepoints can be sampled\n",
               (double)(clock_monotonic_ns() - began_ns) / 1e6);
        ck_assert_int_eq(sampler_start_event(sampler, &event, 10, &tenth, &err), -EEXIST);
        ck_assert_int_eq(sampler_filter_process(sampler, caller, 1U << each), 0);
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(write(tell, &c, 1), 1);
            ck_assert_int_eq(read(hear, &c, 1), 1);
        }
        sampler_set_cpus(sampler, &(uint32_t){ 0 }, 1); /* it is not one of a CPU */
        ck_assert_int_eq(write(tell, &c, 1), 1);
        ck_assert_int_eq(read(hear, &c, 1), 1);
        memset(&got, 0, sizeof(got));
        got.pid = (uint32_t)caller;
        drain();
        ck_assert_uint_eq(got.weight[each], 4000);
        ck_assert_uint_eq(got.others, 0);
        sampler_follow_cpus(sampler);
        ck_assert_int_eq(sampler_stop(sampler, each), 0);
        ck_assert_int_eq(sampler_start_event(sampler, &event, 10, &tenth, &err), 0);
        ck_assert_int_eq(sampler_filter_process(sampler, caller, 1U << tenth), 0);
        ck_assert_int_eq(write(tell, &c, 1), 1);
        ck_assert_int_eq(read(hear, &c, 1), 1);
        memset(&got, 0, sizeof(got));
        got.pid = (uint32_t)caller;
        drain();
        ck_assert_uint_ge(got.weight[tenth], 100 - 2);
        ck_assert_uint_le(got.weight[tenth], 100 + 2);
        ck_assert_uint_eq(got.others, 0);
    }
    kill(caller, SIGKILL);
    kill(other, SIGKILL);
    ck_assert_int_eq(waitpid(caller, &status, 0), caller);
    ck_assert_int_eq(waitpid(other, &status, 0), other);
    close(tell);
    close(hear);
}
END_TEST

/* A process where no probe could be put is not counted, and takes no place of those that are. */
START_TEST(counts_no_mallocs_without_a_probe)
{
    struct sampler_shared shared = SAMPLER_SHARED_NONE;
    struct sampler_alloc *alloc = NULL;
    uint64_t calls;
    int pid = getpid();

    ck_assert_int_eq(sampler_share(sampler, &shared), 0);
    if (sampler_alloc_new(&shared, &alloc, &err) == 0) { /* else it says why, elsewhere */
        ck_assert_int_eq(sampler_alloc_malloc(alloc, pid, 0, -1, 0, ALLOC_MALLOC_FIRST, &err),
                         -EAGAIN);
        ck_assert_int_eq(sampler_alloc_mallocs(alloc, pid, &calls), -ENOENT);
        ck_assert_int_eq(sampler_alloc_start_calls(alloc, 0, 1), 0);
        ck_assert_int_lt(sampler_alloc_malloc(alloc, pid, 0, -1, 0, ALLOC_MALLOC_FIRST, &err), 0);
        ck_assert_int_eq(sampler_alloc_mallocs(alloc, pid, &calls), -ENOENT);
    }
    sampler_alloc_free(alloc);
    sampler_shared_close(&shared);
}
END_TEST

/* From inside a pid namespace that holds another one, both are numbered as the outer one sees them.
 */
START_TEST(numbers_of_a_pid_namespace)
{
    pid_t outer = fork_into(CLONE_NEWPID); /* pid 1 of the outer namespace: our sampler */
    int status;

    ck_assert_int_ge(outer, 0);
    if (outer == 0) {
        struct burner inner;
        uint32_t set;
        _cleanup_close_ int ns = open("/proc/thread-self/ns/pid", O_RDONLY | O_CLOEXEC);

        if (getpid() != 1)
            _exit(2);
        inner = start_burner_in(CLONE_NEWPID); /* pid 1 of the inner namespace, 2 as we see it */
        if (ns < 0)
            _exit(3);
        teardown();
        open_sampler(ns);
        if (sampler_start(sampler, EVENT_CPU, NSEC_PER_MSEC, &set, &err) < 0)
            _exit(4);
        if (sampler_filter_process(sampler, inner.pid, 1U << set) < 0)
            _exit(5);
        sample_for(&inner, 0.3);
        if (inner.pid != 2 || got.tid != 2 || got.weight[set] < 10 || got.others)
            _exit(6);
        /* Everybody: those outside are counted, not shown. */
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
    Suite *s = suite_create("sampler");
    TCase *pure = tcase_create("pure"), *tc = tcase_create("kernel");

    if (geteuid() != 0) {
        fprintf(stderr, "needs root\n");
        return 77;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    tcase_add_loop_test(pure, parses_cpu_lists, 0, (int)ARRAY_SIZE(CPU_LISTS));
    tcase_add_unchecked_fixture(tc, setup_once, teardown);
    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, rate_is_exact, 0, (int)ARRAY_SIZE(RATES));
    tcase_add_test(tc, costs_no_more_than_its_budget);
    tcase_add_test(tc, facts_of_a_sample);
    tcase_add_test(tc, filters);
    tcase_add_test(tc, takes_all_sets);
    tcase_add_test(tc, follows_processors);
    tcase_add_test(tc, forgets_when_slots_begin_anew);
    tcase_add_test(pure, refuses_a_depth_that_it_cannot_have);
    tcase_add_loop_test(tc, paced, 0, (int)ARRAY_SIZE(PACES));
    tcase_add_test(pure, paces_that_cannot_be);
    tcase_add_test(tc, tracepoints);
    tcase_add_test(tc, counts_no_mallocs_without_a_probe);
    tcase_add_test(tc, numbers_of_a_pid_namespace);
    suite_add_tcase(s, pure);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
