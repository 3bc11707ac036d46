/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU limit of a process on nodes with control groups of version 1, 2 and both. */
#include "suite.h"

#include "base/cleanup.h"
#include "broker/target/attach_headroom_impl.h"
#include "broker/target/cgroup_files.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define V2 "31 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
#define TMPFS "31 23 0:28 / /sys/fs/cgroup ro,nosuid - tmpfs tmpfs ro,mode=755\n"
#define V1_PIDS "32 31 0:29 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids\n"
#define V1_CPU "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
#define UNIFIED "34 31 0:31 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw\n"
#define V1_TEXT "5:pids:/box/a\n4:cpu,cpuacct:/box/a\n1:name=systemd:/box/a\n"

#define FOLDERS_OPEN 16

struct file {
    const char *path, *text; /* below /sys/fs/cgroup */
};

/* A node: its mounts, the text of /proc/PID/cgroup, files of the cgroups, and the expected
 * limit. */
static const struct {
    const char *mounts, *cgroup;
    struct file files[4];
    uint64_t limit;
} NODES[] = {
    /* version 2: the lowest limit of the cgroup and those above, not of one beside */
    { V2,
      "0::/box/a\n",
      { { "box/a/cpu.max", "200000 100000\n" },
        { "box/cpu.max", "150000 100000\n" },
        { "box/b/cpu.max", "10000 100000\n" } },
      1500 },
    { V2, "0::/box/a\n", { { "box/a/cpu.max", "25000 100000\n" } }, 250 },
    { V2,
      "0::/box/a\n",
      { { "box/a/cpu.max", "max 100000\n" }, { "box/cpu.max", "300000 50000\n" } },
      6000 },
    { V2, "0::/box/a\n", { { "box/a/cpu.max", "max 100000\n" } }, 0 },
    { V2, "0::/\n", { { "box/a/cpu.max", "100000 100000\n" } }, 0 },
    { V2, "0::/../other\n", { { "box/a/cpu.max", "100000 100000\n" } }, 0 },
    { V2, "0::/..\n", { { "box/a/cpu.max", "100000 100000\n" } }, 0 },
    /* a name that a container may give */
    { V2, "0::/box/..a\n", { { "box/..a/cpu.max", "70000 100000\n" } }, 700 },
    { V2, "0::/..box/a\n", { { "..box/cpu.max", "60000 100000\n" }, { "..box/a/x", "" } }, 600 },
    { V2, "0::/box/a\n", { { "box/a/cpu.max", "1000 1000000\n" } }, 1 },
    { V2, "0::/box/a\n", { { "box/a/cpu.max", "1000 9000000\n" } }, 1 },
    { V2, "0::/box/a\n", { { "box/a/cpu.max", "100000 0\n" } }, 0 },
    { V2, "0::/box/a\n", { { "box/a/cpu.max", "" } }, 0 },
    /* version 1 */
    { TMPFS V1_PIDS V1_CPU,
      V1_TEXT,
      { { "cpu,cpuacct/box/a/cpu.cfs_quota_us", "-1\n" },
        { "cpu,cpuacct/box/a/cpu.cfs_period_us", "100000\n" },
        { "cpu,cpuacct/box/cpu.cfs_quota_us", "50000\n" },
        { "cpu,cpuacct/box/cpu.cfs_period_us", "100000\n" } },
      500 },
    { TMPFS V1_PIDS V1_CPU,
      V1_TEXT,
      { { "cpu,cpuacct/box/a/cpu.cfs_quota_us", "-1\n" },
        { "cpu,cpuacct/box/a/cpu.cfs_period_us", "100000\n" } },
      0 },
    { TMPFS V1_PIDS, V1_TEXT, { { "pids/box/a/pids.max", "5\n" } }, 0 },
    /* both versions: the controller is in either of them */
    { TMPFS V1_PIDS V1_CPU UNIFIED,
      V1_TEXT "0::/box/a\n",
      { { "cpu,cpuacct/box/a/cpu.cfs_quota_us", "400000\n" },
        { "cpu,cpuacct/box/a/cpu.cfs_period_us", "100000\n" },
        { "unified/box/a/cgroup.procs", "1\n" } },
      4000 },
    { TMPFS V1_PIDS UNIFIED,
      "5:pids:/box/a\n0::/box/a\n",
      { { "unified/box/a/cpu.max", "70000 100000\n" } },
      700 },
};

