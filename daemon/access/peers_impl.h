/* SPDX-License-Identifier: Apache-2.0 */
/* What the files peer*.c share. */
#pragma once

#include "access/peer_facts.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/span.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <pthread.h>

#define PEER_MEMBERS_MAX 1024
#define PEER_UID_NOBODY 65534 /* the kernel's stand-in for users that have no name here */

struct peer_text;

/* What a look asks the kernel for. A test has its own. */
struct peer_kernel {
    void *ctx;
    /* As peer_ask_socket(). */
    void (*socket)(void *ctx, struct peer_text *t, const struct peer_connection *c,
                   struct peer_socket *ret);
    /* Whether flamed's own end is open still. */
    bool (*connected)(void *ctx, const struct peer_connection *c);
    /* The folder /proc/@pid, which then names that process alone. A descriptor, or -errno. */
    int (*pin)(void *ctx, int32_t pid);
    void (*unpin)(void *ctx, int fd);
    /* A file of that folder. 0; -EFBIG: there is more than @ret takes; -errno. */
    int (*read)(void *ctx, int fd, const char *name, struct buf *ret);
    /* Whether that process is there still: 0 or -errno. */
    int (*stays)(void *ctx, int fd);
    /* A file of /proc, as read(). */
    int (*read_all)(void *ctx, const char *name, struct buf *ret);
    /* The id of the cgroup of version 2 with this path; 0: the hierarchy is not seen whole;
     * PEER_CGROUP_NONE: there is none. */
    uint64_t (*cgroup)(void *ctx, struct span path);
};

struct peers {
    struct peer_kernel kernel;
    int netlink_fd, cgroup_fd; /* -1: none */
    int net_fd;                /* /proc/self/net; -1: none */
    uint64_t net_ns;           /* its namespace's inode; 0: not known */
    int proc_fd;               /* borrowed */
    bool enclosed; /* we are in a pid namespace of our own: others cannot be looked at */
    uint32_t self_uid;
    bool distrusts_own; /* over TCP */
    pthread_mutex_t lock;
    uint32_t sequence; /* of questions; guarded by lock, as is netlink_fd */
    struct peer_group {
        uint32_t gid;      /* UINT32_MAX: there is none */
        uint32_t *members; /* owned: its users, as of the start */
        size_t member_count;
    } users, groups[PEER_GROUPS_MAX]; /* those who have all; those that rules name */
    size_t group_count;
    uint64_t capabilities;   /* that the first process may have; 0: not known */
    peer_holders_fn holders; /* NULL: not to be asked for */
    void *holders_ctx;
};

/* ---- peer_tcp.c ---- */

/* Gets the socket at the other end of the accepted TCP socket @fd. The kernel's netlink tells it,
 * or, where that does not know TCP, the text in @t. @t NULL: the text is not read, and the socket
 * not told. */
void peer_ask_socket(struct peers *s, struct peer_text *t, int fd,
                     const struct sockaddr_storage *address, struct peer_socket *ret);
/* Returns whether our own end @fd is open: only then no other connection has these two addresses.
 * Once it was reset the other end may be somebody else's, whose name must not stand for what was
 * sent before. */
bool peer_is_connected(int fd);
/* Whose the socket is that @h, a whole message of the kernel's, tells of, where its ends are @q's.
 * Return: 1 with @ret; 0: it is not open; -ENOENT: it names none; -EPROTO. */
int peer_take_answer(const struct nlmsghdr *h, const struct inet_diag_req_v2 *q,
                     struct peer_socket *ret);

/* ---- peer_text.c ---- */

/* Does the same out of the lines of @text, of the socket whose ends are spelt @local and @remote.
 * Return as peer_ask_text(). */
int peer_find_text(struct span text, const char *local, const char *remote,
                   struct peer_socket *ret);
/* Returns how many sockets of @text have that inode. */
size_t peer_count_text(struct span text, uint64_t inode);
/* The text of all sockets, as of the first question: of each file once it is asked for. */
struct peer_text {
    struct buf v4, v6;
    bool has_v4, has_v6;
    bool part; /* one of them was not read whole */
};
void peer_text_clear(struct peer_text *t);
/* Whose the socket is whose ends are @q's. Return: 1 with @ret; 0: it is not open; -ENOENT: there
 * is none, or that cannot be proven. Takes some microseconds for each socket of the machine, those
 * that were closed a minute ago included, unless @t has the text. */
int peer_ask_text(const struct peers *s, struct peer_text *t, const struct inet_diag_req_v2 *q,
                  struct peer_socket *ret);

/* ---- peer.c ---- */

/* Sets the user of the socket @from, which is at the other end of a TCP connection. */
void peer_set_socket(const struct peers *s, const struct peer_socket *from, struct peer *ret);

/* ---- peer_process.c ---- */

/* The cgroup hierarchies that flamed's own process is in, as the kernel lists them for each. */
#define PEER_HIERARCHIES_MAX 64
struct peer_hierarchies {
    uint64_t ids[PEER_HIERARCHIES_MAX];
    size_t count; /* 0: not known, and nothing is whole */
};
void peer_read_hierarchies(const struct peers *s, struct peer_hierarchies *ret);
/* Reads the texts of a process, whose folder is @fd, into @ret but for pid and stays. */
void peer_read_process(const struct peers *s, int fd, const struct peer_hierarchies *all,
                       struct peer_process *ret);
/* Sets s->kernel to the one there is. */
void peer_use_kernel(struct peers *s);
/* Returns the number that the newest process of the machine got, by which a new one is seen. 0: not
 * told. */
uint64_t peer_newest_pid(const struct peers *s);

/* ---- peer_group.c ---- */

/* Reads the members of the group @name, whether by the list or as their first group. 0; -ENOENT,
 * with an empty *ret; -ENOMEM. */
int peer_group_read(const char *name, struct peer_group *ret);
void peer_group_clear(struct peer_group *g);
bool peer_is_member(const struct peer_group *g, uint32_t uid);
