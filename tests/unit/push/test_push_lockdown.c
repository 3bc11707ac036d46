/* SPDX-License-Identifier: Apache-2.0 */
/* pusher: what a process with the restrictions of flamed-push can reach, and what it cannot. */
#include "suite.h"

#include "base/cleanup.h"
#include "base/landlock.h"
#include "pusher/lockdown.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    char path[64];          /* path of a listening Unix socket */
    int unix_fd, tcp_fd[2]; /* listeners; the first port is allowed */
    uint16_t port[2];
    bool limits_tcp;
} world;

static int result(long r)
{
    return r < 0 ? -errno : 0;
}

static int connect_unix(int fd)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };

    snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", world.path);
    return result(connect(fd, (struct sockaddr *)&sa, sizeof(sa)));
}

static int connect_tcp(size_t which)
{
    struct sockaddr_in sa = { .sin_family = AF_INET,
                              .sin_port = htons(world.port[which]),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd < 0 ? -errno : result(connect(fd, (struct sockaddr *)&sa, sizeof(sa)));
}

/* Functions that a restricted process runs. They return 0 or -errno. */
static int unix_stream(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    return fd < 0 ? -errno : connect_unix(fd);
}
static int unix_packets(void)
{
    return result(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
}
static int pair_of_datagrams(void) /* could be connected to another socket */
{
    int fds[2];

    return result(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
}
static int pair(void)
{
    int fds[2];

    return result(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
}
static int pair_elsewhere(void)
{
    int fds[2];

    return socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0 ? 0 : connect_unix(fds[0]);
}
static int sock_diag(void)
{
    return result(socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG));
}
static int routes(void)
{
    return result(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
}
static int packets(void)
{
    return result(socket(AF_PACKET, SOCK_DGRAM, 0));
}
static int mptcp(void)
{
    return result(socket(AF_INET, SOCK_STREAM, 262));
}
static int udp(void)
{
    return result(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP));
}
static int tcp_allowed(void)
{
    return connect_tcp(0);
}
static int tcp_other(void)
{
    return connect_tcp(1);
}
/* Sends to the port @which with @flags, which may connect. @how: the call. */
static int send_tcp(size_t which, int flags, int how)
{
    struct sockaddr_in sa = { .sin_family = AF_INET,
                              .sin_port = htons(world.port[which]),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct iovec bytes = { .iov_base = (char[]){ "x" }, .iov_len = 1 };
    struct mmsghdr m = { .msg_hdr = { .msg_name = &sa,
                                      .msg_namelen = sizeof(sa),
                                      .msg_iov = &bytes,
                                      .msg_iovlen = 1 } };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    return result(how == 0   ? sendto(fd, "x", 1, flags, (struct sockaddr *)&sa, sizeof(sa))
                  : how == 1 ? sendmsg(fd, &m.msg_hdr, flags)
                             : sendmmsg(fd, &m, 1, flags));
}
static int sendto_connects(void)
{
    return send_tcp(1, MSG_FASTOPEN, 0);
}
static int sendmsg_connects(void)
{
    return send_tcp(1, MSG_FASTOPEN | MSG_NOSIGNAL, 1);
}
static int sendmmsg_connects(void)
{
    return send_tcp(1, MSG_FASTOPEN, 2);
}
static int sends(void) /* not connected: the kernel's own answer */
{
    for (int how = 0; how < 3; how++) {
        int r = send_tcp(0, MSG_NOSIGNAL, how);

        if (r != -EPIPE)
            return r;
    }
    return 0;
}
static int dumpable(void)
{
    return result(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}
static int end_with_parent(void)
{
    return result(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
}
static int send_signals(void)
{
    return result(fcntl(world.unix_fd, F_SETOWN, getppid()));
}
static int kill_parent(void)
{
    return result(kill(getppid(), 0));
}
static int write_file(void)
{
    return result(open("/tmp/flamed-test", O_WRONLY | O_CLOEXEC));
}

static const struct {
    const char *name;
    int (*fn)(void);
    int expected;
} CASES[] = {
    { "unix_stream", unix_stream, -EPERM },
    { "unix_packets", unix_packets, -EPERM },
    { "pair_of_datagrams", pair_of_datagrams, -EPERM },
    { "pair", pair, 0 },
    { "sock_diag", sock_diag, -EPERM },
    { "routes", routes, 0 },
    { "packets", packets, -EPERM },
    { "mptcp", mptcp, -EPERM },
    { "udp", udp, 0 },
    { "tcp_allowed", tcp_allowed, 0 },
    { "sendto_connects", sendto_connects, -EPERM },
    { "sendmsg_connects", sendmsg_connects, -EPERM },
    { "sendmmsg_connects", sendmmsg_connects, -EPERM },
    { "sends", sends, 0 },
    { "dumpable", dumpable, -EPERM },
    { "end_with_parent", end_with_parent, 0 },
    { "send_signals", send_signals, -EPERM },
    { "kill_parent", kill_parent, -EPERM },
    { "write_file", write_file, -EPERM },
};

static int listen_tcp(uint16_t *ret_port)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t n = sizeof(sa);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sa, &n), 0);
    *ret_port = ntohs(sa.sin_port);
    return fd;
}

static void setup(void)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    struct landlock l = LANDLOCK_NULL;
    struct error err = ERROR_NULL;

    snprintf(world.path, sizeof(world.path), "/tmp/flamed-lockdown.%d", getpid());
    snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", world.path);
    unlink(world.path);
    world.unix_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(world.unix_fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    ck_assert_int_eq(chmod(world.path, 0666), 0);
    ck_assert_int_eq(listen(world.unix_fd, 8), 0);
    for (int i = 0; i < 2; i++)
        world.tcp_fd[i] = listen_tcp(&world.port[i]);
    world.limits_tcp = landlock_new(/* net_too= */ true, &l, &err) == 0 && landlock_limits_tcp(&l);
    landlock_deinit(&l);
}

static void teardown(void)
{
    unlink(world.path);
    close(world.unix_fd);
    for (int i = 0; i < 2; i++)
        close(world.tcp_fd[i]);
}

/* Returns the result of @fn in a restricted process. */
static int locked_in(int (*fn)(void))
{
    int pipe_fds[2], status, r = 12345;
    pid_t pid;

    ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        struct error err = ERROR_NULL;

        if (pusher_restrict(&world.port[0], 1, &err) < 0)
            _exit(1);
        r = fn();
        _exit(write(pipe_fds[1], &r, sizeof(r)) == sizeof(r) ? 0 : 2);
    }
    close(pipe_fds[1]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert_int_eq(read(pipe_fds[0], &r, sizeof(r)), sizeof(r));
    close(pipe_fds[0]);
    return r;
}

START_TEST(reaches_ip_alone)
{
    int r = locked_in(CASES[_i].fn);

    ck_assert_msg(r == CASES[_i].expected, "%s: %d", CASES[_i].name, r);
}
END_TEST

/* An unrestricted process reaches the Unix socket. */
START_TEST(unix_sockets_are_out_of_reach)
{
    ck_assert_int_eq(unix_stream(), 0);
    ck_assert_int_eq(locked_in(unix_stream), -EPERM);
    ck_assert_int_lt(locked_in(pair_elsewhere), 0); /* a pair stays connected */
}
END_TEST

START_TEST(landlock_limits_ports)
{
    ck_assert_int_eq(locked_in(tcp_other), world.limits_tcp ? -EACCES : 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("push_lockdown");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, reaches_ip_alone, 0, (int)ARRAY_SIZE(CASES));
    tcase_add_test(tc, unix_sockets_are_out_of_reach);
    tcase_add_test(tc, landlock_limits_ports);
    return suite_run_case("push_lockdown", tc);
}
