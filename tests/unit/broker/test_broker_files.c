/* SPDX-License-Identifier: Apache-2.0 */
/* broker: files in a target's root that are not what they seem, and file systems that hang. */
#include "broker_contained.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

enum trick {
    GOOD,
    GOOD_OF_ROOT,
    LINK_ABSOLUTE,
    LINK_UP,
    LINK_MAGIC,
    LINK_INSIDE,
    FIFO,
    SOCKET,
    DEVICE,
    FOLDER,
    HARD_LINK,
    OTHERS,
    HUGE,
    NOTHING,
    TRICKS
};

/* Makes @path what @trick says. @path has the target's pid in it. */
static void make_trick(enum trick trick, const char *path)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    char other[256];
    int fd;

    snprintf(other, sizeof(other), "%s/other", fx.dir);
    write_file(other, "other", 5);
    unlink(path);
    rmdir(path);
    switch (trick) {
    case LINK_ABSOLUTE:
        ck_assert_int_eq(symlink("/etc/passwd", path), 0);
        return;
    case LINK_UP:
        ck_assert_int_eq(symlink("../../../../../../etc/passwd", path), 0);
        return;
    case LINK_MAGIC:
        ck_assert_int_eq(symlink("/proc/self/root/etc/passwd", path), 0);
        return;
    case LINK_INSIDE:
        ck_assert_int_eq(symlink("/other", path), 0);
        return;
    case FIFO:
        ck_assert_int_eq(mkfifo(path, 0666), 0);
        break;
    case SOCKET:
        memcpy(sa.sun_path, path, MIN(strlen(path) + 1, sizeof(sa.sun_path)));
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
        close(fd);
        break;
    case DEVICE:
        ck_assert_int_eq(mknod(path, S_IFCHR | 0666, makedev(1, 3)), 0);
        break;
    case FOLDER:
        ck_assert_int_eq(mkdir(path, 0777), 0);
        break;
    case HARD_LINK:
        ck_assert_int_eq(link(other, path), 0);
        break;
    case HUGE:
        write_file(path, "huge", 4);
        ck_assert_int_eq(truncate(path, (off_t)1 << 40), 0);
        break;
    case NOTHING:
        return;
    default:
        write_file(path, "good", 4);
        break;
    }
    ck_assert_int_eq(chown(path,
                           trick == OTHERS         ? 4712
                           : trick == GOOD_OF_ROOT ? 0
                                                   : JVM_UID,
                           0),
                     0);
}

static const int TRICK_RESULTS[TRICKS] = {
    [LINK_ABSOLUTE] = -EPERM, [LINK_UP] = -EPERM, [LINK_MAGIC] = -EPERM, [LINK_INSIDE] = -EPERM,
    [FIFO] = -EPERM,          [SOCKET] = -EPERM,  [DEVICE] = -EPERM,     [FOLDER] = -EPERM,
    [HARD_LINK] = -EPERM,     [OTHERS] = -EPERM,  [HUGE] = -EFBIG,       [NOTHING] = BROKER_ABSENT,
};

