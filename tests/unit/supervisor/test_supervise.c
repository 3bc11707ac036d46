/* SPDX-License-Identifier: Apache-2.0 */
/* broker/supervise: the real supervisor with this program as the worker. Checks its users, rights,
 * restarts, and that all processes end together. */
#include "supervisor/supervise_api.h"

#include "supervised_worker.h"
#include "tests/unit/broker/broker_fixture.h"

#include <arpa/inet.h>
#include <linux/capability.h>
#include <sys/resource.h>

/* The capabilities that the supervisor may hold: the broker's ten, and those needed to start and
 * end a pair. */
#define BROKER_CAPS                                                                                \
    (CAP(SYS_ADMIN) | CAP(SYS_PTRACE) | CAP(DAC_READ_SEARCH) | CAP(PERFMON) | CAP(BPF) |           \
     CAP(SYSLOG) | CAP(SYS_CHROOT) | CAP(SETUID) | CAP(SETGID) | CAP(KILL))
#define SUPERVISOR_CAPS (BROKER_CAPS | CAP(SETPCAP) | CAP(SYS_NICE))
#define MEMLOCK_BYTES 65536 /* the caller's limit; usual before Linux 5.16 */
#define CAP(name) (UINT64_C(1) << CAP_##name)

static char store[64];
static pid_t supervisor;

static bool read_note(const char *name, char *text, size_t size)
{
    char path[128];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "%s/%s", store, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, size - 1);
    close_fd(fd);
    text[MAX(n, 0)] = '\0';
    if (n > 0) /* otherwise it is still being written */
        unlink(path);
    return n > 0;
}

static void wait_note(const char *name, char *text, size_t size)
{
    for (int i = 0; i < 1000; i++) {
        if (read_note(name, text, size))
            return;
        usleep(10000);
    }
    ck_abort_msg("no note '%s' came", name);
}

static void start(const char *extra)
{
    int listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), config;
    char path[96];

    ck_assert_int_eq(listen(listen_fd, 8), 0);
    snprintf(path, sizeof(path), "%s/config", store);
    write_file(path, "hello", 5);
    config = open(path, O_RDONLY | O_CLOEXEC);
    supervisor = fork();
    if (supervisor == 0) {
        const struct rlimit memlock = { MEMLOCK_BYTES, MEMLOCK_BYTES };
        char *argv[] = { (char *)extra, NULL };
        struct supervise_opts o = {
            .listen_fds = { listen_fd },
            .listen_count = 1,
            .store_fd = open(store, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
            .config_fd = config,
            .push_fd = -1,
            .uid = SUPERVISE_FALLBACK_ID,
            .gid = SUPERVISE_FALLBACK_ID,
            .log_level = LOG_LEVEL_ERROR,
            .extra = argv,
        };
        struct error err = ERROR_NULL;

        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        setrlimit(RLIMIT_MEMLOCK, &memlock);
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        supervise_exec(&o, &err);
        fprintf(stderr, "%s\n", err.msg);
        _exit(99);
    }
    close(listen_fd);
    close(config);
}

static pid_t field_pid(const char *text)
{
    return (pid_t)strtol(strchr(text, '=') + 1, NULL, 10);
}

/* Finds the children of @parent. Returns their number. */
static int children(pid_t parent, pid_t *ret, int max)
{
    char path[64], text[256] = "";
    int fd, n = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
        return 0;
    close(fd);
    for (char *p = text; *p && n < max; n++)
        ret[n] = (pid_t)strtol(p, &p, 10), p += strspn(p, " ");
    return n;
}

static pid_t broker_pid(pid_t worker_pid)
{
    pid_t all[4];
    int n = 0;

    for (int i = 0; i < 500 && n != 2; i++, usleep(10000))
        n = children(supervisor, all, 4);
    ck_assert_int_eq(n, 2);
    return all[0] == worker_pid ? all[1] : all[0];
}

static bool gone(pid_t pid)
{
    for (int i = 0; i < 300; i++) {
        char path[32], text[128] = "";
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return true;
        if (read(fd, text, sizeof(text) - 1) < 0 || strstr(text, ") Z")) {
            close(fd);
            return true;
        }
        close(fd);
        usleep(10000);
    }
    return false;
}

static const char *comm_of(pid_t pid)
{
    static char text[32];
    char path[40];
    int fd;

    memset(text, 0, sizeof(text));
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_gt(read(fd, text, sizeof(text) - 1), 0);
    close(fd);
    return text;
}

static int stop(int sig)
{
    int status;

    kill(supervisor, sig);
    ck_assert_int_eq(waitpid(supervisor, &status, 0), supervisor);
    supervisor = 0;
    return status;
}

