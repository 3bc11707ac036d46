/* SPDX-License-Identifier: Apache-2.0 */
#include "supervised_worker.h"

#include "base/macros.h"
#include "broker_client/broker.h"
#include "supervisor/supervise_api.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/inotify.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

static volatile sig_atomic_t got_term, got_hup;

static void on_signal(int sig)
{
    if (sig == SIGHUP)
        got_hup++;
    else
        got_term++;
}

static void note(int store_fd, const char *name, const char *text)
{
    int fd = openat(store_fd, "new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        _exit(50);
    close(fd);
    renameat(store_fd, "new", store_fd, name);
}

uint64_t status_field(pid_t pid, const char *name, int base)
{
    char path[40], text[4096] = "";
    const char *p;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
        _exit(51);
    close(fd);
    p = strstr(text, name);
    if (!p || p[strlen(name)] != ':')
        _exit(51);
    return strtoull(p + strlen(name) + 1, NULL, base);
}

/* System calls that flamed never makes, and that the kernel grants to any user. */
static long try_ptrace(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static long try_process_vm_readv(void)
{
    char from = 'x', to = ' ';
    struct iovec local = { &to, 1 }, remote = { &from, 1 };

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 ? 0 : -1;
}

static long try_personality(void)
{
    return personality(0xffffffff) < 0 ? -1 : 0;
}

static long try_inotify(void)
{
    return inotify_init1(IN_CLOEXEC);
}

/* Returns how many of them the supervisor's filter refuses. */
static int count_refused(void)
{
    static long (*const TRIES[])(void) = { try_ptrace, try_process_vm_readv, try_personality,
                                           try_inotify };
    int refused = 0;

    for (size_t i = 0; i < ARRAY_SIZE(TRIES); i++) {
        errno = 0;
        refused += TRIES[i]() < 0 && errno == EPERM;
    }
    return refused;
}

/* Returns the number of this worker, counted in the notes that workers pass on. 0: the notes are
 * wrong. */
static int count_run(int notes_fd)
{
    char run = '\0';

    if (pread(notes_fd, &run, 1, 0) != 1 || ftruncate(notes_fd, 1 << 20) == 0 ||
        ftruncate(notes_fd, 0) == 0)
        return 0;
    run++;
    return pwrite(notes_fd, &run, 1, 0) == 1 ? run : 0;
}

int supervised_worker(int argc, char **argv)
{
    struct sigaction sa = { .sa_handler = on_signal };
    struct error err = ERROR_NULL;
    struct supervise_worker w;
    struct broker *b = NULL;
    struct broker_facts f;
    char text[512], config[64] = "";
    struct rlimit memlock;
    sigset_t hangup;
    gid_t groups[8];
    int fds = 0;

    if (supervise_worker_parse(argc, argv, &w, &err) != 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 52;
    }
    sigaction(SIGTERM, &sa, NULL);
    sigaction(SIGHUP, &sa, NULL);
    for (int i = 3; i < 64; i++)
        fds += fcntl(i, F_GETFD) >= 0;
    if (broker_new(w.broker_fd, &b) < 0 || broker_facts(b, &f, &err) < 0)
        return 53;
    if (read(w.config_fd, config, sizeof(config) - 1) < 0)
        return 54;
    getrlimit(RLIMIT_MEMLOCK, &memlock);
    snprintf(text, sizeof(text),
             "pid=%d uid=%u gid=%u groups=%d caps=%jx bounding=%jx refused=%d memlock=%ju fds=%d "
             "listen=%zu level=%d blocked=%jx config=%s run=%d extra=%s\n",
             getpid(), getuid(), getegid(), getgroups(8, groups),
             (uintmax_t)status_field(getpid(), "CapPrm", 16),
             (uintmax_t)status_field(getpid(), "CapBnd", 16), count_refused(),
             (uintmax_t)memlock.rlim_max, fds, w.listen_count, (int)w.log_level,
             (uintmax_t)status_field(getpid(), "SigBlk", 16), config, count_run(w.notes_fd),
             w.extra < argc ? argv[w.extra] : "none");
    sigemptyset(&hangup);
    sigaddset(&hangup, SIGHUP);
    sigprocmask(SIG_UNBLOCK, &hangup, NULL);
    note(w.store_fd, "worker", text);
    if (w.extra < argc && strcmp(argv[w.extra], "final") == 0)
        return SUPERVISE_EXIT_FINAL;
    while (!got_term && !broker_lost(b)) {
        struct pollfd p = { .fd = broker_fd(b), .events = POLLIN };

        if (poll(&p, 1, 50) > 0)
            return 0;
        if (got_hup) {
            got_hup = 0;
            note(w.store_fd, "hup", "x");
        }
    }
    if (w.extra < argc && strcmp(argv[w.extra], "stubborn") == 0) {
        for (;;)
            pause();
    }
    broker_free(b);
    return 0;
}
