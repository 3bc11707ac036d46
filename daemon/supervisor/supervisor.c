/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/supervisor.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "privileged/lockdown.h"
#include "privileged/memfd.h"
#include "proc/proc.h"
#include "quarantine/quarantine.h"
#include "supervisor/arguments.h"
#include "supervisor/supervisor_impl.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DELAY_MIN_NS (100 * NSEC_PER_MSEC)
#define DELAY_MAX_NS (5 * NSEC_PER_SEC)
/* After a pair has run for this long, the restart delay is DELAY_MIN_NS again. */
#define STEADY_NS (30 * NSEC_PER_SEC)
#define STOP_NS (5 * NSEC_PER_SEC)
#define EOF_NS NSEC_PER_SEC
/* How long to wait for a thread that is stuck in the kernel. SIGKILL cannot end it, and it keeps
 * the ended process from going away. */
#define HELD_NS (4 * NSEC_PER_SEC)
static int parse(int argc, char **argv, struct supervisor *s)
{
    int i, r = 0;

    for (i = 2; i < argc && strcmp(argv[i], "--") != 0 && r == 0; i++) {
        const char *v;

        if ((v = supervise_option(argv[i], "--flamed-fd")))
            r = supervise_parse_int(v, &s->flamed_fd);
        else if ((v = supervise_option(argv[i], "--store-fd")))
            r = supervise_parse_int(v, &s->store_fd);
        else if ((v = supervise_option(argv[i], "--config-fd")))
            r = supervise_parse_int(v, &s->config_fd);
        else if ((v = supervise_option(argv[i], "--push-fd")))
            r = supervise_parse_int(v, &s->push_fd);
        else if (supervise_option(argv[i], "--audit-log"))
            s->audit_arg = argv[i];
        else if (supervise_option(argv[i], "--config"))
            s->config_arg = argv[i];
        else if ((v = supervise_option(argv[i], "--listen-fds")))
            r = supervise_parse_fds(v, s->listen_fds, &s->listen_count);
        else if ((v = supervise_option(argv[i], "--uid")))
            r = supervise_parse_int(v, &s->uid);
        else if ((v = supervise_option(argv[i], "--gid")))
            r = supervise_parse_int(v, &s->gid);
        else if ((v = supervise_option(argv[i], "--log-level")))
            r = log_level_parse(v, &s->log_level);
        else if (strcmp(argv[i], "--attach-mount") == 0)
            s->attach_mount = true;
        else if (strcmp(argv[i], "--bpf-only") == 0)
            s->bpf_only = true;
        else
            r = -EINVAL;
    }
    i = MIN(i + 1, argc);
    s->extra = argv + i;
    s->extra_count = argc - i;
    return r < 0 || s->flamed_fd < 0 || s->uid <= 0 || s->gid <= 0 ||
                   s->extra_count > ARGUMENTS_EXTRA_MAX
               ? -EINVAL
               : 0;
}

/* Opens the configuration again, since the file may have been replaced. A missing file keeps the
 * old descriptor. */
static void reopen_config(struct supervisor *s)
{
    struct stat st;
    int fd;

    if (!s->config_arg)
        return;
    fd = open(supervise_option(s->config_arg, "--config"),
              O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        int old = s->config_fd;

        s->config_fd = fd;
        fd = old;
    }
    close_fd(fd);
}

static int start_pair(struct supervisor *s)
{
    _cleanup_close_ int ours = -1, theirs = -1;
    int pair[2];

    reopen_config(s);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return log_err_errno(-errno, "cannot create a socket pair");
    ours = pair[0];
    theirs = pair[1];
    s->worker = fork();
    if (s->worker == 0) {
        int r = supervisor_exec_worker(s, theirs);

        log_err_errno(r,
                      r == -EACCES ? "cannot start flamed as uid %d: its program file must be "
                                     "executable for everyone"
                                   : "cannot start flamed as uid %d",
                      s->uid);
        _exit(127);
    }
    if (s->worker < 0) {
        s->worker = 0;
        return log_err_errno(-errno, "cannot fork");
    }
    s->broker = fork();
    if (s->broker == 0) {
        log_err_errno(supervisor_exec_broker(s, ours, s->worker), "cannot start the broker");
        _exit(127);
    }
    if (s->broker < 0) {
        s->broker = 0;
        return log_err_errno(-errno, "cannot fork");
    }
    return 0;
}

static void describe(const char *who, pid_t pid, int status)
{
    if (WIFSIGNALED(status))
        log_warn("%s was killed by signal %d host_pid=%d", who, WTERMSIG(status), pid);
    else if (WEXITSTATUS(status))
        log_warn("%s ended with status %d host_pid=%d", who, WEXITSTATUS(status), pid);
    else
        log_debug("%s ended host_pid=%d", who, pid);
}

static void reap(struct supervisor *s)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == s->worker) {
            s->worker = 0;
            s->worker_status = status;
            describe("flamed", pid, status);
        } else if (pid == s->broker) {
            s->broker = 0;
            describe("the broker", pid, status);
        }
    }
}

/* Stops waiting for the process *pid, which ends when the kernel releases its stuck thread. */
static void leave_behind(struct supervisor *s, const char *who, pid_t *pid)
{
    if (!*pid)
        return;
    log_err("%s cannot end: the kernel holds a thread of it, which is "
            "abandoned host_pid=%d",
            who, *pid);
    *pid = 0;
    s->left_behind = true;
}

