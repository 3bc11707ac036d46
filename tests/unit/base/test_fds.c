/* SPDX-License-Identifier: Apache-2.0 */
/* base/fds: which descriptors are closed, on a kernel with close_range() and on two without it.
 * Also the limit of open files. */
#include "base/fds.h"

#include "base/macros.h"

#include "suite.h"

#include <fcntl.h>
#include <seccomp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPEN_MAX_FD 900 /* more than one block of folder entries */

enum kernel {
    KERNEL_OURS,
    KERNEL_WITHOUT_CLOSE_RANGE,
    KERNEL_WITHOUT_PROC, /* either one; /proc is not mounted or not readable */
    KERNELS,
};

/* Makes this process see such a kernel from here on. */
static int become(enum kernel k)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    int r = ctx ? 0 : -ENOMEM;

    if (r == 0 && k >= KERNEL_WITHOUT_CLOSE_RANGE)
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(close_range), 0);
    if (r == 0 && k >= KERNEL_WITHOUT_PROC)
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOENT), SCMP_SYS(openat), 0);
    if (r == 0 && k != KERNEL_OURS)
        r = seccomp_load(ctx);
    seccomp_release(ctx);
    return r;
}

static bool is_open(unsigned fd)
{
    return fcntl((int)fd, F_GETFD) >= 0;
}

/* Opens every second number. Only those of the range must be closed. Returns the exit status. */
static int try_range(enum kernel k, unsigned first, unsigned last)
{
    static bool before[OPEN_MAX_FD + 1];
    const struct rlimit limit = { OPEN_MAX_FD + 1, OPEN_MAX_FD + 1 };

    for (int fd = 10; fd <= OPEN_MAX_FD; fd += 2)
        dup2(2, fd);
    setrlimit(RLIMIT_NOFILE, &limit);
    for (unsigned fd = 0; fd <= OPEN_MAX_FD; fd++)
        before[fd] = is_open(fd);
    if (become(k) < 0)
        return 2;
    errno = EXDEV;
    fds_close(first, last);
    if (errno != EXDEV)
        return 3;
    for (unsigned fd = 0; fd <= OPEN_MAX_FD; fd++) {
        bool expected = before[fd] && (fd < first || fd > last);

        if (is_open(fd) != expected)
            return 4;
    }
    return 0;
}

static const struct {
    unsigned first, last;
} RANGES[] = {
    { 0, 2 },     { 3, ~0u },   { 0, ~0u },   { 100, 800 },      { 120, 140 }, { 121, 121 },
    { 899, 900 }, { 900, 901 }, { 140, 120 }, { 1u << 30, ~0u }, { 11, 200 },
};

START_TEST(a_range_is_closed_and_nothing_else)
{
    for (enum kernel k = 0; k < KERNELS; k++) {
        pid_t pid = fork();
        int status;

        if (pid == 0)
            _exit(try_range(k, RANGES[_i].first, RANGES[_i].last));
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        ck_assert_msg(status == 0, "kernel %d: status 0x%x", (int)k, status);
    }
}
END_TEST

static const struct {
    uint64_t soft, hard, wanted, expected;
} LIMITS[] = {
    { 256, 512, 400, 400 }, /* raised as far as requested */
    { 256, 512, 900, 512 }, /* raised to the hard limit only */
    { 256, 512, 100, 256 }, /* never lowered */
    { 512, 512, 900, 512 },
};

static int try_limit(size_t row)
{
    struct rlimit limit = { LIMITS[row].soft, LIMITS[row].hard };

    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 2;
    if (fds_raise_limit(LIMITS[row].wanted) != LIMITS[row].expected)
        return 3;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur != LIMITS[row].expected)
        return 4;
    return limit.rlim_max == LIMITS[row].hard ? 0 : 5;
}

START_TEST(the_limit_goes_up_and_never_down)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        _exit(try_limit((size_t)_i));
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(status == 0, "status 0x%x", status);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("fds");

    tcase_add_loop_test(tc, a_range_is_closed_and_nothing_else, 0, ARRAY_SIZE(RANGES));
    tcase_add_loop_test(tc, the_limit_goes_up_and_never_down, 0, ARRAY_SIZE(LIMITS));
    return suite_run_case("fds", tc);
}
