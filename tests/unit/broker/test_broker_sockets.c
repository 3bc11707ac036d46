/* SPDX-License-Identifier: Apache-2.0 */
/* broker: which processes hold a socket. */
#include "broker_fixture.h"

#include <sys/resource.h>

#define MANY_PROCESSES 2
#define MANY_DESCRIPTORS 19900 /* of each */

static bool is_holder(const struct socket_holding *h, pid_t pid)
{
    for (size_t i = 0; i < h->count; i++) {
        if (h->holders[i].pid == pid)
            return true;
    }
    return false;
}

/* Asks again while the time for a look was too short, as flamed does: a busy machine needs more. */
static void ask_holders(const uint64_t *inodes, size_t n, struct socket_holding *ret)
{
    int r = -ETIMEDOUT;

    for (int i = 0; i < 50 && (r == -ETIMEDOUT || r == -EBUSY); i++)
        r = broker_socket_holders(fx.b, inodes, n, ret, NULL);
    ck_assert_int_eq(r, 0);
}

/* Returns the process that the broker says holds the socket @inode. */
static struct socket_holding holders_of_one(uint64_t inode)
{
    struct socket_holding h;

    ask_holders(&inode, 1, &h);
    ck_assert(h.told);
    return h;
}

/* A child that has what we have but @closed, and @more descriptors besides. */
static pid_t start_sharer(int closed, int more)
{
    int ready[2];
    pid_t pid;
    char c;

    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close_fd(closed);
        for (int i = 0; i < more; i++) {
            if (dup(ready[0]) < 0)
                _exit(1);
        }
        if (write(ready[1], "x", 1) != 1)
            _exit(2);
        pause();
        _exit(0);
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

static void check_holders(void)
{
    struct socket_holding h;
    struct stat st;
    int pair[2];
    pid_t child;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(fstat(pair[0], &st), 0);
    h = holders_of_one(st.st_ino);
    ck_assert_uint_eq(h.count, 1);
    ck_assert(is_holder(&h, getpid()));
    child = start_sharer(-1, 0);
    ck_assert_int_eq(dup2(pair[0], pair[1]), pair[1]); /* twice in one process */
    h = holders_of_one(st.st_ino);
    ck_assert_uint_eq(h.count, 2);
    ck_assert(is_holder(&h, child));
    ck_assert(is_holder(&h, getpid()));
    close(pair[0]);
    close(pair[1]);
    h = holders_of_one(st.st_ino);
    ck_assert_uint_eq(h.count, 1);
    ck_assert(is_holder(&h, child));
    end_child(child);
    ck_assert_uint_eq(holders_of_one(st.st_ino).count, 0);
}

START_TEST(a_socket_has_holders)
{
    check_holders();
}
END_TEST

START_TEST(a_socket_has_a_holder_by_its_link)
{
    check_holders();
}
END_TEST

/* Those who have them are newer than the holder, so that by links they are looked at first. */
START_TEST(many_descriptors_hide_no_holder)
{
    pid_t many[MANY_PROCESSES];
    struct socket_holding h;
    struct rlimit limit;
    struct stat st;
    uint64_t begun_ns;
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(fstat(pair[0], &st), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    close(pair[1]);
    for (size_t i = 0; i < MANY_PROCESSES; i++)
        many[i] = start_sharer(pair[0], (int)MIN(limit.rlim_cur - 64, (rlim_t)MANY_DESCRIPTORS));
    begun_ns = clock_monotonic_ns();
    h = holders_of_one(st.st_ino);
    printf("among %d processes of %d descriptors: %ju us\n", MANY_PROCESSES, MANY_DESCRIPTORS,
           (uintmax_t)((clock_monotonic_ns() - begun_ns) / 1000));
    ck_assert_uint_eq(h.count, 1);
    ck_assert(is_holder(&h, getpid()));
    for (size_t i = 0; i < MANY_PROCESSES; i++)
        end_child(many[i]);
    close(pair[0]);
}
END_TEST

START_TEST(more_holders_than_are_told_is_an_answer)
{
    pid_t children[SOCKET_HOLDERS_MAX];
    struct socket_holding h;
    struct stat st;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    ck_assert_int_eq(fstat(fd, &st), 0);
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        children[i] = start_sharer(-1, 0);
    ck_assert_uint_gt(holders_of_one(st.st_ino).count, SOCKET_HOLDERS_MAX);
    close(fd);
    h = holders_of_one(st.st_ino);
    ck_assert_uint_eq(h.count, ARRAY_SIZE(children));
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        end_child(children[i]);
}
END_TEST

/* One question for many sockets: ours, and between them those that nobody holds. */
static void check_many(void)
{
    struct socket_holding held[SOCKETS_ASKED_MAX];
    uint64_t inodes[SOCKETS_ASKED_MAX];
    pid_t children[SOCKET_HOLDERS_MAX];
    int fds[SOCKETS_ASKED_MAX];
    struct stat st;

    for (size_t i = 0; i < SOCKETS_ASKED_MAX; i++) {
        fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(fstat(fds[i], &st), 0);
        inodes[i] = st.st_ino;
        if (i % 5 == 2)
            close(fds[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        children[i] = start_sharer(-1, 0);
    for (size_t i = 0; i < SOCKETS_ASKED_MAX; i++) {
        if (i % 5 != 2 && i != 3)
            close(fds[i]);
    }
    for (size_t i = 1; i < ARRAY_SIZE(children); i++)
        end_child(children[i]);
    ask_holders(inodes, SOCKETS_ASKED_MAX, held);
    for (size_t i = 0; i < SOCKETS_ASKED_MAX; i++) {
        ck_assert(held[i].told);
        ck_assert_uint_eq(held[i].count, i % 5 == 2 ? 0 : i == 3 ? 2 : 1);
        ck_assert_int_eq(is_holder(&held[i], children[0]), i % 5 != 2);
    }
    ck_assert(is_holder(&held[3], getpid()));
    end_child(children[0]);
    close(fds[3]);
}

START_TEST(many_sockets_have_holders)
{
    check_many();
}
END_TEST

START_TEST(many_sockets_have_holders_by_links)
{
    check_many();
}
END_TEST

/* What does not fit into an answer is not told, and that is not the socket that was asked about
 * first, nor one that few hold. */
START_TEST(sockets_that_many_hold_keep_out_no_other)
{
    struct socket_holding held[8];
    uint64_t inodes[8];
    pid_t children[60];
    struct stat st;
    size_t told = 0;
    int fds[8];

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        if (i == 7) /* the last one is ours alone */
            for (size_t k = 0; k < ARRAY_SIZE(children); k++)
                children[k] = start_sharer(-1, 0);
        fds[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(fstat(fds[i], &st), 0);
        inodes[i] = st.st_ino;
    }
    ask_holders(inodes, ARRAY_SIZE(fds), held);
    ck_assert(held[0].told && held[0].count == ARRAY_SIZE(children) + 1);
    ck_assert(held[7].told && held[7].count == 1 && is_holder(&held[7], getpid()));
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        told += held[i].told;
        ck_assert(!held[i].told || i == 7 || held[i].count == ARRAY_SIZE(children) + 1);
        close(fds[i]);
    }
    ck_assert_uint_eq(told, 3);
    for (size_t i = 0; i < ARRAY_SIZE(children); i++)
        end_child(children[i]);
}
END_TEST

static void fixture_without_walk(void)
{
    setenv("FLAMED_OLD_KERNEL", "task_file", 1);
    fixture_with_client();
}

static void fixture_with_walk_again(void)
{
    fixture_stop();
    unsetenv("FLAMED_OLD_KERNEL");
}

int main(void)
{
    TCase *tc = tcase_create("broker_sockets"), *links = tcase_create("by links");
    Suite *suite = suite_create("broker_sockets");
    int skip = can_test_broker();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, fixture_with_client, fixture_stop);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, a_socket_has_holders);
    tcase_add_test(tc, many_descriptors_hide_no_holder);
    tcase_add_test(tc, more_holders_than_are_told_is_an_answer);
    tcase_add_test(tc, many_sockets_have_holders);
    tcase_add_test(tc, sockets_that_many_hold_keep_out_no_other);
    tcase_add_checked_fixture(links, fixture_without_walk, fixture_with_walk_again);
    tcase_add_test(links, a_socket_has_a_holder_by_its_link);
    tcase_add_test(links, many_sockets_have_holders_by_links);
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, links);
    return suite_run(suite);
}
