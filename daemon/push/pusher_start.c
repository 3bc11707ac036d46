/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fds.h"
#include "push/push.h"
#include "push/push_url.h"
#include "push/pusher_abi.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct arguments {
    char texts[PUSHER_PORTS_MAX][8];
    char *argv[PUSHER_PORTS_MAX + 2];
};

static void list_ports(const struct push_config *config, struct arguments *ret)
{
    uint16_t ports[PUSHER_PORTS_MAX];
    size_t n = push_ports(config, ports);

    *ret = (struct arguments){ .argv = { (char *)"flamed-push" } };
    for (size_t i = 0; i < n; i++) {
        snprintf(ret->texts[i], sizeof(ret->texts[i]), "%u", ports[i]);
        ret->argv[i + 1] = ret->texts[i];
    }
}

/* Runs in the child: keeps only the socket and the program. */
static int become_pusher(int socket_fd, int exe_fd, struct arguments *a)
{
    char *const environment[] = { NULL };
    int high = fcntl(socket_fd, F_DUPFD, PUSHER_FD + 2),
        exe = fcntl(exe_fd, F_DUPFD, PUSHER_FD + 2);
    sigset_t none;

    if (high < 0 || exe < 0 || dup2(high, PUSHER_FD) < 0 || dup2(exe, PUSHER_FD + 1) < 0)
        return 1;
    fds_close(PUSHER_FD + 2, ~0u);
    fcntl(PUSHER_FD + 1, F_SETFD, FD_CLOEXEC);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    fexecve(PUSHER_FD + 1, a->argv, environment);
    return 1;
}

int pusher_start(int exe_fd, const struct push_config *config, int *ret_fd, struct error *err)
{
    struct arguments arguments;
    pid_t parent = getpid(), pid;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "cannot make a socket to flamed-push");
    list_ports(config, &arguments);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        _exit(getppid() == parent ? become_pusher(pair[1], exe_fd, &arguments) : 1);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return error_errno(err, "cannot start flamed-push");
    }
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    *ret_fd = pair[0];
    return 0;
}
