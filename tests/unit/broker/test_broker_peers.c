/* SPDX-License-Identifier: Apache-2.0 */
/* broker: which peers the threads of a JVM wait for. */
#include "broker_jvm.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/un.h>

#ifndef SYS_poll /* aarch64 */
#define SYS_poll SYS_ppoll
#define SYS_pause SYS_ppoll
#endif

enum network { V4, V6, MAPPED, UNIX, ABSTRACT, NETWORKS };

/* A child that maps a libjvm.so and waits in a system call. */
struct waiter {
    enum network network;
    bool polls;     /* else it reads */
    bool elsewhere; /* in a network namespace of its own */
    uint16_t port;  /* of the server */
    struct pollfd pfd;
    int fd;
    uint32_t tid;
};
static struct waiter *waiter; /* shared with the child */

static socklen_t address_of(enum network network, struct sockaddr_storage *ret)
{
    struct sockaddr_in *v4 = (void *)ret;
    struct sockaddr_in6 *v6 = (void *)ret;
    struct sockaddr_un *un = (void *)ret;

    memset(ret, 0, sizeof(*ret));
    switch (network) {
    case V4:
        *v4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000102) };
        return sizeof(*v4);
    case V6:
        *v6 = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
        return sizeof(*v6);
    case MAPPED:
        v6->sin6_family = AF_INET6;
        inet_pton(AF_INET6, "::ffff:127.0.1.2", &v6->sin6_addr);
        return sizeof(*v6);
    default:
        un->sun_family = AF_UNIX;
        snprintf(un->sun_path + (network == ABSTRACT), sizeof(un->sun_path) - 1, "%s/server",
                 fx.dir);
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (network == ABSTRACT) +
                           strlen(un->sun_path + (network == ABSTRACT)) + (network == UNIX));
    }
}

/* Connects to a server of its own, which never answers. */
static int connect_to_silence(enum network network)
{
    struct sockaddr_storage address;
    socklen_t n = address_of(network, &address);
    int server = socket(address.ss_family, SOCK_STREAM, 0),
        client = socket(address.ss_family, SOCK_STREAM, 0);

    if (bind(server, (struct sockaddr *)&address, n) < 0 || listen(server, 1) < 0 ||
        getsockname(server, (struct sockaddr *)&address, &n) < 0 ||
        connect(client, (struct sockaddr *)&address, n) < 0)
        _exit(4);
    waiter->port = address.ss_family == AF_INET    ? ((struct sockaddr_in *)&address)->sin_port
                   : address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                   : 0;
    return client;
}

/* Moves to a network namespace of its own. */
static void leave_network(void)
{
    struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
    int fd;

    if (unshare(CLONE_NEWNET) < 0)
        _exit(5);
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
        _exit(5);
    close(fd);
}

static void *wait_there(void *cookie)
{
    char byte;

    (void)cookie;
    __atomic_store_n(&waiter->tid, (uint32_t)gettid(), __ATOMIC_RELEASE);
    if (waiter->polls)
        poll(&waiter->pfd, 1, -1);
    else if (read(waiter->fd, &byte, 1) < 0)
        _exit(6);
    return NULL;
}

static void be_waiter(void *cookie)
{
    pthread_t thread;

    be_jvm(NULL);
    if (waiter->elsewhere)
        leave_network();
    waiter->fd = connect_to_silence(waiter->network);
    waiter->pfd = (struct pollfd){ .fd = waiter->fd, .events = POLLIN };
    waiter->tid = 0;
    if (pthread_create(&thread, NULL, wait_there, cookie) != 0)
        _exit(7);
    while (!__atomic_load_n(&waiter->tid, __ATOMIC_ACQUIRE))
        usleep(1000);
}

/* Starts a child that has two threads: the first one pauses, and the second one waits. */
static pid_t start_waiter(enum network network, bool polls, bool elsewhere)
{
    char path[128], bytes[8192] = "\177ELF";

    waiter->network = network;
    waiter->polls = polls;
    waiter->elsewhere = elsewhere;
    snprintf(path, sizeof(path), "%s/libjvm.so", fx.dir);
    write_file(path, bytes, sizeof(bytes));
    snprintf(path, sizeof(path), "%s/deleted.so", fx.dir);
    write_file(path, bytes, sizeof(bytes));
    return start_child(be_waiter, NULL);
}

/* Asks once the program is loaded. */
static int ask_peers(const struct proc_id *id, const struct peers_wanted *threads, size_t n,
                     struct waiting_peer ret[PEERS_MAX])
{
    int r;

    while ((r = broker_wait_peers(fx.b, id, threads, n, ret, NULL)) == -EINPROGRESS || r == -EAGAIN)
        usleep(10000);
    return r;
}

/* Asks until the thread waits in a system call on a descriptor or a struct pollfd. */
static struct waiting_peer ask_thread(pid_t pid, int fd)
{
    struct peers_wanted wanted = { .host_tid = waiter->tid, .fd = fd };
    struct proc_id id = id_of(pid);
    struct waiting_peer ret[PEERS_MAX];

    for (int i = 0; i < 500; i++) {
        ck_assert_int_eq(ask_peers(&id, &wanted, 1, ret), 0);
        if (ret[0].host_tid && (ret[0].call == SYS_read || ret[0].call == SYS_poll))
            return ret[0];
        usleep(10000);
    }
    ck_abort_msg("the thread does not wait");
}