static void expect_file(const char *what, enum trick trick, int r, int fd, const struct error *err)
{
    ck_assert_msg(r == TRICK_RESULTS[trick], "%s, trick %d: %d (%s), not %d", what, trick, r,
                  err->msg, TRICK_RESULTS[trick]);
    if (r == 0)
        ck_assert(file_is(fd, "good") && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
    close_fd(fd);
}

START_TEST(files_in_a_root_are_what_they_seem)
{
    enum trick trick = (enum trick)_i;
    struct error err = ERROR_NULL;
    pid_t pid = start_contained();
    struct proc_id id = id_of(pid);
    uint64_t took_ns = UINT64_MAX;
    char path[128];

    snprintf(path, sizeof(path), "%s/tmp/perf-%d.map", fx.dir, pid);
    make_trick(trick, path);
    snprintf(path, sizeof(path), "%s/tmp/hsperfdata_a user", fx.dir);
    mkdir(path, 0755);
    ck_assert_int_eq(chown(path, JVM_UID, 0), 0);
    snprintf(path, sizeof(path), "%s/tmp/hsperfdata_a user/%d", fx.dir, pid);
    make_trick(trick, path);
    /* A broker that waits for a FIFO does so at each try. A machine that merely stalls does not. */
    for (int i = 0; i < 3 && took_ns >= NSEC_PER_SEC; i++) {
        uint64_t began_ns = clock_monotonic_ns();
        int fd = -1, r = broker_perfmap(fx.b, &id, &fd, &err);

        expect_file("perfmap", trick, r, fd, &err);
        fd = -1;
        r = broker_hsperfdata(fx.b, &id, &fd, &err);
        expect_file("hsperfdata", trick == GOOD_OF_ROOT ? OTHERS : trick, r, fd, &err);
        took_ns = clock_monotonic_ns() - began_ns;
    }
    ck_assert_uint_lt(took_ns, NSEC_PER_SEC);
    end_child(pid);
}
END_TEST

/* Binds root's file over both names, as any user can in its own namespaces. */
static void bind_over_its_names(void *cookie)
{
    char secret[128], path[160];

    snprintf(secret, sizeof(secret), "%s/other", fx.dir);
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        _exit(4);
    snprintf(path, sizeof(path), "%s/tmp/perf-%d.map", fx.dir, getpid());
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (mount(secret, path, NULL, MS_BIND, NULL) < 0)
        _exit(4);
    snprintf(path, sizeof(path), "%s/tmp/hsperfdata_a/%d", fx.dir, getpid());
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    if (mount(secret, path, NULL, MS_BIND, NULL) < 0)
        _exit(4);
    be_contained(cookie);
}

START_TEST(what_is_bound_over_a_name_is_not_given)
{
    static uid_t uid = JVM_UID;
    struct error err = ERROR_NULL;
    struct proc_id id;
    char path[128];
    pid_t pid;
    int fd = -1;

    snprintf(path, sizeof(path), "%s/tmp", fx.dir);
    ck_assert_int_eq(mkdir(path, 01777), 0);
    snprintf(path, sizeof(path), "%s/tmp/hsperfdata_a", fx.dir);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert_int_eq(chown(path, JVM_UID, 0), 0);
    snprintf(path, sizeof(path), "%s/other", fx.dir);
    write_file(path, "secret", 6); /* a file of root, like the maps of root's processes */
    pid = start_child(bind_over_its_names, &uid);
    id = id_of(pid);
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), -EPERM);
    ck_assert_msg(strstr(err.msg, "covered by a mount") != NULL, "%s", err.msg);
    ck_assert_int_eq(broker_hsperfdata(fx.b, &id, &fd, &err), -EPERM);
    end_child(pid);
}
END_TEST

START_TEST(tmp_may_be_a_link_inside_the_root)
{
    struct error err = ERROR_NULL;
    char path[128], to[128];
    pid_t pid = start_contained();
    struct proc_id id = id_of(pid);
    int fd = -1;

    snprintf(path, sizeof(path), "%s/tmp", fx.dir);
    snprintf(to, sizeof(to), "%s/real-tmp", fx.dir);
    ck_assert_int_eq(rename(path, to), 0);
    ck_assert_int_eq(symlink("/real-tmp", path), 0);
    snprintf(path, sizeof(path), "%s/real-tmp/perf-%d.map", fx.dir, pid);
    make_trick(GOOD, path);
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), 0);
    ck_assert(file_is(fd, "good"));
    close(fd);
    end_child(pid);
}
END_TEST

