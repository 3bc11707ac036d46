/* SPDX-License-Identifier: Apache-2.0 */
#include "access/peers_impl.h"

#include "base/cleanup.h"
#include "base/old_kernel.h"
#include "proc/proc.h"

#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define CGROUP2_MAGIC 0x63677270
#define PID_NS_INITIAL 0xeffffffc /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define ANSWERS_MAX 4             /* late ones of questions before are passed by */

static const char NO_NETLINK[] =
    "flamed cannot ask the kernel whose connection it is (NETLINK_SOCK_DIAG)";
static const char NOT_FOUND[] =
    "the kernel knows no socket of this machine at the other end of the connection";
static const char NOT_OPEN[] = "the other end has closed the connection already";
static const char NO_NAME[] = "the user at the other end has no name on this machine";
static const char NO_CREDENTIALS[] = "the socket does not tell who is at its other end";

/* ---- opening ---- */

/* Its address is the kernel's choice at the first question. */
static int open_netlink(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
}

/* The hierarchy of version 2, alone or beside version 1. */
static int open_cgroups(void)
{
    static const char *const PATHS[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

    for (size_t i = 0; i < ARRAY_SIZE(PATHS); i++) {
        int fd = open(PATHS[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct statfs fs;

        if (fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_MAGIC)
            return fd;
        close_fd(fd);
    }
    return -1;
}

static bool netlink_tells(struct peers *s);

int peers_open(int proc_fd, const char *group, struct peers **ret)
{
    struct peers *s = calloc(1, sizeof(*s));
    struct proc_status init;
    struct stat ns;

    if (!s)
        return -ENOMEM;
    if (proc_read_status(proc_fd, 1, &init) == 0)
        s->capabilities = init.capability_bounds;
    s->proc_fd = proc_fd;
    s->enclosed = stat("/proc/self/ns/pid", &ns) == 0 && ns.st_ino != PID_NS_INITIAL;
    s->self_uid = geteuid();
    s->netlink_fd = open_netlink();
    s->cgroup_fd = open_cgroups();
    s->net_fd = open("/proc/self/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
    s->by_text = !netlink_tells(s);
    pthread_mutex_init(&s->lock, NULL);
    if (peer_group_read(group, &s->users) == -ENOMEM) {
        peers_close(s);
        return -ENOMEM;
    }
    *ret = s;
    return 0;
}

struct peers *peers_close(struct peers *s)
{
    if (!s)
        return NULL;
    close_fd(s->netlink_fd);
    close_fd(s->cgroup_fd);
    close_fd(s->net_fd);
    for (size_t i = 0; i < PEER_VERDICTS_MAX; i++) {
        if (s->verdicts[i].until_ns && s->verdicts[i].told)
            close_fd(s->verdicts[i].fd);
    }
    pthread_mutex_destroy(&s->lock);
    peer_group_clear(&s->users);
    for (size_t i = 0; i < s->group_count; i++)
        peer_group_clear(&s->groups[i]);
    free(s);
    return NULL;
}

void peers_ask_holders(struct peers *s, peer_holders_fn fn, void *cookie)
{
    s->holders = fn;
    s->holders_cookie = cookie;
}

int peers_cgroup_fd(const struct peers *s)
{
    return s ? s->cgroup_fd : -1;
}

static void set_user(const struct peers *s, uint32_t uid, struct peer *ret)
{
    ret->uid = uid;
    ret->known = uid != PEER_UID_NOBODY && uid != UINT32_MAX;
    ret->problem = ret->known ? NULL : NO_NAME;
    if (!ret->known)
        return;
    ret->member = uid == 0 || uid == s->self_uid || peer_is_member(&s->users, uid);
    for (size_t i = 0; i < s->group_count; i++)
        ret->groups |= (uint64_t)peer_is_member(&s->groups[i], uid) << i;
}

/* ---- Unix sockets ---- */

/* What the group @gid of a process makes of it. */
static void add_group(const struct peers *s, uint32_t gid, struct peer *ret)
{
    ret->member = ret->member || (gid == s->users.gid && gid != UINT32_MAX);
    for (size_t i = 0; i < s->group_count; i++)
        ret->groups |= (uint64_t)(gid == s->groups[i].gid && gid != UINT32_MAX) << i;
}

static void add_peer_groups(const struct peers *s, int fd, struct peer *ret)
{
    socklen_t n = 0;
    gid_t *groups;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &n) == 0 || errno != ERANGE)
        return;
    groups = malloc(n);
    if (groups && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &n) == 0) {
        for (size_t i = 0; i < n / sizeof(*groups); i++)
            add_group(s, groups[i], ret);
    }
    free(groups);
}

static void ask_unix(const struct peers *s, int fd, struct peer *ret)
{
    struct ucred cred;
    socklen_t n = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0 || n != sizeof(cred)) {
        ret->problem = NO_CREDENTIALS;
        return;
    }
    set_user(s, cred.uid, ret);
    if (!ret->known)
        return;
    add_group(s, cred.gid, ret);
    add_peer_groups(s, fd, ret);
}