static const struct {
    enum network network;
    bool polls, elsewhere;
    uint16_t family;
    const char *address;
} WAITS[] = {
    { V4, false, false, AF_INET, "\x7f\0\1\2" },
    { V4, false, true, AF_INET, "\x7f\0\1\2" },
    { V4, true, false, AF_INET, "\x7f\0\1\2" },
    { V6, false, false, AF_INET6, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1" },
    { V6, true, true, AF_INET6, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1" },
    { MAPPED, false, false, AF_INET6, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\1\2" },
};

static void check_server(size_t i)
{
    size_t n = WAITS[i].family == AF_INET ? 4 : 16;
    pid_t child = start_waiter(WAITS[i].network, WAITS[i].polls, WAITS[i].elsewhere);
    struct waiting_peer p = ask_thread(child, waiter->fd);

    ck_assert_uint_eq(p.call, WAITS[i].polls ? SYS_poll : SYS_read);
    if (WAITS[i].polls)
        ck_assert_uint_eq(p.second, 1);
    else
        ck_assert_int_eq((int)p.first, waiter->fd);
    ck_assert_uint_eq(p.family, WAITS[i].family);
    ck_assert_uint_eq(p.port, ntohs(waiter->port));
    ck_assert_mem_eq(p.address, WAITS[i].address, n);
    end_child(child);
}

/* All by one broker, because it loads its programs first. */
START_TEST(names_servers_of_the_internet)
{
    for (size_t i = 0; i < ARRAY_SIZE(WAITS); i++)
        check_server(i);
}
END_TEST

/* Binds sockets to paths of the server's length, so that the kernel has them side by side. */
static void fill_memory(bool abstract)
{
    struct sockaddr_storage address;
    struct sockaddr_un *un = (void *)&address;
    socklen_t n = address_of(abstract ? ABSTRACT : UNIX, &address);

    for (int i = 0; i < 256; i++) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(un->sun_path + n - sizeof(un->sun_family) - 4, 4, "%03d", i);
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, n), 0);
    }
}

START_TEST(names_a_unix_socket)
{
    static const uint8_t NONE[PEERS_ADDRESS_BYTES];
    bool abstract = _i;
    struct waiting_peer p;
    char path[128];
    size_t n;
    pid_t child;

    fill_memory(abstract);
    child = start_waiter(abstract ? ABSTRACT : UNIX, false, false);
    p = ask_thread(child, waiter->fd);
    snprintf(path, sizeof(path), "%s/server", fx.dir);
    ck_assert_uint_eq(p.family, AF_UNIX);
    if (abstract)
        ck_assert_uint_eq(p.address[0], 0);
    n = abstract + strlen(path);
    ck_assert_mem_eq(p.address + abstract, path, strlen(path));
    ck_assert_mem_eq(p.address + n, NONE, sizeof(p.address) - n);
    end_child(child);
}
END_TEST

START_TEST(says_nothing_of_other_descriptors)
{
    pid_t child = start_waiter(V4, false, false);
    int fds[] = { -1, 0, 1023, 1 << 20, INT32_MAX };

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        struct waiting_peer p = ask_thread(child, fds[i]);

        ck_assert_int_eq((int)p.first, waiter->fd);
        ck_assert_uint_eq(p.family, 0);
    }
    end_child(child);
}
END_TEST

/* Only of threads of a JVM, by the process in question. */
START_TEST(refuses_other_processes_and_their_threads)
{
    pid_t jvm = start_waiter(V4, false, false), other = start_child(NULL, NULL);
    struct peers_wanted wanted[] = { { .host_tid = (uint32_t)other, .fd = -1 },
                                     { .host_tid = (uint32_t)getpid(), .fd = 0 },
                                     { .host_tid = (uint32_t)jvm, .fd = -1 } };
    struct waiting_peer ret[PEERS_MAX];
    struct proc_id id = id_of(other);

    ck_assert_int_eq(ask_peers(&id, wanted, 1, ret), -EPERM);
    id = id_of(jvm);
    ck_assert_int_eq(ask_peers(&id, wanted, ARRAY_SIZE(wanted), ret), 0);
    ck_assert_uint_eq(ret[0].host_tid, 0);
    ck_assert_uint_eq(ret[1].host_tid, 0);
    ck_assert_uint_eq(ret[2].host_tid, (uint32_t)jvm);
    ck_assert_uint_eq(ret[2].call, SYS_pause);
    id.start_ticks++;
    ck_assert_int_eq(ask_peers(&id, wanted, 1, ret), PROC_GONE);
    end_child(other);
    end_child(jvm);
}
END_TEST

START_TEST(without_the_iterator_it_is_refused)
{
    struct peers_wanted wanted = { .host_tid = 1, .fd = -1 };
    struct waiting_peer ret[PEERS_MAX];
    pid_t jvm = start_waiter(V4, false, false);
    struct proc_id id = id_of(jvm);

    ck_assert_int_eq(ask_peers(&id, &wanted, 1, ret), -EOPNOTSUPP);
    end_child(jvm);
}
END_TEST

static void open_all(void)
{
    fixture_open();
    waiter = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void open_without(void)
{
    setenv("FLAMED_OLD_KERNEL", "task_iterator", 1);
    open_all();
}

static void shut_all(void)
{
    munmap(waiter, 4096);
    fixture_shut();
    unsetenv("FLAMED_OLD_KERNEL");
}

int main(void)
{
    TCase *tc = tcase_create("broker_peers"), *old = tcase_create("no iterator");
    Suite *suite = suite_create("broker_peers");
    int skip = can_test_broker();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, open_all, shut_all);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, names_servers_of_the_internet);
    tcase_add_loop_test(tc, names_a_unix_socket, 0, 2);
    tcase_add_test(tc, says_nothing_of_other_descriptors);
    tcase_add_test(tc, refuses_other_processes_and_their_threads);
    tcase_add_checked_fixture(old, open_without, shut_all);
    tcase_add_test(old, without_the_iterator_it_is_refused);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, old);
    return suite_run(suite);
}
