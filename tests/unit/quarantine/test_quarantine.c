/* SPDX-License-Identifier: Apache-2.0 */
/* quarantine/quarantine.c: owners whose memory the next flamed does not read. */
#include "suite.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "quarantine/quarantine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[128];
static int fd, proc_fd;

static void setup(void)
{
    snprintf(folder, sizeof(folder), "/tmp/flamed-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/quarantine", folder);
    proc_fd = -1; /* each process has a number of its own */
    ck_assert_int_eq(quarantine_open(path, &fd), 0);
}

static void teardown(void)
{
    unlink(path);
    close(fd);
    close_fd(proc_fd);
    rmdir(folder);
}

/* Returns a process that does not exist. */
static struct proc_id process(uint64_t start_ticks)
{
    return (struct proc_id){ .host_pid = INT32_MAX - 1, .start_ticks = start_ticks };
}

START_TEST(the_next_one_knows)
{
    struct proc_id one = process(1), two = process(2), other = process(3);
    const struct quarantined *found;
    struct quarantine l;

    quarantine_load(fd, proc_fd, &l);
    ck_assert_uint_eq(l.count, 0);
    ck_assert_int_eq(quarantine_add(fd, proc_owner(proc_fd, &one), &one, /* jvm= */ true), 0);
    ck_assert_int_eq(quarantine_add(fd, proc_owner(proc_fd, &two), &two, /* jvm= */ false), 0);
    quarantine_load(fd, proc_fd, &l);
    ck_assert_uint_eq(l.count, 2);
    found = quarantine_find(&l, &one);
    ck_assert_ptr_nonnull(found);
    ck_assert(found->jvm);
    ck_assert_int_eq(found->id.host_pid, one.host_pid);
    found = quarantine_find(&l, &two);
    ck_assert_ptr_nonnull(found);
    ck_assert(!found->jvm);
    ck_assert_ptr_null(quarantine_find(&l, &other));
}
END_TEST

/* Owners keep their numbers, as the notes contain the key. */
START_TEST(the_next_one_has_its_key)
{
    struct proc_id one = process(1);
    struct quarantine l;

    ck_assert_int_eq(quarantine_add(fd, 1, &one, /* jvm= */ false), 0);
    quarantine_load(fd, proc_fd, &l);
    ck_assert(l.key.k0 == fingerprint_key_new().k0 && l.key.k1 == fingerprint_key_new().k1);
    ck_assert_int_eq(pwrite(fd, "key 12 ab", 9, 0), 9);
    ck_assert_int_eq(ftruncate(fd, 9), 0);
    ck_assert_int_eq(quarantine_add(fd, 1, &one, /* jvm= */ false), 0);
    quarantine_load(fd, proc_fd, &l);
    ck_assert(l.key.k0 == 0x12 && l.key.k1 == 0xab);
    ck_assert_uint_eq(l.count, 1);
}
END_TEST

/* The key is written before anything is quarantined, and stays with notes that are added. */
START_TEST(the_key_is_kept_without_notes)
{
    const struct fingerprint_key key = { 0x34, 0xcd };
    struct proc_id one = process(1);
    struct quarantine l;

    ck_assert_int_eq(quarantine_add(fd, 1, &one, /* jvm= */ false), 0);
    ck_assert_int_eq(quarantine_keep_key(fd, &key), 0);
    ck_assert_int_eq(quarantine_add(fd, 1, &one, /* jvm= */ true), 0);
    quarantine_load(fd, proc_fd, &l);
    ck_assert(l.key.k0 == 0x34 && l.key.k1 == 0xcd);
    ck_assert_uint_eq(l.count, 2);
}
END_TEST

/* The time limit also holds for a flamed that runs longer than it. */
START_TEST(holds_for_its_time_only)
{
    struct proc_id one = process(1), two = process(2);
    struct quarantine l;

    ck_assert_int_eq(quarantine_add(fd, proc_owner(proc_fd, &one), &one, /* jvm= */ true), 0);
    ck_assert_int_eq(quarantine_add(fd, proc_owner(proc_fd, &two), &two, /* jvm= */ true), 0);
    quarantine_load(fd, proc_fd, &l);
    ck_assert_uint_eq(quarantine_count(&l), 2);
    l.list[0].until_s = clock_realtime_ns() / NSEC_PER_SEC - 1;
    ck_assert_ptr_null(quarantine_find(&l, &one));
    ck_assert_ptr_nonnull(quarantine_find(&l, &two));
    ck_assert_uint_eq(quarantine_count(&l), 1);
    l.list[1].until_s += QUARANTINE_SECONDS; /* the clock was set back */
    ck_assert_ptr_null(quarantine_find(&l, &two));
    ck_assert_uint_eq(quarantine_count(&l), 0);
}
END_TEST

/* The container of an exited process is still known, and identifies its later processes. */
START_TEST(notes_one_that_is_gone)
{
    struct proc_id gone = process(1), here = { .host_pid = getpid() };
    struct quarantine l;

    proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(quarantine_add(fd, proc_owner(proc_fd, &here), &gone, /* jvm= */ true), 0);
    quarantine_load(fd, proc_fd, &l);
    ck_assert_ptr_nonnull(quarantine_find(&l, &here));
    ck_assert_ptr_null(quarantine_find(&l, &gone));
}
END_TEST

