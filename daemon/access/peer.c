/* SPDX-License-Identifier: Apache-2.0 */
#include "access/peers_impl.h"

#include "base/cleanup.h"
#include "proc/proc.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define CGROUP2_MAGIC 0x63677270
#define PID_NS_INITIAL 0xeffffffc /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

static const char NO_PEERS[] = "flamed cannot ask the kernel which user opened the connection";
static const char NOT_OPEN[] = "the other end has closed the connection already";
static const char NO_NAME[] = "the user at the other end has no name on this machine";
static const char OWN_USER[] =
    "over TCP flamed does not accept its own user while it pushes: flamed-push runs as that user";
static const char NO_CREDENTIALS[] = "the socket does not name the user at its other end";

/* ---- opening ---- */

/* Opens a netlink socket. The kernel picks its address at the first request. */
static int open_netlink(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
}

/* Opens the cgroup v2 hierarchy, alone or beside v1. */
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

int peers_open(int proc_fd, const char *group, struct peers **ret)
{
    struct peers *s = calloc(1, sizeof(*s));
    struct proc_status init;
    struct stat ns, net;

    if (!s)
        return -ENOMEM;
    if (proc_read_status(proc_fd, 1, &init) == 0)
        s->capabilities = init.capability_bounds;
    s->proc_fd = proc_fd;
    s->enclosed = stat("/proc/self/ns/pid", &ns) == 0 && ns.st_ino != PID_NS_INITIAL;
    s->self_uid = geteuid();
    s->netlink_fd = open_netlink();
    s->cgroup_fd = open_cgroups();
    s->net_ns = stat("/proc/self/ns/net", &net) == 0 ? net.st_ino : 0;
    s->net_fd = open("/proc/self/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
    peer_use_kernel(s);
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
    pthread_mutex_destroy(&s->lock);
    peer_group_clear(&s->users);
    for (size_t i = 0; i < s->group_count; i++)
        peer_group_clear(&s->groups[i]);
    free(s);
    return NULL;
}

void peers_ask_holders(struct peers *s, peer_holders_fn fn, void *ctx)
{
    s->holders = fn;
    s->holders_ctx = ctx;
}

void peers_distrust_own(struct peers *s)
{
    s->distrusts_own = true;
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

/* Records that the peer is in the group @gid. */
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

void peer_set_socket(const struct peers *s, const struct peer_socket *from, struct peer *ret)
{
    *ret = (struct peer){ .uid = UINT32_MAX, .problem = from->problem };
    if (!from->open)
        return;
    ret->tcp = true;
    ret->socket = *from;
    set_user(s, from->uid, ret);
    if (ret->known && s->distrusts_own && from->uid == s->self_uid && from->uid != 0) {
        ret->known = ret->member = false;
        ret->groups = 0;
        ret->problem = OWN_USER;
    }
}

static void ask_tcp(struct peers *s, struct peer_text *t, const struct peer_connection *c,
                    struct peer *ret)
{
    struct peer_socket from;

    s->kernel.socket(s->kernel.ctx, t, c, &from);
    peer_set_socket(s, &from, ret);
    if (ret->tcp && !s->kernel.connected(s->kernel.ctx, c))
        *ret = (struct peer){ .uid = UINT32_MAX, .problem = NOT_OPEN };
}

void peers_ask(struct peers *s, struct peer_connection *list, size_t n)
{
    struct peer_text text = { 0 }; /* list of all sockets, read at most once for all connections of
                                    * @list */

    for (size_t i = 0; i < n; i++) {
        struct peer_connection *c = &list[i];

        c->peer = (struct peer){ .uid = UINT32_MAX, .problem = NO_PEERS };
        if (s && c->address.ss_family == AF_UNIX)
            ask_unix(s, c->fd, &c->peer);
        else if (s)
            ask_tcp(s, &text, c, &c->peer);
    }
    peer_text_clear(&text);
}
