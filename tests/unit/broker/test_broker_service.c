/* SPDX-License-Identifier: Apache-2.0 */
/* broker: as a service on a socket, for one client at a time. */
#include "broker_fixture.h"

#include <grp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/un.h>

static char socket_path[128];

static pid_t start_service(void)
{
    pid_t pid;

    snprintf(socket_path, sizeof(socket_path), "%s/broker.sock", fx.dir);
    pid = fork();
    if (pid == 0) {
        char option[160];

        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        snprintf(option, sizeof(option), "--socket=%s", socket_path);
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        execl(FLAMED_BROKER, "flamed-broker", option, "--log-level=error", NULL);
        _exit(127);
    }
    return pid;
}

static int connect_service(void)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    memcpy(sa.sun_path, socket_path, sizeof(sa.sun_path));
    for (int i = 0; i < 500; i++) {
        if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
            return fd;
        usleep(10000);
    }
    ck_abort_msg("the service does not listen");
    return -1;
}

static bool closed_by_peer(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    char c;

    return poll(&p, 1, 20000) == 1 && recv(fd, &c, 1, 0) <= 0;
}

START_TEST(one_client_at_a_time_and_its_sampling_ends_with_it)
{
    struct error err = ERROR_NULL;
    pid_t pid = start_service();
    struct broker *b = NULL;
    struct broker_facts f;
    int first = connect_service(), second, idle, status;
    const struct group *group = getgrnam("flamed-broker");
    struct stat st;
    uint32_t set;

    ck_assert_int_eq(stat(socket_path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0660);
    ck_assert_uint_eq(st.st_uid, 0);
    /* The socket must not belong to flamed's own group, which users are members of. */
    ck_assert_uint_eq(st.st_gid, group ? group->gr_gid : 0);
    idle = count_fds(pid);
    ck_assert_int_eq(broker_new(first, &b), 0);
    facts_once_loaded(b, &f);
    if (f.bpf_loaded) {
        ck_assert_int_eq(broker_sample_start(b, "cpu", 10000000, &set, &err), 0);
        ck_assert_int_gt(count_fds(pid), idle + 4);
    }
    second = connect_service();
    ck_assert(closed_by_peer(second));
    close(second);
    facts_once_loaded(b, &f);
    b = broker_free(b);
    for (int i = 0; i < 200 && count_fds(pid) > idle; i++)
        usleep(10000);
    ck_assert_int_le(count_fds(pid), idle);
    /* The next client is served from a fresh state. */
    ck_assert_int_eq(broker_new(connect_service(), &b), 0);
    facts_once_loaded(b, &f);
    if (f.bpf_loaded)
        ck_assert_int_eq(broker_sample_start(b, "cpu", 10000000, &set, &err), 0);
    broker_free(b);
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
}
END_TEST

/* Programs that were being loaded for a client that left are freed. The next client gets its
 * own. */
START_TEST(a_client_that_leaves_while_programs_are_loaded)
{
    struct error err = ERROR_NULL;
    struct broker *b = NULL;
    struct broker_facts f;
    int idle, status, loaded = 0;
    uint32_t set;
    pid_t pid;

    setenv("FLAMED_SLOW_LOAD", "5", 1);
    pid = start_service();
    unsetenv("FLAMED_SLOW_LOAD");
    ck_assert_int_eq(broker_new(connect_service(), &b), 0);
    idle = count_fds(pid);
    ck_assert_int_eq(broker_facts(b, &f, &err), 0);
    ck_assert(f.bpf_loading);
    b = broker_free(b);
    ck_assert_int_eq(broker_new(connect_service(), &b), 0);
    do {
        ck_assert_int_eq(broker_facts(b, &f, &err), 0);
        usleep(100000);
    } while (f.bpf_loading);
    if (f.bpf_loaded) {
        loaded = count_fds(pid);
        ck_assert_int_gt(loaded, idle);
        ck_assert_int_eq(broker_sample_start(b, "cpu", 10000000, &set, &err), 0);
    }
    b = broker_free(b);
    for (int i = 0; i < 200 && count_fds(pid) > idle; i++)
        usleep(10000);
    ck_assert_int_le(count_fds(pid), idle);
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
}
END_TEST

static uint64_t cpu_ns_of(pid_t pid)
{
    struct timespec t;
    clockid_t clock;

    ck_assert_int_eq(clock_getcpuclockid(pid, &clock), 0);
    ck_assert_int_eq(clock_gettime(clock, &t), 0);
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/* Without a free descriptor the second client stays in the socket's queue, and the socket readable.
 * The broker waits, serves its client, and goes on once it has descriptors. */
START_TEST(a_lack_of_descriptors_takes_no_processor_time)
{
    struct error err = ERROR_NULL;
    pid_t pid = start_service();
    struct rlimit were, none;
    struct broker *b = NULL;
    struct broker_facts f;
    uint64_t began_ns;
    int second, status;

    ck_assert_int_eq(broker_new(connect_service(), &b), 0);
    facts_once_loaded(b, &f);
    ck_assert_int_eq(prlimit(pid, RLIMIT_NOFILE, NULL, &were), 0);
    none = (struct rlimit){ .rlim_cur = 4, .rlim_max = were.rlim_max };
    ck_assert_int_eq(prlimit(pid, RLIMIT_NOFILE, &none, NULL), 0);
    second = connect_service();
    began_ns = cpu_ns_of(pid);
    sleep(2);
    ck_assert_uint_lt(cpu_ns_of(pid) - began_ns, 50 * NSEC_PER_MSEC);
    ck_assert_int_eq(broker_facts(b, &f, &err), 0);
    ck_assert_int_eq(recv(second, &status, 1, MSG_DONTWAIT), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(prlimit(pid, RLIMIT_NOFILE, &were, NULL), 0);
    ck_assert(closed_by_peer(second)); /* accepted, and refused as a second one */
    close(second);
    broker_free(b);
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
}
END_TEST

/* systemd starts a service again that ends with an error. */
START_TEST(without_openers_and_nursery_the_service_ends)
{
    pid_t pid = start_service();
    struct broker *b = NULL;

    ck_assert_int_eq(broker_new(connect_service(), &b), 0);
    check_end_without_openers(b, pid);
}
END_TEST

START_TEST(another_user_is_turned_away)
{
    pid_t pid = start_service(), child;
    int status;

    close(connect_service());
    ck_assert_int_eq(chmod(socket_path, 0666), 0); /* the mode lets all in; SO_PEERCRED decides */
    child = fork();
    if (child == 0) {
        int fd;

        if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0)
            _exit(2);
        fd = connect_service();
        _exit(closed_by_peer(fd) ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    kill(pid, SIGTERM);
    waitpid(pid, &status, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("broker_service");
    int skip = can_test_broker();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, fixture_start, fixture_stop);
    tcase_set_timeout(tc, 100);
    tcase_add_test(tc, one_client_at_a_time_and_its_sampling_ends_with_it);
    tcase_add_test(tc, a_client_that_leaves_while_programs_are_loaded);
    tcase_add_test(tc, a_lack_of_descriptors_takes_no_processor_time);
    tcase_add_test(tc, without_openers_and_nursery_the_service_ends);
    tcase_add_test(tc, another_user_is_turned_away);
    return suite_run_case("broker_service", tc);
}
