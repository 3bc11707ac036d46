/* SPDX-License-Identifier: Apache-2.0 */
/* stall_exit: what the daemon does about an engine that is stalled, before systemd does. */
#include "stall_exit.h"

#include "suite.h"

#include "engine/mailbox.h"
#include "proc/looking.h"
#include "quarantine/quarantine.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOKS_MAX 1000
#define LATE_S 5 /* more than the looks are late on a loaded machine */

/* Returns the seconds after which systemd ends flamed: WatchdogSec= of its unit. */
static unsigned watchdog_s(void)
{
    FILE *f = fopen(FLAMED_TEST_DATA "/../../systemd/flamed.service", "re");
    unsigned seconds = 0;
    char line[512];

    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof(line), f))
        sscanf(line, "WatchdogSec=%us", &seconds);
    fclose(f);
    return seconds;
}

/* Both count from the last WATCHDOG=1, so systemd's time must be the longer. */
START_TEST(a_stall_is_noted_before_systemd_ends_flamed)
{
    unsigned *looks =
        mmap(NULL, sizeof(*looks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct stall_exit st = { .notify_fd = -1 };
    struct proc_id id = { .host_pid = getpid() };
    struct quarantine q;
    int status;
    pid_t pid;

    ck_assert_ptr_ne(looks, MAP_FAILED);
    st.notes_fd = memfd_create("notes", MFD_CLOEXEC);
    ck_assert_int_ge(st.notes_fd, 0);
    pid = fork();
    if (pid == 0) {
        looking_begin(LOOKING_JVM, &id, /* jvm= */ true);
        while (++*looks < LOOKS_MAX)
            stall_exit_look(&st, MAILBOX_STALLED_NS / NSEC_PER_SEC + *looks);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(WEXITSTATUS(status), 1);
    ck_assert_uint_ge(*looks, 10); /* a busy machine is no stall */
    ck_assert_uint_lt(*looks + LATE_S, watchdog_s());
    quarantine_load(st.notes_fd, -1, &q);
    ck_assert_uint_eq(q.count, 1);
    ck_assert_int_eq(q.list[0].id.host_pid, id.host_pid);
    munmap(looks, sizeof(*looks));
    close(st.notes_fd);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("stall_exit");

    tcase_add_test(tc, a_stall_is_noted_before_systemd_ends_flamed);
    return suite_run_case("stall_exit", tc);
}
