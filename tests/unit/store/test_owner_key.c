/* SPDX-License-Identifier: Apache-2.0 */
/* store/owner_key.c: owners keep their numbers over restarts of flamed. */
#include "suite.h"

#include "base/cleanup.h"
#include "store/folder.h"
#include "store/owner_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_FILE STORE_FILE_HISTORY "-owners"

static char folder[64];
static int fd;

static void setup(void)
{
    snprintf(folder, sizeof(folder), "/tmp/flamed-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
}

static void teardown(void)
{
    unlinkat(fd, KEY_FILE, 0);
    unlinkat(fd, KEY_FILE, AT_REMOVEDIR);
    close(fd);
    rmdir(folder);
}

static void expect(uint64_t k0, uint64_t k1, uint64_t found0, uint64_t found1, bool replace)
{
    struct fingerprint_key key = { k0, k1 };

    ck_assert_int_eq(store_owner_key(fd, replace, &key), 0);
    ck_assert_uint_eq(key.k0, found0);
    ck_assert_uint_eq(key.k1, found1);
}

START_TEST(the_first_key_stays)
{
    struct stat st;

    expect(1, UINT64_MAX, 1, UINT64_MAX, false);
    expect(2, 3, 1, UINT64_MAX, false);
    expect(2, 3, 2, 3, true);
    expect(4, 5, 2, 3, false);
    ck_assert_int_eq(fstatat(fd, KEY_FILE, &st, AT_SYMLINK_NOFOLLOW), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0600);
}
END_TEST

START_TEST(a_broken_file_gets_a_key)
{
    static const char *const TEXTS[] = {
        "", "0000000000000001 000000000000000", /* not written whole */
        "0000000000000000 0000000000000000\n",  /* no key */
        "00000000000000010000000000000000 2\n", /* no numbers */
    };
    int file = openat(fd, KEY_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    ck_assert_int_eq(write(file, TEXTS[_i], strlen(TEXTS[_i])), (ssize_t)strlen(TEXTS[_i]));
    close(file);
    expect(6, 7, 6, 7, false);
    expect(8, 9, 6, 7, false);
}
END_TEST

START_TEST(what_is_no_file_is_refused)
{
    struct fingerprint_key key = { 1, 2 };

    ck_assert_int_eq(symlinkat("/etc/hostname", fd, KEY_FILE), 0);
    ck_assert_int_eq(store_owner_key(fd, false, &key), -ELOOP);
    ck_assert_int_eq(unlinkat(fd, KEY_FILE, 0), 0);
    ck_assert_int_eq(mkfifoat(fd, KEY_FILE, 0600), 0);
    ck_assert_int_eq(store_owner_key(fd, false, &key), -EPERM);
    ck_assert_uint_eq(key.k0, 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("owner_key");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_first_key_stays);
    tcase_add_loop_test(tc, a_broken_file_gets_a_key, 0, 4);
    tcase_add_test(tc, what_is_no_file_is_refused);
    return suite_run_case("owner_key", tc);
}
