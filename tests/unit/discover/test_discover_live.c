/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discover/ on the machine it runs on: real side-band records, a storm of execs, nested pid
 * namespaces, hidepid, a real JVM. Opens perf events and other users' files itself, as
 * flamed-broker would; needs root.
 */
#include "suite.h"

#include "discover/table.h"

#include "base/clock.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define JAVA_17 "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
#define JAVA_25 "/usr/lib/jvm/temurin-25-jdk-amd64/bin/java"

/* ---- what the broker would do ---- */

static int open_of(const struct proc_id *id, const char *name, int *ret_fd)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", id->host_pid, name);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    return *ret_fd >= 0 ? 0 : errno == ENOENT || errno == ESRCH ? PROC_GONE : -errno;
}

static int live_maps(void *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    unsigned *opened = ctx;

    (void)err;
    (*opened)++;
    return open_of(id, "maps", ret_fd);
}

static int live_mem(void *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)err;
    return open_of(id, "mem", ret_fd);
}

static int live_hsperfdata(void *ctx, const struct proc_id *id, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)id;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static int live_config(void *ctx, const char *id, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)id;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static int live_logs(void *ctx, int *ret_fd, struct error *err)
{
    (void)ctx;
    (void)ret_fd;
    (void)err;
    return BROKER_ABSENT;
}

static unsigned sideband_opened;

static int live_sideband(void *ctx, int ret_fds[BROKER_CPUS_MAX], size_t *ret_count,
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
    sideband_opened++;
    *ret_count = 0;
    for (int cpu = 0; cpu < cpus && cpu < BROKER_CPUS_MAX; cpu++) {
        int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

        if (fd < 0)
            return error_errno(err, "cannot open the process events of CPU %d", cpu);
        ret_fds[(*ret_count)++] = fd;
    }
    return 0;
}

static const struct discover_source SOURCE = {
    .maps = live_maps,
    .mem = live_mem,
    .hsperfdata = live_hsperfdata,
    .container_config = live_config,
    .container_logs = live_logs,
    .sideband = live_sideband,
};

static unsigned maps_opened;

static struct discover *make(int *ret_proc_fd, const char *proc)
{
    struct discover_opts opts = { .source = &SOURCE, .source_ctx = &maps_opened };
    struct discover *d = NULL;

