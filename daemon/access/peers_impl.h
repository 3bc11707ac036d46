/* SPDX-License-Identifier: Apache-2.0 */
/* What peer.c, peer_host.c and peer_group.c share. */
#pragma once

#include "access/peer.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/span.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <pthread.h>

#define PEER_MEMBERS_MAX 1024
#define PEER_VERDICTS_MAX 64
#define PEER_UID_NOBODY 65534 /* the kernel's stand-in for users that have no name here */

struct peers {
    int netlink_fd, cgroup_fd; /* -1: none */
    int net_fd;                /* /proc/self/net; -1: none */
    bool by_text;              /* the netlink socket tells nothing of TCP: net_fd does */
    int proc_fd;               /* borrowed */
    bool enclosed; /* we are in a pid namespace of our own: others cannot be looked at */
    uint32_t self_uid;
    uint32_t sequence; /* of questions; thread: that of peer_ask() */
    struct peer_group {
        uint32_t gid;      /* UINT32_MAX: there is none */
        uint32_t *members; /* owned: its users, as of the start */
        size_t member_count;
    } users, groups[PEER_GROUPS_MAX]; /* those who have all; those that rules name */
    size_t group_count;
    uint64_t capabilities;   /* that the first process may have; 0: not known */
    peer_holders_fn holders; /* NULL: not to be asked for */
    void *holders_cookie;
    pthread_mutex_t lock;
    struct peer_verdict {
        uint64_t cgroup, until_ns; /* until_ns 0: none yet */
        uint64_t looked_ns;        /* when the look began */
        uint64_t newest_pid;       /* at the look */
        int fd;                    /* owned: the cgroup's folder, if @told */
        bool told;                 /* the cgroup's processes can be listed */
        bool few;                  /* so few that each connection may look at them */
        bool late;                 /* there was no time for the look, or none yet */
        bool host;
    } verdicts[PEER_VERDICTS_MAX]; /* guarded by lock; peers_look() alone makes and removes them */
    size_t next_verdict;
};

/* Whose the socket is that @h, a whole message of the kernel's, tells of, where its ends are @q's.
 * Return: 1 with *ret_uid, ret->cgroup and ret->inode; 0 with ret->problem. */
int peer_take_answer(const struct nlmsghdr *h, const struct inet_diag_req_v2 *q, struct peer *ret,
                     uint32_t *ret_uid);
/* Does the same out of the lines of @text, of the socket whose ends are spelt @local and @remote.
 * Return as peer_ask_text(). */
int peer_find_text(struct span text, const char *local, const char *remote, struct peer *ret,
                   uint32_t *ret_uid);
/* The text of all sockets, as of the first question: of each file once it is asked for. */
struct peer_text {
    struct buf v4, v6;
    bool has_v4, has_v6;
};
void peer_text_clear(struct peer_text *t);
/* Whose the socket is whose ends are @q's. Return: 1 with *ret_uid and ret->inode; 0: it is not
 * open; -ENOENT: there is none. Takes some microseconds for each socket of the machine, those that
 * were closed a minute ago included, unless @t has the text. */
int peer_ask_text(const struct peers *s, struct peer_text *t, const struct inet_diag_req_v2 *q,
                  struct peer *ret, uint32_t *ret_uid);
/* Reads the members of the group @name, whether by the list or as their first group. 0; -ENOENT,
 * with an empty *ret; -ENOMEM. */
int peer_group_read(const char *name, struct peer_group *ret);
void peer_group_clear(struct peer_group *g);
bool peer_is_member(const struct peer_group *g, uint32_t uid);
