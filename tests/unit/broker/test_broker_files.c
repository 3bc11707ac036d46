/* SPDX-License-Identifier: Apache-2.0 */
/* broker: files in a target's root that are not what they seem, and file systems that hang. */
#include "broker_jvm.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static const char CORE_BYTES[] = "\177ELF\2\1\1xxxxxxxxx\4\0 and so on";

static bool file_is_elf(int fd)
{
    char text[sizeof(ELF_BYTES)];

    return pread(fd, text, sizeof(text), 0) == sizeof(text) &&
           memcmp(text, ELF_BYTES, sizeof(text)) == 0;
}

/* Becomes a container of one folder: chroot, and another user. */
static void be_contained(void *cookie)
{
    uid_t uid = *(const uid_t *)cookie;

    if (chroot(fx.dir) < 0 || chdir("/") < 0 || setresgid(uid, uid, uid) < 0 ||
        setresuid(uid, uid, uid) < 0)
        _exit(4);
}

#define JVM_UID 4711

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

/* Makes @path (of the target's pid) what @trick says. */
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

static pid_t start_contained(void)
{
    static uid_t uid = JVM_UID;
    char path[128];

    snprintf(path, sizeof(path), "%s/tmp", fx.dir);
    mkdir(path, 01777);
    snprintf(path, sizeof(path), "%s/etc", fx.dir);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/etc/passwd", fx.dir);
    write_file(path, "inside", 6); /* what a link would show at worst */
    return start_child(be_contained, &uid);
}

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
    /* Who waits for a FIFO does so each time, a machine that stands still for a moment does not. */
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

/* Binds root's file over both names, as any user can in namespaces of its own. */
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
    write_file(path, "secret", 6); /* root's, as the target's own maps of root are */
    pid = start_child(bind_over_its_names, &uid);
    id = id_of(pid);
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), -EPERM);
    ck_assert_msg(strstr(err.msg, "mounted over") != NULL, "%s", err.msg);
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

START_TEST(debug_files_are_elf)
{
    static const uint8_t BUILD_ID[] = { 0xab, 0xcd, 0xef, 1, 2, 3, 4, 5 };
    struct error err = ERROR_NULL;
    pid_t pid = start_contained();
    struct proc_id id = id_of(pid);
    char path[192], elf[192];
    int fd = -1;

    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, sizeof(BUILD_ID), &fd, &err), BROKER_ABSENT);
    for (size_t i = 0; i < 5; i++) {
        static const char *const PARTS[] = { "", "usr/", "usr/lib/", "usr/lib/debug/",
                                             "usr/lib/debug/.build-id/" };

        snprintf(path, sizeof(path), "%s/%s", fx.dir, PARTS[i]);
        mkdir(path, 0755);
    }
    snprintf(path, sizeof(path), "%s/usr/lib/debug/.build-id/ab", fx.dir);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/usr/lib/debug/.build-id/ab/cdef0102030405.debug", fx.dir);
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

/* What debug files share lies below one folder, and no name leads out of it. */
START_TEST(shared_debug_files_are_below_their_folder)
{
    static const char *const OUTSIDE[] = {
        "",   "..",        "../.dwz/x", "x/../../elf", "/elf", ".hidden",     "x//elf",
        "x/", "x/.hidden", "x/..",      "x\ny",        "x y",  "a/../../../e"
    };
    static const char *const PARTS[] = { "",
                                         "usr/",
                                         "usr/lib/",
                                         "usr/lib/debug/",
                                         "usr/lib/debug/.dwz/",
                                         "usr/lib/debug/.dwz/x86_64/" };
    struct error err = ERROR_NULL;
    pid_t pid = start_contained();
    struct proc_id id = id_of(pid);
    char path[192];
    int fd = -1;

    for (size_t i = 0; i < ARRAY_SIZE(PARTS); i++) {
        snprintf(path, sizeof(path), "%s/%s", fx.dir, PARTS[i]);
        mkdir(path, 0755);
    }
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

/* Sends @sig to the children of @parent that are called @name. Their number, and the last of them.
 */
static int signal_children(int parent, const char *name, int sig, int *ret_last)
{
    struct proc_stat st;
    char path[64];
    int pid, found = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
    _cleanup_fclose_ FILE *children = fopen(path, "re");
    ck_assert_ptr_nonnull(children);
    while (fscanf(children, "%d", &pid) == 1) {
        if (proc_read_stat(fx.proc_fd, pid, &st) == 0 && strcmp(st.comm, name) == 0 &&
            kill(pid, sig) == 0) {
            *ret_last = pid;
            found++;
        }
    }
    return found;
}

/* The same of the openers that the broker itself forked, which a file system that does not answer
 * would hold. */
static int signal_openers(int sig)
{
    int pid;

    return signal_children(fx.broker, "flamed-opener", sig, &pid);
}

/* How many the nursery forked since. */
static int forked_later(void)
{
    int nursery = 0, pid;

    ck_assert_int_eq(signal_children(fx.broker, "flamed-nursery", 0, &nursery), 1);
    return signal_children(nursery, "flamed-opener", 0, &pid);
}

/* They have their name a moment after they were made. */
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
    ck_assert_int_gt(forked_later(), 0); /* in the place of the one that is held */
    /* Its maps are not on that file system: whom it asks stands, or is the one that was forked. */
    r = broker_maps(fx.b, &id, &fd, &err);
    ck_assert(r == 0 || r == -ETIMEDOUT);
    if (r == 0)
        close(fd);
    signal_openers(SIGCONT);
    n = 0;
    while (broker_perfmap(fx.b, &id, &fd, &err) == -ETIMEDOUT && n++ < 100)
        usleep(20000);
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), BROKER_ABSENT);
    /* Its owner's others are asked about again, too. */
    ck_assert_int_eq(broker_perfmap(fx.b, &other_id, &fd, &err), BROKER_ABSENT);
    ck_assert_int_eq(broker_maps(fx.b, &other_id, &fd, &err), 0);
    close(fd);
    /* Those that end are done without. */
    ck_assert_int_eq(signal_openers(SIGKILL), 4);
    for (n = 0; n < 5; n++)
        broker_perfmap(fx.b, &id, &fd, &err);
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), BROKER_ABSENT);
    end_child(one);
    end_child(other);
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

