/* SPDX-License-Identifier: Apache-2.0 */
/* The passes over threads, on the running kernel: what they visit, and how many may be open. Needs
 * root. */
#include "suite.h"

#include "base/cleanup.h"
#include "ready_child.h"
#include "sample/program.h"
#include "sample/sampler_looks.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct sampler_looks *looks;
static struct error err;
static int fds[2 * SAMPLER_LOOKS_MAX];

/* Loads the program for the numbers of the pid namespace @ns. */
static void load_for(const char *ns)
{
    struct sampler_shared shared = SAMPLER_SHARED_NONE;
    void *loaded = NULL;
    struct stat st;

    err = ERROR_NULL;
    ck_assert_int_eq(stat(ns, &st), 0);
    shared.pid_ns_inum = (uint32_t)st.st_ino;
    ck_assert_msg(sampler_program_looks.load(&shared, &loaded, &err) == 0, "%s", err.msg);
    looks = loaded;
}

static void load(void)
{
    struct rlimit files = { 2 * ARRAY_SIZE(fds), 2 * ARRAY_SIZE(fds) };

    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    load_for("/proc/self/ns/pid");
    ck_assert_int_eq(sampler_looks_process(looks, getpid(), 1), 0);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = -1;
}

static void unload(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = close_fd(fds[i]);
    sampler_program_looks.free(looks);
}

static int open_pass(int *ret_fd)
{
    struct looks_pass pass = { .share = LOOKS_SHARE_ALL, .parts = 1 };

    err = ERROR_NULL;
    return sampler_looks_open(looks, &pass, ret_fd, &err);
}

static uint8_t bytes[64 << 10]; /* [bytes_count]: what the last pass wrote */
static size_t bytes_count;

static void perform_pass(int fd)
{
    ssize_t r;

    bytes_count = 0;
    while ((r = read(fd, bytes + bytes_count, sizeof(bytes) - bytes_count)) > 0)
        bytes_count += (size_t)r;
    ck_assert_int_eq(r, 0);
}

/* Returns the number of threads of the process @pid in the pass. *ret: the entry of the last one.
 */
static size_t find(pid_t pid, struct looks_entry *ret)
{
    size_t found = 0;

    for (size_t i = 0; i + sizeof(struct looks_entry) <= bytes_count;) {
        struct looks_entry entry;

        memcpy(&entry, bytes + i, sizeof(entry));
        if (entry.host_pid == (uint32_t)pid) {
            *ret = entry;
            found++;
        }
        i += sizeof(entry) + entry.bytes;
    }
    return found;
}

static size_t perform(int fd)
{
    struct looks_entry entry;

    perform_pass(fd);
    return find(getpid(), &entry);
}

/* Makes a whole pass. Returns what it found of the process @pid, with one thread. -1: not visited.
 */
static int look_at(pid_t pid, const struct looks_pass *pass)
{
    struct looks_entry entry = { 0 };
    int fd = -1;
    size_t n;

    ck_assert_msg(sampler_looks_open(looks, pass, &fd, &err) == 0, "%s", err.msg);
    perform_pass(fd);
    close(fd);
    n = find(pid, &entry);
    ck_assert_uint_le(n, 1);
    ck_assert_int_eq(n && entry.found == LOOKS_PLACE, entry.bytes > 0);
    return n ? entry.found : -1;
}

static void wait_only(int ready, int fd)
{
    (void)fd;
    say_ready(ready);
}

/* Makes a process with the number 2 in a pid namespace of its own. */
static void wait_in_namespace(int ready, int fd)
{
    (void)fd;
    if (unshare(CLONE_NEWPID) < 0)
        _exit(1);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (fork() == 0)
            say_ready(ready);
        pause();
    }
}

/* Opens all passes that may be open, and keeps them. */
static void open_all(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        ck_assert_msg(open_pass(&fds[i]) == 0, "%zu: %s", i, err.msg);
}

static void close_some(size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++)
        fds[i] = close_fd(fds[i]);
}

/* A pass is made with the parameters and processes that were chosen before it, not with those of
 * the pass before. */
START_TEST(a_pass_has_its_own_parameters)
{
    const struct looks_pass all = { .share = LOOKS_SHARE_ALL, .walks = 1, .parts = 1 },
                            none = { .share = LOOKS_SHARE_ALL, .parts = 1 },
                            few = { .walks = 1, .parts = 1 };
    pid_t pid = start_holder(wait_only, -1);
    const struct looks_pass part = { .parts = 2, .part = (uint32_t)pid % 2 },
                            other = { .parts = 2, .part = (uint32_t)(pid + 1) % 2 };
    uint32_t epoch = 0;

    do
        ck_assert_int_eq(sampler_looks_process(looks, pid, ++epoch), 0);
    while (look_at(pid, &all) != LOOKS_PLACE && epoch < 1000); /* until it waits */
    ck_assert_int_eq(look_at(pid, &all), LOOKS_SAME);
    ck_assert_int_eq(sampler_looks_process(looks, pid, ++epoch), 0);
    ck_assert_int_eq(look_at(pid, &none), LOOKS_LEFT);
    ck_assert_int_eq(look_at(pid, &few), LOOKS_PASSED);
    ck_assert_int_eq(look_at(pid, &other), -1);
    ck_assert_int_eq(look_at(pid, &part), LOOKS_LEFT);
    usleep(LOOKS_PASS_NS / 1000 * 3 / 2); /* longer than a pass may walk */
    ck_assert_int_eq(look_at(pid, &all), LOOKS_PLACE);
    ck_assert_int_eq(look_at(pid, &all), LOOKS_SAME);
    ck_assert_int_eq(sampler_looks_process(looks, pid, 0), 0);
    ck_assert_int_eq(look_at(pid, &all), -1);
    ck_assert_int_eq(sampler_looks_process(looks, pid, 0), 0);
    ck_assert_int_eq(sampler_looks_process(looks, 0, 1), -EINVAL);
    ck_assert_int_eq(sampler_looks_process(looks, -1, 1), -EINVAL);
    end_child(pid);
}
END_TEST

