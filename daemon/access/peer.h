/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the client at the other end of a connection by the kernel's word: the user of that
 * socket. A Unix socket carries it. For TCP within this machine NETLINK_SOCK_DIAG reports the owner
 * of the other socket, again for each request. No header of a request changes it.
 */
#pragma once

#include "base/error.h"
#include "proc/socket_holding.h"
#include "request/caller.h"

#include <sys/socket.h>

struct peers;

enum peer_place {
    PEER_HOST,
    PEER_FOREIGN, /* may be in a container, or is not known to be on the host */
    PEER_UNTOLD,  /* not known yet */
};

/* The kernel's report on the socket at the other end. */
struct peer_socket {
    bool told; /* false: the kernel cannot say, and all other fields are void */
    bool open; /* a program holds the socket; else the numbers are void */
    uint32_t uid;
    uint64_t inode;      /* repeats after 2^32 sockets */
    uint64_t cookie;     /* unique to the socket; 0: unknown */
    uint64_t cgroup;     /* id in cgroup v2; 0: unknown */
    const char *problem; /* literal: why it is not open */
};

struct peer {
    bool known;
    uint32_t uid; /* owner of the socket; never 65534, the kernel's stand-in for unmapped users */
    bool member;  /* root, flamed's own user (see peers_distrust_own()), or in the group
                   * of users */
    uint64_t groups;           /* groups of the user, one bit for each peers_add_group() */
    bool tcp;                  /* known by sock_diag: may be in a container, see peer_place() */
    struct peer_socket socket; /* over TCP, from the last look */
    const char *problem;       /* literal: why the user is unknown; NULL: it is known */
    uint64_t looked_ns;        /* start of the last look that found only processes of the host; 0:
                                * none */
    uint64_t newest_pid;       /* newest pid of the machine at that time; 0: unknown */
    bool foreign;              /* a look found a foreign holder; never reset */
    const char *refusal;       /* literal: why the client does not count as the host's; NULL: it
                                * does */
};

/* Opens a netlink socket, the cgroup folder and the list of the group's members. Call it before
 * rights and system calls are given up. A missing facility is no error: fewer clients are known
 * then.
 * @proc_fd: of /proc, borrowed. Return: 0 or -ENOMEM. */
int peers_open(int proc_fd, const char *group, struct peers **ret);
struct peers *peers_close(struct peers *s);
/* Adds the group @name, a name or a number, to the groups that peers report. Call it before the
 * sandbox, which hides the user database. Return: 0 and *ret_bit, equal for equal groups; -ENOENT:
 * no such group; -ENOSPC: more than PEER_GROUPS_MAX; -ENOMEM. */
int peers_add_group(struct peers *s, const char *name, uint64_t *ret_bit);
#define PEER_GROUPS_MAX 64
/* Treats flamed's own user, unless root, as unknown over TCP from now on: flamed-push runs as that
 * user and may connect. */
void peers_distrust_own(struct peers *s);
/* Returns the folder that must stay readable in the sandbox; -1: none. Borrowed. */
int peers_cgroup_fd(const struct peers *s);

/* Returns the processes that hold the sockets @keys, as api_backend.socket_holders. */
typedef int (*peer_holders_fn)(void *ctx, const uint64_t *keys, size_t n, uint64_t net_ns,
                               struct socket_holding *ret);
/* Sets the function that finds socket holders. Call it before the first connection. */
void peers_ask_holders(struct peers *s, peer_holders_fn fn, void *ctx);

struct peer_connection {
    int fd; /* accepted, borrowed */
    struct sockaddr_storage address;
    socklen_t address_n;
    struct peer peer; /* facts about the other end */
};

/* Gets the peers of @n freshly accepted connections. Thread: any. Takes about 20 us a connection.
 * Without the kernel's tcp_diag it reads all sockets of the machine once, some microseconds
 * each. */
void peers_ask(struct peers *s, struct peer_connection *list, size_t n);

/* Returns whether the other end of @c is open and unchanged since c->peer was read. False: its
 * problem or refusal says why not. Thread and cost: as peers_ask(). */
bool peer_is_same(struct peers *s, struct peer_connection *c);

/* Decides for a request whether the other end of @c is a process of the host. A container's root
 * has the uid of the host's root and must not pass for it. Asks the kernel again. The last look
 * stays valid for PEER_LOOK_NS while no process starts; else the result is PEER_UNTOLD, and the
 * caller runs peers_look().
 * With @again, earlier looks are ignored. If flamed runs in its own pid namespace, every visible
 * process shares it, and the uid decides. Thread: any; takes about 20 us. */
enum peer_place peer_place(struct peers *s, struct peer_connection *c, bool again);
#define PEER_LOOK_NS (2 * NSEC_PER_SEC)
/* Examines the processes that hold the other ends of @n connections, at most SOCKETS_ASKED_MAX, and
 * stores one verdict each in @ret (peer_facts.h). PEER_UNTOLD: ask again. False: the broker had no
 * time. Blocks up to 10 s on the broker. Thread: one at a time. */
bool peers_look(struct peers *s, struct peer_connection *list, size_t n, enum peer_place *ret);

/* Returns the quota key of a client at @address; @peer is the kernel's word on it. All loopback
 * addresses are one caller, since any local user can use any of them. So is each IPv6 /64, which
 * usually has one owner. */
struct caller caller_of_peer(const struct peer *peer, const struct sockaddr_storage *address);
/* Returns the quota key shared by all containers in the host's network namespace. */
struct caller caller_of_container(void);
