/* SPDX-License-Identifier: Apache-2.0 */
/* proc/cgroup_owner.c with the kernel's own cgroups: no process has more owners by making cgroups.
 */
#include "suite.h"

#include "base/shares.h"
#include "proc/owner_cache.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define USER 61001
#define CGROUPS 60
#define WAIT_US 10000
#define WAITS 1000

static int proc_fd;
static char top[128]; /* the test's own cgroup, in a hierarchy where any can be made */

/* The names that a runtime, or a user, gives to the cgroup of number %d. */
static const char *const NAMES[] = {
    ID "%04d",         "docker-" ID "%04d.scope",
    "lxc.payload.w%d", "runc-w%d.scope",
    "w%d.service",     "kubepods-pod1.slice:cri-containerd:" ID "%04d",
    "user-%d.slice",   "w%d",
};

/* Makes the cgroup @name of the test's own one, for @uid. */
static void make(const char *name, uid_t uid)
{
    char path[512];

    snprintf(path, sizeof(path), "%s%s%s", top, name[0] ? "/" : "", name);
    ck_assert_msg(mkdir(path, 0755) == 0 && chown(path, uid, 0) == 0, "%s: %m", path);
}

/* Removes it, a moment after its last process ended. */
static void drop(const char *name)
{
    char path[512];
    int r = -1;

    snprintf(path, sizeof(path), "%s%s%s", top, name[0] ? "/" : "", name);
    for (int i = 0; i < WAITS && r < 0; i++) {
        r = rmdir(path);
        if (r < 0 && errno != EBUSY)
            break;
        if (r < 0)
            usleep(WAIT_US);
    }
    ck_assert_msg(r == 0, "%s: %m", path);
}

