/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the holder of a connection, on a scripted kernel. Each text is cut at each length, each
 * call fails with each errno, and events happen to the other end between any two calls. A container
 * must never count as the host.
 */
#include "peer_world.h"

#define KEEPER 800 /* a program of the host that may hold it, too */
#define LOOKS 3    /* tries, one after another, as for a request that waits */
#define ERRNO_MAX 133
#define CALLS_MAX 128
#define CALLS_OF_LOOK 14 /* roughly */

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

/* Makes any two events happen before any two calls. Leaves out what was tried: nothing that happens
 * elsewhere, and events after the last call. @cgroups: the kernel reports cgroups; else there is no
 * keeper. */
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
                    if (EVENTS[b] == nothing || k > world.calls)
                        break;
                }
                if (EVENTS[a] == nothing)
                    break;
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

static int ask_holders_slowly(void *cookie, const uint64_t *keys, size_t n, uint64_t net_ns,
                              struct socket_holding *ret)
{
    int r = ask_holders(cookie, keys, n, net_ns, ret);

    ret[0].slow = true;
    return r;
}

START_TEST(slow_and_fast_looks_are_counted)
{
    begin(KIND_HOST, KIND_HOST);
    ck_assert_int_eq(look(), PEER_HOST);
    ck_assert_uint_eq(peers_slow_looks(&world.peers), 0);
    ck_assert_uint_eq(peers_fast_looks(&world.peers), LOOKS); /* each is of two walks */
    world.peers.holders = ask_holders_slowly;
    ck_assert_int_eq(look(), PEER_HOST);
    ck_assert_uint_eq(peers_slow_looks(&world.peers), LOOKS);
    ck_assert_uint_eq(peers_fast_looks(&world.peers), LOOKS);
    world.peers.holders = cannot_ask_holders; /* neither slow nor fast */
    ck_assert_int_eq(look(), PEER_FOREIGN);
    ck_assert_uint_eq(peers_slow_looks(&world.peers), LOOKS);
    ck_assert_uint_eq(peers_fast_looks(&world.peers), LOOKS);
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
    tcase_add_test(tc, slow_and_fast_looks_are_counted);
    tcase_add_test(tc, who_held_it_before_counts);
    tcase_add_test(tc, the_host_stays_the_host);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
