/* SPDX-License-Identifier: Apache-2.0 */
/* Decides by the facts of peer_facts.h. Only one path through the code identifies the client. */
#include "access/peer_facts.h"
#include "base/list.h"

#define CGROUP_ROOT 1 /* id of the root cgroup, which older kernels report for any socket */

static const char CLOSED[] = "the other end has closed the connection already";
static const char CHANGED[] = "the other end changed hands while flamed looked at it";
static const char UNHELD[] = "no process holds the other end of the connection";
static const char MANY[] = "too many processes hold the other end of the connection";
static const char UNREAD[] =
    "flamed cannot read all facts about a process that holds the other end";
static const char LATE[] = "flamed did not find in time which processes hold the other end";
static const char CONTAINER[] = "the connection may come from a container that shares the host's "
                                "network: its user ids are not the host's";
static const char OTHER_CGROUP[] =
    "the connection was opened in another cgroup than the one of the program that holds it";
static const char BOUNDED[] = "the connection was opened with other bounds than those of the "
                              "program that holds it, as a container has them";
static const char OTHER_USER[] =
    "the program that holds the connection runs as another user than the one who opened it";
static const char WEAK[] =
    "a root program without CAP_SYS_PTRACE holds the connection, so it may be in a container";
static const char BLIND[] =
    "this kernel cannot list the processes that hold the other end of a TCP connection";

static enum peer_place say(enum peer_place place, const char *problem, const char **ret)
{
    *ret = problem;
    return place;
}

static const struct peer_process *find_process(const struct peer_facts *f, int32_t pid)
{
    return FIRST_OF(i, f->processes, f->process_count, f->processes[i].pid == pid);
}

/* Returns true if a process is in a container. A pid namespace of its own does not count if the
 * process has all of root's capabilities (unshare). User and network namespaces do not count
 * either: both may have changed since the socket was opened. */
static bool is_contained(const struct peer_process *p, uint32_t flags)
{
    return p->named_container || !(flags & HOLDER_OUR_USERS) ||
           (!(flags & HOLDER_OUR_PIDS) && !p->all_of_root);
}

/* Returns true if the socket was opened in another cgroup than the present one of @p. */
static bool is_of_other_cgroup(const struct peer_facts *f, const struct peer_process *p)
{
    return f->after.cgroup > CGROUP_ROOT && p->cgroup && p->cgroup != f->after.cgroup;
}

/* Returns true if all uids of @p equal the socket's uid. If they differ, a set-user-ID program may
 * have inherited the socket from its parent. */
static bool is_of_user(const struct peer_process *p, uint32_t uid)
{
    return ALL_OF(i, ARRAY_SIZE(p->uids), p->uids[i] == uid);
}

/* Returns true if @p is root without CAP_SYS_PTRACE: the kernel lets it trace no other user's
 * process. */
static bool is_weak(const struct peer_process *p, uint32_t uid)
{
    return uid == 0 && !p->may_trace;
}

/* Decides by one holder. */
static enum peer_place judge(const struct peer_facts *f, const struct socket_holder *h,
                             const char **ret)
{
    const struct peer_process *p = find_process(f, h->pid);

    if (!p)
        return say(PEER_UNTOLD, CHANGED, ret);
    if (p->reading == READING_PART)
        return say(PEER_FOREIGN, UNREAD, ret);
    if (p->reading == READING_GONE)
        return say(PEER_UNTOLD, CHANGED, ret);
    if (is_contained(p, h->flags))
        return say(PEER_FOREIGN, CONTAINER, ret);
    if (h->flags & HOLDER_BOUNDED)
        return say(PEER_FOREIGN, BOUNDED, ret);
    if (is_of_other_cgroup(f, p))
        return say(PEER_FOREIGN, OTHER_CGROUP, ret);
    if (!is_of_user(p, f->after.uid))
        return say(PEER_FOREIGN, OTHER_USER, ret);
    if (is_weak(p, f->after.uid))
        return say(PEER_FOREIGN, WEAK, ret);
    return p->stays ? PEER_HOST : say(PEER_UNTOLD, CHANGED, ret);
}

/* Decides by all holders, before and after. One foreign holder makes the client foreign. */
static enum peer_place judge_all(const struct peer_facts *f, const struct socket_holding *held,
                                 const char **ret)
{
    enum peer_place all = PEER_HOST;

    for (size_t i = 0; i < held->count; i++) {
        const char *problem = NULL;
        enum peer_place one = judge(f, &held->holders[i], &problem);

        if (one != PEER_HOST && all != PEER_FOREIGN)
            all = say(one, problem, ret);
    }
    return all;
}

bool peer_socket_equal(const struct peer_socket *a, const struct peer_socket *b)
{
    return a->inode == b->inode && a->cookie == b->cookie && a->uid == b->uid &&
           a->cgroup == b->cgroup;
}

enum peer_place peer_decide(const struct peer_facts *f, const char **ret_problem)
{
    const struct socket_holding *before = &f->held_before, *after = &f->held_after;
    enum peer_place place;

    *ret_problem = NULL;
    if (!f->before.told || !f->after.told)
        return say(PEER_UNTOLD, LATE, ret_problem);
    if (!f->before.open || !f->after.open || !f->before.inode || !f->connected)
        return say(PEER_FOREIGN, CLOSED, ret_problem);
    if (!peer_socket_equal(&f->before, &f->after))
        return say(PEER_FOREIGN, CHANGED, ret_problem);
    if (f->blind)
        return say(PEER_FOREIGN, BLIND, ret_problem);
    if (!before->told || !after->told)
        return say(PEER_UNTOLD, LATE, ret_problem);
    if (before->count > SOCKET_HOLDERS_MAX || after->count > SOCKET_HOLDERS_MAX)
        return say(PEER_FOREIGN, MANY, ret_problem);
    if (!after->count)
        return say(PEER_FOREIGN, UNHELD, ret_problem);
    place = judge_all(f, before, ret_problem);
    return place == PEER_HOST ? judge_all(f, after, ret_problem) : place;
}
