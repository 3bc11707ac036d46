/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by peer*.c; private to them. */
#pragma once

#include "access/peer_facts.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/span.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <stdatomic.h>

#define PEER_MEMBERS_MAX 1024
#define PEER_UID_NOBODY 65534 /* the kernel's stand-in for users without a mapping here */

struct peer_text;

/* Kernel calls of a look, replaceable in tests. */
struct peer_kernel {
    void *ctx;
    /* Does peer_ask_socket(). */
    void (*socket)(void *ctx, struct peer_text *t, const struct peer_connection *c,
                   struct peer_socket *ret);
    /* Returns true if flamed's own end is still open. */
    bool (*connected)(void *ctx, const struct peer_connection *c);
    /* Opens /proc/@pid, which then names that process alone. Returns a descriptor, or -errno. */
    int (*pin)(void *ctx, int32_t pid);
    void (*unpin)(void *ctx, int fd);
    /* Reads a file of that folder. Returns 0, -EFBIG if the file is longer than @ret allows, or
     * -errno. */
    int (*read)(void *ctx, int fd, const char *name, struct buf *ret);
    /* Checks that the process still exists. Returns 0 or -errno. */
    int (*stays)(void *ctx, int fd);
    /* Reads a file of /proc. Returns the results of read(). */
    int (*read_all)(void *ctx, const char *name, struct buf *ret);
    /* Returns the id of the cgroup v2 with this path; 0: the hierarchy is only partly visible;
     * PEER_CGROUP_NONE: no such cgroup. */
    uint64_t (*cgroup)(void *ctx, struct span path);
};

struct peers {
    struct peer_kernel kernel;
    int netlink_fd, cgroup_fd; /* -1: none */
    int net_fd;                /* /proc/self/net; -1: none */
    uint64_t net_ns;           /* inode of that namespace; 0: unknown */
    int proc_fd;               /* borrowed */
    bool enclosed; /* flamed is in its own pid namespace: other processes are invisible */
    uint32_t self_uid;
    bool distrusts_own; /* flamed's own user counts as unknown over TCP */
    pthread_mutex_t lock;
    uint32_t sequence; /* of netlink requests; guarded by lock, like netlink_fd */
    struct peer_group {
        uint32_t gid;      /* UINT32_MAX: no such group */
        uint32_t *members; /* owned: user ids, read at the start */
        size_t member_count;
    } users, groups[PEER_GROUPS_MAX]; /* the group with full rights; the groups that rules name */
    size_t group_count;
    uint64_t capabilities;   /* bounding set of init; 0: unknown */
    peer_holders_fn holders; /* NULL: holders are unknown */
    void *holders_ctx;
    atomic_uint_least64_t slow_looks, fast_looks; /* peers_slow_looks(), peers_fast_looks() */
};

/* ---- peer_tcp.c ---- */

/* Gets the socket at the other end of @fd, an accepted TCP socket. Reads the text in @t if netlink
 * does not report TCP. If @t is NULL, no text is read, and the socket stays unknown. */
void peer_ask_socket(struct peers *s, struct peer_text *t, int fd,
                     const struct sockaddr_storage *address, struct peer_socket *ret);
/* Returns true if the near end @fd is open. As long as it is open, no other connection has these
 * two addresses. After a reset, another program may get the other end's address. Its identity must
 * not stand for earlier requests. */
bool peer_is_connected(int fd);
/* Takes the owner of the socket @q from @h, one whole message of the kernel. Returns 1 with @ret, 0
 * if the socket is not open, -ENOENT if there is no such socket, or -EPROTO. */
int peer_take_answer(const struct nlmsghdr *h, const struct inet_diag_req_v2 *q,
                     struct peer_socket *ret);

/* ---- peer_text.c ---- */

/* Finds the socket with the ends @local and @remote in the lines of @text. Returns the results of
 * peer_ask_text(). */
int peer_find_text(struct span text, const char *local, const char *remote,
                   struct peer_socket *ret);
/* Returns whether only one socket of @text has the inode @inode: the one with the ends @local and
 * @remote. That one may be listed several times. */
bool peer_is_alone(struct span text, uint64_t inode, const char *local, const char *remote);
/* The texts of all sockets. Each file is read once, when it is first needed. */
struct peer_text {
    struct buf v4, v6;
    bool has_v4, has_v6;
    bool part; /* a file was not read whole */
};
void peer_text_clear(struct peer_text *t);
/* Finds the owner of the socket @q. Returns 1 with @ret, 0 if the socket is not open, or -ENOENT if
 * there is no such socket or its owner cannot be proven. Unless @t has the text, takes some
 * microseconds per socket of the machine, including sockets closed in the last minute. */
int peer_ask_text(const struct peers *s, struct peer_text *t, const struct inet_diag_req_v2 *q,
                  struct peer_socket *ret);

/* ---- peer.c ---- */

/* Sets the user in @ret to that of the socket @from at the other end of a TCP connection. */
void peer_set_socket(const struct peers *s, const struct peer_socket *from, struct peer *ret);

/* ---- peer_process.c ---- */

/* The cgroup hierarchies of flamed's own process, which the kernel lists for every process. */
#define PEER_HIERARCHIES_MAX 64
struct peer_hierarchies {
    uint64_t ids[PEER_HIERARCHIES_MAX];
    size_t count; /* 0: unknown; then every text counts as cut */
};
void peer_read_hierarchies(const struct peers *s, struct peer_hierarchies *ret);
/* Reads the facts of the process with the folder @fd into @ret, except pid and stays. */
void peer_read_process(const struct peers *s, int fd, const struct peer_hierarchies *all,
                       struct peer_process *ret);
/* Sets s->kernel to the real kernel. */
void peer_use_kernel(struct peers *s);
/* Returns the newest pid of the machine; 0: unknown. It shows whether a process has started since.
 */
uint64_t peer_newest_pid(const struct peers *s);

/* ---- peer_group.c ---- */

/* Reads the users of the group @name, as members or by their primary group. Returns 0, -ENOENT with
 * an empty *ret, or -ENOMEM. */
int peer_group_read(const char *name, struct peer_group *ret);
void peer_group_clear(struct peer_group *g);
bool peer_is_member(const struct peer_group *g, uint32_t uid);
