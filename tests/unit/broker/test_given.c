/* SPDX-License-Identifier: Apache-2.0 */
/* broker/given.c: how many files in memory flamed may have from the broker. */
#include "suite.h"

#include "base/cleanup.h"
#include "broker/given.h"
#include "privileged/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIECE ((size_t)4 << 20)

static struct given given;
static int fds[GIVEN_FILES_MAX];

static void end(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fds[i] = close_fd(fds[i] ? fds[i] : -1);
    given_deinit(&given);
}

/* Makes a file with @n bytes and gives it. Returns the result of given_take(). */
static int give(size_t n, int *ret_fd)
{
    static char bytes[PIECE];
    struct error err = ERROR_NULL;
    int fd = -1, r;

    ck_assert_int_eq(memfd_sealed("given", MEMFD_DATA, bytes, n, &fd), 0);
    r = given_take(&given, &fd, 1, GIVEN_BYTES_MAX, &err);
    ck_assert_int_eq(r == -EDQUOT, err.msg[0] && err.remedy[0]);
    if (r < 0)
        close_fd(fd);
    else
        *ret_fd = fd;
    return r;
}

START_TEST(bytes_have_a_limit)
{
    const size_t most = GIVEN_BYTES_MAX / PIECE;
    int more = -1;
    void *p;

    for (size_t i = 0; i < most; i++)
        ck_assert_int_eq(give(PIECE, &fds[i]), 0);
    ck_assert_uint_eq(given.bytes, GIVEN_BYTES_MAX);
    ck_assert_int_eq(give(1, &more), -EDQUOT);
    p = mmap(NULL, PIECE, PROT_READ, MAP_SHARED, fds[0], 0);
    ck_assert_ptr_ne(p, MAP_FAILED);
    fds[0] = close_fd(fds[0]);
    ck_assert_int_eq(give(PIECE, &more), -EDQUOT); /* flamed has it mapped */
    munmap(p, PIECE);
    ck_assert_int_eq(give(PIECE, &fds[0]), 0);
    ck_assert_int_eq(give(PIECE, &more), -EDQUOT);
    for (size_t i = 0; i < most; i++)
        fds[i] = close_fd(fds[i]);
    given_forget_closed(&given);
    ck_assert(given.bytes == 0 && given.count == 0);
}
END_TEST

START_TEST(files_have_a_limit)
{
    int more = -1;

    for (size_t i = 0; i < GIVEN_FILES_MAX; i++)
        ck_assert_int_eq(give(1, &fds[i]), 0);
    ck_assert_int_eq(give(1, &more), -EDQUOT);
    fds[7] = close_fd(fds[7]);
    ck_assert_int_eq(give(1, &fds[7]), 0);
}
END_TEST

/* What flamed closes at once costs nothing later. */
START_TEST(closed_files_do_not_add_up)
{
    for (size_t i = 0; i < 4 * GIVEN_FILES_MAX; i++) {
        ck_assert_int_eq(give(i % 64 ? 1 : PIECE, &fds[0]), 0);
        fds[0] = close_fd(fds[0]);
        ck_assert_uint_le(given.bytes, 2 * PIECE + GIVEN_FILES_MAX * 4096);
    }
    ck_assert_uint_lt(given.count, 128);
}
END_TEST

START_TEST(it_is_for_reading)
{
    ck_assert_int_eq(give(1, &fds[0]), 0);
    ck_assert_int_eq(fcntl(fds[0], F_GETFL) & O_ACCMODE, O_RDONLY);
    ck_assert_int_eq(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(fcntl(fds[0], F_GET_SEALS) & F_SEAL_WRITE, F_SEAL_WRITE);
}
END_TEST

/* Files that the broker did not make, or that the JVM and flamed write, are given as they are. */
START_TEST(others_do_not_count)
{
    struct error err = ERROR_NULL;
    int other[2] = { memfd_create("stream", MFD_CLOEXEC | MFD_ALLOW_SEALING),
                     open("/proc/self/maps", O_RDONLY | O_CLOEXEC) };

    ck_assert_int_eq(fcntl(other[0], F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL), 0);
    ck_assert_int_eq(given_take(&given, other, ARRAY_SIZE(other), GIVEN_BYTES_MAX, &err), 0);
    ck_assert_uint_eq(given.count, 0);
    ck_assert_int_eq(fcntl(other[0], F_GETFL) & O_ACCMODE, O_RDWR);
    close_fd(other[0]);
    close_fd(other[1]);
}
END_TEST

/* A target's own sealed file, such as the agent of a JVM, is given as it is, as often as flamed
 * asks. The target keeps it open, so it must not use up the limit. */
START_TEST(sealed_files_of_targets_do_not_count)
{
    static char bytes[PIECE];
    struct error err = ERROR_NULL;
    int theirs = -1;

    ck_assert_int_eq(memfd_sealed("flamed-agent", MEMFD_DATA, bytes, PIECE, &theirs), 0);
    for (size_t i = 0; i < GIVEN_FILES_MAX + 1; i++) {
        int fd = memfd_open_again(theirs, O_RDONLY);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(given_take(&given, &fd, 1, GIVEN_BYTES_MAX, &err), 0);
        close_fd(fd);
    }
    given_forget_closed(&given);
    ck_assert(given.count == 0 && given.bytes == 0);
    ck_assert_int_eq(give(PIECE, &fds[0]), 0);
    close_fd(theirs);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("given");

    tcase_add_checked_fixture(tc, NULL, end);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, bytes_have_a_limit);
    tcase_add_test(tc, files_have_a_limit);
    tcase_add_test(tc, closed_files_do_not_add_up);
    tcase_add_test(tc, it_is_for_reading);
    tcase_add_test(tc, others_do_not_count);
    tcase_add_test(tc, sealed_files_of_targets_do_not_count);
    return suite_run_case("given", tc);
}
