/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the client at the other end of a connection: the user that the kernel names as the
 * owner of that socket. A Unix socket reports the user itself. For TCP within this machine,
 * NETLINK_SOCK_DIAG reports the owner of the other socket, again for each request. No header of a
 * request changes the result.
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
    bool told; /* false: the kernel cannot report the socket, and all other fields are void */
    bool open; /* a program holds the socket; else the numbers are void */
    uint32_t uid;
    uint64_t inode;      /* the kernel reuses a number after 2^32 sockets */
    uint64_t cookie;     /* unique to the socket; 0: unknown */
    uint64_t cgroup;     /* id in cgroup v2; 0: unknown */
    const char *problem; /* literal: why the socket is not open */
};

struct peer {
    bool known;
    uint32_t uid; /* owner of the socket; never 65534, the kernel's stand-in for unmapped users */
    bool member;  /* root, flamed's own user (see peers_distrust_own()), or in the group
                   * of users */
    uint64_t groups;           /* groups of the user, one bit for each peers_add_group() */
    bool tcp;                  /* the user comes from sock_diag, so the client may be in a container
                                * (peer_place()) */
    struct peer_socket socket; /* over TCP, from the last look */
    const char *problem;       /* literal: why the user is unknown; NULL: it is known */
    uint64_t looked_ns;        /* start of the last look that found only processes of the host; 0:
                                * none */
    uint64_t newest_pid;       /* newest pid of the machine at that time; 0: unknown */
    bool foreign;              /* a look found a holder outside the host; never reset */
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
 * sandbox, which hides the user database. Returns 0 and *ret_bit, the same for the same group;
 * -ENOENT if there is no such group; -ENOSPC after PEER_GROUPS_MAX groups; or -ENOMEM. */
int peers_add_group(struct peers *s, const char *name, uint64_t *ret_bit);
#define PEER_GROUPS_MAX 64
/* Treats flamed's own user, unless root, as unknown over TCP from now on: flamed-push runs as that
 * user and may connect. */
void peers_distrust_own(struct peers *s);
/* Returns the folder that must stay readable in the sandbox, borrowed; -1: none. */
int peers_cgroup_fd(const struct peers *s);

/* Finds the processes that hold the sockets @keys, like api_backend.socket_holders. */
typedef int (*peer_holders_fn)(void *ctx, const uint64_t *keys, size_t n, uint64_t net_ns,
                               struct socket_holding *ret);
/* Sets the function that finds socket holders. Call it before the first connection. */
void peers_ask_holders(struct peers *s, peer_holders_fn fn, void *ctx);

struct peer_connection {
    int fd; /* accepted, borrowed */
    struct sockaddr_storage address;
    socklen_t address_n;
    struct peer peer; /* facts about the client */
};

/* Gets the peers of @n freshly accepted connections. Thread: any. Takes about 20 us for each
 * connection. Without the kernel's tcp_diag, reads the list of all sockets of the machine once,
 * which takes some microseconds for each socket. */
void peers_ask(struct peers *s, struct peer_connection *list, size_t n);

/* Returns whether the other end of @c is open and unchanged since c->peer was read. If not, the
 * problem or refusal of c->peer says why. Thread and cost: as for peers_ask(). */
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
 * stores one verdict each in @ret (peer_facts.h). PEER_UNTOLD: call again. Returns false if the
 * broker had no time. Blocks for up to 10 s on the broker. Thread: one at a time. */
bool peers_look(struct peers *s, struct peer_connection *list, size_t n, enum peer_place *ret);
/* Returns how many calls of peers_look() needed the kernel's iterator over all descriptors. Thread:
 * any. */
uint64_t peers_slow_looks(const struct peers *s);
/* Returns how many calls of peers_look() found holders of sockets without it. Thread: any. */
uint64_t peers_fast_looks(const struct peers *s);

/* Returns the quota key of a client at @address; @peer: what the kernel reports about the client.
 * All loopback addresses are one caller, since any local user can use any of them. Each IPv6 /64 is
 * one caller, too, since it usually has one owner. */
struct caller caller_of_peer(const struct peer *peer, const struct sockaddr_storage *address);
/* Returns the quota key shared by all containers in the host's network namespace. */
struct caller caller_of_container(void);
