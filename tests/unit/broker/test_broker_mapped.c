/* SPDX-License-Identifier: Apache-2.0 */
/* broker: files by the mapping that shows them. */
#include "broker_jvm.h"

START_TEST(mapped_gives_what_is_mapped_to_execute)
{
    struct error err = ERROR_NULL;
    pid_t pid = start_jvm();
    struct proc_id id = id_of(pid);
    char path[128], magic[4];
    struct stat want, got;
    int fd = -1;

    snprintf(path, sizeof(path), "%s/libjvm.so", fx.dir);
    ck_assert_int_eq(stat(path, &want), 0);
    ck_assert_msg(broker_mapped(fx.b, &id, layout->jvm, layout->jvm + 8192, &fd, &err) == 0, "%s",
                  err.msg);
    ck_assert_int_eq(fstat(fd, &got), 0);
    ck_assert(want.st_ino == got.st_ino && want.st_dev == got.st_dev);
    ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    close(fd);
    ck_assert_int_eq(broker_mapped(fx.b, &id, layout->deleted, layout->deleted + 8192, &fd, &err),
                     0);
    ck_assert_int_eq(pread(fd, magic, 4, 0), 4);
    ck_assert_mem_eq(magic, "\177ELF", 4);
    close(fd);
    end_child(pid);
}
END_TEST

static int ask_mapped(const struct proc_id *id, uint64_t start, uint64_t end)
{
    struct error err = ERROR_NULL;
    int fd = -1, r = broker_mapped(fx.b, id, start, end, &fd, &err);

    ck_assert_int_eq(fd, -1);
    return r;
}

START_TEST(mapped_refuses_odd_ranges)
{
    pid_t pid = start_jvm();
    struct proc_id id = id_of(pid);
    uint64_t at = layout->jvm;

    ck_assert_int_eq(ask_mapped(&id, at, at + 4096), -ENOENT);     /* a part */
    ck_assert_int_eq(ask_mapped(&id, at, at + 12288), -ENOENT);    /* more */
    ck_assert_int_eq(ask_mapped(&id, at + 1, at + 8192), -EINVAL); /* not a page */
    ck_assert_int_eq(ask_mapped(&id, at + 8192, at), -EINVAL);     /* backwards */
    ck_assert_int_eq(ask_mapped(&id, at, at), -EINVAL);            /* empty */
    ck_assert_int_eq(ask_mapped(&id, 0, 0), -EINVAL);
    ck_assert_int_eq(ask_mapped(&id, 0, UINT64_MAX & ~UINT64_C(4095)), -EINVAL);
    ck_assert_int_eq(ask_mapped(&id, layout->data, layout->data + 8192),
                     -ENOENT); /* not executable */
    ck_assert_int_eq(ask_mapped(&id, layout->anonymous, layout->anonymous + 8192), BROKER_ABSENT);
    ck_assert_int_lt(ask_mapped(&id, layout->zero, layout->zero + 8192), 0); /* a device */
    end_child(pid);
}
END_TEST

START_TEST(the_vdso_is_a_sealed_copy)
{
    struct error err = ERROR_NULL;
    pid_t pid = start_child(NULL, NULL);
    struct proc_id id = id_of(pid);
    struct maps m = { 0 };
    char magic[4];
    int maps = -1, fd = -1;

    ck_assert_int_eq(broker_maps(fx.b, &id, &maps, &err), 0);
    read_maps(maps, &m);
    for (size_t i = 0; i < m.count && fd < 0; i++) {
        if (span_eq_str(m.entries[i].path, "[vdso]"))
            ck_assert_int_eq(
                broker_mapped(fx.b, &id, m.entries[i].start, m.entries[i].end, &fd, &err), 0);
    }
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, magic, 4, 0), 4);
    ck_assert_mem_eq(magic, "\177ELF", 4);
    ck_assert_int_eq(fcntl(fd, F_GET_SEALS) &
                         (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL),
                     F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
    ck_assert_int_lt(pwrite(fd, "x", 1, 0), 0);
    maps_deinit(&m);
    close(fd);
    close(maps);
    end_child(pid);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("broker_mapped");
    int skip = can_test_broker();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, fixture_open, fixture_shut);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, mapped_gives_what_is_mapped_to_execute);
    tcase_add_test(tc, mapped_refuses_odd_ranges);
    tcase_add_test(tc, the_vdso_is_a_sealed_copy);
    return suite_run_case("broker_mapped", tc);
}
