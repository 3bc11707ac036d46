/* SPDX-License-Identifier: Apache-2.0 */
/* launcher: an attach that the broker has given up does not begin. */
#include "suite.h"

#include "base/cleanup.h"
#include "broker_client/wire.h"
#include "launcher/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int launcher = -1;

static void setup(void)
{
    launcher_start(/* mounts= */ false, &launcher);
    ck_assert_int_ge(launcher, 0);
}

static void teardown(void)
{
    launcher = close_fd(launcher); /* it ends */
}

/* Asks for an attach for @owner, which cannot succeed: its target is no process. *ret_result: the
 * end of the pipe from which the result comes. */
static struct launcher_message send_job(uint64_t owner, int *ret_result)
{
    struct launcher_message m = { .host_pid = (int32_t)owner,
                                  .owner = owner,
                                  .job = { .magic = ATTACH_MAGIC,
                                           .version = ATTACH_VERSION,
                                           .ns_pid = 1,
                                           .mode = ATTACH_LOAD,
                                           .timeout_ms = 1000 } };
    int pipe_fds[2], fds[LAUNCHER_FDS];

    ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
    *ret_result = pipe_fds[0];
    fds[0] = pipe_fds[1];
    for (size_t i = 1; i < LAUNCHER_FDS; i++)
        fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (owner % 2) /* the broker gives this one up */
        close(pipe_fds[0]);
    ck_assert_int_eq(launcher_send(launcher, &m, fds), 0);
    for (size_t i = 0; i < LAUNCHER_FDS; i++)
        close(fds[i]);
    return m;
}

START_TEST(an_attach_begins)
{
    struct attach_result result;
    int result_fd, file = -1;
    struct launcher_message m = send_job(2, &result_fd);

    ck_assert_int_eq(launcher_take_answer(launcher, &m, &file), 0);
    ck_assert_int_eq(read(result_fd, &result, sizeof(result)), sizeof(result));
    ck_assert_int_ne(result.error, 0);
    close(result_fd);
}
END_TEST

START_TEST(an_attach_that_was_given_up_does_not_begin)
{
    int result_fd, file = -1;
    struct launcher_message m = send_job(1, &result_fd);

    ck_assert_int_eq(launcher_take_answer(launcher, &m, &file), ECANCELED);
}
END_TEST

/* The answer to an earlier attach is skipped. */
START_TEST(a_late_answer_is_not_that_of_the_next)
{
    int result_fd, file = -1;
    struct launcher_message m;

    send_job(1, &result_fd);
    m = send_job(2, &result_fd);
    ck_assert_int_eq(launcher_take_answer(launcher, &m, &file), 0);
    close(result_fd);
}
END_TEST

/* The kernel drops the last descriptor, as it drops those that the launcher may not have. */
START_TEST(an_attach_without_its_descriptors_is_the_only_one_refused)
{
    struct launcher_message m = { .serial = 1 };
    int result_fd, file = -1, fds[LAUNCHER_FDS + 1];

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = launcher;
    ck_assert_int_eq(wire_send(launcher, &m, sizeof(m), fds, ARRAY_SIZE(fds)), 0);
    ck_assert_int_eq(launcher_take_answer(launcher, &m, &file), EMFILE);
    m = send_job(2, &result_fd);
    ck_assert_int_eq(launcher_take_answer(launcher, &m, &file), 0);
    close(result_fd);
}
END_TEST

/* Starts a launcher with its log in a file of memory. Returns that file. */
static int start_with_log(void)
{
    int log = memfd_create("log", MFD_CLOEXEC),
        stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

    ck_assert_int_ge(log, 0);
    close_fd(launcher);
    ck_assert_int_eq(dup2(log, STDERR_FILENO), STDERR_FILENO);
    launcher_start(/* mounts= */ false, &launcher);
    ck_assert_int_eq(dup2(stderr_fd, STDERR_FILENO), STDERR_FILENO);
    close(stderr_fd);
    return log;
}

/* A message without bytes ends the launcher by itself, with status 0, as an error of its socket
 * would. The broker has not closed the connection: another launcher takes it over, and the log says
 * so. */
START_TEST(a_launcher_that_ends_by_itself_is_started_again)
{
    int log = start_with_log(), result_fd, file = -1, r = -1;
    struct launcher_message m;
    char text[512] = "";

    ck_assert_int_eq(send(launcher, "", 0, MSG_NOSIGNAL), 0);
    m = send_job(2, &result_fd);
    for (int i = 0; i < 20 && r != 0; i++) /* the next launcher begins after a second */
        r = launcher_take_answer(launcher, &m, &file);
    ck_assert_int_eq(r, 0);
    ck_assert_int_gt(pread(log, text, sizeof(text) - 1, 0), 0);
    ck_assert_msg(strstr(text, "ended (status=0x0) and is started again"), "%s", text);
    close(result_fd);
    close(log);
}
END_TEST

/* It ends with the broker, and logs nothing about that. */
START_TEST(a_launcher_ends_with_its_connection)
{
    int log = start_with_log(), status = -1;
    char text[512] = "";

    launcher = close_fd(launcher);
    while (wait(&status) > 0)
        ck_assert_int_eq(status, 0);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(pread(log, text, sizeof(text) - 1, 0), 0);
    close(log);
}
END_TEST

START_TEST(a_launcher_without_answer_is_not_awaited_for_long)
{
    struct launcher_message m = { .serial = 1 };
    int pair[2], file = -1;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(launcher_take_answer(pair[0], &m, &file), -ETIMEDOUT);
    close(pair[1]);
    ck_assert_int_eq(launcher_take_answer(pair[0], &m, &file), -EPIPE);
    close(pair[0]);
}
END_TEST

/* A launcher that hangs in a container does not hold up the broker, which keeps the connection. */
START_TEST(a_launcher_that_hangs_refuses)
{
    struct launcher_message m = { .host_pid = 1 };
    int pair[2], fds[LAUNCHER_FDS], r = 0;
    unsigned sent;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    for (size_t i = 0; i < LAUNCHER_FDS; i++)
        fds[i] = pair[0];
    for (sent = 0; r == 0; sent++)
        r = launcher_send(pair[0], &m, fds);
    ck_assert_int_eq(r, -EAGAIN);
    ck_assert_uint_gt(sent, 10);
    ck_assert_int_eq(launcher_send(pair[0], &m, fds), -EAGAIN);
    close(pair[1]);
    r = launcher_send(pair[0], &m, fds);
    ck_assert(r == -EPIPE || r == -ECONNRESET);
    close(pair[0]);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("launcher");

    if (geteuid() != 0) {
        fprintf(stderr, "skipped: needs root\n");
        return 77;
    }
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, an_attach_begins);
    tcase_add_test(tc, an_attach_without_its_descriptors_is_the_only_one_refused);
    tcase_add_test(tc, an_attach_that_was_given_up_does_not_begin);
    tcase_add_test(tc, a_late_answer_is_not_that_of_the_next);
    tcase_add_test(tc, a_launcher_that_ends_by_itself_is_started_again);
    tcase_add_test(tc, a_launcher_ends_with_its_connection);
    tcase_add_test(tc, a_launcher_without_answer_is_not_awaited_for_long);
    tcase_add_test(tc, a_launcher_that_hangs_refuses);
    return suite_run_case("launcher", tc);
}
