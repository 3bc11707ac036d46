/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/launcher.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fds.h"
#include "base/list.h"
#include "base/log.h"
#include "broker_client/wire.h"
#include "launcher/exec_memfd.h"
#include "launcher/kept.h"
#include "launcher/mounter.h"
#include "launcher/mounts.h"
#include "launcher/turns.h"
#include "privileged/child.h"
#include "privileged/embedded.h"
#include "privileged/lockdown.h"
#include "privileged/memfd.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AGAIN_S 1 /* pause before a launcher that ended is started again */

struct running {
    pid_t pid; /* 0: free */
    int pidfd, result_fd;
    int32_t host_pid;
    uint64_t start_ticks, deadline_ns;
    struct turn turn;
    struct mounter mounter; /* has the mounts in the JVM's container */
};

struct launcher {
    int socket, program_fd;
    bool mounts; /* mounting in containers is allowed */
    struct mounts_names names;
    struct running running[LAUNCHER_RUNNING_MAX];
    struct turn started[LAUNCHER_OWNERS_MAX]; /* last attach of each owner */
    struct kept kept;
};

/* Writes a result for a helper that wrote none. A second result is ignored, so this one has no
 * effect after the helper's own. Never blocks: a process in the container may have filled the pipe.
 */
static void write_result(int fd, uint32_t step, int error)
{
    static struct attach_result result;
    ssize_t r;

    result = (struct attach_result){
        .magic = ATTACH_MAGIC,
        .version = ATTACH_VERSION,
        .step = step,
        .error = error,
    };
    r = write(fd, &result, sizeof(result));
    (void)r; /* the reader may be gone */
}

/* Runs in the child: places the descriptors, closes all others, and executes the program. */
static int exec_helper(const struct launcher *l, const struct launcher_message *m, const int *fds)
{
    char *argv[] = { (char *)"flamed-attach", NULL }, *envp[] = { NULL };
    int high[ATTACH_FD_END], job = -1, program, r;

    r = memfd_sealed("flamed-attach-job", MEMFD_DATA, &m->job, sizeof(m->job), &job);
    if (r < 0)
        return r;
    program = fcntl(l->program_fd, F_DUPFD_CLOEXEC, 2 * ATTACH_FD_END);
    for (int i = ATTACH_FD_RESULT; i < ATTACH_FD_END; i++) {
        int from = i == ATTACH_FD_JOB ? job : fds[i - ATTACH_FD_RESULT];

        high[i] = fcntl(from, F_DUPFD_CLOEXEC, ATTACH_FD_END);
        if (high[i] < 0 || program < 0)
            return -errno;
    }
    /* 0, 1 and 2 stay closed. The host's /dev/null belongs to root: a container's root that reached
     * it through the helper could change its mode for the whole host. */
    fds_close(0, ATTACH_FD_RESULT - 1);
    for (int i = ATTACH_FD_RESULT; i < ATTACH_FD_END; i++) {
        if (dup3(high[i], i, 0) < 0)
            return -errno;
    }
    syscall(SYS_execveat, program, "", argv, envp, AT_EMPTY_PATH);
    return -errno;
}

static bool is_running(const struct launcher *l, const struct launcher_message *m)
{
    return ANY_OF(i, LAUNCHER_RUNNING_MAX,
                  l->running[i].pid && l->running[i].host_pid == m->host_pid &&
                      l->running[i].start_ticks == m->start_ticks);
}

/* Answers the broker, which waits for it. @file: the JVM's output file if it is mounted, else -1.
 */
static void answer(const struct launcher *l, const struct launcher_message *m, int file, int error)
{
    struct launcher_answer a = { .serial = m->serial, .error = error };

    wire_send(l->socket, &a, sizeof(a), &file, file < 0 ? 0 : 1);
}

/* Mounts what @m asks for and adds the folder's index to its mode. Return: 0, or the errno to
 * report. */
static int mount_for(struct launcher *l, struct launcher_message *m, const int *fds,
                     struct mounter *ret, uint32_t *ret_step)
{
    _cleanup_mounts_ struct mounts mounts = MOUNTS_NULL;
    uint32_t folder = 0;
    int r = mounts_make(&l->names, m->mounts, fds[ATTACH_FD_OUT - ATTACH_FD_RESULT], m->host_uid,
                        m->host_gid, &mounts);

    *ret_step = ATTACH_STEP_JOB;
    answer(l, m, mounts.file, -r);
    if (r < 0)
        return -r;
    r = mounter_start(m, &mounts, fds[ATTACH_FD_TARGET - ATTACH_FD_RESULT],
                      fds[ATTACH_FD_ROOT - ATTACH_FD_RESULT], &l->kept, ret, &folder, ret_step);
    if (r == 0 && m->job.mode == ATTACH_MOUNT)
        m->job.mode += folder;
    return r;
}

