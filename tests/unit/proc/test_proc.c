/* SPDX-License-Identifier: Apache-2.0 */
/* proc/: the text formats of /proc, and pinning a process. */
#include "suite.h"

#include "proc/proc.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- status ---- */

#define STATUS(more)                                                                               \
    "Name:\tjava\nState:\tS (sleeping)\nTgid:\t28194\nPid:\t28194\nPPid:\t7\n"                     \
    "Uid:\t0\t103\t0\t103\nGid:\t0\t104\t0\t104\n" more
#define THAT_STATUS .state = 'S', .tgid = 28194, .ppid = 7, .uid = 103, .gid = 104

static const struct {
    const char *text;
    int r;
    struct proc_status s;
} STATUS_CASES[] = {
    { STATUS("NSpid:\t28194\t2\t1\nVmSize:\t 4096 kB\nVmRSS:\t  1000 kB\nRssAnon:\t 600 kB\n"
             "RssFile:\t 300 kB\nRssShmem:\t 100 kB\nThreads:\t14\n"
             "SigCgt:\t0000000000000004\nCapBnd:\t00000000a80425fb\n"),
      0,
      { THAT_STATUS, .ns_pid = { 28194, 2, 1 }, .ns_depth = 3, .signals_caught = 4,
        .capability_bounds = 0xa80425fb, .rss_bytes = 1024000, .kept_bytes = 716800,
        .threads = 14 } },
    { STATUS(
          "NSpid:\t28194\t1\nThreads:\t1\nCapPrm:\t0000000000000003\nCapBnd:\t0000000000000007\n"),
      0,
      { THAT_STATUS, .ns_pid = { 28194, 1 }, .ns_depth = 2, .capability_bounds = 7, .threads = 1,
        .kernel_thread = true, .whole = true } },
    /* a list of groups so long that the lines behind it are cut off, or that is cut within a
     * number */
    { STATUS("Groups:\t1 2 3"), 0, { THAT_STATUS } },
    { STATUS("Groups:\t1 2 3\nNSpid:\t28194"), 0, { THAT_STATUS } },
    { STATUS("NSpid:\t28194\t1\nThreads:\t1\nCapPrm:\t0000000000000003\nCapBnd:\t0000000000000007"),
      0,
      { THAT_STATUS, .ns_pid = { 28194, 1 }, .ns_depth = 2, .threads = 1, .kernel_thread = true } },
    { STATUS("Threads:\t1\n"),
      0, /* no memory: a kernel thread before Linux 6.8 */
      { THAT_STATUS, .threads = 1, .kernel_thread = true } },
    { STATUS("Kthread:\t0\nThreads:\t1\n"),
      0, /* since Linux 6.8 that is a process that exits */
      { THAT_STATUS, .threads = 1 } },
    { STATUS("Kthread:\t1\nThreads:\t1\n"),
      0,
      { THAT_STATUS, .threads = 1, .kernel_thread = true } },
    { "State:\tZ (zombie)\nTgid:\t5\nPPid:\t1\nUid:\t1\t2\t3\t4\nNSpid:\t5\nThreads:\t1\n",
      0,
      { .state = 'Z',
        .tgid = 5,
        .ppid = 1,
        .uid = 2,
        .ns_pid = { 5 },
        .ns_depth = 1,
        .threads = 1 } },
    { "State:\tS\nTgid:\t5\nPPid:\t1\n", -EBADMSG, { 0 } },                      /* no Uid */
    { "State:\tS\nTgid:\t5\nPPid:\t1\nUid:\t1\n", -EBADMSG, { 0 } },             /* half a Uid */
    { "State:\tS\nTgid:\t5\nPPid:\t1\nUid:\t1\t4294967296\n", -EBADMSG, { 0 } }, /* too large */
    { "State:\tS\nTgid:\t99999999999\nPPid:\t1\nUid:\t1\t1\n", -EBADMSG, { 0 } },
    { "State:\nTgid:\t5\nPPid:\t1\nUid:\t1\t1\n", -EBADMSG, { 0 } },
    { STATUS("NSpid:\t28194\t1\nNSpid:\tx\n"), -EBADMSG, { 0 } }, /* a line twice */
    { STATUS("Uid:\t0\t0\t0\t0\n"), -EBADMSG, { 0 } },
    { "", -EBADMSG, { 0 } },
};