START_TEST(the_oldest_goes)
{
    struct quarantine l;

    for (uint64_t i = 0; i <= QUARANTINE_MAX; i++) {
        struct proc_id id = process(i + 1);

        ck_assert_int_eq(quarantine_add(fd, proc_owner(proc_fd, &id), &id, /* jvm= */ true), 0);
    }
    quarantine_load(fd, proc_fd, &l);
    ck_assert_uint_eq(l.count, QUARANTINE_MAX);
    ck_assert_uint_eq(l.list[0].id.start_ticks, 2);
    ck_assert_uint_eq(l.list[QUARANTINE_MAX - 1].id.start_ticks, QUARANTINE_MAX + 1);
}
END_TEST

/* Lines of the greatest length, over and over: the file does not grow. A shorter text leaves no
 * rest of a longer one. */
START_TEST(it_keeps_its_size)
{
    struct proc_id longest = { .host_pid = INT32_MAX, .start_ticks = UINT64_MAX }, one = process(1);
    struct quarantine l;
    struct stat st;

    for (int i = 0; i < 2 * QUARANTINE_MAX; i++)
        ck_assert_int_eq(quarantine_add(fd, UINT64_MAX, &longest, /* jvm= */ true), 0);
    quarantine_load(fd, proc_fd, &l);
    ck_assert_uint_eq(l.count, QUARANTINE_MAX);
    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_eq(st.st_size, QUARANTINE_BYTES);
    ck_assert_int_eq(pwrite(fd, "", 1, 0), 1);
    ck_assert_int_eq(quarantine_add(fd, 1, &one, /* jvm= */ false), 0);
    quarantine_load(fd, proc_fd, &l);
    ck_assert_uint_eq(l.count, 1);
}
END_TEST

/* In a folder that others may write to, foreign files are not used. */
START_TEST(takes_only_a_file_of_its_own)
{
    char other[160];
    int got = -1;

    snprintf(other, sizeof(other), "%s/other", folder);
    ck_assert_int_eq(symlink(path, other), 0);
    ck_assert_int_eq(quarantine_open(other, &got), -ELOOP);
    unlink(other);
    ck_assert_int_eq(mkfifo(other, 0600), 0);
    ck_assert_int_eq(quarantine_open(other, &got), -EPERM);
    unlink(other);
    if (getuid() == 0) {
        close(creat(other, 0666));
        ck_assert_int_eq(chown(other, 12345, 12345), 0);
        ck_assert_int_lt(quarantine_open(other, &got), 0);
        unlink(other);
    }
    snprintf(other, sizeof(other), "%s/none/other", folder);
    ck_assert_int_eq(quarantine_open(other, &got), -ENOENT);
    ck_assert_int_eq(got, -1);
}
END_TEST

/* Without a file nothing is noted, and a message says so. */
START_TEST(does_without)
{
    struct proc_id one = process(1);
    struct quarantine l;

    quarantine_load(-1, proc_fd, &l);
    ck_assert_uint_eq(l.count, 0);
    ck_assert_int_eq(quarantine_add(-1, 1, &one, /* jvm= */ true), -EBADF);
}
END_TEST

START_TEST(what_is_over_or_broken_is_passed)
{
    uint64_t now_s = clock_realtime_ns() / NSEC_PER_SEC;
    struct quarantine l;
    char text[512];

    snprintf(text, sizeof(text),
             "key 1 2\n"
             "1a %ju 5 6 1\n"                    /* valid */
             "2a %ju 5 6 1\n"                    /* expired */
             "3a %ju 5 6 1\n"                    /* longer than allowed */
             "4a %ju 4294967296 6 1\n"           /* no pid */
             "5a %ju 5 6 2\n\n-1 \n6a x 5 6 1\n" /* nonsense */
             "7a %ju 5",                         /* cut */
             (uintmax_t)now_s + 60, (uintmax_t)now_s - 1, (uintmax_t)now_s + 2 * QUARANTINE_SECONDS,
             (uintmax_t)now_s + 60, (uintmax_t)now_s + 60, (uintmax_t)now_s + 60);
    ck_assert_int_eq(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
    quarantine_load(fd, proc_fd, &l);
    ck_assert_uint_eq(l.count, 1);
    ck_assert_uint_eq(l.list[0].owner, 0x1a);
    ck_assert_int_eq(l.list[0].id.host_pid, 5);
    ck_assert_uint_eq(l.list[0].id.start_ticks, 6);
}
END_TEST

/* The notes of a file without a key are kept, also the first one. */
START_TEST(notes_without_a_key_are_all_read)
{
    uintmax_t until_s = clock_realtime_ns() / NSEC_PER_SEC + 60;
    struct quarantine l;
    char text[128];

    snprintf(text, sizeof(text), "1a %ju 5 6 1\n2a %ju 7 8 0\n", until_s, until_s);
    ck_assert_int_eq(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
    quarantine_load(fd, proc_fd, &l);
    ck_assert_uint_eq(l.count, 2);
    ck_assert_uint_eq(l.list[0].owner, 0x1a);
    ck_assert(l.key.k0 == fingerprint_key_new().k0 && l.key.k1 == fingerprint_key_new().k1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("quarantine");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_next_one_knows);
    tcase_add_test(tc, the_next_one_has_its_key);
    tcase_add_test(tc, the_key_is_kept_without_notes);
    tcase_add_test(tc, holds_for_its_time_only);
    tcase_add_test(tc, notes_one_that_is_gone);
    tcase_add_test(tc, the_oldest_goes);
    tcase_add_test(tc, notes_without_a_key_are_all_read);
    tcase_add_test(tc, it_keeps_its_size);
    tcase_add_test(tc, takes_only_a_file_of_its_own);
    tcase_add_test(tc, does_without);
    tcase_add_test(tc, what_is_over_or_broken_is_passed);
    return suite_run_case("quarantine", tc);
}
