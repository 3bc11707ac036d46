/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the other end of a TCP connection belongs to the host: facts, and one function that
 * decides by them. The facts are gathered in this order, and the decision relies on it:
 *
 *   before       the kernel's facts about the socket at the other end
 *   held_before  the processes that hold it
 *   processes    facts about each of them; each is pinned, so that its number names no other one
 *   held_after   the processes that hold it
 *   stays        each of them still exists, so that its number in held_after was its own
 *   after        the kernel's facts about the socket
 *   connected    flamed's own end, without which the two addresses may be another connection's
 *
 * Values and a pure function; thread: any.
 */
#pragma once

#include "access/peer.h"

/* Outcome of reading a process's texts in /proc. */
enum peer_reading {
    READING_PART, /* cut, late or unreadable */
    READING_WHOLE,
    READING_GONE, /* ENOENT or ESRCH: the process has ended */
};

#define PEER_CGROUP_NONE UINT64_MAX /* not the cgroup of any socket */

struct peer_process {
    int32_t pid;
    enum peer_reading reading;
    bool stays;
    uint32_t uids[4];     /* real, effective, saved, file system */
    bool may_trace;       /* its bounding set has CAP_SYS_PTRACE, or even init's has not */
    bool all_of_root;     /* has every capability in init's bounding set */
    bool named_container; /* its cgroup path looks like a container's */
    uint64_t cgroup;      /* id in cgroup v2; 0: unknown; PEER_CGROUP_NONE: outside of the visible
                           * hierarchy */
};

struct peer_facts {
    struct peer_socket before, after;
    bool connected;
    bool blind; /* the kernel cannot report socket holders */
    struct socket_holding held_before, held_after;
    const struct peer_process *processes; /* borrowed: at least the processes of held_before */
    size_t process_count;
};

/* Decides by @f. Returns PEER_UNTOLD if a fact changed during the look or came too late; another
 * look may then decide. *ret_problem is a literal sentence, unless the result is PEER_HOST. */
enum peer_place peer_decide(const struct peer_facts *f, const char **ret_problem);
/* Returns whether @a and @b are the same socket with the same user. */
bool peer_socket_equal(const struct peer_socket *a, const struct peer_socket *b);