/* ---- TCP ---- */

/* Both ends as the socket at the other end sees them. False where it cannot be on this machine. */
static bool fill_id(int fd, const struct sockaddr_storage *peer, struct inet_diag_req_v2 *ret)
{
    struct sockaddr_storage local = { 0 };
    socklen_t n = sizeof(local);

    if (getsockname(fd, (struct sockaddr *)&local, &n) < 0 || local.ss_family != peer->ss_family)
        return false;
    ret->sdiag_family = (uint8_t)peer->ss_family;
    if (peer->ss_family == AF_INET) {
        const struct sockaddr_in *from = (const struct sockaddr_in *)peer,
                                 *to = (const struct sockaddr_in *)&local;

        ret->id.idiag_sport = from->sin_port;
        ret->id.idiag_dport = to->sin_port;
        memcpy(ret->id.idiag_src, &from->sin_addr, 4);
        memcpy(ret->id.idiag_dst, &to->sin_addr, 4);
        return true;
    }
    if (peer->ss_family == AF_INET6) {
        const struct sockaddr_in6 *from = (const struct sockaddr_in6 *)peer,
                                  *to = (const struct sockaddr_in6 *)&local;
        /* IPv4 on a socket of IPv6: the kernel files it under IPv4. */
        bool mapped = IN6_IS_ADDR_V4MAPPED(&from->sin6_addr);
        size_t skip = mapped ? 12 : 0;

        ret->sdiag_family = mapped ? AF_INET : AF_INET6;
        ret->id.idiag_sport = from->sin6_port;
        ret->id.idiag_dport = to->sin6_port;
        memcpy(ret->id.idiag_src, &from->sin6_addr.s6_addr[skip], 16 - skip);
        memcpy(ret->id.idiag_dst, &to->sin6_addr.s6_addr[skip], 16 - skip);
        return true;
    }
    return false;
}

static uint64_t find_cgroup(const struct nlmsghdr *h)
{
    const char *at = (const char *)h + NLMSG_LENGTH(sizeof(struct inet_diag_msg));
    size_t left = h->nlmsg_len - NLMSG_LENGTH(sizeof(struct inet_diag_msg));
    uint64_t cgroup = 0;

    while (left >= NLA_HDRLEN) {
        struct nlattr a;
        size_t step;

        memcpy(&a, at, sizeof(a));
        step = NLA_ALIGN(a.nla_len);
        if (a.nla_len < NLA_HDRLEN || a.nla_len > left)
            break;
        if (a.nla_type == INET_DIAG_CGROUP_ID && a.nla_len >= NLA_HDRLEN + sizeof(cgroup))
            memcpy(&cgroup, at + NLA_HDRLEN, sizeof(cgroup));
        if (step > left)
            break;
        at += step;
        left -= step;
    }
    return cgroup;
}

/* Whether @told is the address @asked, of IPv4 where @v4: a socket of IPv6 tells that one mapped.
 */
static bool is_address(const __be32 told[4], const __be32 asked[4], bool v4, bool mapped)
{
    static const unsigned char PREFIX[12] = { [10] = 0xff, [11] = 0xff };

    if (!v4)
        return memcmp(told, asked, 16) == 0;
    return mapped ? memcmp(told, PREFIX, 12) == 0 && told[3] == asked[0] : told[0] == asked[0];
}

/* The same connection, seen from the other end. A question for one that is gone finds whatever
 * listens on the port. */
static bool is_the_one(const struct inet_diag_msg *m, const struct inet_diag_req_v2 *q)
{
    bool v4 = q->sdiag_family == AF_INET, mapped = v4 && m->idiag_family == AF_INET6;

    return m->id.idiag_sport == q->id.idiag_sport && m->id.idiag_dport == q->id.idiag_dport &&
           is_address(m->id.idiag_src, q->id.idiag_src, v4, mapped) &&
           is_address(m->id.idiag_dst, q->id.idiag_dst, v4, mapped);
}

/* A socket that its program has closed says that it is root's: it has no inode any more. */
static bool is_open(const struct inet_diag_msg *m)
{
    return m->idiag_inode != 0 &&
           (m->idiag_state == TCP_ESTABLISHED || m->idiag_state == TCP_FIN_WAIT1 ||
            m->idiag_state == TCP_FIN_WAIT2);
}

/* Our end. As long as it is open, no other connection has these two addresses; once it was reset
 * the other end may be somebody else's, whose name must not stand for what was sent before. */
static bool is_connected(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t n = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 &&
           (info.tcpi_state == TCP_ESTABLISHED || info.tcpi_state == TCP_CLOSE_WAIT);
}

