/* SPDX-License-Identifier: Apache-2.0 */
/* broker: files requested by a mapping of them. */
#include "broker_jvm.h"

#include "supervisor/supervise_api.h"

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

    ck_assert_int_eq(ask_mapped(&id, at, at + 4096), -ENOENT);     /* only a part of the mapping */
    ck_assert_int_eq(ask_mapped(&id, at, at + 12288), -ENOENT);    /* more than the mapping */
    ck_assert_int_eq(ask_mapped(&id, at + 1, at + 8192), -EINVAL); /* not at a page */
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

static void map_memory(void *cookie)
{
    layout->jvm =
        (uint64_t)(uintptr_t)mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, *(int *)cookie, 0);
}

/* Opens @fd again as another user, and writes to it. Returns true if that worked. */
static bool can_write_as_nobody(int fd)
{
    pid_t pid = fork();
    char path[40];
    int status;

    if (pid == 0) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (setgid(SUPERVISE_FALLBACK_ID) < 0 || setuid(SUPERVISE_FALLBACK_ID) < 0)
            _exit(2);
        fd = open(path, O_RDWR | O_CLOEXEC);
        _exit(fd >= 0 && pwrite(fd, "\xcc", 1, 0) == 1 ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    return WEXITSTATUS(status) == 0;
}

/* A runtime with a compiler may map its code from such a file. The kernel lets every user with a
 * descriptor open it for writing. */
START_TEST(memory_is_a_sealed_copy)
{
    struct error err = ERROR_NULL;
    int memory = memfd_create("doublemapper", MFD_CLOEXEC | MFD_ALLOW_SEALING), fd = -1;
    pid_t pid;
    struct proc_id id;
    char text[8] = "";

    ck_assert(memory >= 0 && ftruncate(memory, 8192) == 0 && pwrite(memory, "code", 4, 0) == 4);
    ck_assert(can_write_as_nobody(memory) && pwrite(memory, "code", 4, 0) == 4);
    pid = start_child(map_memory, &memory);
    id = id_of(pid);
    ck_assert_msg(broker_mapped(fx.b, &id, layout->jvm, layout->jvm + 8192, &fd, &err) == 0, "%s",
                  err.msg);
    ck_assert(pread(fd, text, 4, 0) == 4 && memcmp(text, "code", 4) == 0);
    can_write_as_nobody(fd);
    ck_assert(pread(memory, text, 4, 0) == 4);
    ck_assert_msg(memcmp(text, "code", 4) == 0, "who has the answer can write the code of another");
    ck_assert_int_eq(fcntl(fd, F_GET_SEALS) & F_SEAL_WRITE, F_SEAL_WRITE);
    close(fd);
    close(memory);
    end_child(pid);
}
END_TEST

/* A file that cannot change is given itself. A file that may grow is given as a copy. */
START_TEST(memory_that_may_grow_is_a_sealed_copy)
{
    const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | (_i ? F_SEAL_GROW : 0);
    struct error err = ERROR_NULL;
    int memory = memfd_create("code", MFD_CLOEXEC | MFD_ALLOW_SEALING), fd = -1;
    struct stat theirs, given;
    struct proc_id id;
    pid_t pid;

    ck_assert(memory >= 0 && ftruncate(memory, 8192) == 0);
    ck_assert(fcntl(memory, F_ADD_SEALS, seals) == 0);
    pid = start_child(map_memory, &memory);
    id = id_of(pid);
    ck_assert_msg(broker_mapped(fx.b, &id, layout->jvm, layout->jvm + 8192, &fd, &err) == 0, "%s",
                  err.msg);
    ck_assert(fstat(memory, &theirs) == 0 && fstat(fd, &given) == 0);
    ck_assert_int_eq(theirs.st_ino == given.st_ino, _i);
    close(fd);
    close(memory);
    end_child(pid);
}
END_TEST

#define LARGE_BYTES (8 << 20)

static void map_large(void *cookie)
{
    layout->jvm = (uint64_t)(uintptr_t)mmap(NULL, LARGE_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED,
                                            *(int *)cookie, 0);
}

/* Asks for a copy until the answer is not that the copy takes long. */
static int ask_large(const struct proc_id *id, int *ret_fd)
{
    int r;

    do {
        struct error err = ERROR_NULL;

        r = broker_mapped(fx.b, id, layout->jvm, layout->jvm + LARGE_BYTES, ret_fd, &err);
        usleep(r == -ETIMEDOUT ? 100000 : 0);
    } while (r == -ETIMEDOUT);
    return r;
}

/* A compromised flamed keeps what it gets, whose pages are charged to the broker. */
START_TEST(copies_have_a_limit)
{
    int memory = memfd_create("doublemapper", MFD_CLOEXEC), fds[64], more = -1, count = 0;
    struct proc_id id;
    pid_t pid;

    ck_assert(memory >= 0 && ftruncate(memory, LARGE_BYTES) == 0);
    pid = start_child(map_large, &memory);
    id = id_of(pid);
    while (count < (int)ARRAY_SIZE(fds) && ask_large(&id, &fds[count]) == 0)
        count++;
    ck_assert_int_eq(count, 192 / 8); /* GIVEN_BYTES_MAX */
    ck_assert_int_eq(ask_large(&id, &more), -EDQUOT);
    close(fds[--count]);
    ck_assert_int_eq(ask_large(&id, &fds[count++]), 0);
    while (count)
        close(fds[--count]);
    close(memory);
    end_child(pid);
}
END_TEST

/* A sealed file of a target, such as the agent of a JVM, is given itself. The target keeps it open,
 * so it must not use up the limit of copies. */
START_TEST(sealed_files_of_targets_leave_room_for_copies)
{
    const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    int memory = memfd_create("code", MFD_CLOEXEC | MFD_ALLOW_SEALING), fd = -1;
    struct error err = ERROR_NULL;
    uint64_t cpu_limit;
    struct proc_id id;
    pid_t pid;

    ck_assert(memory >= 0 && ftruncate(memory, LARGE_BYTES) == 0);
    ck_assert_int_eq(fallocate(memory, 0, 0, LARGE_BYTES), 0);
    ck_assert_int_eq(fcntl(memory, F_ADD_SEALS, seals), 0);
    pid = start_child(map_large, &memory);
    id = id_of(pid);
    for (int i = 0; i < 2 * 192 / 8; i++) { /* twice GIVEN_BYTES_MAX */
        ck_assert_int_eq(ask_large(&id, &fd), 0);
        close(fd);
    }
    ck_assert_msg(broker_cgroup(fx.b, &id, &fd, &cpu_limit, &err) == 0, "%s", err.msg);
    close(fd);
    close(memory);
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
    tcase_add_test(tc, memory_is_a_sealed_copy);
    tcase_add_loop_test(tc, memory_that_may_grow_is_a_sealed_copy, 0, 2);
    tcase_add_test(tc, copies_have_a_limit);
    tcase_add_test(tc, sealed_files_of_targets_leave_room_for_copies);
    return suite_run_case("broker_mapped", tc);
}
