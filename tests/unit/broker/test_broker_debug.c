/* SPDX-License-Identifier: Apache-2.0 */
/* broker: debug files, found by build-id, by link, in shared files, and in caches. */
#include "broker_contained.h"

static const char CORE_BYTES[] = "\177ELF\2\1\1xxxxxxxxx\4\0 and so on";

static bool file_is_elf(int fd)
{
    char text[sizeof(ELF_BYTES)];

    return pread(fd, text, sizeof(text), 0) == sizeof(text) &&
           memcmp(text, ELF_BYTES, sizeof(text)) == 0;
}

/* Makes all folders on the way to @path. */
static void make_folders(const char *path)
{
    char part[256];

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        span_copy((struct span){ path, (size_t)(slash - path) }, part, sizeof(part));
        mkdir(part, 0755);
    }
}

START_TEST(debug_files_are_elf)
{
    static const uint8_t BUILD_ID[] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5 };
    struct error err = ERROR_NULL;
    pid_t pid = start_contained();
    struct proc_id id = id_of(pid);
    char path[192], elf[192];
    int fd = -1;

    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, sizeof(BUILD_ID), &fd, &err), BROKER_ABSENT);
    snprintf(path, sizeof(path), "%s/usr/lib/debug/.build-id/ab/cdef0102030405.debug", fx.dir);
    make_folders(path);
    write_file(path, "not elf", 7);
    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, sizeof(BUILD_ID), &fd, &err), BROKER_ABSENT);
    unlink(path);
    snprintf(elf, sizeof(elf), "%s/elf", fx.dir);
    write_file(elf, ELF_BYTES, sizeof(ELF_BYTES));
    ck_assert_int_eq(symlink("/elf", path), 0);
    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, sizeof(BUILD_ID), &fd, &err), 0);
    ck_assert(file_is_elf(fd));
    close(fd);
    fd = -1;
    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, 1, &fd, &err), -EINVAL);
    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, 0, &fd, &err), -EINVAL);
    ck_assert_int_eq(fd, -1);
    end_child(pid);
}
END_TEST

/* The shared debug files lie below one folder, and no name leads out of it. */
START_TEST(shared_debug_files_are_below_their_folder)
{
    static const char *const OUTSIDE[] = {
        "",   "..",        "../.dwz/x", "x/../../elf", "/elf", ".hidden",     "x//elf",
        "x/", "x/.hidden", "x/..",      "x\ny",        "x y",  "a/../../../e"
    };
    struct error err = ERROR_NULL;
    pid_t pid = start_contained();
    struct proc_id id = id_of(pid);
    char path[192];
    int fd = -1;

    snprintf(path, sizeof(path), "%s/usr/lib/debug/.dwz/x86_64/shared", fx.dir);
    make_folders(path);
    snprintf(path, sizeof(path), "%s/elf", fx.dir);
    write_file(path, ELF_BYTES, sizeof(ELF_BYTES));
    for (size_t i = 0; i < ARRAY_SIZE(OUTSIDE); i++) {
        ck_assert_int_eq(broker_debug_shared(fx.b, &id, span_of(OUTSIDE[i]), &fd, &err), -EINVAL);
        ck_assert_int_eq(fd, -1);
    }
    ck_assert_int_eq(broker_debug_shared(fx.b, &id, SPAN("x86_64/shared"), &fd, &err),
                     BROKER_ABSENT);
    snprintf(path, sizeof(path), "%s/usr/lib/debug/.dwz/x86_64/shared", fx.dir);
    write_file(path, "not elf", 7);
    ck_assert_int_eq(broker_debug_shared(fx.b, &id, SPAN("x86_64/shared"), &fd, &err),
                     BROKER_ABSENT);
    write_file(path, ELF_BYTES, sizeof(ELF_BYTES));
    ck_assert_int_eq(broker_debug_shared(fx.b, &id, SPAN("x86_64/shared"), &fd, &err), 0);
    ck_assert(file_is_elf(fd));
    close(fd);
    end_child(pid);
}
END_TEST

