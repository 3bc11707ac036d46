/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the holder of a connection, on a scripted kernel. Each text is cut at each length, each
 * call fails with each errno, and events happen to the other end between any two calls. A container
 * must never count as the host.
 */
#include "suite.h"

#include "access/peers_impl.h"

#define HOLDER 700 /* the process that opened the connection */
#define KEEPER 800 /* a program of the host that may hold it, too */
#define INODE 4711 /* of the connection and of its twin: inode numbers repeat after 2^32 */
#define COOKIE (UINT64_C(1) << 33)
#define NET_NS 4026531840 /* flamed's network namespace */
#define LOOKS 3           /* tries, one after another, as for a request that waits */
#define ERRNO_MAX 133
#define CALLS_MAX 128
#define CALLS_OF_LOOK 14 /* roughly */

/* ---- the kernel ---- */

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

/* ---- looks ---- */

/* Resets the world. A process of @kind has opened the connection; one of @keeper may hold it,
 * too. */
static void begin(enum kind kind, enum kind keeper)
{
    memset(&world, 0, sizeof(world));
    world.peers.kernel = KERNEL;
    world.peers.capabilities = 0x1ffffffffff;
    world.peers.holders = ask_holders;
    world.peers.users.gid = UINT32_MAX;
    world.peers.net_ns = NET_NS;
    world.processes[0] =
        (struct process){ .kind = kind, .pid = HOLDER, .start = 1, .alive = true, .holds = true };
    world.processes[1] = (struct process){ .kind = keeper, .pid = KEEPER, .alive = true };
    world.opener = kind;
    world.cgroup = KINDS[kind].cgroup_id;
    world.cookie = COOKIE;
}

/* Returns the best place that several tries, and the requests after them, find. */
static enum peer_place look(void)
{
    struct peer_connection c = { .peer = { .known = true, .tcp = true } };
    enum peer_place best = PEER_UNTOLD, place;

    c.peer.socket = socket_of_world();
    for (int i = 0; i < LOOKS; i++) {
        world.pinned_count = 0;
        peers_look(&world.peers, &c, 1, &place);
        if (place == PEER_HOST)
            best = place;
        if (peer_place(&world.peers, &c, /* again= */ false) == PEER_HOST)
            best = PEER_HOST;
        if (best != PEER_HOST && place == PEER_FOREIGN)
            best = place;
    }
    ck_assert_uint_lt(world.calls, CALLS_MAX);
    return best;
}

static bool is_foreign(enum kind kind)
{
    return kind != KIND_HOST && kind != KIND_UNSHARED;
}

START_TEST(each_kind_is_told)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        begin(kind, KIND_HOST);
        ck_assert_msg((look() == PEER_HOST) == (kind == KIND_HOST || kind == KIND_UNSHARED),
                      "%s, whose socket is root's", KINDS[kind].name);
    }
}
END_TEST

/* Cuts each file at each length. */
START_TEST(a_text_that_is_cut_makes_nobody_root)
{
    static const char *const FILES[] = { "status", "cgroup", "self/cgroup", "loadavg" };
    size_t tried = 0;

    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        for (size_t i = 0; i < ARRAY_SIZE(FILES); i++) {
            size_t bytes = 0;

            do {
                begin(kind, KIND_HOST);
                world.cut = FILES[i];
                world.cut_bytes = bytes++;
                if (look() == PEER_HOST)
                    ck_assert_msg(!is_foreign(kind), "%s, %s of %zu", KINDS[kind].name, FILES[i],
                                  world.cut_bytes);
                tried++;
            } while (world.cut_bytes < world.cut_had);
        }
    }
    ck_assert_uint_gt(tried, 1500);
}
END_TEST

