/* SPDX-License-Identifier: Apache-2.0 */
/* kill -9 at any moment of a write or a roll-up: each finished minute is stored once, and
 * completely, also on a tmpfs that is full at times. */
#include "suite.h"

/* Check notes each passed assertion in a file, which a killed child would leave broken. */
#undef _mark_point
#define _mark_point(file, line) ((void)0)

#include "history_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

#define KILLS 200
#define KILL_LATEST_US 30000
#define MAX_AGE_S (30u * 86400) /* a fast machine writes over a day of minutes */
#define FINE_MINUTES 60u        /* these last ones are also read minute by minute */

static const struct made_jvm JVMS[] = { { 42, 1000, "shop", "work", 40, NULL },
                                        { 43, 1001, "cart", "other", 20, NULL } };
#define CPU_A_MINUTE (2 * (20 + 10))

/* What a writer shares with its killer. */
struct progress {
    _Atomic unsigned put; /* minutes reported as written */
    atomic_bool opened;
};

/* Puts minute after minute, and rolls up after each, until it is killed. */
static _Noreturn void child(struct progress *shared)
{
    struct history *h = open_history(1 << 30, MAX_AGE_S);

    atomic_store(&shared->opened, true);
    for (;;) {
        unsigned minute = atomic_load(&shared->put);

        if (put_minute(h, T0 + minute * HISTORY_MINUTE_NS, JVMS, ARRAY_SIZE(JVMS)) == 0)
            atomic_store(&shared->put, minute + 1);
        history_roll(h, T0 + (minute + 1) * HISTORY_MINUTE_NS, NULL);
    }
}

/* Fills the disk, or frees what filled it. */
static void fill(bool full)
{
    static const char BLOCK[4096];
    char path[sizeof(db_path)];
    int fd;

    snprintf(path, sizeof(path), "%s/fill", dir);
    if (!full) {
        unlink(path);
        return;
    }
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    while (write(fd, BLOCK, sizeof(BLOCK)) > 0)
        ;
    close(fd);
}

/* Checks what is stored: the @done minutes that were reported as written, and at most one more,
 * each with all its samples. Returns the number of stored minutes. */
static unsigned check(unsigned done)
{
    unsigned first = done - MIN(done, FINE_MINUTES), written;
    struct read_sums all = { 0 }, last = { 0 };
    struct history *h = open_history(1 << 30, MAX_AGE_S);

    read_range(h, 0, UINT64_MAX, 0, &all);
    read_range(h, T0 + first * HISTORY_MINUTE_NS, UINT64_MAX, HISTORY_MINUTE_NS, &last);
    history_close(h);
    written = (unsigned)(all.count[0] / CPU_A_MINUTE);
    ck_assert(written == done || written == done + 1);
    ck_assert_uint_eq(all.count[0], (uint64_t)written * CPU_A_MINUTE);
    ck_assert_uint_eq(last.count[0], (uint64_t)(written - first) * CPU_A_MINUTE);
    if (written > first)
        ck_assert_uint_eq(last.value[1] / (written - first), all.value[1] / written);
    return written;
}

/* Kills a writer @kills times. @fills: the disk is full in the first half of its time, in the
 * second, in all of it, or never, in turn. */
static void kill_writers(int kills, bool fills)
{
    struct progress *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned random = 12345;

    ck_assert_ptr_ne(shared, MAP_FAILED);
    for (int i = 0; i < kills; i++) {
        unsigned us;
        pid_t pid;

        fill(fills && i % 2);
        atomic_store(&shared->opened, false);
        pid = fork();
        if (pid == 0)
            child(shared);
        while (!atomic_load(&shared->opened)) {
            ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0); /* else its assertion failed */
            usleep(1000);
        }
        random = random * 1103515245u + 12345u;
        us = random / 7 % KILL_LATEST_US;
        usleep(us / 2);
        fill(fills && i % 4 > 1);
        usleep(us / 2);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        fill(false);
        atomic_store(&shared->put, check(atomic_load(&shared->put)));
    }
    ck_assert_uint_gt(atomic_load(&shared->put), (unsigned)kills / 20); /* some had time to write */
    munmap(shared, sizeof(*shared));
}

START_TEST(test_kill_at_any_moment)
{
    kill_writers(KILLS, /* fills= */ false);
}
END_TEST

START_TEST(test_kill_on_a_full_tmpfs)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", dir, "tmpfs", 0, "size=8m") < 0) {
        puts("skipped: a full tmpfs needs the right to mount");
        return;
    }
    kill_writers(KILLS / 2, /* fills= */ true);
    ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("history_kill");

    tcase_add_test(tc, test_kill_at_any_moment);
    tcase_add_test(tc, test_kill_on_a_full_tmpfs);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 280); /* most of it waits for the disk */
    return suite_run_case("history_kill", tc);
}