START_TEST(parses_status)
{
    const struct proc_status *want = &STATUS_CASES[_i].s;
    struct proc_status s = { .threads = 77 };
    int r = proc_status_parse(span_of(STATUS_CASES[_i].text), &s);

    ck_assert_int_eq(r, STATUS_CASES[_i].r);
    if (r < 0) {
        ck_assert_uint_eq(s.threads, 77);
        return;
    }
    ck_assert_int_eq(s.state, want->state);
    ck_assert_int_eq(s.tgid, want->tgid);
    ck_assert_int_eq(s.ppid, want->ppid);
    ck_assert_uint_eq(s.uid, want->uid);
    ck_assert_uint_eq(s.gid, want->gid);
    ck_assert_uint_eq(s.ns_depth, want->ns_depth);
    ck_assert_int_eq(memcmp(s.ns_pid, want->ns_pid, want->ns_depth * sizeof(s.ns_pid[0])), 0);
    ck_assert_uint_eq(s.signals_caught, want->signals_caught);
    ck_assert_uint_eq(s.capability_bounds,
                      want->capability_bounds ? want->capability_bounds : UINT64_MAX);
    ck_assert_uint_eq(s.rss_bytes, want->rss_bytes);
    ck_assert_uint_eq(s.kept_bytes, want->kept_bytes);
    ck_assert_uint_eq(s.threads, want->threads);
    ck_assert_int_eq(s.kernel_thread, want->kernel_thread);
    ck_assert_int_eq(s.whole, want->whole);
}
END_TEST

START_TEST(keeps_the_innermost_of_many_namespaces)
{
    _cleanup_buf_ struct buf b = BUF_NULL;
    struct proc_status s;

    buf_init(&b, 4096);
    buf_add_str(&b, STATUS("NSpid:"));
    for (int i = 0; i < PROC_NS_DEPTH_MAX + 1; i++)
        buf_printf(&b, "\t%d", 100 + i);
    buf_add_char(&b, '\n');
    ck_assert_int_eq(proc_status_parse(buf_span(&b), &s), 0);
    ck_assert_uint_eq(s.ns_depth, PROC_NS_DEPTH_MAX);
    ck_assert_int_eq(s.ns_pid[0], 100);
    ck_assert_int_eq(s.ns_pid[PROC_NS_DEPTH_MAX - 1], 100 + PROC_NS_DEPTH_MAX);
}
END_TEST

/* ---- stat ---- */

#define STAT_TAIL                                                                                  \
    " S 7 1 1 0 -1 4194560 10 11 12 13 140 25 6 3 20 -5 14 0 987654 5000000 250 "                  \
    "18446744073709551615 "

static const struct {
    const char *text;
    int r;
    const char *comm;
} STAT_CASES[] = {
    { "42 (java)" STAT_TAIL, 0, "java" },
    { "42 (a) R 1 (b)" STAT_TAIL, 0, "a) R 1 (b" },
    { "42 (new\nline)" STAT_TAIL, 0, "new\nline" },
    { "42 ()" STAT_TAIL, 0, "" },
    { "42 (\xff\x1b)" STAT_TAIL, 0, "\xff\x1b" },
    { "42 (java) S 7 1 1 0 -1 4194560 10 11", -EBADMSG, NULL },
    { "42 java" STAT_TAIL, -EBADMSG, NULL },
    { ")(" STAT_TAIL, -EBADMSG, NULL },
    { "42 (java) SS 7 1 1 0 -1 4194560 10 11 12 13 1 2 0 0 20 0 14 0 9 8", -EBADMSG, NULL },
    { "42 (java) S 7 1 1 0 -1 4194560 10 11 12 13 1 2 0 0 20 0 14 0 99999999999999999999999 8",
      -EBADMSG, NULL },
    { "", -EBADMSG, NULL },
};

