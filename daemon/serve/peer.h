/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is at the other end of a connection, in the kernel's words: the user of the socket there. A
 * Unix socket says it itself; of a TCP connection within this machine NETLINK_SOCK_DIAG tells whose
 * the other socket is. No header of a request changes it.
 */
#pragma once

#include "base/error.h"

#include <sys/socket.h>

struct peers;

struct peer {
    bool known;
    uint32_t uid;        /* of the socket, as of when it was made; not 65534, which stands for all
                          * users without a name here */
    bool member;         /* root, flamed's own user, or in the group of users */
    bool tcp;            /* by sock_diag: may be a container's, see peer_is_host() */
    uint64_t cgroup;     /* of the socket, an id of cgroup version 2; 0: not told */
    const char *problem; /* literal: why it is not known; NULL where it is */
};

/* Opens what it takes, before rights and system calls are given up: a netlink socket, the cgroups'
 * folder, the list of the group's members. What is not to be had is no error: then fewer are known.
 * @proc_fd: of /proc, borrowed. -ENOMEM alone. */
int peers_open(int proc_fd, const char *group, struct peers **ret);
struct peers *peers_close(struct peers *s);
/* A folder that must stay readable in the sandbox; -1: none. Borrowed. */
int peers_cgroup_fd(const struct peers *s);

/* The peer of the accepted socket @fd, whose address is @address. Thread: one at a time. Takes some
 * 20 us. */
void peer_ask(struct peers *s, int fd, const struct sockaddr_storage *address, struct peer *ret);

/* Whether @p is the host's: whether no process that could have made its socket is in a container
 * that shares this network. A container's root has the number of the host's, and must not pass for
 * it. Any thread. Asked anew every PEER_HOST_NS for each cgroup and user. */
bool peer_is_host(struct peers *s, const struct peer *p);
#define PEER_HOST_NS (2 * NSEC_PER_SEC)
