/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scripted kernel for test_peer_look.c: a process that opened a connection, one that may hold it,
 * too, and what may happen to both between any two calls.
 */
#pragma once

#include "suite.h"

#include "access/peers_impl.h"

#define HOLDER 700 /* the process that opened the connection */
#define INODE 4711 /* of the connection and of its twin: inode numbers repeat after 2^32 */
#define COOKIE (UINT64_C(1) << 33)
#define NET_NS 4026531840 /* flamed's network namespace */

enum kind {
    KIND_HOST,      /* root of the host */
    KIND_UNSHARED,  /* root of the host in a pid namespace, with all capabilities */
    KIND_NAMED,     /* a container with the host's namespaces; its cgroup's name shows it */
    KIND_PIDS,      /* a container with a pid namespace and a meaningless cgroup name */
    KIND_USERS,     /* a container with a user namespace */
    KIND_MESSAGES,  /* a program of another user of the host */
    KIND_SET_USER,  /* a set-user-ID program of root that another user started */
    KIND_BOUND,     /* a container with the host's namespaces and a meaningless cgroup name */
    KIND_FILE_USER, /* a program of root that opens files as another user */
    KIND_COUNT
};

static const struct {
    const char *name, *caps, *cgroup;
    uint32_t uid, flags, real_uid, file_uid;
    uint64_t cgroup_id;
} KINDS[KIND_COUNT] = {
#define OURS (HOLDER_OUR_PIDS | HOLDER_OUR_USERS)
#define NAMED "/docker/0123456789012345678901234567890123456789012345678901234567890123"
    [KIND_HOST] = { "host", "000001ffffffffff", "/user.slice", 0, OURS, 0, 0, 50 },
    [KIND_UNSHARED] = { "unshared", "000001ffffffffff", "/user.slice", 0, HOLDER_OUR_USERS, 0, 0,
                        50 },
    [KIND_NAMED] = { "named", "00000000a80425fb", NAMED, 0, OURS, 0, 0, 60 },
    [KIND_PIDS] = { "pids", "00000000a80425fb", "/svc", 0, HOLDER_OUR_USERS, 0, 0, 60 },
    [KIND_USERS] = { "users", "000001ffffffffff", "/svc", 0, HOLDER_OUR_PIDS, 0, 0, 60 },
    [KIND_MESSAGES] = { "messages", "0000000000000000", "/bus", 81, OURS, 81, 81, 70 },
    [KIND_SET_USER] = { "set-user-ID", "000001ffffffffff", "/user.slice", 0, OURS, 1000, 0, 50 },
    [KIND_BOUND] = { "bound", "00000000a80425fb", "/user.slice", 0, OURS, 0, 0, 50 },
    [KIND_FILE_USER] = { "file user", "000001ffffffffff", "/user.slice", 0, OURS, 0, 1000, 50 },
};

struct process {
    enum kind kind;
    int32_t pid;
    unsigned start; /* number of the process among those that had the same pid */
    bool alive, holds;
    bool has_twin; /* another socket with the same inode */
};

static struct {
    struct peers peers;
    struct process processes[2];
    struct process pinned[8];
    size_t pinned_count;
    enum kind opener;
    uint64_t cgroup; /* of the socket; 0: this kernel does not report it */
    uint64_t cookie; /* of the socket; 0: this kernel has no tcp_diag */
    bool in_flight;  /* true: an unread message holds the socket, too */
    bool reset;
    unsigned calls;
    struct {
        unsigned at; /* the event happens before this call; 0: never */
        void (*happen)(void);
    } events[2];
    unsigned fail_at;
    int fail_with;
    const char *cut; /* the file with the cut text */
    size_t cut_bytes, cut_had;
} world;

/* Runs the events that are due before a call. Returns the errno with which the call fails, or 0. */
static int enter(void)
{
    world.calls++;
    for (size_t i = 0; i < ARRAY_SIZE(world.events); i++) {
        if (world.events[i].at == world.calls)
            world.events[i].happen();
    }
    return world.calls == world.fail_at ? world.fail_with : 0;
}