START_TEST(parses_stat)
{
    struct proc_stat s = { .threads = 77 };
    int r = proc_stat_parse(span_of(STAT_CASES[_i].text), &s);

    ck_assert_int_eq(r, STAT_CASES[_i].r);
    if (r < 0) {
        ck_assert_uint_eq(s.threads, 77);
        return;
    }
    ck_assert_str_eq(s.comm, STAT_CASES[_i].comm);
    ck_assert_int_eq(s.state, 'S');
    ck_assert_int_eq(s.ppid, 7);
    ck_assert_uint_eq(s.utime_ticks, 140);
    ck_assert_uint_eq(s.stime_ticks, 25);
    ck_assert_uint_eq(s.waited_ticks, 6 + 3);
    ck_assert_uint_eq(s.threads, 14);
    ck_assert_uint_eq(s.start_ticks, 987654);
    ck_assert_uint_eq(s.vsize_bytes, 5000000);
    ck_assert(!s.kernel_thread);
}
END_TEST

START_TEST(reads_where_the_stack_begins)
{
    struct proc_stat own;

    _cleanup_close_ int proc = open("/proc", O_PATH | O_CLOEXEC);
    ck_assert_int_eq(proc_read_stat(proc, getpid(), &own), 0);
    ck_assert_uint_gt(own.stack_start, (uint64_t)(uintptr_t)&own);
    ck_assert_uint_lt(own.stack_start, (uint64_t)(uintptr_t)&own + (64 << 20));
}
END_TEST

START_TEST(reads_how_a_zombie_ended)
{
    struct proc_stat s;
    struct span text =
        SPAN("7 (java) Z 1 7 7 0 -1 4228428 0 0 0 0 1 2 0 0 20 0 1 0 9 0 0 "
             "18446744073709551615 0 0 0 0 0 0 0 4096 20735 0 0 0 17 1 0 0 0 0 0 0 0 "
             "0 0 0 0 0 139\n");

    ck_assert_int_eq(proc_stat_parse(text, &s), 0);
    ck_assert_int_eq(s.state, 'Z');
    ck_assert_int_eq(s.exit_status, 139);
    ck_assert_uint_eq(s.stack_start, 0);
    ck_assert_int_eq(proc_stat_parse(span_of(STAT_CASES[0].text), &s), 0);
    ck_assert_int_eq(s.exit_status, 0);
}
END_TEST

START_TEST(knows_a_kernel_thread_by_its_flag)
{
    struct proc_stat s;
    struct span text = SPAN("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 5 0 0 20 0 1 0 1 0 0");

    ck_assert_int_eq(proc_stat_parse(text, &s), 0);
    ck_assert(s.kernel_thread);
}
END_TEST

/* ---- cgroup, cmdline, ids ---- */

static const struct {
    const char *text, *path;
} CGROUP_CASES[] = {
    { "0::/system.slice/a.service\n", "/system.slice/a.service" },
    { "0::/system.slice/a.service (deleted)\n", "/system.slice/a.service" },
    { "4:memory:/a/longer\n1:name=systemd:/x\n0::/\n", "/x" },
    { "4:memory:/a\n1:name=systemd:/x\n0::/y\n", "/y" },
    { "4:memory:/a\n3:cpu,cpuacct:/a/b\n1:name=systemd:/\n0::/\n", "/a/b" },
    { "0::/../a:b\n", "/../a:b" },
    { "0::/\n", "/" },
    { "x\n5:memory\n5:memory:\n:memory:/a\n0::a\n", "/" },
    { "", "/" },
};

START_TEST(picks_the_path_of_the_cgroup)
{
    ck_assert(span_eq_str(cgroup_path(span_of(CGROUP_CASES[_i].text)), CGROUP_CASES[_i].path));
}
END_TEST

START_TEST(splits_the_command_line)
{
    struct span text = SPAN("java\0-cp\0\0Main"), arg;

    ck_assert(cmdline_take(&text, &arg) && span_eq_str(arg, "java"));
    ck_assert(cmdline_take(&text, &arg) && span_eq_str(arg, "-cp"));
    ck_assert(cmdline_take(&text, &arg) && arg.n == 0);
    ck_assert(cmdline_take(&text, &arg) && span_eq_str(arg, "Main"));
    ck_assert(!cmdline_take(&text, &arg));
}
END_TEST