START_TEST(a_folder_that_is_a_link_leads_nowhere_outside)
{
    struct error err = ERROR_NULL;
    char path[160], target[128];
    pid_t pid = start_contained();
    struct proc_id id = id_of(pid);
    int fd = -1;

    /* A real hsperfdata folder outside the root, and a link to it inside. */
    snprintf(target, sizeof(target), "/tmp/flamed-test-outside-%d", pid);
    ck_assert_int_eq(mkdir(target, 0755), 0);
    snprintf(path, sizeof(path), "%s/%d", target, pid);
    write_file(path, "good", 4);
    snprintf(path, sizeof(path), "%s/tmp/hsperfdata_x", fx.dir);
    ck_assert_int_eq(symlink(target, path), 0);
    ck_assert_int_eq(broker_hsperfdata(fx.b, &id, &fd, &err), BROKER_ABSENT);
    ck_assert_int_eq(fd, -1);
    snprintf(path, sizeof(path), "%s/%d", target, pid);
    unlink(path);
    rmdir(target);
    end_child(pid);
}
END_TEST

/* Sends @sig to the openers that the broker itself forked, as if a dead file system held them. */
static int signal_openers(int sig)
{
    int pid;

    return signal_children(fx.broker, "flamed-opener", sig, &pid);
}

/* Returns how many openers the nursery forked later. */
static int forked_later(void)
{
    int nursery = 0, pid;

    ck_assert_int_eq(signal_children(fx.broker, "flamed-nursery", 0, &nursery), 1);
    return signal_children(nursery, "flamed-opener", 0, &pid);
}

/* Openers get their name a moment after they were forked. */
static void await_openers(void)
{
    for (int n = 0; signal_openers(0) < 4 && n < 500; n++)
        usleep(10000);
}

START_TEST(a_file_system_that_hangs_holds_one_process)
{
    struct error err = ERROR_NULL;
    pid_t one = start_contained(), other = start_contained();
    struct proc_id id = id_of(one), other_id = id_of(other);
    uint64_t began;
    int fd = -1, n = 0, r;

    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), BROKER_ABSENT);
    await_openers();
    ck_assert_int_eq(signal_openers(SIGSTOP), 4);
    began = clock_monotonic_ns();
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), -ETIMEDOUT);
    ck_assert(clock_monotonic_ns() - began < 5 * NSEC_PER_SEC);
    ck_assert_ptr_nonnull(strstr(err.msg, "does not answer"));
    began = clock_monotonic_ns();
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), -ETIMEDOUT);
    ck_assert_int_eq(broker_hsperfdata(fx.b, &id, &fd, &err), -ETIMEDOUT);
    ck_assert_msg(clock_monotonic_ns() - began < NSEC_PER_SEC, "it was asked about again");
    for (n = 0; forked_later() == 0 && n < 500; n++)
        usleep(10000);
    ck_assert_int_gt(forked_later(), 0); /* one replaces the held opener */
    /* The maps are not on that file system. The request reaches a stopped opener or the new one. */
    r = broker_maps(fx.b, &id, &fd, &err);
    ck_assert(r == 0 || r == -ETIMEDOUT);
    if (r == 0)
        close(fd);
    signal_openers(SIGCONT);
    n = 0;
    while (broker_perfmap(fx.b, &id, &fd, &err) == -ETIMEDOUT && n++ < 100)
        usleep(20000);
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), BROKER_ABSENT);
    /* Requests about other targets of this owner are served again, too. */
    ck_assert_int_eq(broker_perfmap(fx.b, &other_id, &fd, &err), BROKER_ABSENT);
    ck_assert_int_eq(broker_maps(fx.b, &other_id, &fd, &err), 0);
    close(fd);
    /* The broker replaces openers that end. */
    ck_assert_int_eq(signal_openers(SIGKILL), 4);
    for (n = 0; n < 5; n++)
        broker_perfmap(fx.b, &id, &fd, &err);
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), BROKER_ABSENT);
    end_child(one);
    end_child(other);
}
END_TEST

/* When all openers end, the broker does not open files in their place. The nursery forks others,
 * also without a request, and after it could not fork. */