START_TEST(the_worker_is_nobody_and_has_what_it_needs)
{
    char text[512], expected[512];
    pid_t w, b;

    start("more");
    wait_note("worker", text, sizeof(text));
    w = field_pid(text);
    b = broker_pid(w);
    snprintf(expected, sizeof(expected),
             "pid=%d uid=65521 gid=65521 groups=0 caps=0 bounding=0 refused=4 memlock=%d fds=5 "
             "listen=1 level=3 blocked=1 config=hello run=1 extra=more\n",
             w, MEMLOCK_BYTES);
    ck_assert_str_eq(text, expected);
    ck_assert_str_eq(comm_of(w), "flamed\n");
    ck_assert_str_eq(comm_of(b), "flamed-broker\n");
    ck_assert_int_eq(getsid(w), w); /* gets no signals of a terminal */
    ck_assert_int_eq(stop(SIGTERM), 0);
    ck_assert(gone(w) && gone(b));
}
END_TEST

/* systemd gives ids up to 65519 to services with DynamicUser=. Such a service once got flamed's id:
 * it saw everything, and read the store. Debian gives ids below 65000 to packages. */
START_TEST(the_id_of_the_worker_is_given_to_no_service)
{
    ck_assert_int_gt(SUPERVISE_FALLBACK_ID, 65519);
    ck_assert_int_lt(SUPERVISE_FALLBACK_ID, 65532);
}
END_TEST

/* Checks that all sets of capabilities are within @most, and that neither an exec nor a call can
 * add more. */
static void check_confined(pid_t pid, uint64_t most)
{
    static const char *const SETS[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };

    for (size_t i = 0; i < ARRAY_SIZE(SETS); i++)
        ck_assert_msg((status_field(pid, SETS[i], 16) & ~most) == 0, "%s of %d: %jx", SETS[i], pid,
                      (uintmax_t)status_field(pid, SETS[i], 16));
    ck_assert_uint_eq(status_field(pid, "NoNewPrivs", 10), 1);
    ck_assert_uint_eq(status_field(pid, "Seccomp", 10), 2);
}

static rlim_t memlock_of(pid_t pid)
{
    struct rlimit limit;

    ck_assert_int_eq(prlimit(pid, RLIMIT_MEMLOCK, NULL, &limit), 0);
    ck_assert_uint_eq(limit.rlim_cur, limit.rlim_max);
    return limit.rlim_max;
}

START_TEST(nobody_holds_more_than_it_needs)
{
    char text[512];
    pid_t w, b, all[8];

    start("x");
    wait_note("worker", text, sizeof(text));
    w = field_pid(text);
    b = broker_pid(w);
    check_confined(supervisor, SUPERVISOR_CAPS);
    check_confined(b, BROKER_CAPS);
    check_confined(w, 0);
    /* The broker still has all that it needs to start. */
    if ((status_field(getpid(), "CapEff", 16) & BROKER_CAPS) == BROKER_CAPS)
        ck_assert_uint_eq(status_field(b, "CapEff", 16), BROKER_CAPS);
    /* Before Linux 5.11 BPF maps count for this limit. flamed was started with 64 KiB. */
    if (status_field(getpid(), "CapEff", 16) & CAP(SYS_RESOURCE))
        ck_assert_uint_eq(memlock_of(b), RLIM_INFINITY);
    /* Processes that enter containers, or open their files, inherit none of that. */
    for (int i = children(b, all, ARRAY_SIZE(all)) - 1; i >= 0; i--) {
        for (int k = 0; k < 500 && status_field(all[i], "CapPrm", 16) & ~BROKER_CAPS; k++)
            usleep(10000); /* it is still dropping them */
        check_confined(all[i], BROKER_CAPS);
        ck_assert_uint_eq(memlock_of(all[i]), 0);
    }
    ck_assert_int_eq(stop(SIGTERM), 0);
}
END_TEST

START_TEST(a_hangup_reaches_the_worker)
{
    char text[512];

    start("x");
    wait_note("worker", text, sizeof(text));
    kill(supervisor, SIGHUP);
    wait_note("hup", text, sizeof(text));
    ck_assert_int_eq(stop(SIGINT), 0);
}
END_TEST

START_TEST(whichever_dies_both_come_back)
{
    char text[512];
    pid_t w, b;

    start("x");
    wait_note("worker", text, sizeof(text));
    w = field_pid(text);
    b = broker_pid(w);
    kill(w, SIGKILL);
    ck_assert(gone(b));
    wait_note("worker", text, sizeof(text)); /* a hangup makes it read its configuration again */
    ck_assert_ptr_nonnull(strstr(text, "config=hello run=2 "));
    ck_assert_int_ne(field_pid(text), w);
    w = field_pid(text);
    b = broker_pid(w);
    kill(b, SIGKILL);
    ck_assert(gone(w));
    wait_note("worker", text, sizeof(text));
    ck_assert_int_ne(field_pid(text), w);
    ck_assert_ptr_nonnull(strstr(text, " run=3 "));
    ck_assert_int_eq(stop(SIGTERM), 0);
}
END_TEST