static const struct {
    const char *map;
    uint32_t outside;
    int64_t inside;
} ID_CASES[] = {
    { "         0          0 4294967295\n", 103, 103 },
    { "         0     100000      65536\n", 100103, 103 },
    { "         0     100000      65536\n", 100000 + 65536, -1 },
    { "         0     100000      65536\n", 0, -1 },
    { "  0  1000  1\n  1  100000  65536\n", 1000, 0 },
    { "  0  1000  1\n  1  100000  65536\n", 100000, 1 },
    { "  4294967295  7  2\n", 8, -1 }, /* no id inside is mapped */
    { "  0  1000\n x\n 0 4294967296 1\n", 1000, -1 },
    { "", 0, -1 },
};

START_TEST(maps_an_id_into_a_user_namespace)
{
    ck_assert_int_eq(id_map_inside(span_of(ID_CASES[_i].map), ID_CASES[_i].outside),
                     ID_CASES[_i].inside);
}
END_TEST

START_TEST(reads_the_offset_of_the_boot_clock)
{
    ck_assert_int_eq(timens_boottime_ns(SPAN("monotonic 1 2\nboottime  7 5\n")), 7000000005);
    ck_assert_int_eq(timens_boottime_ns(SPAN("boottime  -7 5\n")), -6999999995);
    ck_assert_int_eq(timens_boottime_ns(SPAN("boottime  99999999999999999 5\n")), 0);
    ck_assert_int_eq(timens_boottime_ns(SPAN("boottime  1 9999999999\n")), 1000000000);
    ck_assert_int_eq(timens_boottime_ns(SPAN("monotonic 1 2\n")), 0);
}
END_TEST

/* ---- processes ---- */

START_TEST(reads_mounts)
{
    struct span rest = SPAN("20 19 0:22 / / ro,relatime master:3 - ext4 /dev/vda ro\n"
                            "21 20 0:23 / /tmp rw,nosuid,noexec shared:7 master:3 propagate_from:2 "
                            "- tmpfs flamed-1-2-3 "
                            "rw,size=64k\n"
                            "what is no line - at all\n"
                            "22 20 0:24 /a\\040b /mnt\\040x rw - tmpfs\n"
                            "23 20 0:24 / /srv rw - tmpfs src ro\n");
    struct mountinfo m;

    ck_assert(mountinfo_take(&rest, &m));
    ck_assert_uint_eq(m.id, 20);
    ck_assert_uint_eq(m.parent, 19);
    ck_assert(m.read_only && !m.shared && !m.noexec && span_eq_str(m.point, "/"));
    ck_assert(mountinfo_take(&rest, &m));
    ck_assert(m.shared && m.noexec && !m.read_only && span_eq_str(m.point, "/tmp"));
    ck_assert(span_eq_str(m.type, "tmpfs") && span_eq_str(m.source, "flamed-1-2-3"));
    ck_assert(mountinfo_take(&rest, &m)); /* a line that is cut short does not count */
    ck_assert_uint_eq(m.id, 23);
    ck_assert(m.read_only); /* the file system is read-only */
    ck_assert(!mountinfo_take(&rest, &m));
}
END_TEST

START_TEST(pins_a_process_and_sees_it_go)
{
    _cleanup_close_ int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_close_ int pidfd = -1;
    struct proc_id id = { 0 };
    struct proc_status status;
    struct proc_stat stat;
    pid_t pid = fork();

    if (pid == 0) {
        pause();
        _exit(0);
    }
    id.host_pid = pid;
    ck_assert_int_eq(proc_read_start(proc_fd, pid, &id.start_ticks), 0);
    ck_assert_int_eq(proc_read_stat(proc_fd, pid, &stat), 0);
    ck_assert_int_eq(proc_read_status(proc_fd, pid, &status), 0);
    ck_assert_int_eq(stat.ppid, getpid());
    ck_assert_int_eq(status.ppid, getpid());
    ck_assert_int_eq(status.tgid, pid);
    ck_assert_uint_eq(status.uid, geteuid());
    ck_assert_uint_gt(stat.vsize_bytes, 0);
    ck_assert_uint_gt(status.rss_bytes, 0);
    ck_assert_int_eq(proc_open(proc_fd, &id, &pidfd), 0);
    id.start_ticks++; /* another process has the pid now */
    ck_assert_int_eq(proc_open(proc_fd, &id, &(int){ -1 }), PROC_GONE);
    id.start_ticks--;
    kill(pid, SIGKILL);
    ck_assert_int_eq(poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, 5000), 1);
    waitpid(pid, NULL, 0);
    ck_assert_int_eq(proc_open(proc_fd, &id, &(int){ -1 }), PROC_GONE);
    ck_assert_int_eq(proc_read_stat(proc_fd, pid, &stat), PROC_GONE);
    ck_assert_int_eq(proc_read_status(proc_fd, pid, &status), PROC_GONE);
}
END_TEST

