/* SPDX-License-Identifier: Apache-2.0 */
/* broker/target/owner_files.c: how often an owner may pay for pages, and when a file is reused. */
#include "suite.h"

#include "base/cleanup.h"
#include "broker/target/owner_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define PAID_MAX (OWNER_FILES_PAID_MAX / 2) /* of one owner alone */

static struct owner_files *files;
static const struct stream_header header = { .magic = STREAM_MAGIC, .version = STREAM_VERSION };

static void begin(void)
{
    files = NULL;
}

static void end(void)
{
    files = owner_files_free(files);
}

static uint64_t pages_of(int fd)
{
    struct stat st;

    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_eq(st.st_size, (off_t)STREAM_BYTES);
    return (uint64_t)st.st_blocks * 512 / 4096;
}

/* Takes a file. Returns its descriptor; -1: refused with a sentence. */
static int take(uint64_t owner, bool paid)
{
    struct error err = ERROR_NULL;
    struct stream_header h;
    bool is_paid = false;
    int fd = -1, r = owner_files_take(&files, owner, &header, &fd, &is_paid, &err);

    if (r < 0) {
        ck_assert_int_eq(r, -EDQUOT);
        ck_assert_ptr_nonnull(strstr(err.remedy, "symbols=memory"));
        return -1;
    }
    ck_assert_int_eq(is_paid, paid);
    ck_assert_uint_eq(pages_of(fd), paid ? STREAM_BYTES / 4096 : 1);
    ck_assert_int_eq(pread(fd, &h, sizeof(h), 0), (ssize_t)sizeof(h));
    ck_assert_int_eq(memcmp(&h, &header, sizeof(h)), 0);
    return fd;
}

static ino_t take_and_close(uint64_t owner, bool paid)
{
    _cleanup_close_ int fd = take(owner, paid);
    struct stat st;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &st), 0);
    return st.st_ino;
}

/* One owner alone gets half of the files with pages. Another owner gets some of the rest, and any
 * number without pages. */
START_TEST(pages_are_made_for_a_number_of_files)
{
    for (int i = 0; i < PAID_MAX; i++)
        take_and_close(1, /* paid= */ true);
    for (int i = 0; i < 3; i++)
        take_and_close(1, /* paid= */ false);
    take_and_close(2, /* paid= */ true);
    ck_assert(!owner_files_pay(&files, 1));
    ck_assert(!owner_files_pay(&files, 2));
    ck_assert(owner_files_pay(&files, 3));
    for (int i = 0; i < 3; i++)
        take_and_close(2, /* paid= */ false);
}
END_TEST

/* However many owners there are, also more than have an entry, and those that were forgotten. */
START_TEST(all_owners_together_have_a_limit)
{
    unsigned paid = 0;

    for (int round = 0; round < 3; round++) {
        for (uint64_t owner = 1; owner <= 2 * OWNERS_KEPT; owner++)
            paid += owner_files_pay(&files, owner);
    }
    ck_assert_uint_eq(paid, OWNER_FILES_PAID_MAX);
}
END_TEST

/* An owner for whom no pages are left has files all the same, each once. */
START_TEST(files_without_pages)
{
    int fds[OWNER_FILES_MAX];

    for (uint64_t owner = 2; owner <= OWNERS_KEPT; owner++)
        owner_files_pay(&files, owner);
    for (int i = 0; i < OWNER_FILES_MAX; i++) {
        fds[i] = take(1, /* paid= */ false);
        ck_assert_int_ge(fds[i], 0);
    }
    ck_assert_int_eq(take(1, /* paid= */ false), -1);
    close_fd(fds[3]);
    take_and_close(1, /* paid= */ false);
    close_fd(fds[4]);
    for (int i = 0; i < OWNER_FILES_MAX; i++) {
        if (i != 3 && i != 4)
            close_fd(fds[i]);
    }
}
END_TEST

