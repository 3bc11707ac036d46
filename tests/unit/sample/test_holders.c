/* SPDX-License-Identifier: Apache-2.0 */
/* sample: which processes hold a socket, by the fast walk and by the iterator. */
#include "suite.h"

#include "base/clock.h"
#include "ready_child.h"
#include "sample/holders.h"
#include "tcp_pair.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define ITERATOR 2 /* the last of WAYS */
#define HIGH 5000  /* a descriptor behind the first block of a table */
#define MANY 20000 /* descriptors of a program */
#define PAIRS_MAX 31
#define REUSES 50         /* of the memory of sockets */
#define SOCKETS_NOTED 256 /* NOTED of tables.bpf.h */
#define CHAIN_LOOKS 300   /* at a chain of processes of which each starts the next and ends */

/* The fast walk, as on a kernel before Linux 6.2, and the iterator over all descriptors. */
static const char *const WAYS[] = { "", "tables-cast", "tables" };

static struct holders *h;

static void load(int way)
{
    setenv("FLAMED_OLD_KERNEL", WAYS[way], 1);
    ck_assert_int_eq(holders_new(-1, &h), 0);
}

static void teardown(void)
{
    h = holders_free(h);
    unsetenv("FLAMED_OLD_KERNEL");
}

static void find(const uint64_t *keys, size_t n)
{
    int r = -ETIMEDOUT;

    for (int i = 0; i < 50 && r == -ETIMEDOUT; i++)
        r = holders_find(h, keys, n, /* net_ns= */ 0, 200 * NSEC_PER_MSEC);
    ck_assert_int_eq(r, 0);
}

/* Finds the holders of one socket. Return: their number; *ret_pid is the first one. A busy machine
 * may need several looks until one is fast. */
static size_t find_one(uint64_t key, int way, uint32_t *ret_pid)
{
    uint32_t pids[HOLDERS_OF_SOCKET] = { 0 };
    size_t n;

    for (int i = 0; i < 100; i++) {
        find(&key, 1);
        if (holders_were_fast(h) == (way != ITERATOR))
            break;
    }
    ck_assert_int_eq(holders_were_fast(h), way != ITERATOR);
    n = holders_of(h, 0, pids);
    *ret_pid = pids[0];
    return n;
}

static void check_held_by(uint64_t key, int way, pid_t pid)
{
    uint32_t first;

    ck_assert_uint_eq(find_one(key, way, &first), 1);
    ck_assert_uint_eq(first, (uint32_t)pid);
}

/* Checks that a child that runs @body is found: it alone keeps the socket. */
static void check_child_found(int way, void (*body)(int ready, int fd))
{
    uint64_t key;
    int pair[2];
    pid_t child;

    connect_pair(AF_INET, AF_INET, pair);
    key = cookie_of(pair[0]);
    child = start_holder(body, pair[0]);
    close(pair[0]);
    check_held_by(key, way, child);
    end_child(child);
    close(pair[1]);
}

START_TEST(each_kind_of_address_is_found)
{
    static const int KINDS[][2] = { { AF_INET, AF_INET },
                                    { AF_INET6, AF_INET6 },
                                    { AF_INET6, AF_INET } };
    uint64_t key;
    int pair[2];

    load(_i);
    for (size_t i = 0; i < ARRAY_SIZE(KINDS); i++) {
        connect_pair(KINDS[i][0], KINDS[i][1], pair);
        key = cookie_of(pair[0]);
        check_held_by(key, _i, getpid());
        close_pair(pair);
    }
}
END_TEST

static void hold(int ready, int fd)
{
    (void)fd;
    say_ready(ready);
}

START_TEST(each_process_is_found_once)
{
    uint64_t key;
    uint32_t first;
    int pair[2];
    pid_t child;

    load(_i);
    connect_pair(AF_INET, AF_INET, pair);
    key = cookie_of(pair[0]);
    child = start_holder(hold, -1);
    ck_assert_int_ge(dup(pair[0]), 0);
    ck_assert_uint_eq(find_one(key, _i, &first), 2);
    close(pair[0]); /* the copy stays */
    ck_assert_uint_eq(find_one(key, _i, &first), 2);
    end_child(child);
    check_held_by(key, _i, getpid());
    close(pair[1]);
}
END_TEST

struct owner {
    int fd, ready;
};

/* Takes a table of its own, which alone keeps the socket. */
static void *keep_alone(void *arg)
{
    struct owner *o = arg;

    if (unshare(CLONE_FILES) < 0)
        _exit(2);
    say_ready(o->ready);
    pause();
    return NULL;
}