static bool is_held(void)
{
    bool held = world.in_flight;

    for (size_t i = 0; i < ARRAY_SIZE(world.processes); i++)
        held |= world.processes[i].alive && world.processes[i].holds;
    return held;
}

static struct peer_socket socket_of_world(void)
{
    return (struct peer_socket){
        .told = true, .open = true, .inode = INODE, .cookie = world.cookie, .cgroup = world.cgroup
    };
}

static void kernel_socket(void *ctx, struct peer_text *t, const struct peer_connection *c,
                          struct peer_socket *ret)
{
    (void)ctx;
    (void)t;
    (void)c;
    *ret = (struct peer_socket){ .told = !enter(), .problem = "closed" };
    if (!ret->told || !is_held())
        return;
    *ret = socket_of_world();
}

static bool kernel_connected(void *ctx, const struct peer_connection *c)
{
    (void)ctx;
    (void)c;
    return !enter() && !world.reset;
}

static int kernel_pin(void *ctx, int32_t pid)
{
    int r = enter();

    (void)ctx;
    for (size_t i = 0; i < ARRAY_SIZE(world.processes); i++) {
        if (world.processes[i].alive && world.processes[i].pid == pid && !r) {
            world.pinned[world.pinned_count] = world.processes[i];
            return (int)world.pinned_count++;
        }
    }
    return r ? -r : -ENOENT;
}

static void kernel_unpin(void *ctx, int fd)
{
    (void)ctx;
    (void)fd;
}

/* Returns the process that @fd pins, if it still exists. */
static const struct process *pinned(int fd)
{
    for (size_t i = 0; i < ARRAY_SIZE(world.processes); i++) {
        const struct process *p = &world.processes[i];

        if (p->alive && p->pid == world.pinned[fd].pid && p->start == world.pinned[fd].start)
            return p;
    }
    return NULL;
}

static int cut(const char *name, struct buf *text)
{
    if (!world.cut || strcmp(world.cut, name) != 0)
        return text->error;
    world.cut_had = text->n;
    text->n = MIN(text->n, world.cut_bytes);
    return text->error;
}

static int kernel_read(void *ctx, int fd, const char *name, struct buf *ret)
{
    int r = enter();
    const struct process *p = pinned(fd);

    (void)ctx;
    if (r || !p)
        return r ? -r : -ESRCH;
    if (strcmp(name, "status") == 0)
        buf_printf(ret,
                   "Name:\tcurl\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%d\nPPid:\t1\n"
                   "Uid:\t%u\t%u\t%u\t%u\nGid:\t0\t0\t0\t0\nGroups:\t1 2 3 \nNSpid:\t%d%s\n"
                   "Threads:\t1\nCapInh:\t0000000000000000\nCapPrm:\t%s\nCapEff:\t%s\n"
                   "CapBnd:\t%s\nSeccomp:\t0\n",
                   p->pid, p->pid, KINDS[p->kind].real_uid, KINDS[p->kind].uid, KINDS[p->kind].uid,
                   KINDS[p->kind].file_uid, p->pid,
                   KINDS[p->kind].flags & HOLDER_OUR_PIDS ? "" : "\t1", KINDS[p->kind].caps,
                   KINDS[p->kind].caps, KINDS[p->kind].caps);
    else
        buf_printf(ret, "2:memory:/x\n1:name=systemd:%s\n0::%s\n", KINDS[p->kind].cgroup,
                   KINDS[p->kind].cgroup);
    return cut(name, ret);
}

static int kernel_stays(void *ctx, int fd)
{
    int r = enter();

    (void)ctx;
    return r ? -r : pinned(fd) ? 0 : -ENOENT;
}

static int kernel_read_all(void *ctx, const char *name, struct buf *ret)
{
    int r = enter();

    (void)ctx;
    if (r)
        return -r;
    buf_add_str(ret, strcmp(name, "loadavg") == 0 ? "0.00 0.00 0.00 1/1 900\n"
                                                  : "2:memory:/\n1:name=systemd:/a\n0::/a\n");
    return cut(name, ret);
}