/* A file counts as used while any process has it open for reading, or only mapped. */
START_TEST(what_somebody_has_is_not_used_again)
{
    int fds[OWNER_FILES_MAX];
    void *p;

    for (int i = 0; i < OWNER_FILES_MAX; i++)
        fds[i] = take(1, /* paid= */ i < PAID_MAX);
    ck_assert_int_eq(take(1, /* paid= */ false), -1);
    p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fds[0], 0);
    ck_assert_ptr_ne(p, MAP_FAILED);
    close_fd(fds[0]);
    ck_assert_int_eq(take(1, /* paid= */ false), -1);
    munmap(p, 4096);
    take_and_close(1, /* paid= */ false);
    take_and_close(2, /* paid= */ true); /* a file of another owner */
    for (int i = 1; i < OWNER_FILES_MAX; i++)
        close_fd(fds[i]);
}
END_TEST

START_TEST(what_was_cut_is_not_used_again)
{
    for (int i = 0; i < OWNER_FILES_MAX; i++) {
        _cleanup_close_ int fd = take(1, /* paid= */ i < PAID_MAX);

        ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
    }
    ck_assert_int_eq(take(1, /* paid= */ false), -1);
}
END_TEST

/* An attach that the launcher refuses costs its owner nothing. */
START_TEST(what_nobody_was_given_is_as_new)
{
    ino_t first = take_and_close(1, /* paid= */ true);

    for (int i = 0; i < 3 * OWNER_FILES_MAX; i++) {
        owner_files_untouched(&files, 1, /* mounted= */ false);
        ck_assert_uint_eq(take_and_close(1, /* paid= */ true), first);
        ck_assert(owner_files_pay(&files, 1));
        owner_files_untouched(&files, 1, /* mounted= */ true);
    }
    for (int i = 1; i < PAID_MAX; i++)
        take_and_close(1, /* paid= */ true);
    take_and_close(1, /* paid= */ false);
    owner_files_untouched(&files, 1, /* mounted= */ false); /* the file was given out before */
    take_and_close(1, /* paid= */ false);
}
END_TEST

/* Pages that are paid for stay of use if a file cannot be opened for a lack of descriptors. */
START_TEST(what_could_not_be_opened_is_as_new)
{
    ino_t first = take_and_close(1, /* paid= */ true);
    struct error err = ERROR_NULL;
    struct rlimit all, none;
    bool paid;
    int fd = -1;

    owner_files_untouched(&files, 1, /* mounted= */ false);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &all), 0);
    none = (struct rlimit){ 3, all.rlim_max };
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    ck_assert_int_eq(owner_files_take(&files, 1, &header, &fd, &paid, &err), -EMFILE);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
    ck_assert_uint_eq(take_and_close(1, /* paid= */ true), first);
}
END_TEST

/* More owners than places: the owner that was seen longest ago loses its files, and gets no pages
 * for others. */
START_TEST(the_oldest_owner_is_forgotten)
{
    ino_t first = 0;

    for (int i = 0; i < PAID_MAX; i++) {
        ino_t ino = take_and_close(1, /* paid= */ true);

        first = first ? first : ino;
    }
    for (uint64_t owner = 2; owner <= OWNERS_KEPT + 1; owner++)
        owner_files_pay(&files, owner);
    ck_assert_uint_ne(take_and_close(1, /* paid= */ false), first);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("owner_files");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, pages_are_made_for_a_number_of_files);
    tcase_add_test(tc, all_owners_together_have_a_limit);
    tcase_add_test(tc, files_without_pages);
    tcase_add_test(tc, what_somebody_has_is_not_used_again);
    tcase_add_test(tc, what_was_cut_is_not_used_again);
    tcase_add_test(tc, what_nobody_was_given_is_as_new);
    tcase_add_test(tc, what_could_not_be_opened_is_as_new);
    tcase_add_test(tc, the_oldest_owner_is_forgotten);
    return suite_run_case("owner_files", tc);
}