/* Polls the worker: a zombie with a stuck thread sends no SIGCHLD. */
static void look_at_worker(struct supervisor *s)
{
    uint64_t now = clock_monotonic_ns();
    struct proc_stat stat;

    if (!s->worker || proc_read_stat(s->proc_fd, s->worker, &stat) != 0 || stat.state != 'Z')
        s->ended_ns = 0;
    else if (!s->ended_ns)
        s->ended_ns = now;
    else if (now - s->ended_ns >= HELD_NS)
        leave_behind(s, "flamed", &s->worker);
}

static void send_signal(pid_t pid, int sig)
{
    if (pid > 0)
        kill(pid, sig);
}

/* Waits for a signal until @deadline_ns, at most a second, and handles it. */
static void wait_signal(struct supervisor *s, uint64_t deadline_ns)
{
    uint64_t now = clock_monotonic_ns(),
             left = MIN(deadline_ns > now ? deadline_ns - now : 0, NSEC_PER_SEC);
    struct timespec ts = clock_timespec(left);
    int sig = sigtimedwait(&s->signals, NULL, &ts);

    if (sig == SIGTERM || sig == SIGINT) {
        if (s->stopping) { /* a second request ends both at once */
            send_signal(s->worker, SIGKILL);
            send_signal(s->broker, SIGKILL);
        }
        s->stopping = true;
    } else if (sig == SIGHUP) {
        send_signal(s->worker, SIGHUP);
    }
    reap(s);
    look_at_worker(s);
}

/* Stops both processes. The worker gets SIGTERM first, and answers pending requests while the
 * broker still serves it. The worker's end closes the broker's connection. Returns false if a
 * process had to be killed. */
static bool stop_pair(struct supervisor *s)
{
    uint64_t deadline = clock_monotonic_ns() + STOP_NS, eof_deadline;
    bool clean = true;

    send_signal(s->worker, SIGTERM);
    while (s->worker && clock_monotonic_ns() < deadline)
        wait_signal(s, deadline);
    /* without a signal, a broker that does not hang ends at the closed connection */
    eof_deadline = MIN(clock_monotonic_ns() + EOF_NS, deadline);
    while (s->broker && clock_monotonic_ns() < eof_deadline)
        wait_signal(s, eof_deadline);
    send_signal(s->broker, SIGTERM);
    while (s->broker && clock_monotonic_ns() < deadline)
        wait_signal(s, deadline);
    if (s->worker || s->broker) {
        log_warn("%s did not end within 5 s and is killed", s->worker ? "flamed" : "the broker");
        send_signal(s->worker, SIGKILL);
        send_signal(s->broker, SIGKILL);
        clean = false;
    }
    deadline = clock_monotonic_ns() + STOP_NS;
    while ((s->worker || s->broker) && clock_monotonic_ns() < deadline)
        wait_signal(s, deadline);
    leave_behind(s, "flamed", &s->worker);
    leave_behind(s, "the broker", &s->broker);
    return clean && !s->left_behind;
}

static bool is_final(const struct supervisor *s)
{
    return WIFEXITED(s->worker_status) && WEXITSTATUS(s->worker_status) == SUPERVISE_EXIT_FINAL;
}

/* Runs pairs of worker and broker until asked to stop. Return: the exit status. */
static int run(struct supervisor *s)
{
    uint64_t delay = DELAY_MIN_NS;

    while (!s->stopping) {
        uint64_t started = clock_monotonic_ns(), again;
        bool clean = true;

        s->worker_status = 0;
        s->left_behind = false;
        if (start_pair(s) == 0) {
            while (s->worker && s->broker && !s->stopping)
                wait_signal(s, UINT64_MAX);
        }
        clean = stop_pair(s);
        if (s->stopping)
            return clean ? 0 : 1;
        if (is_final(s))
            return SUPERVISE_EXIT_FINAL;
        if (clock_monotonic_ns() - started > STEADY_NS)
            delay = DELAY_MIN_NS;
        log_warn("starting flamed and its broker again in %ju ms",
                 (uintmax_t)(delay / NSEC_PER_MSEC));
        again = clock_monotonic_ns() + delay;
        while (!s->stopping && clock_monotonic_ns() < again)
            wait_signal(s, again);
        delay = MIN(delay * 2, DELAY_MAX_NS);
    }
    return 0;
}

/* Opens memory that successive workers share and cannot enlarge. Returns an fd, or -1: then no
 * notes are kept. */
static int open_notes(void)
{
    _cleanup_close_ int fd = memfd_open("flamed-quarantine", MEMFD_DATA);

    if (fd < 0 || ftruncate(fd, QUARANTINE_BYTES) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0) {
        log_warn_errno(fd < 0 ? fd : -errno, "cannot make memory for notes");
        return -1;
    }
    return take_fd(&fd);
}

int supervisor_main(int argc, char **argv)
{
    struct supervisor s = {
        .flamed_fd = -1,
        .store_fd = -1,
        .config_fd = -1,
        .notes_fd = -1,
        .push_fd = -1,
        .log_level = LOG_LEVEL_INFO,
    };
    struct error err = ERROR_NULL;

    if (parse(argc, argv, &s) < 0) {
        log_err("--supervise is for flamed to use");
        return 2;
    }
    log_init("flamed-supervisor", s.log_level);
    s.self = getpid();
    s.notes_fd = open_notes();
    s.proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    sigemptyset(&s.signals);
    sigaddset(&s.signals, SIGTERM);
    sigaddset(&s.signals, SIGINT);
    sigaddset(&s.signals, SIGHUP);
    sigaddset(&s.signals, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &s.signals, NULL) < 0)
        return log_err_errno(-errno, "cannot block signals"), 1;
    getrlimit(RLIMIT_MEMLOCK, &s.memlock);
    if (supervisor_lockdown(s.attach_mount, &err) < 0) {
        log_err("%s", err.msg);
        return 1;
    }
    return run(&s);
}