START_TEST(debug_links_take_base_names_only)
{
    static const char *const BAD[] = { "",    ".",    "..",     "../libjvm.so", "/etc/passwd",
                                       "a/b", "a\nb", ".hidden" };
    struct error err = ERROR_NULL;
    pid_t pid = start_jvm();
    struct proc_id id = id_of(pid);
    uint64_t at = layout->jvm;
    char path[128], name[300];
    int fd = -1;

    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++)
        ck_assert_int_eq(broker_debuglink(fx.b, &id, at, at + 8192, BAD[i], &fd, &err), -EINVAL);
    memset(name, 'a', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    ck_assert_int_eq(broker_debuglink(fx.b, &id, at, at + 8192, name, &fd, &err), -EINVAL);
    ck_assert_int_eq(broker_debuglink(fx.b, &id, at, at + 4096, "x.debug", &fd, &err), -ENOENT);
    ck_assert_int_eq(broker_debuglink(fx.b, &id, at, at + 8192, "x.debug", &fd, &err),
                     BROKER_ABSENT);
    snprintf(path, sizeof(path), "%s/x.debug", fx.dir);
    write_file(path, CORE_BYTES, sizeof(CORE_BYTES));
    ck_assert_int_eq(broker_debuglink(fx.b, &id, at, at + 8192, "x.debug", &fd, &err),
                     BROKER_ABSENT);
    write_file(path, "secret", 6);
    ck_assert_int_eq(broker_debuglink(fx.b, &id, at, at + 8192, "x.debug", &fd, &err),
                     BROKER_ABSENT);
    write_file(path, ELF_BYTES, sizeof(ELF_BYTES));
    ck_assert_int_eq(broker_debuglink(fx.b, &id, at, at + 8192, "x.debug", &fd, &err), 0);
    ck_assert(file_is_elf(fd));
    close(fd);
    end_child(pid);
}
END_TEST

/* Kinds of debug file beside a user's library, and whether the broker gives it. */
enum beside {
    BESIDE_OWN,
    BESIDE_LINK,
    BESIDE_FOLDER_LINK,
    BESIDE_HARD_LINK,
    BESIDE_ROOTS,
    BESIDES
};

static void make_beside(enum beside what)
{
    char path[160], from[160];

    snprintf(path, sizeof(path), "%s/x.debug", fx.dir);
    snprintf(from, sizeof(from), "%s/private/x.debug", fx.dir);
    switch (what) {
    case BESIDE_LINK:
        ck_assert_int_eq(symlink(from, path), 0);
        return;
    case BESIDE_FOLDER_LINK:
        snprintf(path, sizeof(path), "%s/.debug", fx.dir);
        snprintf(from, sizeof(from), "%s/private", fx.dir);
        ck_assert_int_eq(symlink(from, path), 0);
        return;
    case BESIDE_HARD_LINK:
        ck_assert_int_eq(link(from, path), 0);
        return;
    default:
        write_file(path, ELF_BYTES, sizeof(ELF_BYTES));
        ck_assert_int_eq(chown(path, what == BESIDE_OWN ? JVM_UID : 0, 0), 0);
    }
}

START_TEST(a_debug_link_of_a_user_leads_to_no_file_of_root)
{
    struct error err = ERROR_NULL;
    pid_t pid = start_jvm();
    struct proc_id id = id_of(pid);
    uint64_t at = layout->jvm;
    char path[160];
    int fd = -1, r;

    make_private(pid);
    if (_i >= BESIDES) { /* a user's file in root's folder: the links to it are refused */
        snprintf(path, sizeof(path), "%s/private/x.debug", fx.dir);
        ck_assert_int_eq(chown(path, JVM_UID, 0), 0);
    }
    snprintf(path, sizeof(path), "%s/libjvm.so", fx.dir);
    ck_assert_int_eq(chown(path, JVM_UID, 0), 0);
    make_beside((enum beside)(_i % BESIDES));
    r = broker_debuglink(fx.b, &id, at, at + 8192, "x.debug", &fd, &err);
    ck_assert_int_eq(r, _i % BESIDES == BESIDE_OWN ? 0 : BROKER_ABSENT);
    close_fd(fd);
    end_child(pid);
}
END_TEST

/* In a root of the user's: a bind mount shows a folder of root, and a link leads there. */
START_TEST(a_build_id_leads_to_no_file_of_root)
{
    static const uint8_t BUILD_ID[] = { 0xab, 0xcd };
    struct error err = ERROR_NULL;
    pid_t pid = start_contained();
    struct proc_id id = id_of(pid);
    char path[160], from[160];
    int fd = -1;

    make_private(pid);
    snprintf(path, sizeof(path), "%s/usr/lib/debug/.build-id/ab/cd.debug", fx.dir);
    make_folders(path);
    ck_assert_int_eq(symlink("/private/x.debug", path), 0);
    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, sizeof(BUILD_ID), &fd, &err), BROKER_ABSENT);
    snprintf(from, sizeof(from), "%s/private/x.debug", fx.dir);
    ck_assert_int_eq(chmod(from, 0755), 0); /* as distributions set it */
    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, sizeof(BUILD_ID), &fd, &err), 0);
    close(fd);
    end_child(pid);
}
END_TEST

