/* SPDX-License-Identifier: Apache-2.0 */
#include "pusher/lockdown.h"

#include "base/capabilities.h"
#include "base/cleanup.h"
#include "base/common_calls.h"
#include "base/landlock.h"
#include "base/log.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/netlink.h>
#include <netdb.h>
#include <netinet/in.h>
#include <nss.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMORY_BYTES ((rlim_t)256 << 20)
#define DESCRIPTORS 128
#define PORT_OF_NAMES 53

/* Calls in addition to COMMON_CALLS: waiting, threads that resolve names, operations on sockets. No
 * exec and no kill. */
static const int ALLOWED[] = {
    /* for resolving names; bind() is for netlink and UDP: Landlock forbids it for TCP */
    SCMP_SYS(bind),        SCMP_SYS(connect),   SCMP_SYS(eventfd2),
    SCMP_SYS(getegid),     SCMP_SYS(getgid),    SCMP_SYS(getpeername),
    SCMP_SYS(getsockname), SCMP_SYS(nanosleep), SCMP_SYS(set_robust_list),
    SCMP_SYS(setsockopt),  SCMP_SYS(stat),      SCMP_SYS(wait4)
};

#define OPENS_TO_CHANGE (O_ACCMODE | O_CREAT | O_TRUNC)
#define EXACT UINT64_C(0xffffffff)
#define TYPE (EXACT & ~(uint64_t)(SOCK_CLOEXEC | SOCK_NONBLOCK))
#define CONDITIONS_MAX 3

/* Matches if the bits @mask of argument @number have the value @value. */
#define IS(number, mask, value)                                                                    \
    {                                                                                              \
        number, SCMP_CMP_MASKED_EQ, mask, value                                                    \
    }
#define SOCKET(family, type, protocol)                                                             \
    {                                                                                              \
        SCMP_SYS(socket), 3,                                                                       \
        {                                                                                          \
            IS(0, EXACT, family), IS(1, TYPE, type), IS(2, EXACT, protocol)                        \
        }                                                                                          \
    }

static const struct {
    int call;
    unsigned count;
    struct scmp_arg_cmp conditions[CONDITIONS_MAX];
} ALLOWED_WITH[] = {
    { SCMP_SYS(mmap), 1, { IS(2, PROT_EXEC, 0) } },
    { SCMP_SYS(mprotect), 1, { IS(2, PROT_EXEC, 0) } },
    /* sending must not connect, which Landlock would not see */
    { SCMP_SYS(sendto), 1, { IS(3, MSG_FASTOPEN, 0) } },
    { SCMP_SYS(sendmsg), 1, { IS(2, MSG_FASTOPEN, 0) } },
    { SCMP_SYS(sendmmsg), 1, { IS(3, MSG_FASTOPEN, 0) } },
    /* for threads and for the worker's process, but with no namespaces */
    { SCMP_SYS(clone),
      1,
      { IS(0,
           CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
               CLONE_NEWPID | CLONE_NEWNET,
           0) } },
    /* no call that sets the owner of a descriptor, which would get signals */
    { SCMP_SYS(fcntl), 1, { IS(1, EXACT, F_DUPFD) } },
    { SCMP_SYS(fcntl), 1, { IS(1, EXACT, F_DUPFD_CLOEXEC) } },
    { SCMP_SYS(fcntl), 1, { IS(1, EXACT, F_GETFD) } },
    { SCMP_SYS(fcntl), 1, { IS(1, EXACT, F_SETFD) } },
    { SCMP_SYS(fcntl), 1, { IS(1, EXACT, F_GETFL) } },
    { SCMP_SYS(fcntl), 1, { IS(1, EXACT, F_SETFL) } },
    { SCMP_SYS(ioctl), 1, { IS(1, EXACT, FIONREAD) } },
    { SCMP_SYS(ioctl), 1, { IS(1, EXACT, FIONBIO) } },
    { SCMP_SYS(open), 1, { IS(1, OPENS_TO_CHANGE, 0) } },
    { SCMP_SYS(openat), 1, { IS(2, OPENS_TO_CHANGE, 0) } },
    /* ties a worker's life to the process that started it */
    { SCMP_SYS(prctl), 2, { IS(0, EXACT, PR_SET_PDEATHSIG), IS(1, EXACT, SIGKILL) } },
    /* for engines and name servers; no MPTCP, which Landlock does not limit, and no Unix sockets */
    SOCKET(AF_INET, SOCK_STREAM, 0),
    SOCKET(AF_INET, SOCK_STREAM, IPPROTO_TCP),
    SOCKET(AF_INET, SOCK_DGRAM, 0),
    SOCKET(AF_INET, SOCK_DGRAM, IPPROTO_UDP),
    SOCKET(AF_INET6, SOCK_STREAM, 0),
    SOCKET(AF_INET6, SOCK_STREAM, IPPROTO_TCP),
    SOCKET(AF_INET6, SOCK_DGRAM, 0),
    SOCKET(AF_INET6, SOCK_DGRAM, IPPROTO_UDP),
    /* for reading this machine's addresses, by which getaddrinfo() sorts its results */
    SOCKET(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE),
    /* libcurl wakes itself by a pair of sockets, which stay connected to each other */
    { SCMP_SYS(socketpair), 2, { IS(0, EXACT, AF_UNIX), IS(1, TYPE, SOCK_STREAM) } },
};

