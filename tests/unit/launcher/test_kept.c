/* SPDX-License-Identifier: Apache-2.0 */
/* launcher/kept.c: processes that outlive their attach, by owner. */
#include "suite.h"

#include "launcher/kept.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct kept kept;

/* Makes a process group without its leader, which has ended and is not reaped. */
static pid_t make_group(pid_t *ret_member)
{
    pid_t group = fork();
    siginfo_t info;

    if (group == 0) {
        setpgid(0, 0);
        for (;;)
            pause();
    }
    setpgid(group, group);
    *ret_member = fork();
    if (*ret_member == 0)
        _exit(0);
    setpgid(*ret_member, group);
    kill(group, SIGKILL);
    waitpid(group, NULL, 0);
    ck_assert_int_eq(waitid(P_PID, (id_t)*ret_member, &info, WEXITED | WNOWAIT), 0);
    return group;
}

START_TEST(who_keeps_two_is_refused_until_one_is_gone)
{
    pid_t member[3], group[3];

    for (int i = 0; i < 3; i++)
        group[i] = make_group(&member[i]);
    ck_assert(!kept_too_many(&kept, 1));
    kept_note(&kept, 1, group[0]);
    kept_note(&kept, 2, group[1]);
    ck_assert(!kept_too_many(&kept, 1));
    kept_note(&kept, 1, group[2]);
    ck_assert(kept_too_many(&kept, 1));
    ck_assert(!kept_too_many(&kept, 2));
    waitpid(member[0], NULL, 0);
    ck_assert(!kept_too_many(&kept, 1));
    kept_note(&kept, 1, group[0]); /* the group is empty */
    ck_assert(!kept_too_many(&kept, 1));
    waitpid(member[1], NULL, 0);
    waitpid(member[2], NULL, 0);
    ck_assert(!kept_too_many(&kept, 1) && !kept_too_many(&kept, 2));
    ck_assert_uint_eq(kept.count, 0);
}
END_TEST

/* A mounter that a file system holds: only the launcher can reap it. */
START_TEST(a_child_is_waited_for)
{
    pid_t child[2];

    for (int i = 0; i < 2; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            setpgid(0, 0);
            for (;;)
                pause();
        }
        setpgid(child[i], child[i]);
        kept_note(&kept, 1, child[i]);
    }
    ck_assert(kept_too_many(&kept, 1));
    for (int i = 0; i < 2; i++) {
        siginfo_t info;

        kill(child[i], SIGKILL);
        ck_assert_int_eq(waitid(P_PID, (id_t)child[i], &info, WEXITED | WNOWAIT), 0);
    }
    ck_assert(!kept_too_many(&kept, 1));
    ck_assert_uint_eq(kept.count, 0);
    ck_assert_int_lt(waitpid(-1, NULL, WNOHANG), 0);
}
END_TEST

START_TEST(the_oldest_is_forgotten)
{
    pid_t member, group = make_group(&member);

    kept_note(&kept, 1, group);
    kept_note(&kept, 1, group);
    for (uint64_t i = 0; i < KEPT_MAX - 2; i++)
        kept_note(&kept, 100 + i, group);
    ck_assert(kept_too_many(&kept, 1));
    kept_note(&kept, 99, group);
    ck_assert_uint_eq(kept.count, KEPT_MAX);
    ck_assert(!kept_too_many(&kept, 1));
    waitpid(member, NULL, 0);
    kept.count = 0;
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("kept");

    tcase_add_test(tc, who_keeps_two_is_refused_until_one_is_gone);
    tcase_add_test(tc, a_child_is_waited_for);
    tcase_add_test(tc, the_oldest_is_forgotten);
    return suite_run_case("kept", tc);
}
