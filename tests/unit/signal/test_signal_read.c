/* SPDX-License-Identifier: Apache-2.0 */
/* The files of /proc and of cgroups, as numbers. */
#include "suite.h"

#include "signal/read.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define PRESSURE                                                                                   \
    "some avg10=1.00 avg60=0.50 avg300=0.10 total=1234567\nfull avg10=0.00 avg60=0.00 "            \
    "avg300=0.00 total=99\n"

START_TEST(reads_fields)
{
    double v = -1;

    ck_assert(read_field(SPAN("a 1\nnr_throttled 17\nb 2\n"), "nr_throttled", &v));
    ck_assert_double_eq(v, 17);
    ck_assert(!read_field(SPAN("nr_throttled_much 17\n"), "nr_throttled", &v));
    ck_assert(!read_field(SPAN("nr_throttled x\n"), "nr_throttled", &v));
    ck_assert(!read_field(SPAN(""), "nr_throttled", &v));
    ck_assert(read_pressure(SPAN(PRESSURE), &v));
    ck_assert_double_eq(v, 1234567e3);
    ck_assert(!read_pressure(SPAN("some avg10=1.00\n"), &v));
    ck_assert(!read_pressure(SPAN("full total=5\n"), &v));
}
END_TEST

static int file_with(const char *text)
{
    char path[] = "/tmp/flamed-test-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    unlink(path);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    return fd;
}

/* Files of cgroups of version 2, then of version 1. */
static const struct {
    const char *cpu, *kills, *swap;
} VERSIONS[] = {
    { "usage_usec 5\nnr_periods 40\nnr_throttled 30\nthrottled_usec 2500\n",
      "low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\n", "3145728\n" },
    { "nr_periods 40\nnr_throttled 30\nthrottled_time 2500000\n",
      "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
      "cache 7\nswap 4096\nhierarchical_memsw_limit 5242880\ntotal_swap 3145728\n" },
};

static int refused_fd = -1, refusal; /* pread() of this descriptor fails with this errno */

ssize_t __real_pread(int fd, void *buf, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t at);

ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t at)
{
    if (fd != refused_fd)
        return __real_pread(fd, buf, size, at);
    errno = refusal;
    return -1;
}

/* A kernel before Linux 6.1 has pressure files even if PSI is off, as in RHEL 9. It refuses to read
 * them (psi_show() in kernel/sched/psi.c). */
START_TEST(reads_a_cgroup_without_pressure)
{
    struct broker_cgroup_files f;
    struct number_reading r;

    for (size_t i = 0; i < BROKER_CGROUP_FILES; i++)
        f.fds[i] = -1;
    f.cpu_limit = f.memory_limit = 0;
    f.fds[BROKER_CGROUP_KILLS] = file_with(VERSIONS[0].kills);
    f.fds[BROKER_CGROUP_MEMORY_PRESSURE] = refused_fd = file_with(PRESSURE);
    refusal = EOPNOTSUPP;
    reading_clear(&r);
    ck_assert(read_cgroup(&f, &r));
    ck_assert_double_eq(r.v[NUMBER_OOM_KILLS], 2);
    ck_assert(isnan(r.v[NUMBER_MEMORY_PRESSURE_NS]));
    refused_fd = f.fds[BROKER_CGROUP_KILLS];
    ck_assert(!read_cgroup(&f, &r)); /* only pressure may be missing */
    refusal = ENODEV;                /* the cgroup was removed */
    ck_assert(!read_cgroup(&f, &r));
    refused_fd = -1;
    cgroup_files_close(&f);
}
END_TEST