enum cached {
    CACHED_OWN,   /* owned by the JVM's user */
    CACHED_ALL,   /* owned by root, readable for all */
    CACHED_ROOTS, /* owned by root, readable for root only */
    CACHED_TEXT,
    CACHED_NOTHING, /* a debuginfod client's note that the file does not exist */
    CACHED_LINK,
    CACHED_FOLDER_LINK, /* a link to a folder of the host, outside the root */
    CACHED_CASES
};

static void make_cached(enum cached what, const char *path)
{
    char other[192];

    make_folders(path);
    switch (what) {
    case CACHED_TEXT:
    case CACHED_NOTHING:
        write_file(path, "text, and long enough", what == CACHED_TEXT ? 21 : 0);
        return;
    case CACHED_LINK:
        snprintf(other, sizeof(other), "%s/elf", fx.dir);
        write_file(other, ELF_BYTES, sizeof(ELF_BYTES));
        ck_assert_int_eq(symlink("/elf", path), 0);
        return;
    case CACHED_FOLDER_LINK:
        span_copy((struct span){ path, strlen(path) - strlen("/debuginfo") }, other, sizeof(other));
        ck_assert_int_eq(rmdir(other), 0);
        ck_assert_int_eq(symlink("/usr/bin", other), 0);
        return;
    default:
        write_file(path, ELF_BYTES, sizeof(ELF_BYTES));
        ck_assert_int_eq(chmod(path, what == CACHED_ALL ? 0444 : 0400), 0);
        ck_assert_int_eq(chown(path, what == CACHED_OWN ? JVM_UID : 0, 0), 0);
    }
}

/* A cache of debuginfod's client in a container's root. */
START_TEST(a_cache_in_a_root_gives_what_its_user_may_read)
{
    static const uint8_t BUILD_ID[] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5 };
    bool given = _i == CACHED_OWN || _i == CACHED_ALL;
    struct error err = ERROR_NULL;
    pid_t pid = start_contained();
    struct proc_id id = id_of(pid);
    char path[192];
    int fd = -1;

    snprintf(path, sizeof(path), "%s/root/.cache/debuginfod_client/abcdef0102030405/debuginfo",
             fx.dir);
    make_cached((enum cached)_i, path);
    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, sizeof(BUILD_ID), &fd, &err),
                     given ? 0 : BROKER_ABSENT);
    ck_assert(!given || file_is_elf(fd));
    close_fd(fd);
    end_child(pid);
}
END_TEST

/* The host's cache, at the place that the broker's environment names. */
START_TEST(the_environment_says_where_the_host_has_a_cache)
{
    static const uint8_t BUILD_ID[] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5 };
    static const char *const NAMES[] = { "DEBUGINFOD_CACHE_PATH", "XDG_CACHE_HOME" };
    struct error err = ERROR_NULL;
    char folder[] = "/tmp/flamed-cache-XXXXXX", path[192];
    struct proc_id id;
    pid_t pid;
    int fd = -1;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    fixture_shut();
    setenv(NAMES[_i], folder, 1);
    fixture_open();
    unsetenv(NAMES[_i]);
    pid = start_contained();
    id = id_of(pid);
    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, sizeof(BUILD_ID), &fd, &err), BROKER_ABSENT);
    snprintf(path, sizeof(path), "%s%s/abcdef0102030405/debuginfo", folder,
             _i ? "/debuginfod_client" : "");
    make_cached(CACHED_ROOTS, path);
    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, sizeof(BUILD_ID), &fd, &err), 0);
    ck_assert(file_is_elf(fd));
    close(fd);
    end_child(pid);
    remove_tree(folder);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("broker_debug");
    int skip = can_test_broker();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, fixture_open, fixture_shut);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, a_debug_link_of_a_user_leads_to_no_file_of_root, 0, 2 * BESIDES);
    tcase_add_test(tc, a_build_id_leads_to_no_file_of_root);
    tcase_add_test(tc, debug_files_are_elf);
    tcase_add_test(tc, shared_debug_files_are_below_their_folder);
    tcase_add_loop_test(tc, a_cache_in_a_root_gives_what_its_user_may_read, 0, CACHED_CASES);
    tcase_add_loop_test(tc, the_environment_says_where_the_host_has_a_cache, 0, 2);
    tcase_add_test(tc, debug_links_take_base_names_only);
    return suite_run_case("broker_debug", tc);
}
