/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/mounter.h"

#include "base/cleanup.h"
#include "base/fds.h"
#include "base/log.h"
#include "launcher/mount_points.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_MS 2000
#define END_MS 1000
#define SWEEP_ALL_MS 5000
#define KEEP_MAX 10

/* the host's /proc; stays open as long as the launcher lives */
static int host_proc = -1;

/* The child's report, written once. */
struct report {
    int32_t error; /* errno; 0: mounted */
    uint32_t step, folder;
};

struct job {
    const struct mounts *mounts;
    int target_fd, root_fd, info_fd;
    int report_fd, hold_fd; /* -1: only remove mounts */
    uint32_t timeout_ms;
    const char *left; /* also remove mounts with this source; NULL: none */
};

/* ---- in the child ---- */

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Closes all descriptors that are not in @keep. */
static void keep_only(int *keep, size_t n)
{
    unsigned next = 0;

    qsort(keep, n, sizeof(keep[0]), compare);
    for (size_t i = 0; i < n; i++) {
        if (keep[i] < 0 || (unsigned)keep[i] < next)
            continue;
        if ((unsigned)keep[i] > next)
            fds_close(next, (unsigned)keep[i] - 1);
        next = (unsigned)keep[i] + 1;
    }
    fds_close(next, ~0u);
}