START_TEST(nothing_survives_the_supervisor)
{
    char text[512];
    pid_t w, b;

    start("x");
    wait_note("worker", text, sizeof(text));
    w = field_pid(text);
    b = broker_pid(w);
    stop(SIGKILL);
    ck_assert(gone(w) && gone(b));
}
END_TEST

START_TEST(a_final_status_is_final)
{
    char text[512];
    int status;

    start("final");
    ck_assert_int_eq(waitpid(supervisor, &status, 0), supervisor);
    supervisor = 0;
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == SUPERVISE_EXIT_FINAL);
    wait_note("worker", text, sizeof(text));
}
END_TEST

START_TEST(a_worker_that_will_not_end_is_killed_after_5_s)
{
    uint64_t began;
    char text[512];
    int status;
    pid_t w;

    start("stubborn");
    wait_note("worker", text, sizeof(text));
    w = field_pid(text);
    began = clock_monotonic_ns();
    status = stop(SIGTERM);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    ck_assert_uint_ge(clock_monotonic_ns() - began, 4900 * NSEC_PER_MSEC);
    ck_assert_uint_le(clock_monotonic_ns() - began, 8 * NSEC_PER_SEC);
    ck_assert(gone(w));
}
END_TEST

/* ---- the contract's parser ---- */

static const struct {
    const char *args[6];
    int r;
} LINES[] = {
    { { "flamed" }, 1 },
    { { "flamed", "--listen", "x" }, 1 },
    { { "flamed", "--worker" }, -EINVAL },
    { { "flamed", "--worker", "--broker-fd=0" }, -EINVAL },
    { { "flamed", "--worker", "--broker-fd=x" }, -EINVAL },
    { { "flamed", "--worker", "--broker-fd=99999" }, -EINVAL },
    { { "flamed", "--worker", "--listen-fds=1,,2" }, -EINVAL },
    { { "flamed", "--worker", "--listen-fds=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17" }, -EINVAL },
    { { "flamed", "--worker", "--store-fd=-1" }, -EINVAL },
    { { "flamed", "--worker", "--notes-fd=x" }, -EINVAL },
    { { "flamed", "--worker", "--nonsense=1" }, -EINVAL },
};

START_TEST(a_worker_line_is_checked)
{
    struct supervise_worker w;
    struct error err = ERROR_NULL;
    int argc = 0;

    while (argc < 6 && LINES[_i].args[argc])
        argc++;
    ck_assert_int_eq(supervise_worker_parse(argc, (char **)LINES[_i].args, &w, &err), LINES[_i].r);
}
END_TEST

static void set_up(void)
{
    snprintf(store, sizeof(store), "/tmp/flamed-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(store));
    ck_assert_int_eq(chown(store, SUPERVISE_FALLBACK_ID, SUPERVISE_FALLBACK_ID), 0);
}

static void tear_down(void)
{
    static const char *const NAMES[] = { "worker", "hup", "new", "config" };
    char path[128];

    if (supervisor > 0)
        stop(SIGKILL);
    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) {
        snprintf(path, sizeof(path), "%s/%s", store, NAMES[i]);
        unlink(path);
    }
    rmdir(store);
}

int main(int argc, char **argv)
{
    Suite *s = suite_create("supervise");
    TCase *pure = tcase_create("pure"), *real = tcase_create("real");

    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return supervised_worker(argc, argv);
    tcase_add_loop_test(pure, a_worker_line_is_checked, 0, ARRAY_SIZE(LINES));
    suite_add_tcase(s, pure);
    tcase_add_checked_fixture(real, set_up, tear_down);
    tcase_set_timeout(real, 60);
    tcase_add_test(real, the_worker_is_nobody_and_has_what_it_needs);
    tcase_add_test(real, the_id_of_the_worker_is_given_to_no_service);
    tcase_add_test(real, nobody_holds_more_than_it_needs);
    tcase_add_test(real, a_hangup_reaches_the_worker);
    tcase_add_test(real, whichever_dies_both_come_back);
    tcase_add_test(real, nothing_survives_the_supervisor);
    tcase_add_test(real, a_final_status_is_final);
    tcase_add_test(real, a_worker_that_will_not_end_is_killed_after_5_s);
    if (can_test_broker() == 0)
        suite_add_tcase(s, real);
    return suite_run(s);
}
