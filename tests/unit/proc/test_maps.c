/* SPDX-License-Identifier: Apache-2.0 */
/* proc: the text of /proc/PID/maps, line by line and as a whole. */
#include "suite.h"

#include "base/cleanup.h"
#include "proc/proc.h"
#include "tests/maps_of.h"

#include <fcntl.h>

static const struct {
    const char *line;
    int r;
    struct mapping m;
    const char *path;
} MAPS_CASES[] = {
    { "7f10-7f20 r-xp 00001000 fd:01 42                         /lib/libjvm.so",
      0,
      { .start = 0x7f10,
        .end = 0x7f20,
        .offset = 0x1000,
        .inode = 42,
        .dev_major = 0xfd,
        .dev_minor = 1,
        .read = true,
        .exec = true },
      "/lib/libjvm.so" },
    { "7f10-7f20 rw-s 00000000 00:05 9 /lib/a b.so (deleted)",
      0,
      { .start = 0x7f10,
        .end = 0x7f20,
        .inode = 9,
        .dev_minor = 5,
        .read = true,
        .write = true,
        .deleted = true },
      "/lib/a b.so" },
    { "7f10-7f20 ---p 00000000 00:00 0", 0, { .start = 0x7f10, .end = 0x7f20 }, "" },
    { "7f10-7f20 ---p 00000000 00:00 0 ", 0, { .start = 0x7f10, .end = 0x7f20 }, "" },
    { "7ffc1000-7ffc3000 r-xp 00000000 00:00 0                          [vdso]",
      0,
      { .start = 0x7ffc1000, .end = 0x7ffc3000, .read = true, .exec = true },
      "[vdso]" },
    { "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]",
      0,
      { .start = 0xffffffffff600000, .end = 0xffffffffff601000, .exec = true },
      "[vsyscall]" },
    { "7f10-7f20 r--p 00000000 fd:01 7 /x (deleted) (deleted)",
      0,
      { .start = 0x7f10,
        .end = 0x7f20,
        .inode = 7,
        .dev_major = 0xfd,
        .dev_minor = 1,
        .read = true,
        .deleted = true },
      "/x (deleted)" },
    { "7f20-7f10 r-xp 00000000 00:00 0", -EBADMSG, { 0 }, NULL },  /* end before start */
    { "7f10-7f10 r-xp 00000000 00:00 0", -EBADMSG, { 0 }, NULL },  /* empty */
    { "7f10-7f20 r-x", -EBADMSG, { 0 }, NULL },                    /* cut short */
    { "7f10-7f20 r-xp 00000000 00:00 0x", -EBADMSG, { 0 }, NULL }, /* no blank after the inode */
    { "7f10-7f20 r-xp 00000000 0000 0", -EBADMSG, { 0 }, NULL },   /* no device */
    { "7f10-7f20 r-xp 00000000 100000000:00 0", -EBADMSG, { 0 }, NULL },
    { "1ffffffffffffffff-2 r-xp 00000000 00:00 0", -EBADMSG, { 0 }, NULL },
    { "", -EBADMSG, { 0 }, NULL },
};

START_TEST(parses_a_line_of_maps)
{
    struct mapping m = { .inode = 999 };
    int r = maps_parse_line(span_of(MAPS_CASES[_i].line), &m);

    ck_assert_int_eq(r, MAPS_CASES[_i].r);
    if (r < 0) {
        ck_assert_uint_eq(m.inode, 999); /* untouched */
        return;
    }
    ck_assert(span_eq_str(m.path, MAPS_CASES[_i].path));
    ck_assert_uint_eq(m.start, MAPS_CASES[_i].m.start);
    ck_assert_uint_eq(m.end, MAPS_CASES[_i].m.end);
    ck_assert_uint_eq(m.offset, MAPS_CASES[_i].m.offset);
    ck_assert_uint_eq(m.inode, MAPS_CASES[_i].m.inode);
    ck_assert_uint_eq(m.dev_major, MAPS_CASES[_i].m.dev_major);
    ck_assert_uint_eq(m.dev_minor, MAPS_CASES[_i].m.dev_minor);
    ck_assert_int_eq(m.read, MAPS_CASES[_i].m.read);
    ck_assert_int_eq(m.write, MAPS_CASES[_i].m.write);
    ck_assert_int_eq(m.exec, MAPS_CASES[_i].m.exec);
    ck_assert_int_eq(m.deleted, MAPS_CASES[_i].m.deleted);
}
END_TEST