START_TEST(openers_that_end_come_back)
{
    struct error err = ERROR_NULL;
    pid_t pid = start_contained();
    struct proc_id id = id_of(pid);
    int nursery = 0, fd = -1, r;
    struct rlimit were, none;

    await_openers();
    ck_assert_int_eq(signal_children(fx.broker, "flamed-nursery", 0, &nursery), 1);
    ck_assert_int_eq(prlimit(nursery, RLIMIT_NOFILE, NULL, &were), 0);
    none = (struct rlimit){ .rlim_cur = 4, .rlim_max = were.rlim_max };
    ck_assert_int_eq(prlimit(nursery, RLIMIT_NOFILE, &none, NULL), 0);
    ck_assert_int_eq(signal_openers(SIGKILL), 4);
    for (int i = 0; i < 20; i++) {
        r = broker_perfmap(fx.b, &id, &fd, &err);
        ck_assert_msg(r == -EIO || r == -EAGAIN, "%d: %s", r, err.msg);
    }
    ck_assert_int_eq(forked_later(), 0);
    ck_assert_int_eq(prlimit(nursery, RLIMIT_NOFILE, &were, NULL), 0);
    for (int n = 0; forked_later() == 0 && n < 1000; n++)
        usleep(10000);
    ck_assert_int_gt(forked_later(), 0);
    for (int n = 0; forked_later() < 4 && n < 1000; n++) {
        broker_perfmap(fx.b, &id, &fd, &err);
        usleep(10000);
    }
    ck_assert_int_eq(forked_later(), 4);
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), BROKER_ABSENT);
    end_child(pid);
}
END_TEST

/* Ends all openers of a broker of its own, and their nursery. The broker ends, and its supervisor
 * starts another one. */
START_TEST(without_openers_and_nursery_the_broker_ends)
{
    struct broker *b = NULL;
    int end;
    pid_t pid = start_broker(&end);

    ck_assert_int_eq(broker_new(end, &b), 0);
    check_end_without_openers(b, pid);
}
END_TEST

/* Folders of counters that are a link, belong to another user, or are writable by others. */
static const struct {
    bool link;
    uid_t uid;
    mode_t mode;
    int result;
} FOLDERS[] = {
    { false, JVM_UID, 0755, 0 },      { true, JVM_UID, 0755, BROKER_ABSENT },
    { false, 0, 0755, -EPERM },       { false, JVM_UID, 0775, -EPERM },
    { false, JVM_UID, 0757, -EPERM },
};

START_TEST(a_folder_of_counters_is_the_users_own)
{
    struct error err = ERROR_NULL;
    pid_t pid = start_contained();
    struct proc_id id = id_of(pid);
    char path[160], file[200];
    int fd = -1;

    make_private(pid);
    snprintf(path, sizeof(path), "%s/tmp/hsperfdata_alice", fx.dir);
    if (FOLDERS[_i].link) {
        ck_assert_int_eq(symlink("/private", path), 0);
    } else {
        ck_assert_int_eq(mkdir(path, 0755), 0);
        snprintf(file, sizeof(file), "%s/%d", path, pid);
        make_trick(GOOD, file);
        ck_assert_int_eq(chown(path, FOLDERS[_i].uid, 0), 0);
        ck_assert_int_eq(chmod(path, FOLDERS[_i].mode), 0);
    }
    ck_assert_int_eq(broker_hsperfdata(fx.b, &id, &fd, &err), FOLDERS[_i].result);
    close_fd(fd);
    end_child(pid);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("broker_files");
    int skip = can_test_broker();

    if (skip)
        return skip;
    tcase_add_checked_fixture(tc, fixture_open, fixture_shut);
    tcase_set_timeout(tc, 30);
    tcase_add_loop_test(tc, files_in_a_root_are_what_they_seem, 0, TRICKS);
    tcase_add_test(tc, what_is_bound_over_a_name_is_not_given);
    tcase_add_test(tc, tmp_may_be_a_link_inside_the_root);
    tcase_add_test(tc, a_folder_that_is_a_link_leads_nowhere_outside);
    tcase_add_loop_test(tc, a_folder_of_counters_is_the_users_own, 0, ARRAY_SIZE(FOLDERS));
    tcase_add_test(tc, a_file_system_that_hangs_holds_one_process);
    tcase_add_test(tc, openers_that_end_come_back);
    tcase_add_test(tc, without_openers_and_nursery_the_broker_ends);
    return suite_run_case("broker_files", tc);
}
