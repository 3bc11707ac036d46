/* SPDX-License-Identifier: Apache-2.0 */
/* store: who may own its folder, and that no other user can look into it. */
#include "suite.h"

#include "base/cleanup.h"
#include "store/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLAMED 64123u /* users that no machine has */
#define OTHER 64124u

static char base[64], folder[96];

static void make_base(void)
{
    snprintf(base, sizeof(base), "/tmp/test_store_folder.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(base));
    snprintf(folder, sizeof(folder), "%s/store", base);
    umask(022);
}

static void remove_base(void)
{
    char command[160];

    snprintf(command, sizeof(command), "%s/store", base);
    for (size_t i = 0; i < 6; i++) {
        static const char *const NAMES[] = { "flamed.db",  "flamed.db-wal", "flamed.db.bad",
                                             "notes.text", "link",          "lost+found" };
        char path[160];

        snprintf(path, sizeof(path), "%s/%s", folder, NAMES[i]);
        unlink(path);
        rmdir(path);
    }
    rmdir(command);
    unlink(command);
    ck_assert_int_eq(rmdir(base), 0);
}

static void need_root(void)
{
    if (geteuid() != 0)
        exit(77);
}

static void make_file(const char *name, uid_t owner, mode_t mode)
{
    char path[160];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    ck_assert_int_eq(fchown(fd, owner, owner), 0);
    close(fd);
}

static struct stat look(const char *name)
{
    char path[160];
    struct stat st;

    snprintf(path, sizeof(path), "%s%s%s", folder, name[0] ? "/" : "", name);
    ck_assert_int_eq(lstat(path, &st), 0);
    return st;
}

static void make_folder(uid_t owner, mode_t mode)
{
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    ck_assert_int_eq(chmod(folder, mode), 0);
    ck_assert_int_eq(chown(folder, owner, owner), 0);
}

static int open_it(struct error *err)
{
    _cleanup_close_ int fd = -1;
    int r = store_folder_open(folder, FLAMED, FLAMED, &fd, err);

    ck_assert(r == 0 ? fd >= 0 : fd < 0);
    ck_assert_msg(r == 0 || (err->msg[0] && err->remedy[0]), "%s: %s", err->msg, err->remedy);
    return r;
}

static void assert_ours(void)
{
    struct stat st = look("");

    ck_assert_uint_eq(st.st_uid, FLAMED);
    ck_assert_uint_eq(st.st_gid, FLAMED);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
}

START_TEST(is_made_for_its_user_alone)
{
    struct error err = ERROR_NULL;

    ck_assert_msg(open_it(&err) == 0, "%s", err.msg);
    assert_ours();
}
END_TEST

/* An empty folder of root is taken over, as a DaemonSet's hostPath (0755) or emptyDir (0777), or as
 * its own file system. */
START_TEST(an_empty_folder_of_roots_is_handed_over)
{
    static const mode_t MODES[] = { 0755, 0777, 01777, 0700, 0775 };
    struct error err = ERROR_NULL;
    char path[160];

    make_folder(0, MODES[_i]);
    snprintf(path, sizeof(path), "%s/lost+found", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_msg(open_it(&err) == 0, "%s", err.msg);
    assert_ours();
}
END_TEST

START_TEST(a_store_in_a_folder_of_roots_is_handed_over)
{
    struct error err = ERROR_NULL;

    make_folder(0, 0755);
    make_file("flamed.db", FLAMED, 0644);
    make_file("flamed.db-wal", FLAMED, 0644);
    make_file("flamed.db.bad", FLAMED, 0644);
    ck_assert_msg(open_it(&err) == 0, "%s", err.msg);
    assert_ours();
}
END_TEST

START_TEST(what_others_have_in_it_keeps_a_folder_roots)
{
    static const struct {
        const char *name;
        uid_t owner;
    } CONTENT[] = {
        { "notes.text", 0 },    { "notes.text", OTHER }, { "notes.text", FLAMED },
        { "flamed.db", OTHER }, /* any user may put a file into a shared folder */
        { "flamed.db", 0 },
    };
    struct error err = ERROR_NULL;
    struct stat before, after;

    make_folder(0, 01777);
    make_file(CONTENT[_i].name, CONTENT[_i].owner, 0644);
    before = look("");
    ck_assert_int_eq(open_it(&err), -EPERM);
    ck_assert_msg(strstr(err.msg, CONTENT[_i].name) != NULL, "%s", err.msg);
    after = look("");
    ck_assert_uint_eq(after.st_uid, 0);
    ck_assert_uint_eq(after.st_mode, before.st_mode);
}
END_TEST

START_TEST(shared_folders_are_refused_even_when_empty)
{
    static const char *const SHARED[] = { "/tmp", "/var/tmp", "/", "/dev/shm", "/mnt", "/tmp/." };
    struct error err = ERROR_NULL;
    struct stat before, after;
    int fd = -1;

    if (stat(SHARED[_i], &before) < 0)
        return;
    for (int uid = 0; uid < 2; uid++) {
        ck_assert_int_eq(store_folder_open(SHARED[_i], uid ? FLAMED : 0, 0, &fd, &err), -EPERM);
        ck_assert_msg(strstr(err.msg, "other programs use") && err.remedy[0], "%s", err.msg);
    }
    ck_assert_int_eq(stat(SHARED[_i], &after), 0);
    ck_assert_uint_eq(after.st_uid, before.st_uid);
    ck_assert_uint_eq(after.st_mode, before.st_mode);
}
END_TEST

START_TEST(a_folder_of_another_user_is_refused)
{
    struct error err = ERROR_NULL;

    make_folder(OTHER, 0777);
    ck_assert_int_eq(open_it(&err), -EPERM);
    ck_assert_ptr_nonnull(strstr(err.msg, "belongs to user 64124"));
    ck_assert_uint_eq(look("").st_uid, OTHER);
}
END_TEST

/* Runs @command in a shell. Returns its exit status. */
static int shell(const char *command)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* flamed's user has another id than before. */
START_TEST(the_remedy_gives_a_store_to_another_user)
{
    struct error err = ERROR_NULL;
    const char *command;

    make_folder(OTHER, 0700);
    make_file("flamed.db", OTHER, 0600);
    make_file("flamed.db-wal", OTHER, 0600);
    ck_assert_int_eq(open_it(&err), -EPERM);
    command = strstr(err.remedy, "chown -R ");
    ck_assert_msg(command && shell(command) == 0, "%s", err.remedy);
    ck_assert_int_eq(open_it(&err), 0);
    assert_ours();
    ck_assert_uint_eq(look("flamed.db").st_uid, FLAMED);
    ck_assert_uint_eq(look("flamed.db-wal").st_uid, FLAMED);
}
END_TEST

START_TEST(a_link_is_not_followed)
{
    struct error err = ERROR_NULL;
    int fd = -1;

    ck_assert_int_eq(symlink("/var/lib", folder), 0);
    ck_assert_int_lt(store_folder_open(folder, FLAMED, FLAMED, &fd, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.msg, folder));
}
END_TEST

/* By flamed's user, who is this process's here. */
START_TEST(what_was_wider_is_narrowed)
{
    uid_t us = geteuid();
    _cleanup_close_ int fd = -1;
    struct error err = ERROR_NULL;
    char path[160];

    make_folder(us, 0755);
    make_file("flamed.db", us, 0644);
    make_file("flamed.db-wal", us, 0664);
    make_file("notes.text", us, 0644);
    if (us == 0)
        make_file("flamed.db.bad", OTHER, 0644);
    snprintf(path, sizeof(path), "%s/link", folder);
    ck_assert_int_eq(symlink("notes.text", path), 0);
    ck_assert_int_eq(store_folder_open(folder, us, getegid(), &fd, &err), 0);
    ck_assert_msg(store_folder_narrow(fd, folder, &err) == 0, "%s", err.msg);
    ck_assert_uint_eq(look("").st_mode & 07777, 0700);
    ck_assert_uint_eq(look("flamed.db").st_mode & 07777, 0600);
    ck_assert_uint_eq(look("flamed.db-wal").st_mode & 07777, 0600);
    ck_assert_uint_eq(look("notes.text").st_mode & 07777, 0644); /* not a file of flamed */
    if (us == 0)
        ck_assert_uint_eq(look("flamed.db.bad").st_mode & 07777, 0644);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("store_folder");
    TCase *tc = tcase_create("folder");

    need_root();
    tcase_add_checked_fixture(tc, make_base, remove_base);
    tcase_add_test(tc, is_made_for_its_user_alone);
    tcase_add_loop_test(tc, an_empty_folder_of_roots_is_handed_over, 0, 5);
    tcase_add_test(tc, a_store_in_a_folder_of_roots_is_handed_over);
    tcase_add_loop_test(tc, what_others_have_in_it_keeps_a_folder_roots, 0, 5);
    tcase_add_loop_test(tc, shared_folders_are_refused_even_when_empty, 0, 6);
    tcase_add_test(tc, a_folder_of_another_user_is_refused);
    tcase_add_test(tc, the_remedy_gives_a_store_to_another_user);
    tcase_add_test(tc, a_link_is_not_followed);
    tcase_add_test(tc, what_was_wider_is_narrowed);
    suite_add_tcase(s, tc);
    return suite_run(s);
}