/* Of two processes that wait, a pass with one walk walks one. */
START_TEST(a_pass_has_a_limit_of_walks)
{
    const struct looks_pass one = { .share = LOOKS_SHARE_ALL, .walks = 1, .parts = 1 };
    const pid_t pids[] = { start_holder(wait_only, -1), start_holder(wait_only, -1) };
    uint32_t epoch = 0;
    int found[2];

    do {
        struct looks_entry entry = { 0 };
        int fd = -1;

        epoch++;
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(sampler_looks_process(looks, pids[i], epoch), 0);
        ck_assert_msg(sampler_looks_open(looks, &one, &fd, &err) == 0, "%s", err.msg);
        perform_pass(fd);
        close(fd);
        for (int i = 0; i < 2; i++) {
            ck_assert_uint_eq(find(pids[i], &entry), 1);
            found[i] = entry.found;
        }
    } while ((found[0] == LOOKS_RUNS || found[1] == LOOKS_RUNS) && epoch < 1000);
    ck_assert_int_eq(MIN(found[0], found[1]), LOOKS_PLACE);
    ck_assert_int_eq(MAX(found[0], found[1]), LOOKS_LEFT);
    end_child(pids[0]);
    end_child(pids[1]);
}
END_TEST

/* Outside of that namespace, number 2 is a thread of the kernel, or another process. */
START_TEST(numbers_are_those_of_the_namespace)
{
    const struct looks_pass all = { .share = LOOKS_SHARE_ALL, .walks = 1, .parts = 1 };
    pid_t pid = start_holder(wait_in_namespace, -1);
    char path[64];

    sampler_program_looks.free(looks);
    snprintf(path, sizeof(path), "/proc/%d/ns/pid_for_children", pid);
    load_for(path);
    ck_assert_int_eq(sampler_looks_process(looks, 2, 1), 0);
    ck_assert_int_ge(look_at(2, &all), 0);
    ck_assert_int_eq(sampler_looks_process(looks, 2, 0), 0);
    ck_assert_int_eq(sampler_looks_process(looks, pid, 1), 0);
    ck_assert_int_eq(look_at(pid, &all), -1);
    end_child(pid);
}
END_TEST

START_TEST(passes_that_are_closed_have_no_limit)
{
    for (int i = 0; i < 5 * SAMPLER_LOOKS_MAX / 2; i++) {
        ck_assert_msg(open_pass(&fds[0]) == 0, "%d: %s", i, err.msg);
        if (i % 100 == 0)
            ck_assert_uint_eq(perform(fds[0]), 1);
        fds[0] = close_fd(fds[0]);
    }
}
END_TEST

START_TEST(open_passes_have_a_limit)
{
    struct rlimit were, none;
    int fd = -1;

    open_all();
    ck_assert_int_eq(open_pass(&fd), -EDQUOT);
    ck_assert_ptr_nonnull(strstr(err.msg, "keeps passes"));
    ck_assert_ptr_nonnull(strstr(err.remedy, "restart flamed"));
    /* without a descriptor the broker cannot see whether the first ones are closed */
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &were), 0);
    none = (struct rlimit){ .rlim_cur = 0, .rlim_max = were.rlim_max };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(open_pass(&fd), -EDQUOT);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &were), 0);
    /* all but one of the first ones */
    close_some(0, SAMPLER_LOOKS_MAX - 1);
    ck_assert_int_eq(open_pass(&fd), -EDQUOT);
    close_some(SAMPLER_LOOKS_MAX - 1, 1);
    ck_assert_msg(open_pass(&fd) == 0, "%s", err.msg);
    ck_assert_uint_eq(perform(fd), 1);
    close_fd(fd);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("sampler_looks");

    if (geteuid() != 0) {
        puts("skipped: needs root");
        return 77;
    }
    if (!sampler_looks_iterate()) {
        puts("skipped: this kernel has no BPF iterators over threads");
        return 77;
    }
    tcase_add_checked_fixture(tc, load, unload);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_pass_has_its_own_parameters);
    tcase_add_test(tc, a_pass_has_a_limit_of_walks);
    tcase_add_test(tc, numbers_are_those_of_the_namespace);
    tcase_add_test(tc, passes_that_are_closed_have_no_limit);
    tcase_add_test(tc, open_passes_have_a_limit);
    return suite_run_case("sampler_looks", tc);
}