static struct maps maps_of_text(const char *text)
{
    _cleanup_close_ int fd = maps_file(span_of(text));
    struct maps m;

    ck_assert_int_eq(maps_of(fd, &m), 0);
    return m;
}

START_TEST(finds_the_mapping_of_an_address)
{
    struct maps m = maps_of_text("1000-2000 r--p 00000000 00:00 0 /a\n"
                                 "nonsense\n"
                                 "2000-3000 r--p 00000000 00:00 0 /b\n"
                                 "3000-4000 r--p 00000000 00:00 0 /c\n");

    ck_assert_uint_eq(m.count, 3);
    ck_assert(!m.truncated);
    ck_assert_ptr_null(maps_find(&m, 0xfff));
    ck_assert(span_eq_str(maps_find(&m, 0x1000)->path, "/a"));
    ck_assert(span_eq_str(maps_find(&m, 0x1fff)->path, "/a"));
    ck_assert(span_eq_str(maps_find(&m, 0x2000)->path, "/b"));
    ck_assert(span_eq_str(maps_find(&m, 0x3fff)->path, "/c"));
    ck_assert_ptr_null(maps_find(&m, 0x4000));
    maps_deinit(&m);
    ck_assert_ptr_null(maps_find(&m, 0x1000));
}
END_TEST

START_TEST(keeps_to_the_limits_of_maps)
{
    _cleanup_fclose_ FILE *few = tmpfile(), *f = tmpfile();
    struct maps m;

    for (unsigned i = 0; i < MAPS_MAX_LINES + 5; i++)
        fprintf(few, "%x-%x r--p 00000000 00:00 0 /a\n", 0x1000 + i, 0x1001 + i);
    fflush(few);
    rewind(few);
    ck_assert_int_eq(maps_of(fileno(few), &m), 0);
    ck_assert_uint_le(m.count, MAPS_MAX_LINES);
    ck_assert_uint_gt(m.count, MAPS_MAX_LINES / 2);
    ck_assert(m.truncated);
    maps_deinit(&m);

    /* 20 MB of text: the mappings that fit are kept, and the cut line is not half read. */
    for (unsigned i = 0; i < 80000; i++)
        fprintf(f, "%x-%x r--p 00000000 00:00 0 /%0200d\n", 0x1000 + i, 0x1001 + i, 7);
    fflush(f);
    rewind(f);
    ck_assert_int_eq(maps_of(fileno(f), &m), 0);
    ck_assert(m.truncated);
    ck_assert_uint_gt(m.count, 60000);
    ck_assert_uint_lt(m.count, 80000);
    ck_assert_uint_eq(m.entries[m.count - 1].path.n, 201);
    maps_deinit(&m);
    ck_assert_int_eq(maps_of(-1, &m), -EBADF);
}
END_TEST

START_TEST(reads_its_own_maps)
{
    _cleanup_close_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    const struct mapping *found;
    struct maps m;

    ck_assert_int_eq(maps_of(fd, &m), 0);
    found = maps_find(&m, (uint64_t)(uintptr_t)maps_read_exec);
    ck_assert_ptr_nonnull(found);
    ck_assert(found->exec && span_ends_with(found->path, "/test_maps"));
    maps_deinit(&m);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("maps");

    tcase_add_loop_test(tc, parses_a_line_of_maps, 0, ARRAY_SIZE(MAPS_CASES));
    tcase_add_test(tc, finds_the_mapping_of_an_address);
    tcase_add_test(tc, keeps_to_the_limits_of_maps);
    tcase_add_test(tc, reads_its_own_maps);
    tcase_set_timeout(tc, 60);
    return suite_run_case("maps", tc);
}
