/* SPDX-License-Identifier: Apache-2.0 */
/* broker: which processes hold a socket. */
#include "broker_fixture.h"

#include "tcp_pair.h"

#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define FAST_TRIES 100
#define MANY_PROCESSES 2
#define MANY_DESCRIPTORS 19900 /* descriptors of each process */

static bool is_holder(const struct socket_holding *h, pid_t pid)
{
    for (size_t i = 0; i < h->count; i++) {
        if (h->holders[i].pid == pid)
            return true;
    }
    return false;
}

/* Asks again if the time limit was too short, as flamed does. A busy machine needs more time. */
static void ask_holders_in(const uint64_t *keys, size_t n, uint64_t net_ns,
                           struct socket_holding *ret)
{
    int r = -ETIMEDOUT;

    for (int i = 0; i < 50 && (r == -ETIMEDOUT || r == -EBUSY); i++)
        r = broker_socket_holders(fx.b, keys, n, net_ns, ret, NULL);
    ck_assert_int_eq(r, 0);
}

static void ask_holders(const uint64_t *cookies, size_t n, struct socket_holding *ret)
{
    ask_holders_in(cookies, n, /* net_ns= */ 0, ret);
}

static uint64_t inode_of(int fd)
{
    struct stat st;

    ck_assert_int_eq(fstat(fd, &st), 0);
    return st.st_ino;
}

static uint64_t net_ns(void)
{
    struct stat st;

    ck_assert_int_eq(stat("/proc/self/ns/net", &st), 0);
    return st.st_ino;
}

/* Returns the processes that the broker says hold the socket @cookie. */
static struct socket_holding holders_of_one(uint64_t cookie)
{
    struct socket_holding h;

    ask_holders(&cookie, 1, &h);
    ck_assert(h.told);
    return h;
}

static int more_copies; /* descriptors that a sharer adds */

static void share(int ready, int closed)
{
    close_fd(closed);
    for (int i = 0; i < more_copies; i++) {
        if (dup(ready) < 0)
            _exit(1);
    }
    say_ready(ready);
}

/* Starts a child with copies of this process's descriptors without @closed, and with @more
 * others. */
static pid_t start_sharer(int closed, int more)
{
    more_copies = more;
    return start_holder(share, closed);
}

START_TEST(a_socket_has_holders)
{
    struct socket_holding h;
    uint64_t cookie;
    int pair[2];
    pid_t child;

    connect_pair(AF_INET6, AF_INET6, pair);
    cookie = cookie_of(pair[0]);
    h = holders_of_one(cookie);
    ck_assert_uint_eq(h.count, 1);
    ck_assert(is_holder(&h, getpid()));
    for (int i = 0; h.slow && i < FAST_TRIES; i++) /* a busy machine needs several */
        h = holders_of_one(cookie);
    ck_assert(!h.slow);
    child = start_sharer(-1, 0);
    ck_assert_int_eq(dup2(pair[0], pair[1]), pair[1]); /* twice in one process */
    h = holders_of_one(cookie);
    ck_assert_uint_eq(h.count, 2);
    ck_assert(is_holder(&h, child));
    ck_assert(is_holder(&h, getpid()));
    close(pair[0]);
    close(pair[1]);
    h = holders_of_one(cookie);
    ck_assert_uint_eq(h.count, 1);
    ck_assert(is_holder(&h, child));
    end_child(child);
    ck_assert_uint_eq(holders_of_one(cookie).count, 0);
}
END_TEST

/* A socket opened with fewer capabilities than its holder may have, like a container's. */
START_TEST(the_bounds_of_the_opener_are_told)
{
    int ours = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ready[2], its, pidfd;
    struct socket_holding h;
    pid_t child;

    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        if (prctl(PR_CAPBSET_DROP, CAP_SYS_BOOT) < 0)
            _exit(1);
        its = socket(AF_INET, SOCK_STREAM, 0);
        if (write(ready[1], &its, sizeof(its)) != sizeof(its))
            _exit(2);
        pause();
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], &its, sizeof(its)), sizeof(its));
    pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    its = (int)syscall(SYS_pidfd_getfd, pidfd, its, 0);
    ck_assert_int_ge(its, 0);
    end_child(child);
    h = holders_of_one(cookie_of(ours));
    ck_assert(h.count == 1 && !(h.holders[0].flags & HOLDER_BOUNDED));
    h = holders_of_one(cookie_of(its));
    ck_assert(h.count == 1 && is_holder(&h, getpid()) && h.holders[0].flags & HOLDER_BOUNDED);
    close(ours);
    close(its);
    close(pidfd);
    close(ready[0]);
    close(ready[1]);
}
END_TEST

