/* SPDX-License-Identifier: Apache-2.0 */
/* broker/target/agent_files.c: how a JVM with an agent ended. The answer must not come too
 * early. */
#include "suite.h"

#include "base/cleanup.h"
#include "broker/target/agent_files.h"
#include "privileged/embedded.h"
#include "proc/exit_status.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct server server;
static struct target target;
static uint64_t start_ticks;
static int proc_fd;

const struct span embedded_agent = { "no agent", 8 };

int target_open_proc(const struct target *t, const char *name, int *ret_fd, struct error *err)
{
    int fd = openat(t->dir_fd, name, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return error_errno(err, "cannot open %s", name);
    *ret_fd = fd;
    return 0;
}

static int look_for_agent(struct server *s, const struct target_fields *of, int *ret_fd,
                          struct error *err)
{
    ck_assert_int_eq(of->host_pid, target.host_pid);
    (void)s;
    return agents_find(&target, ret_fd, err);
}

static void *pause_for_good(void *arg)
{
    for (;;)
        pause();
    return arg;
}

/* Starts a process, and gives it an agent. @headless: its first thread ends. */
static void begin(bool headless)
{
    int ready[2], made = pipe2(ready, O_CLOEXEC);
    pid_t pid = fork();
    struct target_fields of;
    struct proc_stat stat;
    char name[32], one;
    int fd;

    if (pid == 0) {
        pthread_t thread;

        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        signal(SIGSEGV, SIG_DFL); /* a sanitizer handles these signals */
        signal(SIGBUS, SIG_DFL);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        if (headless && pthread_create(&thread, NULL, pause_for_good, NULL) == 0)
            syscall(SYS_exit, 0);
        pause_for_good(NULL);
    }
    ck_assert_int_eq(made, 0);
    ck_assert_int_gt(pid, 0);
    ck_assert_int_eq(read(ready[0], &one, 1), 1);
    close(ready[0]);
    close(ready[1]);
    snprintf(name, sizeof(name), "/proc/%d", pid);
    target = (struct target){ .host_pid = pid,
                              .pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
                              .dir_fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC) };
    proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(target.pidfd, 0);
    ck_assert_int_eq(proc_read_stat(proc_fd, pid, &stat), 0);
    start_ticks = stat.start_ticks;
    of = (struct target_fields){ .host_pid = pid, .start_ticks = start_ticks };
    ck_assert_int_eq(agents_get(&server, &target, &of, look_for_agent, &fd, NULL), 0);
}

static void end(void)
{
    server.agents = agents_free(server.agents);
    close(target.pidfd);
    close(target.dir_fd);
    close(proc_fd);
}

static int ended(int *ret_status)
{
    return agents_ended(server.agents, proc_fd, target.host_pid, start_ticks, ret_status);
}

/* Reads the exit status of a zombie, as for a JVM without an agent. */
static bool zombie_ended(int *ret_status)
{
    struct proc_id id = { .host_pid = target.host_pid, .start_ticks = start_ticks };

    return exit_status_of_zombie(proc_fd, &id, ret_status);
}

static char state(void)
{
    struct proc_stat stat = { .state = 0 };

    proc_read_stat(proc_fd, target.host_pid, &stat);
    return stat.state;
}

static void wait_state(char wanted)
{
    for (int i = 0; i < 1000 && state() != wanted; i++)
        usleep(10000);
    ck_assert_int_eq(state(), wanted);
}

/* Asks too early several times: the answer is -EAGAIN, and the status stays available. */
static void expect_not_yet(void)
{
    int status = 1234;

    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(ended(&status), -EAGAIN);
    ck_assert_int_eq(
        agents_ended(server.agents, proc_fd, target.host_pid, start_ticks + 1, &status),
        BROKER_ABSENT); /* another process with this pid */
    status = 1234;
    ck_assert(!zombie_ended(&status));
    ck_assert_int_eq(status, 1234);
}

START_TEST(not_while_it_lives)
{
    int status = 0;

    begin(/* headless= */ false);
    expect_not_yet();
    kill(target.host_pid, SIGSEGV);
    wait_state('Z');
    ck_assert_int_eq(ended(&status), 0); /* the parent has not reaped it */
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
    ck_assert_int_eq(ended(&status), BROKER_ABSENT); /* the status is given once */
    for (int i = 0; i < 2; i++) {
        status = 0;
        ck_assert(zombie_ended(&status));
        ck_assert(WIFSIGNALED(status));
        ck_assert_int_eq(WTERMSIG(status), SIGSEGV);
    }
    start_ticks++; /* another process with this pid */
    ck_assert(!zombie_ended(&status));
    start_ticks--;
    ck_assert_int_eq(waitpid(target.host_pid, &status, 0), target.host_pid);
    ck_assert(!zombie_ended(&status));
    end();
}
END_TEST

/* The first thread is a zombie while other threads end. The status that /proc then shows is not
 * final. */
START_TEST(not_while_a_thread_is_left)
{
    int status = 0;

    begin(/* headless= */ true);
    wait_state('Z');
    expect_not_yet();
    kill(target.host_pid, SIGBUS);
    while (ended(&status) == -EAGAIN)
        usleep(1000);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGBUS);
    ck_assert_int_eq(waitpid(target.host_pid, &status, 0), target.host_pid);
    end();
}
END_TEST

/* The parent has reaped the process. Newer kernels still give the status; for older ones none is
 * invented. */
START_TEST(not_told_by_all_kernels_afterwards)
{
    int status = 0, r;

    begin(/* headless= */ false);
    kill(target.host_pid, SIGABRT);
    ck_assert_int_eq(waitpid(target.host_pid, &status, 0), target.host_pid);
    status = 0;
    r = ended(&status);
    ck_assert(r == BROKER_ABSENT || (r == 0 && WIFSIGNALED(status)));
    ck_assert_int_eq(ended(&status), BROKER_ABSENT);
    end();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("agents");

    tcase_add_test(tc, not_while_it_lives);
    tcase_add_test(tc, not_while_a_thread_is_left);
    tcase_add_test(tc, not_told_by_all_kernels_afterwards);
    return suite_run_case("agents", tc);
}