/* Filters system calls. A call that is not allowed fails, and libraries cope with that. */
static int filter_calls(void)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int r = ctx ? calls_allow(ctx, COMMON_CALLS, ARRAY_SIZE(COMMON_CALLS)) : -ENOMEM;

    if (r == 0)
        r = calls_allow(ctx, ALLOWED, ARRAY_SIZE(ALLOWED));
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(ALLOWED_WITH); i++)
        r = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, ALLOWED_WITH[i].call, ALLOWED_WITH[i].count,
                                   ALLOWED_WITH[i].conditions);
    if (r == 0) /* a filter cannot see the flags of clone3(), so glibc has to use clone() */
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (r == 0)
        r = seccomp_load(ctx);
    seccomp_release(ctx);
    return r;
}

/* Allows reading of the folders with resolv.conf and hosts. Either file may be a link out of /etc.
 */
static int allow_folders(const struct landlock *l, struct error *err)
{
    static const char *const FOLDERS[] = { "/etc", "/run/systemd/resolve", "/run/resolvconf",
                                           "/run/NetworkManager" };
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(FOLDERS); i++) {
        _cleanup_close_ int fd = open(FOLDERS[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0)
            r = landlock_allow(l, fd, LANDLOCK_READS, err);
    }
    return r;
}

static int restrict_reach(const uint16_t *ports, size_t n, struct error *err)
{
    _cleanup_(landlock_deinit) struct landlock l = LANDLOCK_NULL;
    int r = landlock_new(/* net_too= */ true, &l, err);

    if (r > 0) {
        log_warn("this kernel has no Landlock: flamed-push may read what flamed's user may read, "
                 "and connect to every port");
        return 0;
    }
    if (r == 0 && !landlock_limits_tcp(&l))
        log_info("this kernel's Landlock does not limit TCP (Linux 6.7 does): flamed-push may "
                 "connect to every port");
    if (r == 0)
        r = allow_folders(&l, err);
    if (r == 0)
        r = landlock_allow_connect(&l, PORT_OF_NAMES, err);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = landlock_allow_connect(&l, ports[i], err);
    return r < 0 ? r : landlock_enter(&l, err);
}

static void limit(int resource, rlim_t value)
{
    const struct rlimit limit = { value, value };

    setrlimit(resource, &limit);
}

int pusher_restrict(const uint16_t *ports, size_t n, struct error *err)
{
    int r;

    setgroups(0, NULL); /* works unless systemd has started flamed */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return error_errno(err, "cannot set no_new_privs");
    r = capabilities_drop();
    if (r < 0)
        return error_code(err, r, "cannot drop capabilities");
    r = restrict_reach(ports, n, err);
    if (r < 0)
        return r;
    r = filter_calls();
    return r < 0 ? error_code(err, r, "cannot install the filter of system calls") : 0;
}

int pusher_lockdown(const uint16_t *ports, size_t n, struct error *err)
{
    /* Keeps glibc from loading a module of another name service later: mapping code is forbidden
     * then. */
    __nss_configure_lookup("hosts", "files dns");
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_DATA, MEMORY_BYTES);
    limit(RLIMIT_NOFILE, DESCRIPTORS);
    return pusher_restrict(ports, n, err);
}