/* A text of cgroups without its last line does not count, either. */
START_TEST(a_host_s_text_that_is_cut_is_not_whole)
{
    size_t bytes = 0;

    do {
        begin(KIND_HOST, KIND_HOST);
        world.cut = "cgroup";
        world.cut_bytes = bytes++;
        ck_assert_msg((look() == PEER_HOST) == (world.cut_bytes >= world.cut_had),
                      "%zu bytes of %zu", world.cut_bytes, world.cut_had);
    } while (world.cut_bytes < world.cut_had);
}
END_TEST

START_TEST(a_call_that_fails_makes_nobody_root)
{
    size_t tried = 0;

    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        if (!is_foreign(kind))
            continue;
        for (unsigned at = 1; at < CALLS_MAX; at++) {
            for (int with = 1; with <= ERRNO_MAX; with++) {
                begin(kind, KIND_HOST);
                world.fail_at = at;
                world.fail_with = with;
                ck_assert_msg(look() != PEER_HOST, "%s, call %u: %s", KINDS[kind].name, at,
                              strerror(with));
                tried++;
                if (at > world.calls)
                    at = CALLS_MAX;
            }
        }
    }
    ck_assert_uint_gt(tried, 10000);
}
END_TEST

/* Makes any two events happen before any two calls. @cgroups: the kernel reports cgroups; else
 * there is no keeper. */
static void try_events(enum kind kind, enum kind keeper, bool cgroups)
{
    for (size_t a = 0; a < ARRAY_SIZE(EVENTS); a++) {
        for (size_t b = 0; b < ARRAY_SIZE(EVENTS); b++) {
            for (unsigned i = 1; i <= CALLS_OF_LOOK; i++) {
                for (unsigned k = i; k <= 2 * CALLS_OF_LOOK; k++) {
                    begin(kind, keeper);
                    if (!cgroups)
                        world.cgroup = 0;
                    world.processes[1].alive = cgroups;
                    world.events[0].at = i;
                    world.events[0].happen = EVENTS[a];
                    world.events[1].at = k;
                    world.events[1].happen = EVENTS[b];
                    ck_assert_msg(look() != PEER_HOST,
                                  "%s: events %zu and %zu before calls %u and %u", KINDS[kind].name,
                                  a, b, i, k);
                }
            }
        }
    }
}

START_TEST(what_happens_meanwhile_makes_nobody_root)
{
    static const enum kind CONTAINERS[] = { KIND_NAMED, KIND_PIDS, KIND_USERS };

    /* A keeper of another user. If the kernel reports cgroups, also a keeper of root. */
    try_events(CONTAINERS[_i], KIND_MESSAGES, /* cgroups= */ true);
    try_events(CONTAINERS[_i], KIND_HOST, /* cgroups= */ true);
    try_events(CONTAINERS[_i], KIND_HOST, /* cgroups= */ false);
}
END_TEST

/* A container's connection that no process holds must not count as that of a program of the host
 * with the same inode. */
START_TEST(an_inode_that_repeats_makes_nobody_root)
{
    for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
        for (unsigned at = 1; at <= CALLS_OF_LOOK; at++) {
            begin(kind, KIND_HOST);
            world.cgroup = 0;
            world.processes[1].has_twin = true;
            world.events[0].at = at;
            world.events[0].happen = it_puts_it_away;
            if (look() == PEER_HOST)
                ck_assert_msg(!is_foreign(kind), "%s: before call %u", KINDS[kind].name, at);
        }
    }
    begin(KIND_HOST, KIND_HOST);
    it_puts_it_away();
    world.processes[1].has_twin = true;
    ck_assert_int_ne(look(), PEER_HOST);
}
END_TEST

/* Each holder has to run as the user of the socket, by all of its user ids. One holder may have got
 * the socket from another. */
START_TEST(all_users_of_all_holders_count)
{
    static const enum kind OTHERS[] = { KIND_MESSAGES, KIND_SET_USER, KIND_FILE_USER };

    for (size_t i = 0; i < ARRAY_SIZE(OTHERS); i++) {
        begin(KIND_HOST, OTHERS[i]);
        world.cgroup = 0;
        the_keeper_takes_it();
        ck_assert_msg(look() == PEER_FOREIGN, "%s holds it, too", KINDS[OTHERS[i]].name);
        begin(KIND_NAMED, OTHERS[i]);
        world.cgroup = 0;
        the_keeper_takes_it_and_it_ends();
        ck_assert_msg(look() == PEER_FOREIGN, "%s got it", KINDS[OTHERS[i]].name);
    }
}
END_TEST

