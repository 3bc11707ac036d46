/* SPDX-License-Identifier: Apache-2.0 */
/* kill -9 at any moment of a write or a roll-up: each finished minute is stored once, and
 * completely. */
#include "history_fixture.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define KILLS 200
#define KILL_LATEST_US 30000

static const struct made_jvm JVMS[] = { { 42, 1000, "shop", "work", 40, NULL },
                                        { 43, 1001, "cart", "other", 20, NULL } };
#define CPU_A_MINUTE (2 * (20 + 10))

/* Puts minute after minute, and rolls up after each, until it is killed. */
static _Noreturn void child(_Atomic unsigned *put)
{
    struct history *h = open_history(1 << 30, 86400);

    for (;;) {
        unsigned minute = atomic_load(put);

        if (put_minute(h, T0 + minute * HISTORY_MINUTE_NS, JVMS, ARRAY_SIZE(JVMS)) == 0)
            atomic_store(put, minute + 1);
        history_roll(h, T0 + (minute + 1) * HISTORY_MINUTE_NS, NULL);
    }
}

START_TEST(test_kill_at_any_moment)
{
    _Atomic unsigned *put =
        mmap(NULL, sizeof(*put), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned random = 12345, before = 0;

    ck_assert_ptr_ne(put, MAP_FAILED);
    for (int i = 0; i < KILLS; i++) {
        struct read_sums fine = { 0 }, coarse = { 0 };
        struct history *h;
        unsigned done, written;
        pid_t pid = fork();

        if (pid == 0)
            child(put);
        random = random * 1103515245u + 12345u;
        usleep(random / 7 % KILL_LATEST_US);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
        h = open_history(1 << 30, 86400);
        read_range(h, 0, UINT64_MAX, HISTORY_MINUTE_NS, &fine);
        read_range(h, 0, UINT64_MAX, 0, &coarse);
        history_close(h);
        done = atomic_load(put);
        written = (unsigned)(fine.count[0] / CPU_A_MINUTE);
        /* whole minutes; the unfinished one may be missing */
        ck_assert_uint_eq(fine.count[0] % CPU_A_MINUTE, 0);
        ck_assert(written == done || written == done + 1);
        ck_assert_uint_eq(coarse.count[0], fine.count[0]);
        ck_assert_uint_eq(coarse.value[1], fine.value[1]);
        ck_assert_uint_ge(written, before);
        before = written;
        atomic_store(put, written);
    }
    munmap(put, sizeof(*put));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("history_kill");

    tcase_add_test(tc, test_kill_at_any_moment);
    return run_store_tests("history_kill", tc);
}