static void hold_in_thread(int ready, int fd)
{
    static struct owner o;
    int started[2];
    pthread_t thread;
    char c;

    if (pipe(started) < 0)
        _exit(3);
    o = (struct owner){ fd, started[1] };
    pthread_create(&thread, NULL, keep_alone, &o);
    if (read(started[0], &c, 1) != 1)
        _exit(4);
    close(fd);
    say_ready(ready);
}

START_TEST(a_thread_with_its_own_table_is_found)
{
    load(_i);
    check_child_found(_i, hold_in_thread);
}
END_TEST

static void *say_and_stay(void *arg)
{
    struct owner *o = arg;
    char path[64], text[64] = "";

    /* until the first thread is a zombie */
    snprintf(path, sizeof(path), "/proc/self/task/%d/status", getpid());
    while (!strstr(text, "\tZ")) {
        char all[512] = "";
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        if (read(fd, all, sizeof(all) - 1) > 0 && strstr(all, "State:"))
            memcpy(text, strstr(all, "State:"), sizeof(text) - 1);
        close(fd);
    }
    say_ready(o->ready);
    pause();
    return NULL;
}

static void hold_without_first_thread(int ready, int fd)
{
    static struct owner o;
    pthread_t thread;

    o = (struct owner){ fd, ready };
    pthread_create(&thread, NULL, say_and_stay, &o);
    syscall(SYS_exit, 0);
}

START_TEST(a_process_without_its_first_thread_is_found)
{
    load(_i);
    check_child_found(_i, hold_without_first_thread);
}
END_TEST

START_TEST(processes_that_share_a_table_are_found)
{
    uint64_t key;
    uint32_t first;
    int pair[2];
    pid_t child;

    load(_i);
    connect_pair(AF_INET, AF_INET, pair);
    key = cookie_of(pair[0]);
    child = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    ck_assert_uint_eq(find_one(key, _i, &first), 2);
    end_child(child);
    check_held_by(key, _i, getpid());
    close_pair(pair);
}
END_TEST

static void allow_many(void)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max <= HIGH)
        limit.rlim_max = 2 * MANY; /* in a virtual machine */
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ck_assert_uint_gt(limit.rlim_cur, HIGH);
}

static void hold_high(int ready, int fd)
{
    if (dup2(fd, HIGH) != HIGH)
        _exit(2);
    close(fd);
    say_ready(ready);
}

static void hold_as_last_of_many(int ready, int fd)
{
    int last = dup(ready);

    for (int i = 0; i < MANY && last >= 0; i++)
        last = dup(ready);
    last = last < 0 ? HIGH : last;
    if (dup2(fd, last) != last)
        _exit(2);
    close(fd);
    say_ready(ready);
}

START_TEST(a_high_descriptor_is_found)
{
    static void (*const KINDS[])(int, int) = { hold_high, hold_as_last_of_many };

    load(_i);
    allow_many();
    for (size_t i = 0; i < ARRAY_SIZE(KINDS); i++)
        check_child_found(_i, KINDS[i]);
}
END_TEST

START_TEST(many_sockets_are_found_at_once)
{
    uint64_t keys[PAIRS_MAX];
    uint32_t pids[HOLDERS_OF_SOCKET];
    int pairs[PAIRS_MAX][2];

    load(_i);
    for (size_t i = 0; i < PAIRS_MAX; i++) {
        connect_pair(AF_INET, AF_INET, pairs[i]);
        keys[i] = cookie_of(pairs[i][0]);
    }
    find(keys, PAIRS_MAX);
    for (size_t i = 0; i < PAIRS_MAX; i++) {
        ck_assert_uint_eq(holders_of(h, i, pids), 1);
        ck_assert_uint_eq(pids[0], (uint32_t)getpid());
        close_pair(pairs[i]);
    }
}
END_TEST

/* The fast walk notes files. The kernel gives the memory of a closed one to the next. */
START_TEST(a_closed_socket_has_no_holder)
{
    uint64_t last = 0;
    uint32_t first;

    load(_i);
    for (size_t i = 0; i < REUSES; i++) {
        uint64_t key;
        int pair[2];

        connect_pair(AF_INET, AF_INET, pair);
        key = cookie_of(pair[0]);
        check_held_by(key, _i, getpid());
        check_held_by(key, _i, getpid()); /* by its note */
        if (last)
            ck_assert_uint_eq(find_one(last, _i, &first), 0);
        close(pair[0]);
        ck_assert_uint_eq(find_one(key, _i, &first), 0);
        close(pair[1]);
        last = key;
    }
}
END_TEST