static int cannot_ask_holders(void *cookie, const uint64_t *keys, size_t n, uint64_t net_ns,
                              struct socket_holding *ret)
{
    (void)cookie;
    (void)keys;
    (void)n;
    (void)net_ns;
    (void)ret;
    return -EOPNOTSUPP;
}

/* A container hides its own descriptors. A program of root has taken the socket and keeps it. */
START_TEST(bounds_of_the_opener_count)
{
    begin(KIND_PIDS, KIND_HOST);
    world.cgroup = 0;
    the_keeper_takes_it();
    it_puts_it_away();
    ck_assert_int_eq(look(), PEER_FOREIGN);
    begin(KIND_HOST, KIND_HOST);
    world.cgroup = 0;
    the_keeper_takes_it();
    it_puts_it_away();
    ck_assert_int_eq(look(), PEER_HOST);
}
END_TEST

/* A kernel that cannot name the holders of a socket makes no caller root. That is known at once. */
START_TEST(without_a_walk_all_are_foreign)
{
    begin(KIND_HOST, KIND_HOST);
    world.peers.holders = cannot_ask_holders;
    ck_assert_int_eq(look(), PEER_FOREIGN);
    begin(KIND_HOST, KIND_HOST);
    world.peers.holders = NULL;
    ck_assert_int_eq(look(), PEER_FOREIGN);
}
END_TEST

/* A socket without a known cgroup does not become that of a keeper of another user. */
START_TEST(without_cgroups_the_user_counts)
{
    begin(KIND_PIDS, KIND_MESSAGES);
    world.cgroup = 0;
    the_keeper_takes_it_and_it_ends();
    ck_assert_int_ne(look(), PEER_HOST);
}
END_TEST

/* A container that held the socket and has ended still counts. */
START_TEST(who_held_it_before_counts)
{
    for (unsigned at = 8; at <= 11; at++) { /* only the first read sees the holder */
        begin(KIND_NAMED, KIND_HOST);
        world.cgroup = 0;
        the_keeper_takes_it();
        world.events[0].at = at;
        world.events[0].happen = it_ends;
        ck_assert_msg(look() != PEER_HOST, "before call %u", at);
    }
}
END_TEST

/* A program of the host that runs all the time counts as the host, whatever else ends. */
START_TEST(the_host_stays_the_host)
{
    begin(KIND_HOST, KIND_HOST);
    ck_assert_int_eq(look(), PEER_HOST);
    begin(KIND_HOST, KIND_HOST);
    world.processes[1].holds = true; /* a child that has yet to start its program */
    world.events[0].at = 6;
    world.events[0].happen = it_ends;
    ck_assert_int_eq(look(), PEER_HOST);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("look");
    Suite *suite = suite_create("peer_look");

    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, each_kind_is_told);
    tcase_add_test(tc, a_text_that_is_cut_makes_nobody_root);
    tcase_add_test(tc, a_host_s_text_that_is_cut_is_not_whole);
    tcase_add_test(tc, a_call_that_fails_makes_nobody_root);
    tcase_add_loop_test(tc, what_happens_meanwhile_makes_nobody_root, 0, 3);
    tcase_add_test(tc, without_cgroups_the_user_counts);
    tcase_add_test(tc, an_inode_that_repeats_makes_nobody_root);
    tcase_add_test(tc, bounds_of_the_opener_count);
    tcase_add_test(tc, all_users_of_all_holders_count);
    tcase_add_test(tc, without_a_walk_all_are_foreign);
    tcase_add_test(tc, who_held_it_before_counts);
    tcase_add_test(tc, the_host_stays_the_host);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
