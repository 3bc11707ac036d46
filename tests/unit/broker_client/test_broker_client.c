/* SPDX-License-Identifier: Apache-2.0 */
/* broker: the client against peers that are not the broker. */
#include "tests/unit/broker/broker_fixture.h"

#include <poll.h>
#include <sys/resource.h>

enum lie {
    NO_LIE,
    SEQ,
    KIND,
    VERSION_OF,
    SHORT,
    TOO_MANY_FDS,
    NO_FD,
    FD_COUNT,
    MORE,
    UNTERMINATED,
    OUTCOME,
    CLOSE,
    LIES
};

struct liar {
    int fd;
    enum lie lie;
};

static void *lie_once(void *p)
{
    const struct liar *l = p;
    struct broker_answer a = { .version = BROKER_WIRE_VERSION, .fd_count = 1 };
    int fds[2] = { fx.proc_fd, fx.proc_fd };
    size_t n = sizeof(a), fd_count = 1, got;
    struct broker_request q;

    if (wire_receive(l->fd, &q, sizeof(q), NULL, 0, &got) != sizeof(q))
        return NULL;
    a.kind = q.kind;
    a.seq = q.seq;
    switch (l->lie) {
    case SEQ:
        a.seq++;
        break;
    case KIND:
        a.kind++;
        break;
    case VERSION_OF:
        a.version++;
        break;
    case SHORT:
        n--;
        break;
    case TOO_MANY_FDS:
        a.fd_count = 2;
        fd_count = 2;
        break;
    case NO_FD:
        a.fd_count = 0;
        fd_count = 0;
        break;
    case FD_COUNT:
        a.fd_count = 0;
        break;
    case MORE:
        a.more = 1;
        break;
    case UNTERMINATED:
        a.result = -EPERM;
        a.fd_count = 0;
        fd_count = 0;
        memset(a.body.failure.msg, 'x', sizeof(a.body.failure.msg));
        break;
    case OUTCOME:
        a.result = 77;
        a.fd_count = 0;
        fd_count = 0;
        break;
    default:
        break;
    }
    if (l->lie != CLOSE)
        wire_send(l->fd, &a, n, fds, fd_count);
    else
        shutdown(l->fd, SHUT_RDWR);
    return NULL;
}

/* Answers the request in two messages with one descriptor each, then once more in one. */
static void *answer_three_times(void *p)
{
    int fd = *(int *)p;

    for (int i = 0; i < 3; i++) {
        struct broker_answer a = { .version = BROKER_WIRE_VERSION, .fd_count = 1, .more = i == 0 };
        struct broker_request q;
        static uint32_t seq, kind;
        size_t got;

        if (i != 1) {
            if (wire_receive(fd, &q, sizeof(q), NULL, 0, &got) != sizeof(q))
                return NULL;
            seq = q.seq;
            kind = q.kind;
        }
        a.seq = seq;
        a.kind = kind;
        wire_send(fd, &a, sizeof(a), &fx.proc_fd, 1);
    }
    return NULL;
}

static void *close_unread(void *fd)
{
    struct pollfd p = { .fd = *(int *)fd, .events = POLLIN };

    poll(&p, 1, 10000);
    close(p.fd);
    return NULL;
}

START_TEST(the_client_believes_no_lie)
{
    struct error err = ERROR_NULL;
    int pair[2], fd = -1, before = count_fds(getpid()), r;
    struct broker *b = NULL;
    struct liar liar;
    pthread_t t;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(broker_new(pair[0], &b), 0);
    liar = (struct liar){ pair[1], (enum lie)_i };
    pthread_create(&t, NULL, lie_once, &liar);
    r = broker_kallsyms(b, &fd, &err);
    pthread_join(t, NULL);
    if (_i == NO_LIE) {
        ck_assert_int_eq(r, 0);
        ck_assert(!broker_lost(b));
        close(fd);
    } else {
        struct pollfd p = { .fd = broker_fd(b), .events = POLLIN };

        ck_assert_int_eq(r, -ENOTCONN);
        ck_assert_int_eq(fd, -1);
        ck_assert(broker_lost(b));
        ck_assert_int_eq(poll(&p, 1, 0), 1); /* a poll of the fd shows the end */
        ck_assert_int_eq(broker_kallsyms(b, &fd, &err), -ENOTCONN);
    }
    broker_free(b);
    close(pair[1]);
    ck_assert_int_eq(count_fds(getpid()), before);
}
END_TEST

