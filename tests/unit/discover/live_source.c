/* SPDX-License-Identifier: Apache-2.0 */
#include "live_source.h"

#include "suite.h"

#include "base/clock.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned live_maps_opened, live_sideband_opened;
pid_t live_maps_parent;

static int open_of(const struct proc_id *id, const char *name, int *ret_fd)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", id->host_pid, name);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    return *ret_fd >= 0 ? 0 : errno == ENOENT || errno == ESRCH ? PROC_GONE : -errno;
}

/* Returns true if @pid runs and has another parent than live_maps_parent. */
static bool is_elsewhere(pid_t pid)
{
    char path[64];
    _cleanup_fclose_ FILE *f = NULL;
    int parent;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    f = fopen(path, "re");
    return f && fscanf(f, "%*d (%*[^)]) %*c %d", &parent) == 1 && parent != live_maps_parent;
}

static int live_maps(struct broker *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    unsigned *opened = (void *)ctx;

    (void)err;
    if (!live_maps_parent || !is_elsewhere(id->host_pid))
        (*opened)++;
    return open_of(id, "maps", ret_fd);
}

static int live_mem(struct broker *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)err;
    return open_of(id, "mem", ret_fd);
}

static int live_hsperfdata(struct broker *ctx, const struct proc_id *id, int *ret_fd,
                           struct error *err)
{
    (void)ctx;
    (void)id;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static int live_config(struct broker *ctx, const char *id, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)id;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static int live_logs(struct broker *ctx, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static int live_sideband(struct broker *ctx, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
                         struct error *err)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .sample_id_all = 1,
        .task = 1,
        .comm = 1,
        .comm_exec = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);

    (void)ctx;
    live_sideband_opened++;
    *ret_count = 0;
    for (int cpu = 0; cpu < cpus && cpu < BROKER_CPUS_MAX; cpu++) {
        int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

        if (fd < 0)
            return error_errno(err, "cannot open the process events of CPU %d", cpu);
        ret_fds[(*ret_count)++] = fd;
    }
    return 0;
}

const struct discover_source LIVE_SOURCE = {
    .maps = live_maps,
    .mem = live_mem,
    .hsperfdata = live_hsperfdata,
    .container_config = live_config,
    .container_logs = live_logs,
    .sideband = live_sideband,
};

int live_missing(void)
{
    int fds[BROKER_CPUS_MAX];
    struct error err = ERROR_NULL;
    size_t n;

    if (geteuid() != 0 || live_sideband(NULL, fds, &n, &err) < 0) {
        fprintf(stderr, "skipped: needs root and perf events%s%s\n", err.msg[0] ? ": " : "",
                err.msg);
        return 77;
    }
    while (n)
        close(fds[--n]);
    return 0;
}

struct discover *live_discover(int *ret_proc_fd, const char *proc)
{
    struct discover_opts opts = { .source = &LIVE_SOURCE, .source_ctx = &live_maps_opened };
    struct discover *d = NULL;

    *ret_proc_fd = opts.proc_fd = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(opts.proc_fd, 0);
    ck_assert_int_eq(discover_new(NULL, &opts, &d, NULL), 0);
    return d;
}

void live_nap(uint64_t ns)
{
    struct timespec ts = { .tv_sec = (time_t)(ns / NSEC_PER_SEC),
                           .tv_nsec = (long)(ns % NSEC_PER_SEC) };

    nanosleep(&ts, NULL);
}

pid_t live_start(const char *const *argv)
{
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);

        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test fails half-way */
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    ck_assert_int_gt(pid, 0);
    return pid;
}

void live_stop(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

void live_poll_for(struct discover *d, uint64_t ns)
{
    uint64_t until_ns = clock_monotonic_ns() + ns;

    while (clock_monotonic_ns() < until_ns) {
        discover_poll(d, clock_monotonic_ns());
        live_nap(10 * NSEC_PER_MSEC);
    }
    discover_poll(d, clock_monotonic_ns());
}