/* The inode alone finds an open TCP socket of one network namespace, and no other socket. */
START_TEST(a_socket_of_a_network_has_holders_by_its_inode)
{
    static const int FAMILIES[] = { AF_INET, AF_INET6 };
    struct socket_holding h;
    uint64_t inode, here = net_ns();
    int pair[2], fd;

    for (size_t i = 0; i < ARRAY_SIZE(FAMILIES); i++) {
        connect_pair(FAMILIES[i], FAMILIES[i], pair);
        inode = inode_of(pair[0]);
        ask_holders_in(&inode, 1, here, &h);
        ck_assert(h.told && h.count == 1 && is_holder(&h, getpid()));
        ask_holders_in(&inode, 1, here + 1, &h);
        ck_assert_msg(h.told && h.count == 0, "another network");
        ck_assert_uint_eq(holders_of_one(inode).count, 0);
        close(pair[1]);
        close(pair[0]);
        ask_holders_in(&inode, 1, here, &h);
        ck_assert(h.told && h.count == 0);
    }
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* not connected */
    inode = inode_of(fd);
    ask_holders_in(&inode, 1, here, &h);
    ck_assert(h.told && h.count == 0);
    close(fd);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    inode = inode_of(pair[0]);
    ask_holders_in(&inode, 1, here, &h);
    ck_assert(h.told && h.count == 0);
    ck_assert_uint_eq(holders_of_one(cookie_of(pair[0])).count, 0);
    close(pair[0]);
    close(pair[1]);
}
END_TEST

static bool loopback_up(void)
{
    struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    _cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    return ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
}

/* A network namespace has its own sockets, which processes of the host may hold. */
START_TEST(a_socket_of_another_network_is_not_of_ours)
{
    uint64_t here = net_ns(), inode;
    struct socket_holding h;
    int ready[2], pair[2];
    pid_t child;

    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (unshare(CLONE_NEWNET) < 0 || !loopback_up())
            _exit(1);
        connect_pair(AF_INET, AF_INET, pair);
        inode = inode_of(pair[0]);
        if (write(ready[1], &inode, sizeof(inode)) != sizeof(inode))
            _exit(2);
        pause();
        _exit(0);
    }
    close(ready[1]);
    if (read(ready[0], &inode, sizeof(inode)) == sizeof(inode)) {
        ask_holders_in(&inode, 1, here, &h);
        ck_assert(h.told && h.count == 0);
    }
    close(ready[0]);
    end_child(child);
}
END_TEST

START_TEST(many_descriptors_hide_no_holder)
{
    pid_t many[MANY_PROCESSES];
    struct socket_holding h;
    struct rlimit limit;
    uint64_t begun_ns;
    int pair[2];

    connect_pair(AF_INET, AF_INET, pair);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    close(pair[1]);
    for (size_t i = 0; i < MANY_PROCESSES; i++)
        many[i] = start_sharer(pair[0], (int)MIN(limit.rlim_cur - 64, (rlim_t)MANY_DESCRIPTORS));
    begun_ns = clock_monotonic_ns();
    h = holders_of_one(cookie_of(pair[0]));
    printf("among %d processes of %d descriptors: %ju us\n", MANY_PROCESSES, MANY_DESCRIPTORS,
           (uintmax_t)((clock_monotonic_ns() - begun_ns) / 1000));
    ck_assert_uint_eq(h.count, 1);
    ck_assert(is_holder(&h, getpid()));
    for (size_t i = 0; i < MANY_PROCESSES; i++)
        end_child(many[i]);
    close(pair[0]);
}
END_TEST

START_TEST(more_holders_than_are_told_is_an_answer)
{
    pid_t children[SOCKET_HOLDERS_MAX];
    struct socket_holding h;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    uint64_t cookie = cookie_of(fd);

    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        children[i] = start_sharer(-1, 0);
    ck_assert_uint_gt(holders_of_one(cookie).count, SOCKET_HOLDERS_MAX);
    close(fd);
    h = holders_of_one(cookie);
    ck_assert_uint_eq(h.count, ARRAY_SIZE(children));
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        end_child(children[i]);
}
END_TEST

