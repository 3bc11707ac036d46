/* SPDX-License-Identifier: Apache-2.0 */
/*
 * discover/ on the machine it runs on: real side-band records, a storm of execs, nested pid
 * namespaces, hidepid.
 */
#include "live_source.h"
#include "suite.h"

#include "base/clock.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A shell that stops, and execs once it goes on. */
static const char *const EXECS_LATER[] = { "sh", "-c", "kill -STOP $$; exec sleep 30", NULL };

START_TEST(follows_an_exec)
{
    _cleanup_close_ int proc_fd = -1;
    struct discover *d = live_discover(&proc_fd, "/proc");
    struct process *sh, *sleeping;
    uint64_t seen_ns, started_ns, stopped_ns;
    pid_t pid;
    bool kept;

    ck_assert_str_eq(discover_problem(d), "");
    started_ns = clock_monotonic_ns();
    pid = live_start(EXECS_LATER);
    do { /* until the child has become sh */
        live_nap(10 * NSEC_PER_MSEC);
        discover_poll(d, clock_monotonic_ns());
        sh = discover_find(d, pid);
        seen_ns = clock_monotonic_ns(); /* afterwards: the exec record may just have come */
        ck_assert_ptr_nonnull(sh);
    } while (strcmp(sh->command, "sh") != 0);
    ck_assert_str_eq(sh->command, "sh");
    ck_assert_uint_eq(sh->id.exec_no, 1); /* the exec of sh itself was noted */
    ck_assert_uint_gt(sh->exec_time_ns, started_ns);
    ck_assert_uint_lt(sh->exec_time_ns, seen_ns);
    process_pin(sh);
    for (int i = 0; i < 1000 && !sh->exited; i++) {
        kill(pid, SIGCONT);
        live_poll_for(d, 10 * NSEC_PER_MSEC);
    }
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
    live_stop(pid);
    live_poll_for(d, 50 * NSEC_PER_MSEC);
    ck_assert_ptr_null(discover_find(d, pid));
    kept = table_newest(d, pid) != NULL; /* kept for 2 s; the machine may stall for longer */
    ck_assert(kept || clock_monotonic_ns() - stopped_ns >= DISCOVER_KEEP_NS);
    for (int i = 0; i < 1000 && table_newest(d, pid); i++)
        live_poll_for(d, 10 * NSEC_PER_MSEC);
    ck_assert_ptr_null(table_newest(d, pid));
    discover_free(d);
}
END_TEST

START_TEST(finds_what_nobody_asked_for)
{
    const char *const argv[] = { "sleep", "30", NULL };
    _cleanup_close_ int proc_fd = -1;
    struct discover *d = live_discover(&proc_fd, "/proc");
    pid_t pid;

    discover_sweep(d);
    pid = live_start(argv);
    ck_assert_ptr_null(table_newest(d, pid));
    for (int i = 0; i < 200 && !table_newest(d, pid); i++)
        live_poll_for(d, 10 * NSEC_PER_MSEC);
    ck_assert_ptr_nonnull(table_newest(d, pid));
    ck_assert_str_eq(table_newest(d, pid)->p.command, "sleep");
    live_stop(pid);
    discover_free(d);
}
END_TEST

START_TEST(catches_up_without_a_sweep)
{
    const char *const argv[] = { "sleep", "30", NULL };
    _cleanup_close_ int proc_fd = -1;
    struct discover *d = live_discover(&proc_fd, "/proc");
    struct image *found = NULL;
    pid_t pid;

    discover_catch_up(d);
    ck_assert_uint_eq(d->stats.sweeps, 1);
    pid = live_start(argv);
    for (int i = 0; i < 100 && !found; i++) { /* its time may be over before */
        d->caught_up_ns = 0;
        discover_catch_up(d);
        found = table_newest(d, pid); /* the sweep may have met another process with this pid */
        found = found && image_is_live(found) ? found : NULL;
    }
    ck_assert_ptr_nonnull(found);
    ck_assert_uint_eq(d->stats.sweeps, 1);
    ck_assert(d->sweep.wanted);
    d->sweep.after_loss = true;
    for (int i = 0; i < 1000 && d->stats.sweeps < 2; i++) { /* a part at a time */
        d->caught_up_ns = 0;
        discover_catch_up(d);
    }
    ck_assert_uint_eq(d->stats.sweeps, 2);
    live_stop(pid);
    discover_free(d);
}
END_TEST

START_TEST(catches_up_with_an_exec)
{
    _cleanup_close_ int proc_fd = -1;
    struct discover *d = live_discover(&proc_fd, "/proc");
    pid_t pid = live_start(EXECS_LATER);
    char comm[PROC_COMM_BYTES + 1] = "";

    discover_catch_up(d);
    ck_assert_ptr_nonnull(table_newest(d, pid));
    for (int i = 0; i < 1000 && strcmp(comm, "sleep") != 0; i++) {
        kill(pid, SIGCONT);
        live_nap(10 * NSEC_PER_MSEC);
        proc_read_comm(proc_fd, pid, pid, comm);
    }
    d->caught_up_ns = 0;
    discover_catch_up(d);
    ck_assert_str_eq(table_newest(d, pid)->p.command, "sleep");
    ck_assert_uint_ne(table_newest(d, pid)->look.last_ns, 0);
    ck_assert_uint_eq(d->stats.sweeps, 1);
    live_stop(pid);
    discover_free(d);
}
END_TEST

#ifdef __SANITIZE_ADDRESS__ /* a sanitizer keeps freed memory */
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

#define FEW 10

/* Makes as many short-lived processes as one shell-like parent can. */
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

/* Returns the images of the storm's programs, before their exec and after it. Other programs of a
 * busy machine come and go meanwhile. */