/* Two sockets have the same place for their notes. */
START_TEST(a_note_is_of_one_socket)
{
    uint64_t keys[2] = { 0 };
    int pairs[2][2];

    load(_i);
    connect_pair(AF_INET, AF_INET, pairs[0]);
    keys[0] = cookie_of(pairs[0][0]);
    while (!keys[1]) {
        connect_pair(AF_INET, AF_INET, pairs[1]);
        if (cookie_of(pairs[1][0]) % SOCKETS_NOTED == keys[0] % SOCKETS_NOTED)
            keys[1] = cookie_of(pairs[1][0]);
        else
            close_pair(pairs[1]);
    }
    for (size_t i = 0; i < 4; i++)
        check_held_by(keys[i & 1], _i, getpid());
    close_pair(pairs[0]);
    check_held_by(keys[1], _i, getpid());
    close_pair(pairs[1]);
}
END_TEST

/* The packages' service of the broker has a network namespace of its own. */
START_TEST(a_network_namespace_of_the_walk_does_not_matter)
{
    uint64_t key;
    int pair[2], own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

    connect_pair(AF_INET, AF_INET, pair);
    key = cookie_of(pair[0]);
    ck_assert_int_eq(unshare(CLONE_NEWNET), 0);
    load(_i);
    check_held_by(key, _i, getpid());
    close_pair(pair);
    ck_assert_int_eq(setns(own, CLONE_NEWNET), 0); /* for the next test */
    close(own);
}
END_TEST

/* Each process of the chain starts the next one and ends. */
static void run_chain(int ready, int fd)
{
    (void)fd;
    signal(SIGCHLD, SIG_IGN);
    say_ready(ready);
    for (;;) {
        pid_t pid = fork();

        if (pid > 0)
            _exit(0);
        if (write(ready, "x", 1) < 0) /* the test has closed the other end */
            _exit(0);
    }
}

START_TEST(a_chain_of_processes_does_not_escape)
{
    uint64_t key;
    uint32_t pids[HOLDERS_OF_SOCKET];
    int pair[2], ready[2];
    size_t fast = 0;
    char c;

    load(_i);
    connect_pair(AF_INET, AF_INET, pair);
    key = cookie_of(pair[0]);
    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    if (fork() == 0) {
        close(ready[0]);
        signal(SIGPIPE, SIG_IGN);
        run_chain(ready[1], pair[0]);
        _exit(0);
    }
    close(ready[1]);
    close(pair[0]);
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    for (size_t i = 0; i < CHAIN_LOOKS; i++) {
        find(&key, 1);
        fast += holders_were_fast(h);
        ck_assert_msg(!holders_were_fast(h) || holders_of(h, 0, pids) > 0, "look %zu", i);
    }
    ck_assert_uint_gt(fast, 0);
    close(ready[0]);
    close(pair[1]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("holders");

    if (geteuid() != 0) {
        fprintf(stderr, "skipped: needs root\n");
        return 77;
    }
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, each_kind_of_address_is_found, 0, ARRAY_SIZE(WAYS));
    tcase_add_loop_test(tc, each_process_is_found_once, 0, ARRAY_SIZE(WAYS));
    tcase_add_loop_test(tc, a_thread_with_its_own_table_is_found, 0, ARRAY_SIZE(WAYS));
    tcase_add_loop_test(tc, a_process_without_its_first_thread_is_found, 0, ARRAY_SIZE(WAYS));
    tcase_add_loop_test(tc, processes_that_share_a_table_are_found, 0, ARRAY_SIZE(WAYS));
    tcase_add_loop_test(tc, a_high_descriptor_is_found, 0, ARRAY_SIZE(WAYS));
    tcase_add_loop_test(tc, many_sockets_are_found_at_once, 0, ARRAY_SIZE(WAYS));
    tcase_add_loop_test(tc, a_closed_socket_has_no_holder, 0, ARRAY_SIZE(WAYS));
    tcase_add_loop_test(tc, a_note_is_of_one_socket, 0, ARRAY_SIZE(WAYS));
    tcase_add_loop_test(tc, a_network_namespace_of_the_walk_does_not_matter, 0, ARRAY_SIZE(WAYS));
    tcase_add_loop_test(tc, a_chain_of_processes_does_not_escape, 0, ITERATOR);
    return suite_run_case("holders", tc);
}