START_TEST(tells_how_often_a_thread_had_a_processor)
{
    _cleanup_close_ int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint64_t before = 0, after = 0;

    ck_assert_int_eq(proc_read_runs(proc_fd, getpid(), gettid(), &before), 0);
    ck_assert_uint_gt(before, 0);
    usleep(1000);
    ck_assert_int_eq(proc_read_runs(proc_fd, getpid(), gettid(), &after), 0);
    ck_assert_uint_gt(after, before);
    ck_assert_int_eq(proc_read_runs(proc_fd, getpid(), INT32_MAX, &after), PROC_GONE);
}
END_TEST

START_TEST(tells_how_much_is_in_memory)
{
    _cleanup_close_ int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct proc_status status;
    uint64_t bytes = 0, apart;

    ck_assert_int_eq(proc_read_rss(proc_fd, getpid(), &bytes), 0);
    ck_assert_int_eq(proc_read_status(proc_fd, getpid(), &status), 0);
    apart = bytes > status.rss_bytes ? bytes - status.rss_bytes : status.rss_bytes - bytes;
    ck_assert_uint_lt(apart, status.rss_bytes / 4); /* reading itself takes memory, too */
    ck_assert_int_eq(proc_read_rss(proc_fd, INT32_MAX, &bytes), PROC_GONE);
    ck_assert_int_eq(proc_read_rss(proc_fd, 2, &bytes), 0);
    ck_assert_uint_eq(bytes, 0); /* a kernel thread */
}
END_TEST

START_TEST(tells_maps_and_containers)
{
    static const struct {
        const char *text;
        bool identity;
    } MAPS[] = {
        { "         0          0 4294967295\n", true },
        { "         0       1000          1\n", false },
        { "         0          0      65536\n", false },
        { "0 0 4294967294\n4294967294 4294967294 1\n", false },
        { "", false }, /* a namespace without a map so far */
    };
    static const struct {
        const char *text;
        bool container;
    } CGROUPS[] = {
        { "0::/\n", false },
        { "0::/user.slice/user-1000.slice/session-3.scope\n", false },
        { "0::/system.slice/docker.service\n", false },
        { "0::/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
          ".scope\n",
          true },
        { "4:memory:/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n0::/\n",
          true },
        { "0::/kubepods/burstable/podx/y\n", true },
        { "0::/machine.slice/machine-x.scope\n", true },
        { "0::/lxc.payload.x\n", true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(MAPS); i++)
        ck_assert_msg(id_map_is_identity(span_of(MAPS[i].text)) == MAPS[i].identity, "%s",
                      MAPS[i].text);
    for (size_t i = 0; i < ARRAY_SIZE(CGROUPS); i++)
        ck_assert_msg(cgroup_is_container(span_of(CGROUPS[i].text)) == CGROUPS[i].container, "%s",
                      CGROUPS[i].text);
}
END_TEST

/* The user of a process: all ids and namespaces have to agree, or only root may use it. */
START_TEST(a_process_is_of_the_user_that_may_trace_it)
{
    static const char IDENTITY[] = "0 0 4294967295\n", HOST[] = "0::/user.slice\n";
    struct proc_status good = {
        .uid = 61001, .real_uid = 61001, .saved_uid = 61001, .ns_depth = 1
    };
    struct proc_status st;
    char folder[] = "/tmp/test_proc.XXXXXX", path[64], files[80];
    int fd;

    if (geteuid() != 0)
        return;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof(path), "%s/42", folder);
    snprintf(files, sizeof(files), "%s/fd", path);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(mkdir(files, 0755), 0);
    ck_assert_int_eq(chown(path, 61001, 0), 0);
    /* Only root may use what is in it: it may not be dumped. */
    ck_assert_uint_eq(proc_user(fd, &good, span_of(IDENTITY), span_of(HOST), 42), 0);
    ck_assert_int_eq(chown(files, 61001, 0), 0);
    ck_assert_uint_eq(proc_user(fd, &good, span_of(IDENTITY), span_of(HOST), 42), 61001);
    ck_assert_uint_eq(proc_user(fd, &good, span_of(IDENTITY), span_of(HOST), 43), 0);
    ck_assert_uint_eq(proc_user(fd, &good, span_of("0 61001 1\n"), span_of(HOST), 42), 0);
    ck_assert_uint_eq(proc_user(fd, &good, span_of(IDENTITY), span_of("0::/docker/x\n"), 42), 0);
    for (int i = 0; i < 5; i++) {
        st = good;
        if (i == 0)
            st.real_uid = 0;
        else if (i == 1)
            st.saved_uid = 0;
        else if (i == 2)
            st.uid = 0;
        else if (i == 3)
            st.capabilities = 1;
        else
            st.ns_depth = 2;
        ck_assert_msg(proc_user(fd, &st, span_of(IDENTITY), span_of(HOST), 42) == 0, "%d", i);
    }
    close(fd);
    rmdir(files);
    rmdir(path);
    rmdir(folder);
}
END_TEST

