/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF sampler on the running kernel, loaded once, with the samples received. For
 * test_sampler*.c; needs root. */
#pragma once

#include "suite.h"

#include "base/cleanup.h"
#include "sample/sample.h"
#include "sample/sampler.h"
#include "unwind/unwind.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_BYTES ((size_t)8 << 20)

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

/* Raises the kernel's limit of the sample rate. The kernel lowers it if interrupts take long, as on
 * a busy virtual machine. */
static void allow_rates(void)
{
    static const char PATH[] = "/proc/sys/kernel/perf_event_max_sample_rate";
    char text[32] = "";
    _cleanup_close_ int fd = open(PATH, O_RDWR | O_CLOEXEC);

    if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strtoul(text, NULL, 10) < 20000)
        ck_assert_int_eq(pwrite(fd, "100000", 6, 0), 6);
}

#define PHASE_NS (10 * NSEC_PER_MSEC)

static struct {
    uint32_t pid;
    uint32_t phases[10]; /* samples by tenth of PHASE_NS */
    uint64_t weight[SAMPLER_SETS_MAX], value[SAMPLER_SETS_MAX], others, samples, user_frames,
        last_ns;
    uint64_t start_boottime_ns, unloads;
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
    got.samples++;
    got.weight[rec->set] += rec->weight;
    got.value[rec->set] += rec->value;
    got.tid = rec->host_tid;
    got.exec_id = rec->exec_id;
    got.start_boottime_ns = rec->start_boottime_ns;
    got.last_ns = rec->time_ns;
    got.unloads = rec->unloads;
    got.phases[rec->time_ns % PHASE_NS * ARRAY_SIZE(got.phases) / PHASE_NS]++;
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

/* Loads the programs once for all tests: the kernel's verifier needs half a second of CPU time. */
static void setup_once(void)
{
    err = ERROR_NULL;
    open_sampler(-1);
}

/* Removes everything that the test before left. */
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

/* Runs @pure, and @kernel with a sampler. Returns 77 without root. */
static inline int run_cases(const char *name, TCase *pure, TCase *kernel)
{
    Suite *s = suite_create(name);

    if (geteuid() != 0) {
        fprintf(stderr, "needs root\n");
        return 77;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    tcase_add_unchecked_fixture(kernel, setup_once, teardown);
    tcase_add_checked_fixture(kernel, setup, NULL);
    tcase_set_timeout(kernel, 100);
    suite_add_tcase(s, pure);
    suite_add_tcase(s, kernel);
    return suite_run(s);
}
