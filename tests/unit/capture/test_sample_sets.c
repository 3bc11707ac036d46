/* SPDX-License-Identifier: Apache-2.0 */
/* capture/sample_sets.c: whether the kernel drops samples because of its limit. */
#include "suite.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "capture/sample_sets.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *setting; /* NULL: no such file */
    uint64_t period_ns, dropped_above_hz;
} CASES[] = {
    { "100000\n", NSEC_PER_SEC / 9999, 0 },
    { "9999\n", NSEC_PER_SEC / 9999, 9999 }, /* whole nanoseconds make the period a bit shorter */
    { "10000\n", NSEC_PER_SEC / 9999, 0 },
    { "1000\n", NSEC_PER_SEC / 1000, 0 },
    { "999\n", NSEC_PER_SEC / 1000, 999 },
    { "250\n", NSEC_PER_SEC / 99, 0 },
    { "50\n", NSEC_PER_SEC / 99, 50 },
    { "1\n", 100 * NSEC_PER_SEC, 0 },
    { "nonsense\n", NSEC_PER_SEC / 9999, 0 },
    { "", NSEC_PER_SEC / 9999, 0 },
    { NULL, NSEC_PER_SEC / 9999, 0 },
};

START_TEST(tells_when_samples_are_dropped)
{
    char folder[] = "/tmp/flamed-test-XXXXXX", path[96];
    uint64_t allowed_hz = 0;
    bool dropped;
    int proc_fd, fd;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    proc_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(mkdirat(proc_fd, "sys", 0700), 0);
    ck_assert_int_eq(mkdirat(proc_fd, "sys/kernel", 0700), 0);
    snprintf(path, sizeof(path), "%s/sys/kernel/perf_event_max_sample_rate", folder);
    if (CASES[_i].setting) {
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ck_assert_int_eq(write(fd, CASES[_i].setting, strlen(CASES[_i].setting)),
                         (ssize_t)strlen(CASES[_i].setting));
        close(fd);
    }
    dropped = sample_sets_dropped(proc_fd, CASES[_i].period_ns, &allowed_hz);
    unlink(path);
    unlinkat(proc_fd, "sys/kernel", AT_REMOVEDIR);
    unlinkat(proc_fd, "sys", AT_REMOVEDIR);
    close(proc_fd);
    rmdir(folder);
    ck_assert_int_eq(dropped, CASES[_i].dropped_above_hz != 0);
    ck_assert_uint_eq(allowed_hz, CASES[_i].dropped_above_hz);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("sample_sets");

    tcase_add_loop_test(tc, tells_when_samples_are_dropped, 0, ARRAY_SIZE(CASES));
    return suite_run_case("sample_sets", tc);
}