/* The kernel's own /proc, with a process that forbids dumps. */
START_TEST(what_may_not_be_dumped_is_root_s)
{
    static const char IDENTITY[] = "0 0 4294967295\n", HOST[] = "0::/user.slice\n";
    struct proc_status status = { 0 };
    int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), pipes[2], r;
    uint32_t user;
    char byte;
    pid_t pid;

    if (geteuid() != 0)
        return;
    ck_assert_int_eq(pipe(pipes), 0);
    pid = fork();
    if (pid == 0) {
        if (setgid(61001) < 0 || setuid(61001) < 0)
            _exit(1);
        prctl(PR_SET_DUMPABLE, _i, 0, 0, 0);
        if (write(pipes[1], "", 1) == 1)
            pause();
        _exit(0);
    }
    ck_assert_int_eq(read(pipes[0], &byte, 1), 1);
    r = proc_read_status(fd, pid, &status);
    user = proc_user(fd, &status, span_of(IDENTITY), span_of(HOST), pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
    close(fd);
    ck_assert_int_eq(r, 0);
    ck_assert_uint_eq(user, _i ? 61001 : 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("proc");

    tcase_add_loop_test(tc, parses_status, 0, ARRAY_SIZE(STATUS_CASES));
    tcase_add_test(tc, keeps_the_innermost_of_many_namespaces);
    tcase_add_loop_test(tc, parses_stat, 0, ARRAY_SIZE(STAT_CASES));
    tcase_add_test(tc, reads_where_the_stack_begins);
    tcase_add_test(tc, reads_how_a_zombie_ended);
    tcase_add_test(tc, knows_a_kernel_thread_by_its_flag);
    tcase_add_loop_test(tc, picks_the_path_of_the_cgroup, 0, ARRAY_SIZE(CGROUP_CASES));
    tcase_add_test(tc, splits_the_command_line);
    tcase_add_loop_test(tc, maps_an_id_into_a_user_namespace, 0, ARRAY_SIZE(ID_CASES));
    tcase_add_test(tc, reads_the_offset_of_the_boot_clock);
    tcase_add_test(tc, reads_mounts);
    tcase_add_test(tc, pins_a_process_and_sees_it_go);
    tcase_add_test(tc, tells_maps_and_containers);
    tcase_add_test(tc, a_process_is_of_the_user_that_may_trace_it);
    tcase_add_loop_test(tc, what_may_not_be_dumped_is_root_s, 0, 2);
    tcase_add_test(tc, tells_how_often_a_thread_had_a_processor);
    tcase_add_test(tc, tells_how_much_is_in_memory);
    tcase_set_timeout(tc, 60);
    return suite_run_case("proc", tc);
}