static void put(pid_t pid, const char *name)
{
    char path[512], digits[16];
    int fd, n = snprintf(digits, sizeof(digits), "%d", pid);

    snprintf(path, sizeof(path), "%s/%s/cgroup.procs", top, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_msg(write(fd, digits, (size_t)n) == n, "%s: %m", path);
    close(fd);
}

static pid_t start(uid_t uid, int namespaces)
{
    int ready[2];
    pid_t pid;
    char byte;

    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid = (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        if (setresuid(uid, uid, uid) < 0)
            _exit(1);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ready[0]);
        close(ready[1]);
        for (;;)
            pause();
    }
    ck_assert_int_gt(pid, 0);
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static uint64_t owner_of(pid_t pid)
{
    struct proc_id id = { .host_pid = pid };

    ck_assert_int_eq(proc_read_start(proc_fd, pid, &id.start_ticks), 0);
    return proc_owner(proc_fd, &id);
}

static uint64_t owner_in(pid_t pid, const char *name)
{
    put(pid, name);
    return owner_of(pid);
}

/* Returns true if a hierarchy can be written to. Then @top is the test's cgroup. */
static bool setup_top(const char *name)
{
    static const char *const TOPS[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd",
                                        "/sys/fs/cgroup" };

    for (size_t i = 0; i < ARRAY_SIZE(TOPS); i++) {
        snprintf(top, sizeof(top), "%s/cgroup.procs", TOPS[i]);
        if (geteuid() != 0 || access(top, W_OK) < 0)
            continue;
        snprintf(top, sizeof(top), "%s/%s", TOPS[i], name);
        make("", 0);
        return true;
    }
    fprintf(stderr, "skipped: no cgroup can be made here\n");
    return false;
}

/* Returns the owner of a process in the cgroup @name, the first one of new @namespaces. */
static uint64_t owner_of_first(const char *name, uid_t uid, int namespaces)
{
    pid_t pid = start(uid, namespaces);
    uint64_t owner = owner_in(pid, name);

    end(pid);
    return owner;
}

/* Containers as runc makes them by cgroupfs: a cgroup NAME below the root, and a pid namespace. One
 * has made cgroups with ids in its own. */
START_TEST(a_container_with_any_name_is_one_owner)
{
    static const char *const INSIDE[] = { "", "docker", "docker/" ID "0001", "docker/" ID "0002" };
    uint64_t owners[ARRAY_SIZE(INSIDE)], other;

    if (!setup_top("flamed-test-other"))
        return;
    other = owner_of_first("", 0, CLONE_NEWPID);
    drop("");
    ck_assert(setup_top("flamed-test-web"));
    for (size_t i = 0; i < ARRAY_SIZE(INSIDE); i++) {
        if (i)
            make(INSIDE[i], 0);
        owners[i] = owner_of_first(INSIDE[i], 0, CLONE_NEWPID);
        ck_assert_msg(owners[i] == owners[0], "%s", INSIDE[i]);
    }
    for (size_t i = ARRAY_SIZE(INSIDE); i > 0; i--)
        drop(INSIDE[i - 1]);
    ck_assert_uint_ne(owners[0], other);
}
END_TEST

/* Makes CGROUPS cgroups in @folder, whatever their names. Returns how many owners a process has
 * there that moves through them. */
static size_t owners_below(const char *folder, uid_t uid)
{
    uint64_t owners[CGROUPS];
    size_t count = 0;
    pid_t pid = start(uid, 0);

    for (int i = 0; i < CGROUPS; i++) {
        char name[256];
        size_t n = (size_t)snprintf(name, sizeof(name), "%s/", folder), at = 0;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(name + n, sizeof(name) - n, NAMES[(size_t)i % ARRAY_SIZE(NAMES)], i);
#pragma GCC diagnostic pop
        make(name, uid);
        owners[count] = owner_in(pid, name);
        while (owners[at] != owners[count])
            at++;
        count += at == count;
        put(pid, folder);
        drop(name);
    }
    ck_assert_uint_eq(owner_of(pid) == owners[0], count == 1);
    end(pid);
    return count;
}

/* A user to whom root delegated a cgroup makes others below it, with names of containers and
 * services. Where root makes them, they are containers of a runtime. */
START_TEST(cgroups_in_a_delegated_one_make_no_owners)
{
    uint64_t mine;

    if (!setup_top("flamed-test-own"))
        return;
    make("a.service", 0);
    make("a.service/delegated", USER);
    make("b", USER);
    ck_assert_uint_eq(owners_below("a.service/delegated", USER), 1);
    ck_assert_uint_eq(owners_below("b", USER), 1);
    mine = owner_of_first("b", USER, 0);
    ck_assert_uint_eq(mine, owner_of_first("b", USER + 1, 0)); /* a container's other users */
    ck_assert_uint_ne(mine, owner_of_first("a.service/delegated", USER, 0));
    make("c.service", 0);
    ck_assert_uint_gt(owners_below("c.service", 0), CGROUPS / 2);
    drop("c.service");
    drop("b");
    drop("a.service/delegated");
    drop("a.service");
    drop("");
}
END_TEST

/* The same by rights of a group. */
START_TEST(a_cgroup_that_a_group_may_change_is_one_owner)
{
    char path[256];

    if (!setup_top("flamed-test-group"))
        return;
    make("shared", 0);
    snprintf(path, sizeof(path), "%s/shared", top);
    ck_assert_int_eq(chmod(path, 0775), 0);
    ck_assert_uint_eq(owners_below("shared", USER), 1);
    drop("shared");
    drop("");
}
END_TEST

/* The root of a container, whose namespace shows its own cgroup as the topmost one. */
static _Noreturn void be_container(int in, int out)
{
    char mount_point[] = "/tmp/flamed-test-XXXXXX", path[512], byte;

    if (unshare(CLONE_NEWCGROUP | CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || !mkdtemp(mount_point) ||
        mount("cgroup2", mount_point, "cgroup2", 0, NULL) < 0)
        _exit(1);
    for (int i = 0; i < CGROUPS && read(in, &byte, 1) == 1; i++) {
        int fd;

        snprintf(path, sizeof(path), "%s/" ID "%04d", mount_point, i);
        mkdir(path, 0755);
        strncat(path, "/cgroup.procs", sizeof(path) - strlen(path) - 1);
        fd = open(path, O_WRONLY | O_CLOEXEC);
        if (write(fd, "0", 1) != 1 || write(out, "+", 1) != 1)
            _exit(1);
        close(fd);
    }
    while (read(in, &byte, 1) == 1)
        ;
    umount2(mount_point, MNT_DETACH);
    rmdir(mount_point);
    _exit(0);
}

START_TEST(a_container_that_mounts_cgroups_is_one_owner)
{
    int to[2], from[2];
    uint64_t first = 0;
    pid_t pid;
    char byte;

    if (!setup_top("flamed-test-mounter"))
        return;
    make("docker-" ID "0001.scope", 0);
    ck_assert_int_eq(pipe2(to, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(from, O_CLOEXEC), 0);
    pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        close(to[1]);
        if (read(to[0], &byte, 1) != 1)
            _exit(1);
        be_container(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    put(pid, "docker-" ID "0001.scope");
    first = owner_of(pid);
    ck_assert_int_eq(write(to[1], "+", 1), 1);
    for (int i = 0; i < CGROUPS; i++) {
        ck_assert_int_eq(write(to[1], "+", 1), 1);
        if (read(from[0], &byte, 1) != 1) {
            ck_assert_msg(i == 0, "it stopped at %d", i);
            fprintf(stderr, "skipped: no cgroup file system can be mounted here\n");
            break;
        }
        ck_assert_msg(owner_of(pid) == first, "%d", i);
    }
    close(to[1]);
    waitpid(pid, NULL, 0);
    for (int i = 0; i < CGROUPS; i++) {
        char path[512];

        snprintf(path, sizeof(path), "%s/docker-" ID "0001.scope/" ID "%04d", top, i);
        for (int n = 0; n < WAITS && rmdir(path) < 0 && errno == EBUSY; n++)
            usleep(WAIT_US);
    }
    drop("docker-" ID "0001.scope");
    drop("");
}
END_TEST

/* Copies the file @name of this process into the folder. */
static void copy_own(const char *folder, const char *name)
{
    char path[128], text[8192];
    int from, to;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/self/%s", name);
    from = open(path, O_RDONLY | O_CLOEXEC);
    n = read(from, text, sizeof(text));
    snprintf(path, sizeof(path), "%s/42/%s", folder, name);
    to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert(n > 0 && write(to, text, (size_t)n) == n);
    close(from);
    close(to);
}

/* During an exec that waits for a file system, reading the start time blocks, as reading a FIFO
 * does. The broker must know the owner all the same, to leave such processes to its openers. */
START_TEST(the_owner_is_known_during_an_exec_that_does_not_end)
{
    static struct owner_cache cache;
    const struct proc_id id = { .host_pid = 42, .start_ticks = 7 };
    char folder[] = "/tmp/flamed-owner-XXXXXX", path[128];
    uint64_t owner;
    int fd;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/42", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    copy_own(folder, "cgroup");
    copy_own(folder, "status");
    copy_own(folder, "uid_map");
    snprintf(path, sizeof(path), "%s/42/stat", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    owner = proc_owner_now(fd, &id);
    ck_assert_uint_ne(owner, OWNER_FOREIGN);
    ck_assert_uint_eq(owner_cache_get(&cache, fd, &id, 0), owner);
    close(fd);
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof(path), "%s/42/%s", folder,
                 (const char *const[]){ "cgroup", "status", "uid_map", "stat" }[i]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/42", folder);
    rmdir(path);
    rmdir(folder);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("cgroup_owner");

    proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    proc_owner_use_mounts(proc_fd);
    tcase_add_test(tc, a_container_with_any_name_is_one_owner);
    tcase_add_test(tc, cgroups_in_a_delegated_one_make_no_owners);
    tcase_add_test(tc, a_cgroup_that_a_group_may_change_is_one_owner);
    tcase_add_test(tc, a_container_that_mounts_cgroups_is_one_owner);
    tcase_add_test(tc, the_owner_is_known_during_an_exec_that_does_not_end);
    return suite_run_case("cgroup_owner", tc);
}
