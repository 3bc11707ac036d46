/* SPDX-License-Identifier: Apache-2.0 */
/* base/file_identity on this machine's file systems: the same file, and other files that only share
 * its inode number. */
#include "suite.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES_MAX 200 /* files created until one gets the inode number of its predecessor */

/* tmpfs, and the file system of the build. */
static const char *const FOLDERS[] = { "/dev/shm", "/tmp", "." };

static char path[128];

static void settle(void)
{
    usleep(2 * FILE_IDENTITY_SETTLED_NS / 1000);
}

static int open_file(int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0644);

    ck_assert_int_ge(fd, 0);
    return fd;
}

static void make_file(const char *text)
{
    _cleanup_close_ int fd = open_file(O_WRONLY | O_CREAT | O_TRUNC);

    ck_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

static bool look(struct file_identity *ret)
{
    _cleanup_close_ int fd = open_file(O_RDONLY);

    return file_identity_of(fd, ret);
}

static void begin(int i)
{
    snprintf(path, sizeof(path), "%s/identity.%d", FOLDERS[i], (int)getpid());
    unlink(path);
    make_file("one");
    settle();
}

START_TEST(is_one_file_by_any_descriptor)
{
    struct file_identity a, b;

    begin(_i);
    ck_assert(look(&a) && look(&b));
    ck_assert(file_identity_equal(&a, &b));
    ck_assert_uint_ne(a.handle, 0);
    ck_assert(unlink(path) == 0);
}
END_TEST

/* The next file has the same name and size, and the same inode number if the file system reuses
 * it. */
START_TEST(is_not_the_next_file)
{
    struct file_identity a, b = { 0 };

    begin(_i);
    ck_assert(look(&a));
    for (int i = 0; i < TRIES_MAX && b.inode != a.inode; i++) {
        struct stat st;

        ck_assert(unlink(path) == 0);
        make_file("two");
        ck_assert(stat(path, &st) == 0);
        b.inode = st.st_ino;
    }
    settle();
    ck_assert(look(&b));
    ck_assert(!file_identity_equal(&a, &b));
    /* The two also differ without the time of change. */
    b.changed_ns = a.changed_ns;
    b.born_ns = a.born_ns;
    ck_assert(!file_identity_equal(&a, &b));
    ck_assert(unlink(path) == 0);
}
END_TEST

START_TEST(is_not_what_it_was_changed_from)
{
    struct file_identity a, b;

    begin(_i);
    ck_assert(look(&a));
    make_file("two");
    settle();
    ck_assert(look(&b));
    ck_assert_uint_eq(a.inode, b.inode);
    ck_assert_uint_eq(a.bytes, b.bytes);
    ck_assert(!file_identity_equal(&a, &b));
    ck_assert(unlink(path) == 0);
}
END_TEST

/* The clock for files has coarse steps: a file just changed may change again within one. */
START_TEST(is_nothing_while_it_changes)
{
    struct file_identity a, b;

    begin(_i);
    make_file("two");
    ck_assert(!look(&a));
    ck_assert_uint_eq(a.inode, 0);
    ck_assert(!file_identity_equal(&a, &a));
    settle();
    ck_assert(look(&b));
    ck_assert(!file_identity_equal(&a, &b) && !file_identity_equal(&b, &a));
    ck_assert(unlink(path) == 0);
}
END_TEST

START_TEST(is_nothing_without_a_file)
{
    struct file_identity a = { .inode = 1 };

    ck_assert(!file_identity_of(-1, &a));
    ck_assert_uint_eq(a.inode, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("file_identity");

    tcase_add_loop_test(tc, is_one_file_by_any_descriptor, 0, ARRAY_SIZE(FOLDERS));
    tcase_add_loop_test(tc, is_not_the_next_file, 0, ARRAY_SIZE(FOLDERS));
    tcase_add_loop_test(tc, is_not_what_it_was_changed_from, 0, ARRAY_SIZE(FOLDERS));
    tcase_add_loop_test(tc, is_nothing_while_it_changes, 0, ARRAY_SIZE(FOLDERS));
    tcase_add_test(tc, is_nothing_without_a_file);
    return suite_run_case("file_identity", tc);
}
