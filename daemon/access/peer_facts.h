/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether who is at the other end of a TCP connection is the host's: facts, and one function that
 * decides by them. The facts have an order in time. The decision counts on it:
 *
 *   before       the kernel's word on the socket at the other end
 *   held_before  the processes that hold it
 *   processes    what each of them is; each is pinned, so that its number names no other one
 *   held_after   the processes that hold it
 *   stays        each of them is there still, so that its number in held_after was its own
 *   after        the kernel's word on the socket
 *   connected    flamed's own end, without which the two addresses may be another connection's
 *
 * Values and a pure function; thread: any.
 */
#pragma once

#include "access/peer.h"

/* How the texts of a process in /proc were read. */
enum peer_reading {
    READING_PART, /* not whole, not in time, or not at all */
    READING_WHOLE,
    READING_GONE, /* ENOENT or ESRCH: the process has ended */
};

#define PEER_CGROUP_NONE UINT64_MAX /* the cgroup of no socket */

struct peer_process {
    int32_t pid;
    enum peer_reading reading;
    bool stays;
    uint32_t uids[4];     /* real, effective, saved, of the file system */
    bool may_trace;       /* CAP_SYS_PTRACE is in its bounds, or not even in those of init */
    bool all_of_root;     /* it has all capabilities that the first process may have */
    bool named_container; /* its cgroup has the name of a container's */
    uint64_t cgroup;      /* of version 2; 0: not told; PEER_CGROUP_NONE: it is none of ours */
};

struct peer_facts {
    struct peer_socket before, after;
    bool connected;
    bool blind; /* the kernel cannot tell who holds a socket */
    struct socket_holding held_before, held_after;
    const struct peer_process *processes; /* borrowed: those of held_before, and perhaps others */
    size_t process_count;
};

/* Decides. PEER_UNTOLD: something changed during the look, or was not told in time: another look
 * may tell. *ret_problem: a literal sentence, where it is not PEER_HOST. */
enum peer_place peer_decide(const struct peer_facts *f, const char **ret_problem);
/* Returns whether both are one socket, whose user is the same. */
bool peer_socket_equal(const struct peer_socket *a, const struct peer_socket *b);
