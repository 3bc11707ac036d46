/* SPDX-License-Identifier: Apache-2.0 */
/* broker: whether a process runs the code of its file at the place of a probe. */
#include "suite.h"

#include "base/cleanup.h"
#include "broker/mapped.h"
#include "broker/opener_looks.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define PLACE (PAGE + 4)  /* in the file; page 1 of it is mapped */
#define NO_OP (PAGE + 80) /* a no-op of 5 bytes */

static struct server server;
static int file;

static void fixture_open(void)
{
    struct error err = ERROR_NULL;
    uint8_t code[3 * PAGE];

    ck_assert_int_eq(server_init(&server, /* client= */ 0, &err), 0);
    file =
        open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); /* a look wants no file in memory */
    memset(code, 0x90, sizeof(code));
    memcpy(code + NO_OP, "\x0f\x1f\x44\x00\x00", 5);
    ck_assert_int_eq(pwrite(file, code, sizeof(code), 0), sizeof(code));
}

static void fixture_shut(void)
{
    close(file);
    server_deinit(&server);
}

enum change {
    NONE,
    BYTE_BEFORE,
    BYTE_BEHIND,
    BREAKPOINT_THERE,
    CALLS,      /* at the no-op, like the three that follow */
    BREAKPOINT, /* on the way to a call */
    JUMPS,
    RETURNS,
    CUT,
    UNMAPPED,
    WRITABLE
};

static void change_no_op(uint8_t *code, enum change change)
{
    static const uint8_t FIRST[] = { [CALLS] = 0xe8, [BREAKPOINT] = 0xcc, [JUMPS] = 0xe9 };

    if (change < CALLS || change > RETURNS)
        return;
    mprotect(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    memset(code + NO_OP - PAGE, 0x11, 5);
    code[NO_OP - PAGE] = change == RETURNS ? 0xc3 : FIRST[change];
    mprotect(code, PAGE, PROT_READ | PROT_EXEC);
}

static void change_code(uint8_t *code, enum change change)
{
    if (change == CUT && ftruncate(file, PAGE) < 0)
        _exit(1);
    if (change == UNMAPPED)
        munmap(code, PAGE);
    change_no_op(code, change);
    if (change != BYTE_BEFORE && change != BYTE_BEHIND && change != BREAKPOINT_THERE &&
        change != WRITABLE)
        return;
    mprotect(code, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    if (change == BYTE_BEFORE)
        code[PLACE - PAGE - 1] = 0xc3;
    if (change == BYTE_BEHIND)
        code[PLACE - PAGE + 1] = 0xc3;
    if (change == BREAKPOINT_THERE)
        code[PLACE - PAGE] = 0xcc;
    if (change != WRITABLE)
        mprotect(code, PAGE, PROT_READ | PROT_EXEC);
}

/* Starts a process that maps page 1 of the file to execute, and changes that code. Its parent has
 * the same mapping before. */
static pid_t start_process(uint8_t *code, enum change change)
{
    int ready[2];
    char c;
    pid_t pid;

    ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        change_code(code, change);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

/* Returns the answer for a process that changed its code like this, at @offset of the file; or,
 * with
 * @places, that of a look at both of them. */
static int check(enum change change, uint64_t offset, const uint64_t places[2])
{
    void *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, PAGE);
    pid_t pid = start_process(code, change);
    struct mapping_fields q = { .target.host_pid = pid,
                                .start = (uintptr_t)code,
                                .end = (uintptr_t)code + PAGE };
    _cleanup_target_ struct target t = TARGET_NULL;
    struct error err = ERROR_NULL;
    int r;

    ck_assert_ptr_ne(code, MAP_FAILED);
    ck_assert_int_eq(proc_read_start(server.proc_fd, pid, &q.target.start_ticks), 0);
    ck_assert_int_eq(target_pin(&server, &q.target, &t, &err), 0);
    r = places ? opener_look_at_code(&server, &q, /* libjvm= */ false, file, places, 2, &err)
               : mapped_check_code(&t, &q, file, offset, &err);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    munmap(code, PAGE);
    ck_assert(r >= 0 || err.msg[0]);
    return r;
}

static int check_code(enum change change, uint64_t offset)
{
    return check(change, offset, NULL);
}

/* No place hides the next one. */
START_TEST(a_look_is_at_all_places)
{
    ck_assert_int_eq(check(NONE, 0, (const uint64_t[]){ PLACE, PLACE + 8 }), 0);
    ck_assert_int_eq(check(BYTE_BEHIND, 0, (const uint64_t[]){ PAGE + 64, PLACE }), -EPERM);
    ck_assert_int_eq(check(BYTE_BEHIND, 0, (const uint64_t[]){ 0, PLACE }), -EINVAL);
}
END_TEST

START_TEST(code_of_the_file_may_have_a_probe)
{
    ck_assert_int_eq(check_code(NONE, PLACE), 0);
    ck_assert_int_eq(check_code(NONE, PAGE), 0);
    ck_assert_int_eq(check_code(NONE, 2 * PAGE - 1), 0);
    ck_assert_int_eq(check_code(BREAKPOINT_THERE, PLACE), 0); /* the breakpoint of another probe */
}
END_TEST

/* Of a no-op the kernel makes a call, and no other tool's code passes for that. */
START_TEST(a_no_op_has_a_probe_or_nothing)
{
    ck_assert_int_eq(check_code(NONE, NO_OP), 0);
    ck_assert_int_eq(check_code(CALLS, NO_OP), 0);
    ck_assert_int_eq(check_code(CALLS, NO_OP + 5), 0);
    ck_assert_int_eq(check_code(BREAKPOINT, NO_OP), 0);
    ck_assert_int_eq(check_code(JUMPS, NO_OP), -EPERM);
    ck_assert_int_eq(check_code(RETURNS, NO_OP + 5), -EPERM);
}
END_TEST

START_TEST(patched_code_is_refused_at_the_begin_of_a_mapping)
{
    ck_assert_int_eq(check_code(BYTE_BEFORE, PLACE), -EPERM);
    ck_assert_int_eq(check_code(BYTE_BEHIND, PLACE), -EPERM);
    ck_assert_int_eq(check_code(BYTE_BEHIND, PAGE + 16 + 4), -EPERM);
    ck_assert_int_eq(check_code(WRITABLE, PLACE), -EPERM);
}
END_TEST

START_TEST(what_cannot_be_read_is_refused)
{
    ck_assert_int_lt(check_code(UNMAPPED, PLACE), 0);
    ck_assert_int_lt(check_code(NONE, 2 * PAGE + 4), 0); /* of a mapping that does not exist */
    ck_assert_int_eq(check_code(CUT, PLACE), -EPERM);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("mapped_code");

    tcase_add_checked_fixture(tc, fixture_open, fixture_shut);
    tcase_add_test(tc, a_look_is_at_all_places);
    tcase_add_test(tc, code_of_the_file_may_have_a_probe);
    tcase_add_test(tc, a_no_op_has_a_probe_or_nothing);
    tcase_add_test(tc, patched_code_is_refused_at_the_begin_of_a_mapping);
    tcase_add_test(tc, what_cannot_be_read_is_refused);
    return suite_run_case("mapped_code", tc);
}