/* Only that request fails: the broker has done nothing wrong. */
START_TEST(a_client_without_descriptors_keeps_the_broker)
{
    struct error err = ERROR_NULL;
    int pair[2], fds[BROKER_CPUS_MAX], before = count_fds(getpid());
    struct rlimit all, none;
    struct broker *b = NULL;
    size_t count = 0;
    pthread_t t;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(broker_new(pair[0], &b), 0);
    pthread_create(&t, NULL, answer_three_times, &pair[1]);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &all), 0);
    none = (struct rlimit){ 3, all.rlim_max };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(broker_sideband(b, fds, &count, &err), -EMFILE);
    ck_assert_ptr_nonnull(strstr(err.remedy, "ulimit -Hn"));
    ck_assert(!broker_lost(b));
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
    ck_assert_int_eq(broker_sideband(b, fds, &count, &err), 0);
    ck_assert_uint_eq(count, 1);
    pthread_join(t, NULL);
    close(fds[0]);
    broker_free(b);
    close(pair[1]);
    ck_assert_int_eq(count_fds(getpid()), before);
}
END_TEST

START_TEST(a_silent_peer_is_lost_after_10_s)
{
    struct error err = ERROR_NULL;
    uint64_t began = clock_monotonic_ns(), took;
    int pair[2], fd = -1;
    struct broker *b = NULL;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(broker_new(pair[0], &b), 0);
    ck_assert_int_eq(broker_kallsyms(b, &fd, &err), -ENOTCONN);
    took = clock_monotonic_ns() - began;
    ck_assert_uint_ge(took, 9900 * NSEC_PER_MSEC);
    ck_assert_uint_le(took, 12 * NSEC_PER_SEC);
    broker_free(b);
    close(pair[1]);
}
END_TEST

START_TEST(a_dead_broker_is_lost_at_once)
{
    struct error err = ERROR_NULL;
    struct broker *b = NULL;
    int fd = -1, sock, status;
    pid_t pid = start_broker(&sock);

    ck_assert_int_eq(broker_new(sock, &b), 0);
    ck_assert_int_eq(broker_kallsyms(b, &fd, &err), 0);
    close(fd);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(broker_kallsyms(b, &fd, &err), -ENOTCONN);
        ck_assert_str_eq(err.msg, "the connection to flamed-broker is lost: it has ended");
        ck_assert_ptr_nonnull(strstr(err.remedy, "ask again in a second"));
        ck_assert_uint_eq(err.retry_s, 1);
    }
    ck_assert(broker_lost(b));
    broker_free(b);
}
END_TEST

/* It ends with a request unread, so the kernel resets the connection. */
START_TEST(a_broker_that_dies_in_a_request_has_ended)
{
    struct error err = ERROR_NULL;
    struct broker *b = NULL;
    int pair[2], fd = -1;
    pthread_t t;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(broker_new(pair[0], &b), 0);
    pthread_create(&t, NULL, close_unread, &pair[1]);
    ck_assert_int_eq(broker_kallsyms(b, &fd, &err), -ENOTCONN);
    pthread_join(t, NULL);
    ck_assert_str_eq(err.msg, "the connection to flamed-broker is lost: it has ended");
    broker_free(b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("broker_client");
    TCase *pure = tcase_create("pure"), *real = tcase_create("real");

    tcase_add_checked_fixture(pure, fixture_without_broker, fixture_without_broker_end);
    tcase_set_timeout(pure, 30);
    tcase_add_loop_test(pure, the_client_believes_no_lie, 0, LIES);
    tcase_add_test(pure, a_client_without_descriptors_keeps_the_broker);
    tcase_add_test(pure, a_silent_peer_is_lost_after_10_s);
    tcase_add_test(pure, a_broker_that_dies_in_a_request_has_ended);
    suite_add_tcase(s, pure);
    tcase_add_checked_fixture(real, fixture_start, fixture_stop);
    tcase_set_timeout(real, 100);
    tcase_add_test(real, a_dead_broker_is_lost_at_once);
    if (can_test_broker() == 0)
        suite_add_tcase(s, real);
    return suite_run(s);
}