/* Frees the slot of a reaped helper. Reports @error if the helper wrote no result. */
static void forget(struct launcher *l, struct running *run, int error)
{
    kept_note(&l->kept, run->turn.owner, run->pid);
    mounter_end(&run->mounter);
    write_result(run->result_fd, ATTACH_STEP_KILLED, error);
    close_fd(run->pidfd);
    close_fd(run->result_fd);
    *run = (struct running){ 0 };
}

/* Kills what remains of an attach. The guard leads a process group that no member can leave. The
 * members are not bound to the guard's life if the container stopped them too early. The guard is a
 * child that is not yet reaped, so its number still names its group. */
static void end_group(const struct running *run)
{
    kill(-run->pid, SIGKILL);
}

/* Kills an attach and reaps its guard, which touches no file system that could hold it. */
static void end_now(struct launcher *l, struct running *run)
{
    int status;

    kill(run->pid, SIGKILL); /* it may not lead a group yet */
    end_group(run);
    while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    forget(l, run, ETIMEDOUT);
}

/* Returns a slot for @owner. If necessary, ends an attach of another owner that has waited for
 * long. Returns NULL if there is no slot now. */
static struct running *take_place(struct launcher *l, uint64_t owner, uint64_t now)
{
    struct turn turns[LAUNCHER_RUNNING_MAX];
    size_t i;

    for (i = 0; i < LAUNCHER_RUNNING_MAX; i++)
        turns[i] = l->running[i].turn;
    if (turns_next(turns, LAUNCHER_RUNNING_MAX, owner, now, &i) < 0)
        return NULL;
    if (l->running[i].pid)
        end_now(l, &l->running[i]);
    return &l->running[i];
}

/* Returns true if nobody waits for the result any more: the other end of the pipe @result_fd is
 * closed. So the broker gives up an attach that this launcher has not answered in time. */
static bool given_up(int result_fd)
{
    struct pollfd p = { .fd = result_fd };

    return poll(&p, 1, 0) > 0 && (p.revents & POLLERR);
}

/* Returns the errno that keeps @m from starting, or 0 with *ret, the slot. */
static int obstacle(struct launcher *l, const struct launcher_message *m, uint64_t now,
                    struct running **ret, struct turn **ret_started)
{
    size_t i;

    if (is_running(l, m))
        return EBUSY;
    if (m->mounts && !l->mounts)
        return EPERM;
    if (kept_too_many(&l->kept, m->owner))
        return EDQUOT;
    if (turns_interval(l->started, LAUNCHER_OWNERS_MAX, m->owner, LAUNCHER_INTERVAL_NS, now, &i) <
        0)
        return EAGAIN;
    *ret_started = &l->started[i];
    *ret = take_place(l, m->owner, now);
    return *ret ? 0 : EAGAIN;
}

static void start_helper(struct launcher *l, struct launcher_message *m, int *fds)
{
    struct running *slot = NULL;
    uint64_t now = clock_monotonic_ns();
    struct mounter mounter = MOUNTER_NULL;
    uint32_t step = ATTACH_STEP_JOB;
    struct turn *started;
    int why = given_up(fds[0]) ? ECANCELED : obstacle(l, m, now, &slot, &started);
    pid_t pid;

    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    if (why) {
        write_result(fds[0], ATTACH_STEP_JOB, why);
        answer(l, m, -1, why);
        return;
    }
    *started = (struct turn){ m->owner, now };
    if (!m->mounts)
        answer(l, m, -1, 0);
    why = m->mounts ? mount_for(l, m, fds, &mounter, &step) : 0;
    if (why) {
        write_result(fds[0], step, why);
        return;
    }
    if (given_up(fds[0])) { /* the answer came too late */
        mounter_end(&mounter);
        return;
    }
    pid = fork();
    if (pid == 0) {
        int r;

        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        r = exec_helper(l, m, fds);
        write_result(fds[0], ATTACH_STEP_JOB, -r);
        _exit(127);
    }
    if (pid < 0) {
        write_result(fds[0], ATTACH_STEP_JOB, errno);
        mounter_end(&mounter);
        return;
    }
    *slot = (struct running){
        .pid = pid,
        .pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
        .result_fd = take_fd(&fds[0]),
        .host_pid = m->host_pid,
        .start_ticks = m->start_ticks,
        .turn = { m->owner, now },
        .deadline_ns = now + (m->job.timeout_ms + LAUNCHER_KILL_AFTER_MS) * NSEC_PER_MSEC,
        .mounter = mounter,
    };
}