static size_t storm_images(const struct discover *d)
{
    char own[PROC_COMM_BYTES + 1];
    size_t n = 0;

    ck_assert_int_eq(prctl(PR_GET_NAME, own), 0);
    for (const struct image *i = d->all; i; i = i->all_next)
        n += !i->p.comm[0] || strcmp(i->p.comm, "true") == 0 || strcmp(i->p.comm, own) == 0;
    return n;
}

START_TEST(stays_flat_in_a_storm_of_execs)
{
    _cleanup_close_ int proc_fd = -1;
    struct discover *d = live_discover(&proc_fd, "/proc");
    uint64_t rss_before, cpu_before, records, execs, cpu_ns;
    struct discover_stats stats;
    size_t images_before, images;
    pid_t parent;

    discover_sweep(d);
    live_poll_for(d, 100 * NSEC_PER_MSEC);
    images_before = storm_images(d);
    parent = fork();
    if (parent == 0)
        storm(4 * NSEC_PER_SEC);
    live_maps_parent = parent;
    live_poll_for(d, NSEC_PER_SEC);
    rss_before = rss_pages();
    cpu_before = own_cpu_ns();
    discover_stats(d, &stats);
    records = stats.sideband_records;
    live_maps_opened = 0;
    live_poll_for(d, 2500 * NSEC_PER_MSEC);
    discover_stats(d, &stats);
    cpu_ns = own_cpu_ns() - cpu_before;
    execs = (stats.sideband_records - records) / 3;
    images = storm_images(d);
    printf("%llu execs/s, %llu ns of CPU for each, %zu images of it, %u files opened\n",
           (unsigned long long)(execs * 10 / 25), (unsigned long long)(execs ? cpu_ns / execs : 0),
           images, live_maps_opened);
    ck_assert_uint_gt(execs,
                      50); /* as many as this machine makes; test_discover_limits.c has 200,000 */
    ck_assert_uint_eq(stats.sideband_lost, 0);
    ck_assert_uint_lt(images, images_before + FEW + execs / 10); /* few are met alive */
    ck_assert_uint_lt(live_maps_opened, FEW + execs / 10);
    ck_assert_uint_lt(rss_pages(), rss_before + RSS_MORE_PAGES);
    waitpid(parent, NULL, 0);
    live_maps_parent = 0;
    discover_free(d);
}
END_TEST

/* Returns a child process of @pid, or 0. */
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
    struct discover *d = live_discover(&proc_fd, "/proc");
    pid_t outer = live_start(argv), inner = 0, pid = 0;
    struct process *p = NULL;

    for (int i = 0; i < 100 && !p; i++) {
        live_nap(20 * NSEC_PER_MSEC);
        inner = child_of(outer);
        pid = inner ? child_of(inner) : 0;
        p = pid ? discover_find(d, pid) : NULL;
        /* ns_depth 0: the process was read in the middle of its exec; it is read again */
        if (p && (strcmp(p->command, "sleep") != 0 || p->ns_depth == 0))
            p = NULL;
    }
    ck_assert_ptr_nonnull(p);
    ck_assert_uint_eq(p->ns_depth, 3);
    ck_assert_int_eq(p->ns_pid[0], pid);
    ck_assert_int_eq(p->ns_pid[1], 2);
    ck_assert_int_eq(p->ns_pid[2], 1);
    ck_assert_int_eq(p->container_uid, 0);
    live_stop(outer);
    discover_free(d);
}
END_TEST

/* Runs as another user over a /proc mounted with hidepid. Returns 0 if the problem is reported. */
static int hidden_proc(const char *folder)
{
    struct discover_opts opts = { .source = &LIVE_SOURCE, .source_ctx = &live_maps_opened };
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
    struct discover *d = live_discover(&proc_fd, "/proc");
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

/* A processor that comes online is like one that this test may use again: flamed sees an exec
 * there. */
START_TEST(follows_processors)
{
    _cleanup_close_ int proc_fd = -1;
    struct discover *d = live_discover(&proc_fd, "/proc");
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
    live_poll_for(d, 100 * NSEC_PER_MSEC);
    opened = live_sideband_opened;
    ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
    d->cpus_ns = 0; /* a second has passed */
    live_poll_for(d, 20 * NSEC_PER_MSEC);
    ck_assert_uint_eq(live_sideband_opened, opened + (CPU_COUNT(&all) > 1));
    ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
    d->cpus_ns = 0; /* a second has passed */
    live_poll_for(d, 20 * NSEC_PER_MSEC);
    ck_assert_uint_eq(live_sideband_opened, opened + 2 * (CPU_COUNT(&all) > 1));
    discover_stats(d, &stats);
    records = stats.sideband_records;
    child = fork();
    if (child == 0) {
        execl("/bin/sleep", "sleep", "30", NULL);
        _exit(1);
    }
    for (p = NULL; !p || strcmp(p->comm, "sleep") != 0; p = discover_find(d, child))
        live_poll_for(d, 20 * NSEC_PER_MSEC); /* the test's time limit ends it */
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
    int skip = live_missing();

    if (skip)
        return skip;
    tcase_add_test(tc, follows_an_exec);
    tcase_add_test(tc, finds_what_nobody_asked_for);
    tcase_add_test(tc, catches_up_without_a_sweep);
    tcase_add_test(tc, catches_up_with_an_exec);
    tcase_add_test(tc, stays_flat_in_a_storm_of_execs);
    tcase_add_test(tc, knows_nested_pid_namespaces);
    tcase_add_test(tc, says_that_proc_hides_processes);
    tcase_add_test(tc, knows_a_zombie);
    tcase_add_test(tc, follows_processors);
    tcase_set_timeout(tc, 60);
    return suite_run_case("discover_live", tc);
}