static uint64_t kernel_cgroup(void *ctx, struct span path)
{
    (void)ctx;
    for (size_t i = 0; i < KIND_COUNT; i++) {
        if (span_eq_str(path, KINDS[i].cgroup))
            return KINDS[i].cgroup_id;
    }
    return PEER_CGROUP_NONE;
}

/* Returns true if the process has capabilities that the socket's opener lacked. */
static bool is_bounded(const struct process *p)
{
    return strcmp(KINDS[p->kind].caps, KINDS[world.opener].caps) != 0;
}

static int ask_holders(void *cookie, const uint64_t *keys, size_t n, uint64_t net_ns,
                       struct socket_holding *ret)
{
    int r = enter();

    (void)cookie;
    ck_assert_uint_eq(n, 1);
    ck_assert_uint_eq(net_ns, world.cookie ? 0 : NET_NS);
    ck_assert_uint_eq(keys[0], world.cookie ? COOKIE : INODE);
    ret[0] = (struct socket_holding){ .told = !r };
    for (size_t i = 0; i < ARRAY_SIZE(world.processes); i++) {
        const struct process *p = &world.processes[i];

        if (p->alive && (p->holds || (p->has_twin && keys[0] == INODE)))
            ret[0].holders[ret[0].count++] = (struct socket_holder){
                .pid = p->pid, .flags = KINDS[p->kind].flags | (is_bounded(p) ? HOLDER_BOUNDED : 0u)
            };
    }
    return -r;
}

static const struct peer_kernel KERNEL = {
    .socket = kernel_socket,
    .connected = kernel_connected,
    .pin = kernel_pin,
    .unpin = kernel_unpin,
    .read = kernel_read,
    .stays = kernel_stays,
    .read_all = kernel_read_all,
    .cgroup = kernel_cgroup,
};

/* ---- what may happen ---- */

static void nothing(void)
{
}

static void it_ends(void)
{
    world.processes[0].alive = false;
}

/* The process ends, and a process of the host gets its pid. */
static void its_number_is_used_again(void)
{
    world.processes[0] =
        (struct process){ .kind = KIND_HOST, .pid = HOLDER, .start = 2, .alive = true };
}

/* Does the same, after the process has put the socket into a message. */
static void it_ends_with_a_message(void)
{
    world.in_flight = true;
    it_ends();
}

static void its_number_is_used_again_with_a_message(void)
{
    world.in_flight = true;
    its_number_is_used_again();
}

static void it_puts_it_away(void)
{
    world.in_flight = true;
    world.processes[0].holds = false;
}

static void it_takes_it_back(void)
{
    struct process *p = &world.processes[0];

    if (!world.in_flight || p->kind != world.opener || !p->alive)
        return;
    p->holds = true;
    world.in_flight = false;
}

static void it_closes(void)
{
    world.processes[0].holds = false;
    world.in_flight = false;
}

/* A third process gets the pid: one of a container, like the first. It holds the socket. */
static void its_number_comes_back(void)
{
    world.processes[0] = (struct process){
        .kind = world.opener, .pid = HOLDER, .start = 3, .alive = true, .holds = is_held()
    };
    world.in_flight = false;
}

static void the_connection_is_reset(void)
{
    world.reset = true;
}

static void the_keeper_takes_it(void)
{
    world.processes[1].holds = true;
}

static void the_keeper_takes_it_and_it_ends(void)
{
    the_keeper_takes_it();
    it_ends();
}

static void (*const EVENTS[])(void) = {
    nothing,
    it_ends,
    its_number_is_used_again,
    it_ends_with_a_message,
    its_number_is_used_again_with_a_message,
    it_puts_it_away,
    it_takes_it_back,
    it_closes,
    its_number_comes_back,
    the_connection_is_reset,
    the_keeper_takes_it,
    the_keeper_takes_it_and_it_ends,
};
