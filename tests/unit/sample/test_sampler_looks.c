/* SPDX-License-Identifier: Apache-2.0 */
/* The passes over threads, on the running kernel: how many may be open. Needs root. */
#include "suite.h"

#include "base/cleanup.h"
#include "sample/program.h"
#include "sample/sampler_looks.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct sampler_looks *looks;
static struct error err;
static int fds[2 * SAMPLER_LOOKS_MAX];

static void load(void)
{
    struct rlimit files = { 2 * ARRAY_SIZE(fds), 2 * ARRAY_SIZE(fds) };
    struct sampler_shared shared = SAMPLER_SHARED_NONE;
    void *loaded = NULL;
    struct stat st;

    err = ERROR_NULL;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
    ck_assert_int_eq(stat("/proc/self/ns/pid", &st), 0);
    shared.pid_ns_inum = (uint32_t)st.st_ino;
    ck_assert_msg(sampler_program_looks.load(&shared, &loaded, &err) == 0, "%s", err.msg);
    looks = loaded;
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

/* Performs the pass @fd. Returns the number of this process's threads in it. */
static size_t perform(int fd)
{
    static uint8_t bytes[64 << 10];
    size_t n = 0, found = 0;
    ssize_t r;

    while ((r = read(fd, bytes + n, sizeof(bytes) - n)) > 0)
        n += (size_t)r;
    ck_assert_int_eq(r, 0);
    for (size_t i = 0; i + sizeof(struct looks_entry) <= n;) {
        struct looks_entry entry;

        memcpy(&entry, bytes + i, sizeof(entry));
        found += entry.host_pid == (uint32_t)getpid();
        i += sizeof(entry) + entry.bytes;
    }
    return found;
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
    int fd = -1;

    open_all();
    ck_assert_int_eq(open_pass(&fd), -EDQUOT);
    ck_assert_ptr_nonnull(strstr(err.msg, "keeps passes"));
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
    tcase_add_test(tc, passes_that_are_closed_have_no_limit);
    tcase_add_test(tc, open_passes_have_a_limit);
    return suite_run_case("sampler_looks", tc);
}