/* One request for many sockets: those of this process, and between them ones without a holder. */
START_TEST(many_sockets_have_holders)
{
    struct socket_holding held[SOCKETS_ASKED_MAX];
    uint64_t cookies[SOCKETS_ASKED_MAX];
    pid_t children[SOCKET_HOLDERS_MAX];
    int fds[SOCKETS_ASKED_MAX];

    for (size_t i = 0; i < SOCKETS_ASKED_MAX; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        cookies[i] = cookie_of(fds[i]);
        if (i % 5 == 2)
            close(fds[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        children[i] = start_sharer(-1, 0);
    for (size_t i = 0; i < SOCKETS_ASKED_MAX; i++) {
        if (i % 5 != 2 && i != 3)
            close(fds[i]);
    }
    for (size_t i = 1; i < ARRAY_SIZE(children); i++)
        end_child(children[i]);
    ask_holders(cookies, SOCKETS_ASKED_MAX, held);
    for (size_t i = 0; i < SOCKETS_ASKED_MAX; i++) {
        ck_assert(held[i].told);
        ck_assert_uint_eq(held[i].count, i % 5 == 2 ? 0 : i == 3 ? 2 : 1);
        ck_assert_int_eq(is_holder(&held[i], children[0]), i % 5 != 2);
    }
    ck_assert(is_holder(&held[3], getpid()));
    end_child(children[0]);
    close(fds[3]);
}
END_TEST

/* Holders that do not fit into the answer are left out. That affects neither the first socket of a
 * request, nor one with few holders. */
START_TEST(sockets_that_many_hold_keep_out_no_other)
{
    struct socket_holding held[8];
    uint64_t cookies[8];
    pid_t children[60];
    size_t told = 0;
    int fds[8];

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        if (i == 7) /* only this process has the last one */
            for (size_t k = 0; k < ARRAY_SIZE(children); k++)
                children[k] = start_sharer(-1, 0);
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        cookies[i] = cookie_of(fds[i]);
    }
    ask_holders(cookies, ARRAY_SIZE(fds), held);
    ck_assert(held[0].told && held[0].count == ARRAY_SIZE(children) + 1);
    ck_assert(held[7].told && held[7].count == 1 && is_holder(&held[7], getpid()));
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        told += held[i].told;
        ck_assert(!held[i].told || i == 7 || held[i].count == ARRAY_SIZE(children) + 1);
        close(fds[i]);
    }
    ck_assert_uint_eq(told, 3);
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        end_child(children[i]);
}
END_TEST

/* On a kernel without the walk the answer says so. */
START_TEST(without_a_walk_it_is_refused)
{
    struct socket_holding h;
    uint64_t cookie = 1;

    ck_assert_int_eq(broker_socket_holders(fx.b, &cookie, 1, 0, &h, NULL), -EOPNOTSUPP);
    ck_assert_int_eq(broker_socket_holders(fx.b, &cookie, 1, 0, &h, NULL), -EOPNOTSUPP);
}
END_TEST

static void fixture_without_walk(void)
{
    setenv("FLAMED_OLD_KERNEL", "task_file", 1);
    fixture_with_client();
}

static void fixture_with_walk_again(void)
{
    fixture_stop();
    unsetenv("FLAMED_OLD_KERNEL");
}

int main(void)
{
    TCase *tc = tcase_create("broker_sockets"), *old = tcase_create("no walk");
    Suite *suite = suite_create("broker_sockets");
    int skip = can_test_broker();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, fixture_with_client, fixture_stop);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, a_socket_has_holders);
    tcase_add_test(tc, the_bounds_of_the_opener_are_told);
    tcase_add_test(tc, a_socket_of_a_network_has_holders_by_its_inode);
    tcase_add_test(tc, a_socket_of_another_network_is_not_of_ours);
    tcase_add_test(tc, many_descriptors_hide_no_holder);
    tcase_add_test(tc, more_holders_than_are_told_is_an_answer);
    tcase_add_test(tc, many_sockets_have_holders);
    tcase_add_test(tc, sockets_that_many_hold_keep_out_no_other);
    tcase_add_checked_fixture(old, fixture_without_walk, fixture_with_walk_again);
    tcase_add_test(old, without_a_walk_it_is_refused);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, old);
    return suite_run(suite);
}
