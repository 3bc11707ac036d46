/* SPDX-License-Identifier: Apache-2.0 */
/* Sets up a child of the supervisor between fork and exec. */
#include "supervisor/supervisor_impl.h"

#include "base/cleanup.h"
#include "base/fds.h"
#include "supervisor/arguments.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Nice value of the threads that name the code that a target runs: they have to keep up with it. In
 * the worker only the naming thread keeps it, in the broker only the thread that serves naming. */
#define CHILD_NICE (-10)
/* Nice value of the session. Autogroup schedules sessions first, and a thread's nice value counts
 * only within its session. This value gives the session three times the share of another. */
#define SESSION_NICE (-5)
#define CHILD_FD_FIRST 3
#define CHILD_FDS_MAX (SUPERVISE_LISTEN_MAX + 6)

/* Moves @fds to the numbers from CHILD_FD_FIRST on, in order, and closes all other fds. */
static int arrange_fds(const int *fds, size_t n)
{
    int high[CHILD_FDS_MAX];

    for (size_t i = 0; i < n; i++) {
        high[i] = fcntl(fds[i], F_DUPFD, CHILD_FD_FIRST + CHILD_FDS_MAX);
        if (high[i] < 0)
            return -errno;
    }
    for (size_t i = 0; i < n; i++) {
        if (dup2(high[i], CHILD_FD_FIRST + (int)i) < 0)
            return -errno;
    }
    fds_close(CHILD_FD_FIRST + (unsigned)n, ~0u);
    return 0;
}

/* Starts a session of its own, which gets no signals from the terminal and cannot inject input into
 * it, and raises its priority. Without the right to do so, naming is slower. Call it with all
 * rights. */
static int begin_session(void)
{
    _cleanup_close_ int fd = -1;

    if (setsid() < 0)
        return -errno;
    setpriority(PRIO_PROCESS, 0, CHILD_NICE);
    fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
    if (fd >= 0)
        dprintf(fd, "%d", SESSION_NICE);
    return 0;
}

/* Blocks the signals @blocked alone, and dies with the supervisor. */
static int detach(const struct supervisor *s, const sigset_t *blocked)
{
    if (sigprocmask(SIG_SETMASK, blocked, NULL) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return -errno;
    return getppid() == s->self ? 0 : -ESRCH; /* the supervisor ended before prctl() */
}

/* Drops all capabilities from the bounding set; EINVAL marks the end of the list. Without
 * CAP_SETPCAP, no_new_privs has to suffice. */
static void empty_bounding_set(void)
{
    for (unsigned long cap = 0; cap < 64; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
            break;
    }
}

/* Becomes the worker's user without a way back. The order matters: setgroups() and setresgid() need
 * the rights that setresuid() drops, and no_new_privs before the exec makes the change final.
 * Leaving uid 0 drops all capabilities; the exec of a program without file capabilities restores
 * none. */
static int become_user(uid_t uid, gid_t gid)
{
    empty_bounding_set();
    if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return setuid(0) == 0 || setgid(0) == 0 ? -EPERM : 0;
}

int supervisor_exec_worker(const struct supervisor *s, int broker_fd)
{
    int fds[CHILD_FDS_MAX], r;
    struct arguments a = { .count = 0 };
    char list[ARGUMENT_MAX] = "", path[40];
    size_t n = 0, len = 0;
    int at = CHILD_FD_FIRST;
    sigset_t hangup; /* waits until the worker reads its signals */

    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    arguments_add(&a, "flamed");
    arguments_add(&a, "--worker");
    fds[n++] = broker_fd;
    arguments_add(&a, "--broker-fd=%d", at++);
    for (size_t i = 0; i < s->listen_count; i++) {
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%d", i ? "," : "", at++);
        fds[n++] = s->listen_fds[i];
    }
    if (s->listen_count)
        arguments_add(&a, "--listen-fds=%s", list);
    if (s->store_fd >= 0) {
        fds[n++] = s->store_fd;
        arguments_add(&a, "--store-fd=%d", at++);
    }
    if (s->config_fd >= 0) {
        fds[n++] = s->config_fd;
        arguments_add(&a, "--config-fd=%d", at++);
        lseek(s->config_fd, 0, SEEK_SET); /* rewinds after the previous worker */
    }
    if (s->notes_fd >= 0) {
        fds[n++] = s->notes_fd;
        arguments_add(&a, "--notes-fd=%d", at++);
    }
    if (s->push_fd >= 0) {
        fds[n++] = s->push_fd;
        arguments_add(&a, "--push-fd=%d", at++);
    }
    arguments_add(&a, "--log-level=%s", supervise_level_name(s->log_level));
    arguments_add(&a, "--");
    for (int i = 0; i < s->extra_count; i++)
        arguments_borrow(&a, s->extra[i]);
    fds[n++] = s->flamed_fd; /* last, because only the exec needs it */
    r = arrange_fds(fds, n) ?: begin_session();
    setrlimit(RLIMIT_MEMLOCK, &s->memlock);
    if (r == 0)
        r = become_user((uid_t)s->uid, (gid_t)s->gid);
    if (r == 0) /* after become_user(), which clears the death signal */
        r = detach(s, &hangup);
    if (r < 0)
        return r;
    fcntl(at, F_SETFD, FD_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
    execv(path, a.argv);
    return -errno;
}

int supervisor_exec_broker(const struct supervisor *s, int client_fd, pid_t client)
{
    struct arguments a = { .count = 0 };
    sigset_t none;
    int r;

    sigemptyset(&none);
    arguments_add(&a, "flamed-broker");
    arguments_add(&a, "--fd=%d", CHILD_FD_FIRST);
    arguments_add(&a, "--client=%d", client);
    if (s->config_arg)
        arguments_borrow(&a, s->config_arg);
    if (s->audit_arg)
        arguments_borrow(&a, s->audit_arg);
    if (s->attach_mount)
        arguments_add(&a, "--attach-mount");
    if (s->bpf_only)
        arguments_add(&a, "--bpf-only");
    arguments_add(&a, "--log-level=%s", supervise_level_name(s->log_level));
    r = arrange_fds(&client_fd, 1) ?: begin_session() ?: detach(s, &none);
    if (r < 0)
        return r;
    execv("/proc/self/exe", a.argv);
    return -errno;
}
