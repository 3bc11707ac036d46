/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's facts about the other end of a connection. Uses real sockets of children that run as
 * other users. Needs root. */
#include "suite.h"

#include "access/peer.h"
#include "access/peers_impl.h"
#include "access/subject.h"
#include "base/cleanup.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALICE 61001
#define NOBODY 65534
#define COST_NS (50 * UINT64_C(1000))

static struct peers *peers;
static char folder[64];
static int proc_fd;

static void setup(void)
{
    snprintf(folder, sizeof(folder), "/tmp/test_peer.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chmod(folder, 0755), 0);
    proc_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC); /* no process in it */
    ck_assert_int_eq(peers_open(proc_fd, "no such group", &peers), 0);
}

/* Uses this machine's /proc. */
static void setup_here(void)
{
    snprintf(folder, sizeof(folder), "/tmp/test_peer.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(peers_open(proc_fd, "no such group", &peers), 0);
}

static void setup_old(void)
{
    setenv("FLAMED_OLD_KERNEL", "sock_diag", 1);
    setup();
}

static void teardown(void)
{
    char path[96];

    peers = peers_close(peers);
    close_fd(proc_fd);
    snprintf(path, sizeof(path), "%s/s", folder);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

enum end { END_STAYS, END_HALF_CLOSED, END_CLOSED, END_RESET };

struct listener {
    int fd;
    struct sockaddr_storage address;
    socklen_t n;
};

static struct listener listen_on(int family)
{
    struct listener l = { .fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
    struct sockaddr_un un = { .sun_family = AF_UNIX };

    snprintf(un.sun_path, sizeof(un.sun_path), "%s/s", folder);
    unlink(un.sun_path);
    ck_assert_int_eq(bind(l.fd,
                          family == AF_UNIX   ? (struct sockaddr *)&un
                          : family == AF_INET ? (struct sockaddr *)&v4
                                              : (struct sockaddr *)&v6,
                          family == AF_UNIX   ? sizeof(un)
                          : family == AF_INET ? sizeof(v4)
                                              : sizeof(v6)),
                     0);
    ck_assert_int_eq(listen(l.fd, 8), 0);
    l.n = sizeof(l.address);
    ck_assert_int_eq(getsockname(l.fd, (struct sockaddr *)&l.address, &l.n), 0);
    if (family == AF_UNIX)
        ck_assert_int_eq(chmod(un.sun_path, 0666), 0);
    return l;
}

/* Runs in the child: connects as @uid, then does to its end what @end says. */
static void run_client(const struct listener *l, uint32_t uid, bool mapped, enum end end, int ready)
{
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&l->address;
    struct linger at_once = { .l_onoff = 1 };
    int fd;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
        _exit(1);
    fd = socket(mapped ? AF_INET6 : l->address.ss_family, SOCK_STREAM, 0);
    v6.sin6_port = v4->sin_port;
    v6.sin6_addr.s6_addr[10] = v6.sin6_addr.s6_addr[11] = 0xff;
    memcpy(&v6.sin6_addr.s6_addr[12], &v4->sin_addr, 4);
    if (connect(fd, mapped ? (struct sockaddr *)&v6 : (const struct sockaddr *)&l->address,
                mapped ? sizeof(v6) : l->n) < 0 ||
        write(fd, "GET / HTTP/1.1\r\n", 16) != 16)
        _exit(2);
    if (end == END_HALF_CLOSED)
        shutdown(fd, SHUT_WR);
    if (end == END_RESET)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    if (end == END_CLOSED || end == END_RESET)
        close(fd);
    if (write(ready, "x", 1) != 1)
        _exit(3);
    pause();
    _exit(0);
}

static struct peer ask_peer(int fd, const struct sockaddr_storage *address)
{
    struct peer_connection c = { .fd = fd, .address = *address };

    peers_ask(peers, &c, 1);
    return c.peer;
}

/* Returns the peer of a connection that a child opened. */
static struct peer ask(int family, uint32_t uid, bool mapped, enum end end)
{
    struct listener l = listen_on(family);
    struct sockaddr_storage address = { .ss_family = AF_UNIX };
    socklen_t n = sizeof(address);
    struct peer peer;
    int ready[2], fd, status;
    char byte;
    pid_t child;

    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    child = fork();
    if (child == 0)
        run_client(&l, uid, mapped, end, ready[1]);
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    fd = accept4(l.fd, (struct sockaddr *)&address, &n, SOCK_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    peer = ask_peer(fd, &address);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    close(fd);
    close(l.fd);
    close(ready[0]);
    return peer;
}

static const struct {
    const char *name;
    int family;
    uint32_t uid;
    bool mapped;
    enum end end;
    bool known, member;
} CASES[] = {
    { "alice by IPv4", AF_INET, ALICE, false, END_STAYS, true, false },
    { "alice by IPv6", AF_INET6, ALICE, false, END_STAYS, true, false },
    { "alice by IPv4 of an IPv6 socket", AF_INET, ALICE, true, END_STAYS, true, false },
    { "alice by the Unix socket", AF_UNIX, ALICE, false, END_STAYS, true, false },
    { "alice who says no more", AF_INET, ALICE, false, END_HALF_CLOSED, true, false },
    { "root by IPv4", AF_INET, 0, false, END_STAYS, true, true },
    { "root by IPv6", AF_INET6, 0, false, END_STAYS, true, true },
    { "root by the Unix socket", AF_UNIX, 0, false, END_STAYS, true, true },
    /* the kernel reports the owner of a closed socket as root */
    { "alice who has closed", AF_INET, ALICE, false, END_CLOSED, false, false },
    { "alice who has closed, IPv6", AF_INET6, ALICE, false, END_CLOSED, false, false },
    { "alice who has reset", AF_INET, ALICE, false, END_RESET, false, false },
    { "root who has closed", AF_INET, 0, false, END_CLOSED, false, false },
    { "nobody by IPv4", AF_INET, NOBODY, false, END_STAYS, false, false },
    { "nobody by the Unix socket", AF_UNIX, NOBODY, false, END_STAYS, false, false },
};

START_TEST(the_kernel_tells_who_it_is)
{
    struct peer p = ask(CASES[_i].family, CASES[_i].uid, CASES[_i].mapped, CASES[_i].end);

    ck_assert_msg(p.known == CASES[_i].known, "%s: %s", CASES[_i].name, p.problem ? p.problem : "");
    ck_assert_msg(p.member == CASES[_i].member, "%s", CASES[_i].name);
    ck_assert_msg(!p.problem == p.known, "%s", CASES[_i].name);
    if (p.known)
        ck_assert_uint_eq(p.uid, CASES[_i].uid);
}
END_TEST

/* flamed-push runs as flamed's user. Over TCP that user counts as unknown, and is in no group. */
START_TEST(own_user_is_distrusted)
{
    struct peer p;

    peers->self_uid = ALICE;
    p = ask(AF_INET, ALICE, false, END_STAYS);
    ck_assert(p.known && p.member);
    peers_distrust_own(peers);
    p = ask(AF_INET, ALICE, false, END_STAYS);
    ck_assert(!p.known && !p.member && !p.groups);
    ck_assert_ptr_nonnull(strstr(p.problem, "flamed-push"));
    p = ask(AF_UNIX, ALICE, false, END_STAYS);
    ck_assert(p.known && p.member);
    p = ask(AF_INET, 0, false, END_STAYS);
    ck_assert(p.known && p.member);
}
END_TEST

/* The kernel reports the groups of a peer on a Unix socket. Over TCP the lists read at the start
 * give them. */
START_TEST(groups_are_told)
{
    uint64_t root, same, alices, bit = 0;
    char number[16];

    snprintf(number, sizeof(number), "%d", ALICE);
    ck_assert_int_eq(peers_add_group(peers, "root", &root), 0);
    ck_assert_int_eq(peers_add_group(peers, "0", &same), 0);
    ck_assert_int_eq(peers_add_group(peers, number, &alices), 0);
    ck_assert_int_eq(peers_add_group(peers, "no such group", &bit), -ENOENT);
    ck_assert_uint_eq(root, same);
    ck_assert(root && alices && !(root & alices) && !bit);
    ck_assert_uint_eq(ask(AF_UNIX, ALICE, false, END_STAYS).groups, alices);
    ck_assert_uint_eq(ask(AF_UNIX, 0, false, END_STAYS).groups, root);
    ck_assert_uint_eq(ask(AF_INET, 0, false, END_STAYS).groups, root);  /* root's first group */
    ck_assert_uint_eq(ask(AF_INET, ALICE, false, END_STAYS).groups, 0); /* no list has alice */
    ck_assert_uint_eq(ask(AF_INET, 0, false, END_CLOSED).groups, 0);
    ck_assert(!ask(AF_UNIX, ALICE, false, END_STAYS).member);
}
END_TEST

/* Connects to @l, sends a request, and resets the connection before it is accepted. Then opens
 * another socket at the same address. Returns its fd; -1 if another program took the address
 * first. */
static int use_port_again(const struct listener *l)
{
    struct linger at_once = { .l_onoff = 1 };
    struct sockaddr_storage from = { 0 };
    socklen_t n = sizeof(from);
    int first = socket(AF_INET, SOCK_STREAM, 0), second = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    ck_assert_int_eq(connect(first, (const struct sockaddr *)&l->address, l->n), 0);
    ck_assert_int_eq(write(first, "DELETE / HTTP/1.1\r\n", 19), 19);
    ck_assert_int_eq(getsockname(first, (struct sockaddr *)&from, &n), 0);
    setsockopt(first, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(first);
    setsockopt(second, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    return bind(second, (struct sockaddr *)&from, n) == 0 ? second : close_fd(second);
}

/* After a reset, another user may get the address of the connection's other end. An earlier request
 * must not count as that user's. */
START_TEST(a_port_that_is_used_again_names_nobody_else)
{
    struct listener l = listen_on(AF_INET);
    struct sockaddr_storage address = { 0 };
    int second = use_port_again(&l), fd;
    socklen_t n = sizeof(address);
    struct peer p;

    for (int tries = 0; second < 0 && tries < 20; tries++) {
        close(l.fd);
        l = listen_on(AF_INET);
        second = use_port_again(&l);
    }
    ck_assert_int_eq(connect(second, (struct sockaddr *)&l.address, l.n), 0);
    fd = accept4(l.fd, (struct sockaddr *)&address, &n, SOCK_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    p = ask_peer(fd, &address);
    ck_assert_msg(!p.known, "the first one's request would be the second one's");
    close(fd);
    fd = accept4(l.fd, (struct sockaddr *)&address, &n, SOCK_CLOEXEC);
    p = ask_peer(fd, &address);
    ck_assert(p.known);
    close(fd);
    close(second);
    close(l.fd);
}
END_TEST

static int compare_ns(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Acts as a broker that finds only this process, in its own namespaces. */
static int hold(void *cookie, const uint64_t *keys, size_t n, uint64_t net_ns,
                struct socket_holding *ret)
{
    (void)cookie;
    (void)keys;
    (void)net_ns;
    for (size_t i = 0; i < n; i++)
        ret[i] = (struct socket_holding){
            .told = true,
            .count = 1,
            .holders = { { .pid = getpid(), .flags = HOLDER_OUR_PIDS | HOLDER_OUR_USERS } },
        };
    return 0;
}

/* Uses this machine's /proc: a request on a connection with a known owner takes less than 50 us. */
START_TEST(it_is_asked_within_50_us)
{
    static uint64_t took_ns[2000];
    struct listener l = listen_on(AF_INET);
    int client = socket(AF_INET, SOCK_STREAM, 0), fd;
    struct peer_connection c = { .address_n = sizeof(c.address) };
    enum peer_place place = PEER_UNTOLD;
    struct subject s;

    peers_ask_holders(peers, hold, NULL);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&l.address, l.n), 0);
    c.fd = fd = accept4(l.fd, (struct sockaddr *)&c.address, &c.address_n, SOCK_CLOEXEC);
    peers_ask(peers, &c, 1);
    for (size_t i = 0; i < ARRAY_SIZE(took_ns);) {
        uint64_t begun_ns = clock_monotonic_ns();

        place = peer_place(peers, &c, /* again= */ false);
        subject_of_peer(&c.peer, place, /* tcp_manages= */ false, &s);
        took_ns[i] = clock_monotonic_ns() - begun_ns;
        if (place == PEER_HOST)
            i++;
        else /* a process has started on this machine, or the owner was found too long ago */
            ck_assert(peers_look(peers, &c, 1, &place) && place != PEER_FOREIGN);
    }
    ck_assert(s.kind == SUBJECT_USER && s.uid == 0);
    qsort(took_ns, ARRAY_SIZE(took_ns), sizeof(took_ns[0]), compare_ns);
    printf("the subject of a request: %llu ns at best, %llu ns in the median\n",
           (unsigned long long)took_ns[0], (unsigned long long)took_ns[ARRAY_SIZE(took_ns) / 2]);
    ck_assert_uint_lt(took_ns[0], COST_NS);
    close(fd);
    close(client);
    close(l.fd);
}
END_TEST

/* The list of sockets may be cut within a line, even within the number of a socket. */
START_TEST(a_line_that_is_cut_tells_nothing)
{
    static const char LINE[] = "   0: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 "
                               "00000000  1000        0 1234567 1\n";
    struct peer_socket found;

    for (size_t n = 0; n < sizeof(LINE); n++) {
        int r = peer_find_text((struct span){ LINE, n }, "0100007F:1F90", "0100007F:C350", &found);

        ck_assert_int_eq(r, n == sizeof(LINE) - 1 ? 1 : -ENOENT);
    }
    ck_assert_uint_eq(found.uid, 1000);
    ck_assert_uint_eq(found.inode, 1234567);
}
END_TEST

#define OURS "0100007F:1F90 0100007F:C350"
#define LINE_OF(ends, uid, inode)                                                                  \
    "   0: " ends " 01 00000000:00000000 00:00000000 00000000  " uid "        4711 " inode " 1\n"

/* Returns true if 4711 is the inode of one socket only in @text. */
static bool is_alone(const char *text)
{
    return peer_is_alone(span_of(text), 4711, "0100007F:1F90", "0100007F:C350");
}

/* An inode proves a socket only if no other socket of either family has the same inode. Linux 6.18
 * lists a socket twice if others come and go in its slot of the table. */
START_TEST(an_inode_that_two_sockets_have_proves_nothing)
{
    static const char ONE[] = LINE_OF(OURS, "1000", "4711"),
                      TWICE[] = LINE_OF(OURS, "1000", "4711") LINE_OF(OURS, "1000", "4711"),
                      ANOTHER[] = LINE_OF(OURS, "1000", "4711")
                          LINE_OF("0300007F:1F90 0100007F:C350", "0", "4711"),
                      LONGER[] = LINE_OF(OURS, "1000", "4711")
                          LINE_OF("0200007F:1F90 0100007F:C350", "4711", "47112");

    ck_assert(is_alone(""));
    ck_assert(is_alone(ONE));
    ck_assert(is_alone(TWICE));
    ck_assert(is_alone(LONGER));
    ck_assert(!is_alone(ANOTHER));
    ck_assert(!is_alone(LINE_OF("0100007F:1F90 0100007F:C351", "0", "4711")));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("peer"), *old = tcase_create("by text"), *here = tcase_create("here");
    Suite *suite = suite_create("peer");

    if (geteuid() != 0)
        return 77;
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, the_kernel_tells_who_it_is, 0, ARRAY_SIZE(CASES));
    tcase_add_test(tc, groups_are_told);
    tcase_add_test(tc, own_user_is_distrusted);
    tcase_add_test(tc, a_line_that_is_cut_tells_nothing);
    tcase_add_test(tc, an_inode_that_two_sockets_have_proves_nothing);
    tcase_add_test(tc, a_port_that_is_used_again_names_nobody_else);
    tcase_add_checked_fixture(here, setup_here, teardown);
    tcase_add_test(here, it_is_asked_within_50_us);
    tcase_add_checked_fixture(old, setup_old, teardown);
    tcase_add_loop_test(old, the_kernel_tells_who_it_is, 0, ARRAY_SIZE(CASES));
    tcase_add_test(old, a_port_that_is_used_again_names_nobody_else);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, here);
    suite_add_tcase(suite, old);
    return suite_run(suite);
}