static void write_below(const char *top, const char *path, const char *text)
{
    char whole[256];
    FILE *f;

    snprintf(whole, sizeof(whole), "%s/%s", top, path);
    for (char *slash = strchr(whole + strlen(top) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0755);
        *slash = '/';
    }
    f = fopen(whole, "w");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    ck_assert_int_eq(fclose(f), 0);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

START_TEST(the_least_limit_counts)
{
    char top[] = "/tmp/flamed-test-XXXXXX", path[128];
    struct server s = { .initial_pid_ns = true };

    ck_assert_ptr_nonnull(mkdtemp(top));
    write_below(top, "proc/1/mountinfo", NODES[_i].mounts);
    for (size_t i = 0; i < ARRAY_SIZE(NODES[_i].files) && NODES[_i].files[i].path; i++) {
        snprintf(path, sizeof(path), "sys/fs/cgroup/%s", NODES[_i].files[i].path);
        write_below(top, path, NODES[_i].files[i].text);
    }
    s.host_root_fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    s.proc_fd = openat(s.host_root_fd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(s.proc_fd, 0);
    ck_assert_uint_eq(cgroup_cpu_limit(&s, span_of(NODES[_i].cgroup)), NODES[_i].limit);
    close(s.proc_fd);
    close(s.host_root_fd);
    ck_assert_int_eq(nftw(top, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

#define BELOW_FUSE "40 23 0:40 / /home/x/%05d\\040\\040\\040 rw,nosuid - fuse.x x rw,user_id=1000\n"

/* Makes a node with over 1 MiB of mountinfo. @first: the mount of cgroups comes before the others.
 */
static struct server node_with_many_mounts(char *top, bool first)
{
    struct server s = { .initial_pid_ns = true };
    char path[128];
    FILE *f;

    ck_assert_ptr_nonnull(mkdtemp(top));
    write_below(top, "proc/1/mountinfo", "");
    write_below(top, "sys/fs/cgroup/box/cgroup.events", "populated 1\nfrozen 1\n");
    write_below(top, "sys/fs/cgroup/box/cpu.max", "50000 100000\n");
    snprintf(path, sizeof(path), "%s/proc/1/mountinfo", top);
    f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    if (first)
        fputs(V2, f);
    for (int i = 0; ftell(f) < (long)MOUNTINFO_MAX_BYTES + 100000; i++)
        fprintf(f, BELOW_FUSE, i);
    if (!first)
        fputs(V2, f);
    ck_assert_int_eq(fclose(f), 0);
    s.host_root_fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    s.proc_fd = openat(s.host_root_fd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return s;
}

/* Any user can mount a thousand FUSE file systems with long names. What the machine mounted before
 * is still found. If it is not, nothing is claimed: a limit might be near, and the process frozen,
 * or in a container. */
START_TEST(many_mounts_hide_no_cgroup)
{
    static const struct span CGROUP = { "0::/box\n", sizeof("0::/box\n") - 1 };
    _cleanup_buf_ struct buf made = BUF_UPTO(TARGET_TEXT_MAX);
    char top[] = "/tmp/flamed-test-XXXXXX";
    bool first = !_i;
    struct server s = node_with_many_mounts(top, first);
    const struct attach_headroom_facts facts = { .cgroup = CGROUP };
    const struct target t = { .host_pid = 1 };
    struct error err = ERROR_NULL;

    ck_assert_uint_eq(cgroup_cpu_limit(&s, CGROUP), first ? 500 : 0);
    ck_assert_int_eq(attach_headroom_check_memory(&s, &t, &facts, &err), first ? 0 : -EFBIG);
    ck_assert_int_eq(attach_headroom_check_threads(&s, &t, &facts, 0, &err), first ? 0 : -EFBIG);
    ck_assert(first || strstr(err.msg, "first MiB of the machine's mounts"));
    ck_assert_int_eq(cgroup_frozen(&s, CGROUP), first ? 1 : -EFBIG);
    cgroup_made_by_root(&s, CGROUP, &made);
    ck_assert_int_eq(made.error, first ? 0 : -EFBIG);
    close(s.proc_fd);
    close(s.host_root_fd);
    ck_assert_int_eq(nftw(top, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

/* Version 2: limits come from a cgroup above, counts from the process's own. */
START_TEST(opens_the_files)
{
    static const struct file FILES[] = {
        { "box/cpu.max", "50000 100000\n" },
        { "box/cpu.stat", "nr_periods 7\n" },
        { "box/a/cpu.max", "max 100000\n" },
        { "box/a/cpu.stat", "nr_periods 9\n" },
        { "box/a/memory.max", "max\n" },
        { "box/memory.max", "1048576\n" },
        { "box/a/memory.events", "oom_kill 1\n" },
        { "box/memory.events", "oom_kill 5\n" },
        { "box/a/memory.pressure", "some total=3\n" },
        { "box/a/memory.swap.max", "1024\n" }, /* less, and more of it is left */
        { "box/memory.swap.max", "4096\n" },
        { "box/a/memory.swap.current", "100\n" },
        { "box/memory.swap.current", "4000\n" },
    };
    char top[] = "/tmp/flamed-test-XXXXXX", path[128], text[32] = { 0 };
    struct server s = { .initial_pid_ns = true };
    struct broker_cgroup_files f;

    ck_assert_ptr_nonnull(mkdtemp(top));
    write_below(top, "proc/1/mountinfo", V2);
    for (size_t i = 0; i < ARRAY_SIZE(FILES); i++) {
        snprintf(path, sizeof(path), "sys/fs/cgroup/%s", FILES[i].path);
        write_below(top, path, FILES[i].text);
    }
    s.host_root_fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    s.proc_fd = openat(s.host_root_fd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    cgroup_files_open(&s, SPAN("0::/box/a\n"), &f);
    ck_assert_uint_eq(f.cpu_limit, 500);
    ck_assert_uint_eq(f.memory_limit, 1048576);
    ck_assert_uint_eq(f.swap_limit, 4096);
    ck_assert_int_gt(read(f.fds[BROKER_CGROUP_CPU], text, sizeof(text) - 1), 0);
    ck_assert_str_eq(text, "nr_periods 7\n");
    ck_assert_int_gt(read(f.fds[BROKER_CGROUP_KILLS], text, sizeof(text) - 1), 0);
    ck_assert_ptr_nonnull(strstr(text, "oom_kill 1\n"));
    memset(text, 0, sizeof(text));
    ck_assert_int_gt(read(f.fds[BROKER_CGROUP_SWAP], text, sizeof(text) - 1), 0);
    ck_assert_str_eq(text, "4000\n");
    ck_assert_int_ge(f.fds[BROKER_CGROUP_MEMORY_PRESSURE], 0);
    for (size_t i = 0; i < BROKER_CGROUP_FILES; i++)
        close_fd(f.fds[i]);
    close(s.proc_fd);
    close(s.host_root_fd);
    ck_assert_int_eq(nftw(top, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

/* For a path that is too deep no file is opened. The limits above are still known. */
START_TEST(a_deep_path)
{
    char top[] = "/tmp/flamed-test-XXXXXX", deep[512];
    int n = snprintf(deep, sizeof(deep), "0::/box");
    struct server s = { .initial_pid_ns = true };
    struct broker_cgroup_files f;

    for (size_t i = 1; i < CGROUP_LEVELS_MAX; i++)
        n += snprintf(deep + n, sizeof(deep) - (size_t)n, "/d");
    ck_assert(!cgroup_is_too_deep(span_of(deep)));
    snprintf(deep + n, sizeof(deep) - (size_t)n, "/d\n");
    ck_assert(cgroup_is_too_deep(span_of(deep)));
    ck_assert_ptr_nonnull(mkdtemp(top));
    write_below(top, "proc/1/mountinfo", V2);
    write_below(top, "sys/fs/cgroup/box/cpu.max", "50000 100000\n");
    s.host_root_fd = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);
    s.proc_fd = openat(s.host_root_fd, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_uint_eq(cgroup_cpu_limit(&s, span_of(deep)), 500);
    cgroup_files_open(&s, span_of(deep), &f);
    ck_assert_uint_eq(f.cpu_limit, 0);
    for (size_t i = 0; i < BROKER_CGROUP_FILES; i++)
        ck_assert_int_eq(f.fds[i], -1);
    close(s.proc_fd);
    close(s.host_root_fd);
    ck_assert_int_eq(nftw(top, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("cgroups");

    tcase_add_loop_test(tc, the_least_limit_counts, 0, ARRAY_SIZE(NODES));
    tcase_add_loop_test(tc, many_mounts_hide_no_cgroup, 0, 2);
    tcase_add_test(tc, opens_the_files);
    tcase_add_test(tc, a_deep_path);
    return suite_run_case("cgroups", tc);
}