int peer_take_answer(const struct nlmsghdr *h, const struct inet_diag_req_v2 *q, struct peer *ret,
                     uint32_t *ret_uid)
{
    struct inet_diag_msg m;

    if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || h->nlmsg_len < NLMSG_LENGTH(sizeof(m))) {
        ret->problem = NOT_FOUND;
        return 0;
    }
    memcpy(&m, NLMSG_DATA(h), sizeof(m));
    if (!is_the_one(&m, q) || !is_open(&m)) {
        ret->problem = is_the_one(&m, q) ? NOT_OPEN : NOT_FOUND;
        return 0;
    }
    *ret_uid = m.idiag_uid;
    ret->cgroup = find_cgroup(h);
    ret->inode = m.idiag_inode;
    return 1;
}

static int ask_kernel(struct peers *s, const struct inet_diag_req_v2 *q, struct peer *ret,
                      uint32_t *ret_uid)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } ask = { .head = { .nlmsg_len = sizeof(ask),
                        .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                        .nlmsg_flags = NLM_F_REQUEST,
                        .nlmsg_seq = ++s->sequence },
              .body = *q };
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    _Alignas(struct nlmsghdr) char text[4096];

    ret->problem = NO_NETLINK;
    if (s->netlink_fd < 0 || sendto(s->netlink_fd, &ask, sizeof(ask), MSG_DONTWAIT,
                                    (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
        return 0;
    for (int i = 0; i < ANSWERS_MAX; i++) { /* the kernel answers before sendto() returns */
        struct sockaddr_nl from = { 0 };
        socklen_t from_n = sizeof(from);
        ssize_t n = recvfrom(s->netlink_fd, text, sizeof(text), MSG_DONTWAIT,
                             (struct sockaddr *)&from, &from_n);
        const struct nlmsghdr *h = (const struct nlmsghdr *)text;

        if (n < 0)
            return 0;
        if (from.nl_pid == 0 && NLMSG_OK(h, (size_t)n) && h->nlmsg_seq == s->sequence)
            return peer_take_answer(h, q, ret, ret_uid);
    }
    return 0;
}

/* As ask_kernel(), by the text. */
static int ask_text(const struct peers *s, struct peer_text *t, const struct inet_diag_req_v2 *q,
                    struct peer *ret, uint32_t *ret_uid)
{
    int r = peer_ask_text(s, t, q, ret, ret_uid);

    ret->problem = s->net_fd < 0 ? NO_NETLINK : r == 0 ? NOT_OPEN : NOT_FOUND;
    return r > 0;
}

static void ask_tcp(struct peers *s, struct peer_text *t, int fd,
                    const struct sockaddr_storage *address, struct peer *ret)
{
    struct inet_diag_req_v2 q = { .sdiag_protocol = IPPROTO_TCP,
                                  .idiag_states = UINT32_MAX,
                                  .id = { .idiag_cookie = { INET_DIAG_NOCOOKIE,
                                                            INET_DIAG_NOCOOKIE } } };
    uint32_t uid = UINT32_MAX;

    ret->problem = NOT_FOUND;
    if (!fill_id(fd, address, &q) ||
        !(s->by_text ? ask_text(s, t, &q, ret, &uid) : ask_kernel(s, &q, ret, &uid)))
        return;
    ret->problem = NOT_OPEN;
    if (!is_connected(fd))
        return;
    ret->tcp = true;
    set_user(s, uid, ret);
}

void peers_ask(struct peers *s, struct peer_connection *list, size_t n)
{
    struct peer_text text = { 0 }; /* of sockets, those that were accepted before included */

    for (size_t i = 0; i < n; i++) {
        struct peer_connection *c = &list[i];

        c->peer = (struct peer){ .uid = UINT32_MAX, .problem = NO_NETLINK };
        if (s && c->address.ss_family == AF_UNIX)
            ask_unix(s, c->fd, &c->peer);
        else if (s)
            ask_tcp(s, &text, c->fd, &c->address, &c->peer);
    }
    peer_text_clear(&text);
}

void peer_ask(struct peers *s, int fd, const struct sockaddr_storage *address, struct peer *ret)
{
    struct peer_connection c = { .fd = fd, .address = *address };

    peers_ask(s, &c, 1);
    *ret = c.peer;
}

/* Whether the kernel tells, by the netlink socket, whose a connection is: asked about one of our
 * own. */
static bool netlink_tells(struct peers *s)
{
    struct sockaddr_in local = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    _cleanup_close_ int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
                        client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = -1;
    struct sockaddr_storage address = { 0 };
    struct peer_text text = { 0 }; /* not read */
    socklen_t n = sizeof(local);
    struct peer p = { 0 };

    if (old_kernel_pretended("sock_diag"))
        return false;
    if (bind(listener, (struct sockaddr *)&local, sizeof(local)) < 0 || listen(listener, 1) < 0 ||
        getsockname(listener, (struct sockaddr *)&local, &n) < 0 ||
        connect(client, (struct sockaddr *)&local, sizeof(local)) < 0)
        return true; /* nobody can come by TCP */
    n = sizeof(address);
    fd = accept4(listener, (struct sockaddr *)&address, &n, SOCK_CLOEXEC);
    ask_tcp(s, &text, fd, &address, &p);
    return p.tcp;
}