static int over(int mount_fd, int folder_fd)
{
    return move_mount(mount_fd, "", folder_fd, "",
                      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0
               ? -errno
               : 0;
}

/* Unmounts by this process's descriptor, because the path may name another mount by now. */
static int away(int mount_fd)
{
    if (mount_fd < 0)
        return 0;
    if (fchdir(mount_fd) < 0 || (umount2(".", MNT_DETACH) < 0 && errno != EINVAL))
        return -errno;
    return 0;
}

/* Mounts over @folder_fd, which was checked before. If the mounts changed since the check, the
 * mount may be in another place or shared. Then unmounts it at once. */
static int mount_at(const struct job *j, int mount_fd, int folder_fd, uint64_t in_mount)
{
    int r = over(mount_fd, folder_fd);

    if (r == 0 && !mount_point_is_in(j->info_fd, mount_fd, in_mount)) {
        r = -EXDEV;
        away(mount_fd);
    }
    return r;
}

static int mount_tmp(const struct job *j)
{
    _cleanup_close_ int folder = -1;
    uint64_t in_mount = 0;
    int r = mount_point_open_tmp(j->root_fd, j->info_fd, &folder, &in_mount);

    return r < 0 ? r : mount_at(j, j->mounts->tmp, folder, in_mount);
}

/* Mounts the agent over the first suitable folder, and the output's file system inside of it. */
static int mount_agent(const struct job *j, uint32_t *ret_folder)
{
    int r = -ENOENT;

    for (uint32_t i = 0; i < ATTACH_MOUNT_FOLDER_COUNT; i++) {
        _cleanup_close_ int folder = -1, inner = -1;
        uint64_t in_mount = 0;

        r = mount_point_open_folder(j->root_fd, j->info_fd, i, &folder, &in_mount);
        if (r < 0)
            continue;
        /* no second folder: a mount that was removed cannot be mounted again */
        r = mount_at(j, j->mounts->agent, folder, in_mount);
        if (r < 0)
            return r;
        inner = openat(j->mounts->agent, ATTACH_MOUNT_FOLDER,
                       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        r = inner < 0 ? -errno : over(j->mounts->stream, inner);
        if (r < 0)
            away(j->mounts->agent);
        else
            *ret_folder = i;
        return r;
    }
    return r;
}

/* Removes all mounts. The mount of the output is removed with the agent's. */
static int all_away(const struct job *j)
{
    int r = away(j->mounts->agent), s = away(j->mounts->tmp);

    return r < 0 ? r : s;
}

static void tell(const struct job *j, int r, uint32_t step, uint32_t folder)
{
    struct report report = { .error = -r, .step = step, .folder = folder };
    ssize_t n = write(j->report_fd, &report, sizeof(report));

    (void)n; /* the reader may be gone; then poll() returns at once, too */
}

/* Runs in the child. Returns the exit status: 0 if no mount is left. */
static int child(const struct job *j)
{
    struct pollfd p = { .fd = j->hold_fd, .events = POLLIN };
    uint32_t step = ATTACH_STEP_NAMESPACES, folder = 0;
    int r = setns(j->target_fd, CLONE_NEWNS) < 0 ? -errno : 0;

    if (r == 0) /* removes mounts of a mounter that was killed */
        mount_points_sweep(host_proc, j->root_fd, j->info_fd, j->left);
    if (!j->mounts)
        return r == 0 ? 0 : 1;
    if (r == 0 && j->mounts->tmp >= 0) {
        step = ATTACH_STEP_TMP;
        r = mount_tmp(j);
    }
    if (r == 0 && j->mounts->agent >= 0) {
        step = ATTACH_STEP_MOUNT;
        r = mount_agent(j, &folder);
    }
    if (r < 0)
        all_away(j);
    tell(j, r, step, folder);
    while (r == 0 && poll(&p, 1, (int)j->timeout_ms) < 0 && errno == EINTR)
        continue;
    return all_away(j) < 0 ? 1 : 0;
}

/* ---- in the launcher ---- */

static pid_t start_child(const struct job *j)
{
    pid_t pid = fork();

    if (pid == 0) {
        const struct mounts none = MOUNTS_NULL, *m = j->mounts ? j->mounts : &none;
        int keep[KEEP_MAX] = { m->agent,   m->stream,    m->tmp,     j->target_fd, j->root_fd,
                               j->info_fd, j->report_fd, j->hold_fd, host_proc };

        prctl(PR_SET_NAME, "flamed-mounter");
        /* a signal to the launcher's process group must not end it */
        setsid();
        signal(SIGTERM, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        keep_only(keep, 9);
        _exit(child(j));
    }
    return pid < 0 ? -errno : pid;
}

static bool ended_within(int pidfd, int ms)
{
    struct pollfd p = { .fd = pidfd, .events = POLLIN };

    return poll(&p, 1, ms) > 0;
}

/* Waits for a child that waits for no other process, and kills it after @ms. Returns true if it
 * succeeded. */
static bool child_done(pid_t pid, int pidfd, int ms)
{
    int status = 0;

    if (!ended_within(pidfd, ms)) {
        kill(pid, SIGKILL);
        if (!ended_within(pidfd, ms))
            return false; /* stuck in the kernel, in a file system that does not answer */
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void forget(struct mounter *m)
{
    close_fd(m->pidfd);
    close_fd(m->hold_fd);
    close_fd(m->target_fd);
    close_fd(m->root_fd);
    close_fd(m->info_fd);
    *m = MOUNTER_NULL;
}

void mounter_end(struct mounter *m)
{
    struct job again = { .target_fd = m->target_fd,
                         .root_fd = m->root_fd,
                         .info_fd = m->info_fd,
                         .report_fd = -1,
                         .hold_fd = -1,
                         .left = m->source };

    if (!m->pid)
        return;
    m->hold_fd = close_fd(m->hold_fd);
    if (!child_done(m->pid, m->pidfd, END_MS)) {
        pid_t pid = start_child(&again);
        _cleanup_close_ int pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

        kept_note(m->kept, m->owner, m->pid);
        if (pid <= 0 || !child_done(pid, pidfd, END_MS)) {
            log_err("launcher: what was mounted in a container could not be taken away");
            if (pid > 0)
                kept_note(m->kept, m->owner, pid);
        }
    }
    forget(m);
}

/* Opens the mountinfo of the process that @target_fd pins. */
static int open_info(int32_t host_pid, int target_fd)
{
    struct pollfd p = { .fd = target_fd, .events = POLLIN };
    char path[48];
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/mountinfo", host_pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (poll(&p, 1, 0) != 0) {
        close_fd(fd);
        return -ESRCH;
    }
    return fd;
}

static int start(const struct launcher_message *msg, const struct mounts *made, struct mounter *m,
                 int *ret_report)
{
    int report[2], hold[2];
    struct job j = { .mounts = made,
                     .target_fd = m->target_fd,
                     .root_fd = m->root_fd,
                     .info_fd = m->info_fd,
                     .timeout_ms = msg->job.timeout_ms + 2 * LAUNCHER_KILL_AFTER_MS };
    pid_t pid;

    if (pipe2(report, O_CLOEXEC) < 0)
        return -errno;
    if (pipe2(hold, O_CLOEXEC) < 0) {
        close_fd(report[0]);
        close_fd(report[1]);
        return -errno;
    }
    j.report_fd = report[1];
    j.hold_fd = hold[0];
    pid = start_child(&j);
    close_fd(report[1]);
    close_fd(hold[0]);
    m->hold_fd = hold[1];
    *ret_report = report[0];
    if (pid < 0)
        return pid;
    m->pid = pid;
    m->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return 0;
}

int mounter_start(const struct launcher_message *msg, const struct mounts *made, int target_fd,
                  int root_fd, struct kept *kept, struct mounter *ret, uint32_t *ret_folder,
                  uint32_t *ret_step)
{
    struct mounter m = MOUNTER_NULL;
    struct pollfd p = { .events = POLLIN };
    struct report report = { 0 };
    _cleanup_close_ int report_fd = -1;
    int r;

    *ret_step = ATTACH_STEP_JOB;
    m.owner = msg->owner;
    m.kept = kept;
    snprintf(m.source, sizeof(m.source), "%s", made->source);
    m.target_fd = fcntl(target_fd, F_DUPFD_CLOEXEC, 3);
    m.root_fd = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
    m.info_fd = open_info(msg->host_pid, target_fd);
    r = m.info_fd < 0 ? m.info_fd : start(msg, made, &m, &report_fd);
    if (r < 0) {
        forget(&m);
        return -r;
    }
    p.fd = report_fd;
    if (poll(&p, 1, REPORT_MS) > 0 &&
        read(report_fd, &report, sizeof(report)) == (ssize_t)sizeof(report)) {
        *ret_step = report.step;
        r = report.error;
    } else {
        r = ETIMEDOUT; /* a file system of the container does not answer, or the mounter
                        * ended without a report */
    }
    if (r) {
        mounter_end(&m);
        return r;
    }
    *ret_folder = MIN(report.folder, ATTACH_MOUNT_FOLDER_COUNT - 1u);
    *ret = m;
    return 0;
}

void mounter_init(struct mounts_names *ret)
{
    _cleanup_close_ int pidfd = -1;
    pid_t pid;

    host_proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (host_proc < 0)
        return;
    mounts_init(host_proc, ret);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_NAME, "flamed-mounter");
        keep_only(&host_proc, 1);
        mount_points_sweep_all(host_proc);
        _exit(0);
    }
    if (pid < 0)
        return;
    pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (!child_done(pid, pidfd, SWEEP_ALL_MS))
        log_warn("launcher: whether something is still mounted in containers could not be seen");
}