/* Handles one message. Returns false if the broker closed the connection. */
static bool take_message(struct launcher *l)
{
    struct launcher_message m = { 0 };
    int fds[LAUNCHER_FDS];
    size_t count = 0;
    ssize_t n = wire_receive(l->socket, &m, sizeof(m), fds, LAUNCHER_FDS, &count);

    if (n == -EMFILE) { /* the broker's next attach may find descriptors */
        answer(l, &m, -1, EMFILE);
        return true;
    }
    if (n <= 0)
        return false;
    if (launcher_message_check(&m, (size_t)n, count) == 0)
        start_helper(l, &m, fds);
    for (size_t i = 0; i < count; i++)
        close_fd(fds[i]);
    return true;
}

static bool has_ended(const struct running *run)
{
    struct pollfd p = { .fd = run->pidfd, .events = POLLIN };

    return poll(&p, 1, 0) > 0;
}

/* Kills helpers that are past their deadline and frees the slots of those that ended. */
static void reap(struct launcher *l)
{
    for (size_t i = 0; i < LAUNCHER_RUNNING_MAX; i++) {
        struct running *run = &l->running[i];
        bool late = run->pid && clock_monotonic_ns() >= run->deadline_ns;
        int status;

        if (!run->pid)
            continue;
        if (has_ended(run))
            end_group(run);
        if (late)
            end_now(l, run);
        else if (waitpid(run->pid, &status, WNOHANG) == run->pid)
            forget(l, run, EPIPE);
    }
}

static int next_wait_ms(const struct launcher *l)
{
    uint64_t now = clock_monotonic_ns(), next = UINT64_MAX;

    for (size_t i = 0; i < LAUNCHER_RUNNING_MAX; i++) {
        if (l->running[i].pid)
            next = MIN(next, l->running[i].deadline_ns);
    }
    if (next == UINT64_MAX)
        return -1;
    return next <= now ? 0 : (int)((next - now) / NSEC_PER_MSEC) + 1;
}

static void run(struct launcher *l)
{
    if (l->mounts)
        mounter_init(&l->names);
    for (;;) {
        struct pollfd p[1 + LAUNCHER_RUNNING_MAX] = { { .fd = l->socket, .events = POLLIN } };

        for (size_t i = 0; i < LAUNCHER_RUNNING_MAX; i++)
            p[1 + i] = (struct pollfd){ .fd = l->running[i].pid ? l->running[i].pidfd : -1,
                                        .events = POLLIN };
        if (poll(p, ARRAY_SIZE(p), next_wait_ms(l)) < 0 && errno != EINTR)
            return;
        if (p[0].revents && !take_message(l))
            return;
        reap(l);
    }
}

/* Returns whether the other end of @socket is closed. */
static bool hung_up(int socket)
{
    struct pollfd p = { .fd = socket };

    return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR));
}

/* Runs the launcher in a child and restarts it if it dies, by an attack of a container or an error
 * of its own. The broker itself cannot start processes any more. The child's helpers die with it.
 * Returns when the broker has closed the connection. */
static int keep_running(struct launcher *l)
{
    const struct timespec pause = { .tv_sec = AGAIN_S };

    for (;;) {
        int status = 0;
        pid_t pid = fork();

        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
            setpriority(PRIO_PROCESS, 0, 0); /* helpers run at normal priority */
            run(l);
            _exit(0);
        }
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
        if (hung_up(l->socket))
            return 0;
        log_err("launcher: it ended (status=0x%x) and is started again", (unsigned)status);
        nanosleep(&pause, NULL);
    }
}

int launcher_run(int socket, bool mounts)
{
    struct span helper = embedded_helper;
    struct launcher l = { .socket = socket, .program_fd = -1, .mounts = mounts };
    struct error err = ERROR_NULL;
    int r;

    signal(SIGPIPE, SIG_IGN); /* writing to a closed pipe must not kill the launcher */
    r = exec_memfd_open("flamed-attach", helper.p, helper.n, &l.program_fd);
    if (r < 0)
        return log_err_errno(r, "attaching will not work: neither a memory file nor a file of a "
                                "file system without a name may be executed");
    r = launcher_lockdown(mounts, &err);
    if (r < 0) {
        log_err("attaching will not work: %s", err.msg);
        return r;
    }
    return keep_running(&l);
}

static int launcher_main(int socket)
{
    return launcher_run(socket, /* mounts= */ false);
}

static int launcher_main_mounts(int socket)
{
    return launcher_run(socket, /* mounts= */ true);
}

void launcher_start(bool mounts, int *ret_fd)
{
    int r = child_start("flamed-launcher", mounts ? launcher_main_mounts : launcher_main, ret_fd);

    if (r < 0)
        log_err_errno(r, "attaching will not work: the launcher cannot be started");
}
