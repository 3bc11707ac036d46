/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is at the other end of a connection, in the kernel's words: the user of the socket there. A
 * Unix socket says it itself; of a TCP connection within this machine NETLINK_SOCK_DIAG tells whose
 * the other socket is, once more for each request. No header of a request changes it.
 */
#pragma once

#include "base/error.h"
#include "proc/socket_holding.h"
#include "request/caller.h"

#include <sys/socket.h>

struct peers;

enum peer_place {
    PEER_HOST,
    PEER_FOREIGN, /* may be a container's, or is not known to be the host's */
    PEER_UNTOLD,  /* not known yet */
};

/* What the kernel says of the socket at the other end. */
struct peer_socket {
    bool told; /* false: it cannot say, and the rest is void */
    bool open; /* a program holds the socket; else the numbers are void */
    uint32_t uid;
    uint64_t inode;      /* repeats after 2^32 sockets */
    uint64_t cookie;     /* of no other socket; 0: not told */
    uint64_t cgroup;     /* an id of version 2; 0: not told */
    const char *problem; /* literal, where it is not open: why */
};

struct peer {
    bool known;
    uint32_t uid;    /* of the socket; not 65534, which stands for all users without a name
                      * here */
    bool member;     /* root, flamed's own user (see peers_distrust_own()), or in the group
                      * of users */
    uint64_t groups; /* it is in, one bit for each of peers_add_group() */
    bool tcp;        /* by sock_diag: may be a container's, see peer_place() */
    struct peer_socket socket; /* over TCP, from the last look */
    const char *problem;       /* literal: why it is not known; NULL where it is */
    uint64_t looked_ns;        /* when the last look began that found the host's alone; 0: none */
    uint64_t newest_pid;       /* of the machine, then; 0: not told */
    bool foreign;              /* a look found somebody else: that stays so */
    const char *refusal;       /* literal: why it does not count as the host's; NULL: it does */
};

/* Opens what it takes, before rights and system calls are given up: a netlink socket, the cgroups'
 * folder, the list of the group's members. What is not to be had is no error: then fewer are known.
 * @proc_fd: of /proc, borrowed. -ENOMEM alone. */
int peers_open(int proc_fd, const char *group, struct peers **ret);
struct peers *peers_close(struct peers *s);
/* Has peers tell of the group @name too, a name or a number. 0 and *ret_bit, which is the same for
 * the same group; -ENOENT: there is none; -ENOSPC: more than PEER_GROUPS_MAX; -ENOMEM. To be called
 * before the sandbox, which hides the lists. */
int peers_add_group(struct peers *s, const char *name, uint64_t *ret_bit);
#define PEER_GROUPS_MAX 64
/* Makes flamed's own user no known user over TCP, unless it is root, as long as @s lives. The
 * reason is flamed-push, which runs as that user, and may connect. */
void peers_distrust_own(struct peers *s);
/* Returns a folder that must stay readable in the sandbox; -1: none. Borrowed. */
int peers_cgroup_fd(const struct peers *s);

/* The processes that hold the sockets @keys, as api_backend.socket_holders says. */
typedef int (*peer_holders_fn)(void *ctx, const uint64_t *keys, size_t n, uint64_t net_ns,
                               struct socket_holding *ret);
/* Sets how to ask for them, before the first connection. */
void peers_ask_holders(struct peers *s, peer_holders_fn fn, void *ctx);

struct peer_connection {
    int fd; /* accepted, borrowed */
    struct sockaddr_storage address;
    socklen_t address_n;
    struct peer peer; /* what is known of the other end */
};

/* Gets the peers of @n connections, when they were accepted. Any thread. Takes some 20 us for each.
 * Without the kernel's tcp_diag it takes some microseconds for each socket of the machine, but once
 * for all. */
void peers_ask(struct peers *s, struct peer_connection *list, size_t n);

/* Returns whether the other end of @c is as it was when c->peer was asked, and open. False: its
 * problem or refusal says why not. As peers_ask(). */
bool peer_is_same(struct peers *s, struct peer_connection *c);

/* Judges for a request whether the other end of @c is the host's. A container's root has the number
 * of the host's, and must not pass for it. The kernel is asked again. Then the last look counts if
 * no process has started since, for PEER_LOOK_NS; else it is PEER_UNTOLD, and peers_look() tells.
 * With @again no look before counts. In a pid namespace of our own all are where we are, and see no
 * more than it. Any thread; takes some 20 us. */
enum peer_place peer_place(struct peers *s, struct peer_connection *c, bool again);
#define PEER_LOOK_NS (2 * NSEC_PER_SEC)
/* Looks at those who hold the other ends of @n connections, at most SOCKETS_ASKED_MAX, into one of
 * @ret for each (peer_facts.h). PEER_UNTOLD: ask again. False: the broker had no time. Waits for
 * the broker, up to some 10 s. Thread: one at a time. */
bool peers_look(struct peers *s, struct peer_connection *list, size_t n, enum peer_place *ret);

/* Returns the caller at the other end of a connection from @address; @peer is what the kernel says
 * of it. All loopback addresses are one caller, because any user of the machine can come from any
 * of them. So are those of one network of IPv6 (/64). */
struct caller caller_of_peer(const struct peer *peer, const struct sockaddr_storage *address);
/* Returns the caller of all containers that share the host's network: one, of loopback. */
struct caller caller_of_container(void);
