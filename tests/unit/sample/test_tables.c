/* SPDX-License-Identifier: Apache-2.0 */
/* sample: how long the fast walk for the holders of sockets keeps a processor. */
#include "suite.h"

#include "base/clock.h"
#include "sample/tables.h"

#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

#define PROCESSES 120 /* two steps of the walk each; it reads the clock before 256 steps, too */
#define COPIES 4000   /* of a socket in each process: less than a block of a table */
#define MISSING 31    /* sockets that nobody holds */
#define TRIES 5       /* the least counts: an interrupt is counted as time of the walk */
#define LEAST_NS (15 * NSEC_PER_MSEC) /* a walk ends after 5 ms */

static const char *const WAYS[] = { "", "tables-cast" }; /* from Linux 6.2 on, and before */

static struct tables *tables;
static pid_t children[PROCESSES];

static void teardown(void)
{
    for (size_t i = 0; i < PROCESSES && children[i] > 0; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    memset(children, 0, sizeof(children));
    tables = tables_free(tables);
    unsetenv("FLAMED_OLD_KERNEL");
}

static void allow_copies(void)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max = MAX(limit.rlim_max, (rlim_t)2 * COPIES);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void start(pid_t *ret)
{
    *ret = fork();
    ck_assert_int_ge(*ret, 0);
    if (*ret == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
}

/* Returns the cookie of the socket @fd. */
static uint64_t name_socket(int fd)
{
    socklen_t n = sizeof(uint64_t);
    uint64_t cookie = 0;

    ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &n), 0);
    return cookie;
}

/* Starts processes with many copies of the socket @fd. The last one alone also holds another
 * socket. Returns the cookie of that one. */
static uint64_t start_all(int fd)
{
    int copies[COPIES], alone;
    uint64_t key;

    for (size_t i = 0; i < COPIES; i++) {
        copies[i] = dup(fd);
        ck_assert_int_ge(copies[i], 0);
    }
    for (size_t i = 0; i + 1 < PROCESSES; i++)
        start(&children[i]);
    alone = socket(AF_INET, SOCK_STREAM, 0);
    key = name_socket(alone);
    start(&children[PROCESSES - 1]);
    close(alone);
    for (size_t i = 0; i < COPIES; i++)
        close(copies[i]);
    return key;
}

/* Walks once. Returns the time that it took this thread. */
static uint64_t walk(const uint64_t keys[MISSING + 1])
{
    uint64_t begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), ns;
    const struct holders_socket *found = tables_find(tables, keys, MISSING + 1);

    ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
    if (!found)
        return ns;
    ck_assert_uint_eq(found[0].count, 1);
    ck_assert_uint_eq(found[0].pids[0], (uint32_t)children[PROCESSES - 1]);
    for (size_t i = 1; i <= MISSING; i++)
        ck_assert_uint_eq(found[i].count, 0);
    return ns;
}

static void check_time(int protocol, const char *way)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    uint64_t keys[MISSING + 1], key, least_ns = UINT64_MAX;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol);

    if (fd < 0 && protocol == IPPROTO_MPTCP) {
        printf("skipped: no Multipath TCP: %s\n", strerror(errno));
        return;
    }
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 1), 0); /* a socket of Multipath TCP has one below it now */
    setenv("FLAMED_OLD_KERNEL", way, 1);
    tables = tables_new(0);
    ck_assert_ptr_nonnull(tables);
    allow_copies();
    key = name_socket(fd);
    keys[0] = start_all(fd);
    for (uint64_t i = 1; i <= MISSING; i++)
        keys[i] = key + (i << 40); /* with the last bits of the copied one, which a filter passes */
    for (size_t i = 0; i < TRIES; i++) {
        uint64_t ns = walk(keys);

        least_ns = MIN(least_ns, ns);
    }
    ck_assert_uint_lt(least_ns, LEAST_NS);
    close(fd);
}

START_TEST(copies_of_a_socket_do_not_hold_a_processor)
{
    check_time(IPPROTO_TCP, WAYS[_i]);
}
END_TEST

START_TEST(copies_of_a_multipath_socket_do_not_hold_a_processor)
{
    check_time(IPPROTO_MPTCP, WAYS[_i]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("tables");

    if (geteuid() != 0) {
        fprintf(stderr, "skipped: needs root\n");
        return 77;
    }
    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, copies_of_a_socket_do_not_hold_a_processor, 0, ARRAY_SIZE(WAYS));
    tcase_add_loop_test(tc, copies_of_a_multipath_socket_do_not_hold_a_processor, 0,
                        ARRAY_SIZE(WAYS));
    return suite_run_case("tables", tc);
}