    *ret_proc_fd = opts.proc_fd = open(proc, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(opts.proc_fd, 0);
    ck_assert_int_eq(discover_new(NULL, &opts, &d, NULL), 0);
    return d;
}

static void nap(uint64_t ns)
{
    struct timespec ts = { .tv_sec = (time_t)(ns / NSEC_PER_SEC),
                           .tv_nsec = (long)(ns % NSEC_PER_SEC) };

    nanosleep(&ts, NULL);
}

/* Starts a program with its output thrown away. */
static pid_t start(const char *const *argv)
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

static void stop(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Once more when the time is over, too: where the machine stood still meanwhile, that is the only
 * one. */
static void poll_for(struct discover *d, uint64_t ns)
{
    uint64_t until_ns = clock_monotonic_ns() + ns;

    while (clock_monotonic_ns() < until_ns) {
        discover_poll(d, clock_monotonic_ns());
        nap(10 * NSEC_PER_MSEC);
    }
    discover_poll(d, clock_monotonic_ns());
}

START_TEST(follows_an_exec)
{
    const char *const argv[] = { "sh", "-c", "sleep 2; exec sleep 30", NULL };
    _cleanup_close_ int proc_fd = -1;
    struct discover *d = make(&proc_fd, "/proc");
    struct process *sh, *sleeping;
    uint64_t seen_ns, started_ns, stopped_ns;
    pid_t pid;
    bool kept;

    ck_assert_str_eq(discover_problem(d), "");
    started_ns = clock_monotonic_ns();
    pid = start(argv);
    do { /* until it is sh, and no more a copy of this test */
        nap(10 * NSEC_PER_MSEC);
        discover_poll(d, clock_monotonic_ns());
        sh = discover_find(d, pid);
        seen_ns = clock_monotonic_ns(); /* after that: the exec may have been told just then */
        ck_assert_ptr_nonnull(sh);
    } while (strcmp(sh->command, "sh") != 0);
    ck_assert_str_eq(sh->command, "sh");
    ck_assert_uint_eq(sh->id.exec_no, 1); /* the exec of sh itself was noted */
    ck_assert_uint_gt(sh->exec_time_ns, started_ns);
    ck_assert_uint_lt(sh->exec_time_ns, seen_ns);
    process_pin(sh);
    for (int i = 0; i < 1000 && !sh->exited; i++)
        poll_for(d, 10 * NSEC_PER_MSEC);
    sleeping = discover_find(d, pid);
    ck_assert_ptr_nonnull(sleeping);
    ck_assert_ptr_ne(sh, sleeping);
    ck_assert(sh->exited);
    ck_assert_str_eq(sh->command, "sh");
    ck_assert_str_eq(sleeping->command, "sleep");
    ck_assert_str_eq(sleeping->comm, "sleep");
    ck_assert_uint_eq(sleeping->id.start_ticks, sh->id.start_ticks);
    ck_assert_uint_eq(sleeping->id.exec_no, 2);
    ck_assert_ptr_eq(
        discover_get(d, pid, sh->id.start_ticks * DISCOVER_NS_PER_TICK, 0, seen_ns, "x"), sh);
    process_unpin(sh);
    stopped_ns = clock_monotonic_ns();
    stop(pid);
    poll_for(d, 50 * NSEC_PER_MSEC);
    ck_assert_ptr_null(discover_find(d, pid));
    kept = table_newest(d, pid) != NULL; /* for 2 s, which a machine can stand still for */
    ck_assert(kept || clock_monotonic_ns() - stopped_ns >= DISCOVER_KEEP_NS);
    poll_for(d, 2300 * NSEC_PER_MSEC);
    ck_assert_ptr_null(table_newest(d, pid));
    discover_free(d);
}
END_TEST

START_TEST(finds_what_nobody_asked_for)
{
    const char *const argv[] = { "sleep", "30", NULL };
    _cleanup_close_ int proc_fd = -1;
    struct discover *d = make(&proc_fd, "/proc");
    pid_t pid;

    discover_sweep(d);
    pid = start(argv);
    ck_assert_ptr_null(table_newest(d, pid));
    for (int i = 0; i < 200 && !table_newest(d, pid); i++)
        poll_for(d, 10 * NSEC_PER_MSEC);
    ck_assert_ptr_nonnull(table_newest(d, pid));
    ck_assert_str_eq(table_newest(d, pid)->p.command, "sleep");
    stop(pid);
    discover_free(d);
}
END_TEST

#ifdef __SANITIZE_ADDRESS__ /* which keeps what was freed */
#define RSS_MORE_PAGES 16384
#else
#define RSS_MORE_PAGES 256
#endif

static uint64_t rss_pages(void)
{
    _cleanup_fclose_ FILE *f = fopen("/proc/self/statm", "re");
    unsigned long size = 0, rss = 0;

    ck_assert(f && fscanf(f, "%lu %lu", &size, &rss) == 2);
    return rss;
}

static uint64_t own_cpu_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* As many short-lived processes as one shell-like parent can make. */
static void storm(uint64_t ns)
{
    const char *const argv[] = { "/bin/true", NULL };
    uint64_t until_ns = clock_monotonic_ns() + ns;

    while (clock_monotonic_ns() < until_ns) {
        pid_t pid = vfork();

        if (pid == 0) {
            execv(argv[0], (char *const *)(uintptr_t)argv);
            _exit(127);
        }
        if (pid > 0)
            waitpid(pid, NULL, 0);
    }
    _exit(0);
}

START_TEST(stays_flat_in_a_storm_of_execs)
{
    _cleanup_close_ int proc_fd = -1;
    struct discover *d = make(&proc_fd, "/proc");
    uint64_t rss_before, cpu_before, records, execs, cpu_ns;
    struct discover_stats stats;
    size_t count_before;
    pid_t parent;

    discover_sweep(d);
    poll_for(d, 100 * NSEC_PER_MSEC);
    count_before = d->count;
    parent = fork();
    if (parent == 0)
        storm(4 * NSEC_PER_SEC);
    poll_for(d, NSEC_PER_SEC);
    rss_before = rss_pages();
    cpu_before = own_cpu_ns();
    discover_stats(d, &stats);
    records = stats.sideband_records;
    maps_opened = 0;
    poll_for(d, 2500 * NSEC_PER_MSEC);
    discover_stats(d, &stats);
    cpu_ns = own_cpu_ns() - cpu_before;
    execs = (stats.sideband_records - records) / 3;
    printf("%llu execs/s, %llu ns of CPU for each, %zu entries\n",
           (unsigned long long)(execs * 10 / 25), (unsigned long long)(execs ? cpu_ns / execs : 0),
           d->count);
    ck_assert_uint_gt(execs,
                      50); /* as many as the machine makes; test_discover_limits.c has 200,000 */
    ck_assert_uint_eq(stats.sideband_lost, 0);
    ck_assert_uint_lt(d->count, count_before + 50);
    ck_assert_uint_lt(maps_opened, 100);
    ck_assert_uint_lt(rss_pages(), rss_before + RSS_MORE_PAGES);
    waitpid(parent, NULL, 0);
    discover_free(d);
}
END_TEST

/* A child process of @pid, or 0. */
static pid_t child_of(pid_t pid)
{
    char path[64];
    _cleanup_fclose_ FILE *f = NULL;
    int child = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
    f = fopen(path, "re");
    return f && fscanf(f, "%d", &child) == 1 ? child : 0;
}

START_TEST(knows_nested_pid_namespaces)
{
    const char *const argv[] = {
        "unshare",      "-mpf",         "--kill-child", "--mount-proc", "unshare", "-pf",
        "--kill-child", "--mount-proc", "sleep",        "30",           NULL
    };
    _cleanup_close_ int proc_fd = -1;
    struct discover *d = make(&proc_fd, "/proc");
    pid_t outer = start(argv), inner = 0, pid = 0;
    struct process *p = NULL;

    for (int i = 0; i < 100 && !p; i++) {
        nap(20 * NSEC_PER_MSEC);
        inner = child_of(outer);
        pid = inner ? child_of(inner) : 0;
        p = pid ? discover_find(d, pid) : NULL;
        /* 0: it was looked at in the middle of its exec, and is looked at again */
        if (p && (strcmp(p->command, "sleep") != 0 || p->ns_depth == 0))
            p = NULL;
    }
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq(p->ns_depth, 3);
    ck_assert_int_eq(p->ns_pid[0], pid);
    ck_assert_int_eq(p->ns_pid[1], 2);
    ck_assert_int_eq(p->ns_pid[2], 1);
    ck_assert_int_eq(p->container_uid, 0);
    stop(outer);
    discover_free(d);
}
END_TEST

/* Runs as another user over a /proc mounted with hidepid. 0 if the problem is said. */
static int hidden_proc(const char *folder)
{
    struct discover_opts opts = { .source = &SOURCE, .source_ctx = &maps_opened };
    struct discover *d = NULL;

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", folder, "proc", 0, "hidepid=2") < 0)
        return 2;
    opts.proc_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (setgid(65534) < 0 || setuid(65534) < 0 || discover_new(NULL, &opts, &d, NULL) < 0)
        return 3;
    return strstr(discover_problem(d), "hidepid") ? 0 : 4;
}

START_TEST(says_that_proc_hides_processes)
{
    char folder[] = "/tmp/flamed-test-XXXXXX";
    int status;
    pid_t pid;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chmod(folder, 0755), 0);
    pid = fork();
    if (pid == 0)
        _exit(hidden_proc(folder));
    waitpid(pid, &status, 0);
    rmdir(folder);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

START_TEST(knows_a_zombie)
{
    _cleanup_close_ int proc_fd = -1;
    struct discover *d = make(&proc_fd, "/proc");
    struct process *p;
    pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
    p = discover_find(d, pid);
    ck_assert(p && p->zombie && p->jvm == JVM_NO);
    waitpid(pid, NULL, 0);
    discover_free(d);
}
END_TEST

static const char *const JVMS[] = { JAVA_17, JAVA_25 };

START_TEST(opens_a_jvm)
{
    const char *const argv[] = { JVMS[_i],
                                 "-Xmx32m",
                                 "-Dpassword=hunter2",
                                 "-XX:+PreserveFramePointer",
                                 "-XX:+DisableAttachMechanism",
                                 "sun.rmi.registry.RegistryImpl",
                                 "0",
                                 "--token=hunter 2",
                                 NULL };
    _cleanup_close_ int proc_fd = -1;
    struct process_usage usage;
    struct process *p = NULL;
    struct discover *d;
    uint64_t t;
    pid_t pid;

    if (access(JVMS[_i], X_OK) < 0)
        return;
    d = make(&proc_fd, "/proc");
    pid = start(argv);
    t = clock_monotonic_ns();
    /* Samples come from its first moment on; nobody asks for anything else. */
    for (int i = 0; i < 3000 && !(p && p->jvm == JVM_READY); i++) {
        nap(10 * NSEC_PER_MSEC);
        discover_poll(d, clock_monotonic_ns());
        p = discover_get(d, pid, 0, 0, clock_monotonic_ns(), "java");
    }
    ck_assert_ptr_nonnull(p);
    ck_assert_msg(p->jvm == JVM_READY, "state %d: %s", (int)p->jvm, p->reason);
    printf("%s: ready %llu ms after its start\n", p->java_version,
           (unsigned long long)((clock_monotonic_ns() - t) / NSEC_PER_MSEC));
    ck_assert_int_eq(p->jdk, _i == 0 ? 17 : 25);
    ck_assert(span_starts_with(span_of(p->java_version), _i == 0 ? "17." : "25."));
    ck_assert(strstr(p->vm_name, "Server VM") != NULL);
    ck_assert(p->frame_pointers && p->attach_disabled && !p->debug_non_safepoints);
    ck_assert_str_eq(p->main, "sun.rmi.registry.RegistryImpl");
    ck_assert_str_eq(p->command, "sun.rmi.registry.RegistryImpl");
    ck_assert_str_eq(p->args,
                     "-Xmx32m -Dpassword=*** -XX:+PreserveFramePointer "
                     "-XX:+DisableAttachMechanism sun.rmi.registry.RegistryImpl 0 --token=***");
    ck_assert_int_eq(discover_usage(d, p, &usage), 0);
    ck_assert_uint_gt(usage.rss_bytes, 10 << 20);
    ck_assert_uint_gt(usage.threads, 5);
    ck_assert_double_gt(usage.cpu_percent, 0.0);
    stop(pid);
    poll_for(d, 50 * NSEC_PER_MSEC);
    ck_assert(p->exited);
    discover_free(d);
}
END_TEST

static struct discover *found_by(int32_t pid, struct process **ret, int *ret_proc_fd)
{
    struct discover *d = make(ret_proc_fd, "/proc");

    discover_sweep(d);
    *ret = discover_find(d, pid);
    return d;
}

START_TEST(opens_a_jvm_that_was_there_before)
{
    const char *const argv[] = {
        JAVA_17, "-Xmx32m", "-XX:-UsePerfData", "sun.rmi.registry.RegistryImpl", "0", NULL
    };
    _cleanup_close_ int proc_fd = -1;
    struct process *p;
    struct discover *d;
    pid_t pid;

    if (access(JAVA_17, X_OK) < 0)
        return;
    pid = start(argv);
    nap(NSEC_PER_SEC);
    d = found_by(pid, &p, &proc_fd);
    for (int i = 0; i < 150 && !(p && p->jvm == JVM_READY); i++) { /* it was not there yet */
        discover_free(d);
        close(proc_fd);
        nap(200 * NSEC_PER_MSEC);
        d = found_by(pid, &p, &proc_fd);
    }
    ck_assert_ptr_nonnull(p);
    ck_assert_msg(p->jvm == JVM_READY, "state %d: %s", (int)p->jvm, p->reason);
    ck_assert_str_eq(p->main, "sun.rmi.registry.RegistryImpl");
    ck_assert_uint_eq(d->stats.sweeps, 1);
    stop(pid);
    discover_free(d);
}
END_TEST

/* A processor that comes is as one that this test may run on again: its exec is told. */
START_TEST(follows_processors)
{
    _cleanup_close_ int proc_fd = -1;
    struct discover *d = make(&proc_fd, "/proc");
    struct discover_stats stats;
    cpu_set_t all, one;
    struct process *p;
    uint64_t records;
    unsigned opened;
    pid_t child;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    }
    poll_for(d, 100 * NSEC_PER_MSEC);
    opened = sideband_opened;
    ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
    d->cpus_ns = 0; /* the second is over */
    poll_for(d, 20 * NSEC_PER_MSEC);
    ck_assert_uint_eq(sideband_opened, opened + (CPU_COUNT(&all) > 1));
    ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
    d->cpus_ns = 0; /* the second is over */
    poll_for(d, 20 * NSEC_PER_MSEC);
    ck_assert_uint_eq(sideband_opened, opened + 2 * (CPU_COUNT(&all) > 1));
    discover_stats(d, &stats);
    records = stats.sideband_records;
    child = fork();
    if (child == 0) {
        execl("/bin/sleep", "sleep", "30", NULL);
        _exit(1);
    }
    for (p = NULL; !p || strcmp(p->comm, "sleep") != 0; p = discover_find(d, child))
        poll_for(d, 20 * NSEC_PER_MSEC); /* the test's own time ends it */
    discover_stats(d, &stats);
    ck_assert_uint_ge(stats.sideband_records, records + 2);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    discover_free(d);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("discover_live");
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
    tcase_add_test(tc, follows_an_exec);
    tcase_add_test(tc, finds_what_nobody_asked_for);
    tcase_add_test(tc, stays_flat_in_a_storm_of_execs);
    tcase_add_test(tc, knows_nested_pid_namespaces);
    tcase_add_test(tc, says_that_proc_hides_processes);
    tcase_add_test(tc, knows_a_zombie);
    tcase_add_test(tc, follows_processors);
    tcase_add_loop_test(tc, opens_a_jvm, 0, ARRAY_SIZE(JVMS));
    tcase_add_test(tc, opens_a_jvm_that_was_there_before);
    tcase_set_timeout(tc, 60);
    return suite_run_case("discover_live", tc);
}