/* A folder and files in it that only root may read. */
static void make_private(pid_t pid)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/private", fx.dir);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/private/%d", fx.dir, pid);
    write_file(path, "secret", 6);
    ck_assert_int_eq(chmod(path, 0600), 0);
    snprintf(path, sizeof(path), "%s/private/x.debug", fx.dir);
    write_file(path, ELF_BYTES, sizeof(ELF_BYTES));
    ck_assert_int_eq(chmod(path, 0700), 0);
}

/* A folder of counters that is a link, is another's, or that others write to. */
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

/* What lies beside a library of a user's, and whether it is given. */
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
    if (_i >=
        BESIDES) { /* the user's file, in root's folder: what leads there is refused as such */
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

/* In a root that is the user's: a link to a folder of root's that was bound there. */
START_TEST(a_build_id_leads_to_no_file_of_root)
{
    static const uint8_t BUILD_ID[] = { 0xab, 0xcd };
    static const char *const PARTS[] = { "usr", "usr/lib", "usr/lib/debug",
                                         "usr/lib/debug/.build-id", "usr/lib/debug/.build-id/ab" };
    struct error err = ERROR_NULL;
    pid_t pid = start_contained();
    struct proc_id id = id_of(pid);
    char path[160], from[160];
    int fd = -1;

    make_private(pid);
    for (size_t i = 0; i < ARRAY_SIZE(PARTS); i++) {
        snprintf(path, sizeof(path), "%s/%s", fx.dir, PARTS[i]);
        mkdir(path, 0755);
    }
    snprintf(path, sizeof(path), "%s/usr/lib/debug/.build-id/ab/cd.debug", fx.dir);
    ck_assert_int_eq(symlink("/private/x.debug", path), 0);
    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, sizeof(BUILD_ID), &fd, &err), BROKER_ABSENT);
    snprintf(from, sizeof(from), "%s/private/x.debug", fx.dir);
    ck_assert_int_eq(chmod(from, 0755), 0); /* as those of a distribution are */
    ck_assert_int_eq(broker_debug(fx.b, &id, BUILD_ID, sizeof(BUILD_ID), &fd, &err), 0);
    close(fd);
    end_child(pid);
}
END_TEST

/* Makes all folders on the way to @path. */
static void make_folders(const char *path)
{
    char part[256];

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        span_copy((struct span){ path, (size_t)(slash - path) }, part, sizeof(part));
        mkdir(part, 0755);
    }
}

enum cached {
    CACHED_OWN,   /* of the JVM's user */
    CACHED_ALL,   /* root's, readable for all */
    CACHED_ROOTS, /* root's alone */
    CACHED_TEXT,
    CACHED_NOTHING, /* as a client notes that nobody has it */
    CACHED_LINK,
    CACHED_FOLDER_LINK, /* to a folder of the host, out of the root */
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

/* What debuginfod's client of a container's root has downloaded. */
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

/* The host's own, where the broker's environment says that it is. */
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
    tcase_add_loop_test(tc, a_debug_link_of_a_user_leads_to_no_file_of_root, 0, 2 * BESIDES);
    tcase_add_test(tc, a_build_id_leads_to_no_file_of_root);
    tcase_add_test(tc, debug_files_are_elf);
    tcase_add_test(tc, shared_debug_files_are_below_their_folder);
    tcase_add_loop_test(tc, a_cache_in_a_root_gives_what_its_user_may_read, 0, CACHED_CASES);
    tcase_add_loop_test(tc, the_environment_says_where_the_host_has_a_cache, 0, 2);
    tcase_add_test(tc, a_file_system_that_hangs_holds_one_process);
    tcase_add_test(tc, debug_links_take_base_names_only);
    return suite_run_case("broker_files", tc);
}
