/* SPDX-License-Identifier: Apache-2.0 */
/* broker/left_alone.c: whose memory the next flamed does not read. */
#include "suite.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "broker/left_alone.h"

#include <fcntl.h>
#include <unistd.h>

static char folder[64];
static int dir_fd, proc_fd;

static void setup(void)
{
    snprintf(folder, sizeof(folder), "/tmp/flamed-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(dir_fd, 0);
}

static void teardown(void)
{
    unlinkat(dir_fd, "left-alone", 0);
    close(dir_fd);
    close(proc_fd);
    rmdir(folder);
}

static void write_file(const char *text)
{
    int fd = openat(dir_fd, "left-alone", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* A pid that no process has: it is outside of any container. */
static struct proc_id process(uint64_t start_ticks)
{
    return (struct proc_id){ .host_pid = INT32_MAX - 1, .start_ticks = start_ticks };
}

START_TEST(the_next_one_knows)
{
    struct proc_id one = process(1), two = process(2), other = process(3);
    const struct left_alone_one *found;
    struct left_alone l;

    left_alone_load(dir_fd, proc_fd, &l);
    ck_assert_uint_eq(l.count, 0);
    ck_assert_int_eq(left_alone_add(dir_fd, proc_fd, &one, /* jvm= */ true), 0);
    ck_assert_int_eq(left_alone_add(dir_fd, proc_fd, &two, /* jvm= */ false), 0);
    left_alone_load(dir_fd, proc_fd, &l);
    ck_assert_uint_eq(l.count, 2);
    found = left_alone_find(&l, &one);
    ck_assert_ptr_nonnull(found);
    ck_assert(found->jvm);
    ck_assert_int_eq(found->id.host_pid, one.host_pid);
    found = left_alone_find(&l, &two);
    ck_assert_ptr_nonnull(found);
    ck_assert(!found->jvm);
    ck_assert_ptr_null(left_alone_find(&l, &other));
}
END_TEST

/* Of a flamed that runs for longer than that, too. */
START_TEST(holds_for_its_time_only)
{
    struct proc_id one = process(1), two = process(2);
    struct left_alone l;

    ck_assert_int_eq(left_alone_add(dir_fd, proc_fd, &one, /* jvm= */ true), 0);
    ck_assert_int_eq(left_alone_add(dir_fd, proc_fd, &two, /* jvm= */ true), 0);
    left_alone_load(dir_fd, proc_fd, &l);
    ck_assert_uint_eq(left_alone_count(&l), 2);
    l.list[0].until_s = clock_realtime_ns() / NSEC_PER_SEC - 1;
    ck_assert_ptr_null(left_alone_find(&l, &one));
    ck_assert_ptr_nonnull(left_alone_find(&l, &two));
    ck_assert_uint_eq(left_alone_count(&l), 1);
    l.list[1].until_s += LEFT_ALONE_SECONDS; /* the clock was set back */
    ck_assert_ptr_null(left_alone_find(&l, &two));
    ck_assert_uint_eq(left_alone_count(&l), 0);
    l.lasting = true;
    ck_assert_ptr_nonnull(left_alone_find(&l, &one));
    ck_assert_uint_eq(left_alone_count(&l), 2);
}
END_TEST

/* Its pid is that of another by now, maybe in another container. */
START_TEST(passes_one_that_is_gone)
{
    struct proc_id before = { .host_pid = getpid(), .start_ticks = 1 }, now = before;
    struct proc_stat stat;
    struct left_alone l;

    ck_assert_int_eq(left_alone_add(dir_fd, proc_fd, &before, /* jvm= */ true), -ESRCH);
    left_alone_load(dir_fd, proc_fd, &l);
    ck_assert_uint_eq(l.count, 0);
    ck_assert_int_eq(proc_read_stat(proc_fd, getpid(), &stat), 0);
    now.start_ticks = stat.start_ticks;
    ck_assert_int_eq(left_alone_add(dir_fd, proc_fd, &now, /* jvm= */ true), 0);
    left_alone_load(dir_fd, proc_fd, &l);
    ck_assert_ptr_nonnull(left_alone_find(&l, &now));
}
END_TEST

START_TEST(the_oldest_goes)
{
    struct left_alone l;

    for (uint64_t i = 0; i <= LEFT_ALONE_MAX; i++) {
        struct proc_id id = process(i + 1);

        ck_assert_int_eq(left_alone_add(dir_fd, proc_fd, &id, /* jvm= */ true), 0);
    }
    left_alone_load(dir_fd, proc_fd, &l);
    ck_assert_uint_eq(l.count, LEFT_ALONE_MAX);
    ck_assert_uint_eq(l.list[0].id.start_ticks, 2);
    ck_assert_uint_eq(l.list[LEFT_ALONE_MAX - 1].id.start_ticks, LEFT_ALONE_MAX + 1);
}
END_TEST

START_TEST(what_is_over_or_broken_is_passed)
{
    uint64_t now_s = clock_realtime_ns() / NSEC_PER_SEC;
    struct left_alone l;
    char text[512];

    snprintf(text, sizeof(text),
             "1a %ju 5 6 1\n"                    /* good */
             "2a %ju 5 6 1\n"                    /* over */
             "3a %ju 5 6 1\n"                    /* longer than any can be */
             "4a %ju 4294967296 6 1\n"           /* no pid */
             "5a %ju 5 6 2\n\n-1 \n6a x 5 6 1\n" /* nonsense */
             "7a %ju 5",                         /* cut */
             (uintmax_t)now_s + 60, (uintmax_t)now_s - 1, (uintmax_t)now_s + 2 * LEFT_ALONE_SECONDS,
             (uintmax_t)now_s + 60, (uintmax_t)now_s + 60, (uintmax_t)now_s + 60);
    write_file(text);
    left_alone_load(dir_fd, proc_fd, &l);
    ck_assert_uint_eq(l.count, 1);
    ck_assert_uint_eq(l.list[0].key, 0x1a);
    ck_assert_int_eq(l.list[0].id.host_pid, 5);
    ck_assert_uint_eq(l.list[0].id.start_ticks, 6);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("left_alone");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_next_one_knows);
    tcase_add_test(tc, holds_for_its_time_only);
    tcase_add_test(tc, passes_one_that_is_gone);
    tcase_add_test(tc, the_oldest_goes);
    tcase_add_test(tc, what_is_over_or_broken_is_passed);
    return suite_run_case("left_alone", tc);
}