START_TEST(reads_a_cgroup)
{
    struct broker_cgroup_files f = { .cpu_limit = 1500,
                                     .memory_limit = 64 << 20,
                                     .swap_limit = 5 << 20 };
    struct number_reading r;
    uint64_t cgroup[2];
    int other;

    for (size_t i = 0; i < BROKER_CGROUP_FILES; i++)
        f.fds[i] = -1;
    f.fds[BROKER_CGROUP_CPU] = file_with(VERSIONS[_i].cpu);
    f.fds[BROKER_CGROUP_KILLS] = file_with(VERSIONS[_i].kills);
    f.fds[BROKER_CGROUP_MEMORY_PRESSURE] = file_with(PRESSURE);
    f.fds[BROKER_CGROUP_SWAP] = file_with(VERSIONS[_i].swap);
    for (int again = 0; again < 2; again++) {
        reading_clear(&r);
        ck_assert(read_cgroup(&f, &r));
        ck_assert_double_eq(r.v[NUMBER_CPU_LIMIT], 1.5);
        ck_assert_double_eq(r.v[NUMBER_MEMORY_LIMIT_BYTES], 64 << 20);
        ck_assert_double_eq(r.v[NUMBER_SWAP_LIMIT_BYTES], 5 << 20);
        ck_assert_double_eq(r.v[NUMBER_SWAP_USED_BYTES], 3 << 20);
        ck_assert_double_eq(r.v[NUMBER_PERIODS], 40);
        ck_assert_double_eq(r.v[NUMBER_PERIODS_THROTTLED], 30);
        ck_assert_double_eq(r.v[NUMBER_THROTTLED_NS], 2.5e6);
        ck_assert_double_eq(r.v[NUMBER_OOM_KILLS], 2);
        ck_assert_double_eq(r.v[NUMBER_MEMORY_PRESSURE_NS], 1234567e3);
        cgroup[again] = r.cgroup;
    }
    ck_assert_uint_eq(cgroup[0], cgroup[1]);
    other = file_with(PRESSURE);
    close(f.fds[BROKER_CGROUP_MEMORY_PRESSURE]);
    f.fds[BROKER_CGROUP_MEMORY_PRESSURE] = other; /* of another cgroup */
    ck_assert(read_cgroup(&f, &r));
    ck_assert_uint_ne(r.cgroup, cgroup[0]);
    close(f.fds[BROKER_CGROUP_MEMORY_PRESSURE]);
    f.fds[BROKER_CGROUP_MEMORY_PRESSURE] = -1;
    ck_assert(read_cgroup(&f, &r));
    ck_assert_uint_ne(r.cgroup, cgroup[0]);
    close(f.fds[BROKER_CGROUP_CPU]);
    f.fds[BROKER_CGROUP_CPU] = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert(!read_cgroup(&f, &r)); /* the cgroup was removed */
    cgroup_files_close(&f);
    ck_assert_int_eq(f.fds[BROKER_CGROUP_KILLS], -1);
}
END_TEST

START_TEST(reads_this_process)
{
    struct process p = { .id = { .host_pid = getpid() } };
    int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct number_reading r;

    reading_clear(&r);
    ck_assert_int_eq(proc_read_start(proc, getpid(), &p.id.start_ticks), 0);
    ck_assert_int_eq(read_process(proc, &p, &r), 0);
    ck_assert_double_ge(r.v[NUMBER_THREADS], 1);
    ck_assert_double_gt(r.v[NUMBER_RSS_BYTES], 0);
    read_limits(proc, &p, &r);
    ck_assert_double_gt(r.v[NUMBER_DESCRIPTORS_MAX], 0);
    if (!isnan(r.v[NUMBER_DESCRIPTORS])) /* known since Linux 6.2 */
        ck_assert_double_ge(r.v[NUMBER_DESCRIPTORS], 3);
    read_threads(proc, &p, &r);
    read_node(proc, &r);
    ck_assert_double_ge(r.v[NUMBER_NODE_SWAP_BYTES], 0);
    ck_assert_double_ge(r.v[NUMBER_NODE_SWAP_FREE_BYTES], 0);
    r.v[NUMBER_NODE_SWAP_BYTES] = r.v[NUMBER_SWAP_BYTES] = 0;
    r.v[NUMBER_KEPT_BYTES] = (double)NAN; /* the node may swap */
    ck_assert_int_eq(read_process(proc, &p, &r), 0);
    ck_assert_double_eq(r.v[NUMBER_SWAP_BYTES], 0);
    ck_assert(isnan(r.v[NUMBER_KEPT_BYTES]));
    r.v[NUMBER_MEMORY_LIMIT_BYTES] = r.v[NUMBER_RSS_BYTES];
    ck_assert_int_eq(read_process(proc, &p, &r), 0);
    ck_assert_double_gt(r.v[NUMBER_KEPT_BYTES], 0);
    ck_assert_double_le(r.v[NUMBER_KEPT_BYTES], 1.1 * r.v[NUMBER_RSS_BYTES]);
    ck_assert_double_ge(r.v[NUMBER_NODE_CPUS], 1);
    ck_assert_double_gt(r.v[NUMBER_NODE_MEMORY_BYTES], r.v[NUMBER_NODE_AVAILABLE_BYTES]);
    p.id.start_ticks++;
    ck_assert_int_eq(read_process(proc, &p, &r), PROC_GONE);
    close(proc);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("read");

    tcase_add_test(tc, reads_fields);
    tcase_add_loop_test(tc, reads_a_cgroup, 0, ARRAY_SIZE(VERSIONS));
    tcase_add_test(tc, reads_a_cgroup_without_pressure);
    tcase_add_test(tc, reads_this_process);
    return suite_run_case("read", tc);
}
