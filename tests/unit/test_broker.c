/* SPDX-License-Identifier: Apache-2.0 */
/* broker: the real program, asked for everything that is forbidden, and for what it is there for.
 */
#include "broker_fixture.h"
#include "live_jvm.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static const char ELF_BYTES[] = "\177ELF\2\1\1xxxxxxxxx\3\0 and so on";
static const char CORE_BYTES[] = "\177ELF\2\1\1xxxxxxxxx\4\0 and so on";

static bool file_is_elf(int fd)
{
    char text[sizeof(ELF_BYTES)];

    return pread(fd, text, sizeof(text), 0) == sizeof(text) &&
           memcmp(text, ELF_BYTES, sizeof(text)) == 0;
}

/* ---- children ---- */

/* What a child maps, for the parent to see: the child is a fork, the memory is shared. */
struct layout {
    uint64_t jvm, deleted, data, zero, anonymous;
    size_t jvm_n;
};
static struct layout *layout;

static uint64_t map_file(const char *path, int prot)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *p = mmap(NULL, 8192, prot, MAP_PRIVATE, fd, 0);

    if (fd < 0 || p == MAP_FAILED)
        _exit(3);
    close(fd);
    return (uint64_t)(uintptr_t)p;
}

/* Looks like a JVM to the broker: maps a libjvm.so to execute. */
static void be_jvm(void *cookie)
{
    char path[128];

    (void)cookie;
    snprintf(path, sizeof(path), "%s/libjvm.so", fx.dir);
    layout->jvm = map_file(path, PROT_READ | PROT_EXEC);
    layout->data = map_file(path, PROT_READ);
    snprintf(path, sizeof(path), "%s/deleted.so", fx.dir);
    layout->deleted = map_file(path, PROT_READ | PROT_EXEC);
    unlink(path);
    layout->zero = map_file("/dev/zero", PROT_READ | PROT_EXEC);
    layout->anonymous = (uint64_t)(uintptr_t)mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
                                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static char secret[] = "the quick brown fox";

static pid_t start_jvm(void)
{
    char path[128], bytes[8192] = "\177ELF";

    snprintf(path, sizeof(path), "%s/libjvm.so", fx.dir);
    write_file(path, bytes, sizeof(bytes));
    snprintf(path, sizeof(path), "%s/deleted.so", fx.dir);
    write_file(path, bytes, sizeof(bytes));
    return start_child(be_jvm, NULL);
}

/* Becomes a container of one folder: chroot, and another user. */
static void be_contained(void *cookie)
{
    uid_t uid = *(const uid_t *)cookie;

    if (chroot(fx.dir) < 0 || chdir("/") < 0 || setresgid(uid, uid, uid) < 0 ||
        setresuid(uid, uid, uid) < 0)
        _exit(4);
}

/* ---- mem, environ ---- */

START_TEST(mem_of_a_jvm_is_read_only)
{
    struct error err = ERROR_NULL;
    pid_t pid = start_jvm();
    struct proc_id id = id_of(pid);
    char text[sizeof(secret)], link[40];
    int fd = -1, again;

    ck_assert_msg(broker_mem(fx.b, &id, &fd, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(pread(fd, text, sizeof(text), (off_t)(uintptr_t)secret), sizeof(text));
    ck_assert_str_eq(text, secret);
    ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    ck_assert_int_lt(pwrite(fd, "x", 1, (off_t)(uintptr_t)secret), 0);
    ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    /* One that has no privilege cannot open it again for more. */
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    again = fork();
    if (again == 0)
        _exit(setresuid(65534, 65534, 65534) < 0 ? 3 : open(link, O_RDWR) < 0 ? 0 : 1);
    int status;
    ck_assert_int_eq(waitpid(again, &status, 0), again);
    ck_assert_int_eq(status, 0);
    close(fd);
    ck_assert_int_eq(broker_environ(fx.b, &id, &fd, &err), 0);
    close(fd);
    end_child(pid);
}
END_TEST

static void expect_no_mem(struct proc_id id, int expected)
{
    struct error err = ERROR_NULL;
    int fd = -1, r = broker_mem(fx.b, &id, &fd, &err);

    ck_assert_msg(r == expected, "mem of %d: %d (%s), not %d", id.host_pid, r, err.msg, expected);
    ck_assert_int_eq(fd, -1);
    ck_assert(expected > 0 || err.msg[0]);
    err = ERROR_NULL;
    r = broker_environ(fx.b, &id, &fd, &err);
    ck_assert_msg(r == expected, "environ of %d: %d (%s), not %d", id.host_pid, r, err.msg,
                  expected);
    ck_assert_int_eq(fd, -1);
}

START_TEST(mem_is_refused)
{
    pid_t plain = start_child(NULL, NULL);
    struct stat st;

    expect_no_mem(id_of(plain), -EPERM); /* not a JVM */
    expect_no_mem(id_of(fx.broker), -EPERM);
    expect_no_mem(id_of(getpid()), -EPERM);
    ck_assert_int_eq(stat("/proc/self/ns/pid", &st), 0);
    if (st.st_ino == 0xeffffffc) {
        expect_no_mem(id_of(1), -EPERM);
        expect_no_mem(id_of(2), PROC_GONE); /* kthreadd: it has no memory */
    }
    end_child(plain);
}
END_TEST

START_TEST(our_own_are_refused_even_with_a_libjvm)
{
    struct error err = ERROR_NULL;
    struct proc_id id = id_of(getpid());
    char path[128];
    void *p;
    int fd;

    write_file((snprintf(path, sizeof(path), "%s/libjvm.so", fx.dir), path), ELF_BYTES,
               sizeof(ELF_BYTES));
    fd = open(path, O_RDONLY | O_CLOEXEC);
    p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    ck_assert_ptr_ne(p, MAP_FAILED);
    close(fd);
    fd = -1;
    ck_assert_int_eq(broker_mem(fx.b, &id, &fd, &err), -EPERM); /* --client names us */
    munmap(p, 4096);
}
END_TEST

static void *be_thread(void *tid)
{
    __atomic_store_n((pid_t *)tid, (pid_t)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
    for (;;)
        pause();
    return NULL;
}
static pid_t *shared_tid;
static void be_threaded_jvm(void *cookie)
{
    pthread_t t;

    be_jvm(cookie);
    pthread_create(&t, NULL, be_thread, shared_tid);
    while (!__atomic_load_n(shared_tid, __ATOMIC_SEQ_CST))
        usleep(1000);
}

START_TEST(a_thread_is_no_process)
{
    pid_t pid;

    shared_tid = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    end_child(start_jvm()); /* makes the files; the deleted one again: */
    char path[128];
    write_file((snprintf(path, sizeof(path), "%s/deleted.so", fx.dir), path), ELF_BYTES,
               sizeof(ELF_BYTES));
    pid = start_child(be_threaded_jvm, NULL);
    expect_no_mem(id_of(*shared_tid), PROC_GONE);
    end_child(pid);
    munmap(shared_tid, 4096);
}
END_TEST

/* ---- identity ---- */

START_TEST(what_is_gone_is_gone)
{
    struct error err = ERROR_NULL;
    pid_t pid = start_jvm();
    struct proc_id id = id_of(pid), other = id;
    int fd = -1, mem = -1;
    char c;

    other.start_ticks++;
    ck_assert_int_eq(broker_maps(fx.b, &other, &fd, &err), PROC_GONE);
    expect_no_mem(other, PROC_GONE);
    ck_assert_int_eq(broker_mem(fx.b, &id, &mem, &err), 0);
    end_child(pid);
    ck_assert_int_eq(broker_maps(fx.b, &id, &fd, &err), PROC_GONE);
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), PROC_GONE);
    ck_assert_int_eq(broker_hsperfdata(fx.b, &id, &fd, &err), PROC_GONE);
    ck_assert_int_eq(broker_mapped(fx.b, &id, layout->jvm, layout->jvm + 8192, &fd, &err),
                     PROC_GONE);
    expect_no_mem(id, PROC_GONE);
    ck_assert_int_le(pread(mem, &c, 1, (off_t)(uintptr_t)secret), 0);
    close(mem);
}
END_TEST

START_TEST(a_reused_pid_is_another_process)
{
    struct error err = ERROR_NULL;
    struct proc_id id = { 0 };
    char text[16];
    pid_t pid = -1, again = 0;
    int fd = -1;

    for (int tries = 0; tries < 50 && again != pid; tries++) {
        int last = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

        if (last < 0)
            return; /* not possible here */
        pid = start_jvm();
        id = id_of(pid);
        end_child(pid);
        usleep(30000); /* the start time counts in ticks of 10 ms */
        snprintf(text, sizeof(text), "%d", pid - 1);
        ck_assert_int_gt(write(last, text, strlen(text)), 0);
        close(last);
        again = start_child(NULL, NULL);
        if (again != pid)
            end_child(again);
    }
    ck_assert_int_eq(again, pid);
    ck_assert_int_eq(broker_maps(fx.b, &id, &fd, &err), PROC_GONE);
    expect_no_mem(id, PROC_GONE);
    end_child(again);
}
END_TEST

START_TEST(after_an_exec_mem_reads_nothing)
{
    struct error err = ERROR_NULL;
    int go[2], fd = -1;
    struct proc_id id;
    char path[32], comm[32] = "", c;
    pid_t pid;

    end_child(start_jvm());
    ck_assert_int_eq(pipe2(go, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        char file[128];

        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        close(broker_fd(fx.b));
        snprintf(file, sizeof(file), "%s/libjvm.so", fx.dir);
        map_file(file, PROT_READ | PROT_EXEC);
        layout->jvm_n = 1;
        if (read(go[0], &c, 1) == 1)
            execlp("sleep", "sleep", "100", NULL);
        _exit(1);
    }
    while (!__atomic_load_n(&layout->jvm_n, __ATOMIC_SEQ_CST))
        usleep(1000);
    id = id_of(pid);
    ck_assert_msg(broker_mem(fx.b, &id, &fd, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(pread(fd, &c, 1, (off_t)(uintptr_t)secret), 1);
    ck_assert_int_eq(write(go[1], "x", 1), 1);
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    for (int i = 0; i < 1000 && strcmp(comm, "sleep\n") != 0; i++) {
        _cleanup_close_ int f = open(path, O_RDONLY | O_CLOEXEC);

        usleep(2000);
        memset(comm, 0, sizeof(comm));
        ck_assert_int_gt(read(f, comm, sizeof(comm) - 1), 0);
    }
    ck_assert_str_eq(comm, "sleep\n");
    ck_assert_int_le(pread(fd, &c, 1, (off_t)(uintptr_t)secret), 0);
    expect_no_mem(id, -EPERM); /* the same process, no longer a JVM */
    close(fd);
    close(go[0]);
    close(go[1]);
    end_child(pid);
}
END_TEST

/* ---- a real JVM ---- */

static uint64_t find_libjvm(int maps_fd)
{
    struct buf text = BUF_NULL;
    struct maps m = { 0 };
    uint64_t start = 0;

    buf_init(&text, MAPS_MAX_BYTES);
    ck_assert_int_eq(buf_read_fd(&text, maps_fd), 0);
    ck_assert_int_eq(maps_parse(&text, &m), 0);
    for (size_t i = 0; i < m.count && !start; i++) {
        if (span_ends_with(m.entries[i].path, "/libjvm.so"))
            start = m.entries[i].start;
    }
    maps_deinit(&m);
    return start;
}

START_TEST(a_real_jvm_opens_itself)
{
    static const int RELEASES[] = { 17, 25, 21, 11, 8 };
    const char *const args[] = { "Idle", "1", NULL };
    struct error err = ERROR_NULL;
    struct live_jvm j = { 0 };
    struct proc_id id;
    char magic[4], text[64];
    int maps = -1, mem = -1, perf = -1;
    size_t i = 0;

    while (i < ARRAY_SIZE(RELEASES) && !live_has(RELEASES[i]))
        i++;
    if (i == ARRAY_SIZE(RELEASES) || !live_compile("Idle.java"))
        return; /* no JDK here */
    live_start(RELEASES[i], args, &j);
    live_attach(&j);
    id = id_of(j.pid);
    ck_assert_int_eq(broker_maps(fx.b, &id, &maps, &err), 0);
    ck_assert_msg(broker_mem(fx.b, &id, &mem, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(pread(mem, magic, 4, (off_t)find_libjvm(maps)), 4);
    ck_assert_mem_eq(magic, "\177ELF", 4);
    for (int tries = 0; tries < 500 && perf < 0; tries++, usleep(10000)) {
        if (broker_hsperfdata(fx.b, &id, &perf, &err) == BROKER_ABSENT)
            continue; /* not written yet */
    }
    ck_assert_int_ge(perf, 0);
    ck_assert_int_eq(read(perf, text, 4), 4);
    ck_assert_mem_eq(text, "\xca\xfe\xc0\xc0", 4);
    live_stop(&j);
    ck_assert_int_le(pread(mem, magic, 4, (off_t)(uintptr_t)secret), 0);
    expect_no_mem(id, PROC_GONE);
    close(maps);
    close(mem);
    close(perf);
}
END_TEST

/* ---- mapped ---- */

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
    struct buf text = BUF_NULL;
    char magic[4];
    int maps = -1, fd = -1;

    buf_init(&text, MAPS_MAX_BYTES);
    ck_assert_int_eq(broker_maps(fx.b, &id, &maps, &err), 0);
    ck_assert_int_eq(buf_read_fd(&text, maps), 0);
    ck_assert_int_eq(maps_parse(&text, &m), 0);
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

/* ---- files in a target's root ---- */

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
    uint64_t began = clock_monotonic_ns();
    char path[128];
    int fd = -1, r;

    snprintf(path, sizeof(path), "%s/tmp/perf-%d.map", fx.dir, pid);
    make_trick(trick, path);
    r = broker_perfmap(fx.b, &id, &fd, &err);
    expect_file("perfmap", trick, r, fd, &err);
    fd = -1;
    snprintf(path, sizeof(path), "%s/tmp/hsperfdata_a user", fx.dir);
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/tmp/hsperfdata_a user/%d", fx.dir, pid);
    make_trick(trick, path);
    r = broker_hsperfdata(fx.b, &id, &fd, &err);
    expect_file("hsperfdata", trick, r, fd, &err);
    ck_assert_uint_lt(clock_monotonic_ns() - began, NSEC_PER_SEC); /* no FIFO was waited for */
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

/* Sends @sig to the broker's openers, which a file system that does not answer would hold. Their
 * number. */
static int signal_openers(int sig)
{
    int found = 0;

    for (pid_t pid = fx.broker; pid < fx.broker + 100; pid++) {
        struct proc_stat st;

        if (proc_read_stat(fx.proc_fd, pid, &st) == 0 && st.ppid == fx.broker &&
            strcmp(st.comm, "flamed-opener") == 0 && kill(pid, sig) == 0)
            found++;
    }
    return found;
}

START_TEST(a_file_system_that_hangs_holds_one_process)
{
    struct error err = ERROR_NULL;
    pid_t one = start_contained(), other = start_contained();
    struct proc_id id = id_of(one), other_id = id_of(other);
    uint64_t began;
    int fd = -1, n = 0;

    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), BROKER_ABSENT);
    ck_assert_int_eq(signal_openers(SIGSTOP), 4);
    began = clock_monotonic_ns();
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), -ETIMEDOUT);
    ck_assert(clock_monotonic_ns() - began < 5 * NSEC_PER_SEC);
    ck_assert_ptr_nonnull(strstr(err.msg, "does not answer"));
    began = clock_monotonic_ns();
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), -ETIMEDOUT);
    ck_assert_int_eq(broker_hsperfdata(fx.b, &id, &fd, &err), -ETIMEDOUT);
    ck_assert_msg(clock_monotonic_ns() - began < NSEC_PER_SEC, "it was asked about again");
    ck_assert_int_eq(broker_maps(fx.b, &id, &fd, &err), 0);
    close(fd);
    signal_openers(SIGCONT);
    ck_assert_int_eq(broker_perfmap(fx.b, &other_id, &fd, &err), BROKER_ABSENT);
    while (broker_perfmap(fx.b, &id, &fd, &err) == -ETIMEDOUT && n++ < 100)
        usleep(20000);
    ck_assert_int_eq(broker_perfmap(fx.b, &id, &fd, &err), BROKER_ABSENT);
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

/* ---- the host ---- */

#define CONFIG_ID "f1a3ed0000000000000000000000000000000000000000000000000000000001"

START_TEST(container_config_takes_ids_only)
{
    static const char *const BAD[] = {
        "../../../../../../../etc/passwd",
        "../../../../etc/../etc/../etc/../etc/../etc/../etc/../etc/passwd",
        "F1A3ED0000000000000000000000000000000000000000000000000000000001",
        "f1a3ed000000000000000000000000000000000000000000000000000000000",
        "f1a3ed00000000000000000000000000000000000000000000000000000000011",
        "f1a3ed000000000000000000000000000000000000000000000000000000000/",
        "",
    };
    static const char FOLDER_OF_ID[] =
        "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" CONFIG_ID;
    struct error err = ERROR_NULL;
    char path[256];
    int fd = -1;

    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++)
        ck_assert_int_eq(broker_container_config(fx.b, BAD[i], &fd, &err), -EINVAL);
    ck_assert_int_eq(broker_container_config(fx.b, CONFIG_ID, &fd, &err), BROKER_ABSENT);
    for (const char *p = FOLDER_OF_ID + 5; (p = strchr(p, '/')); p++) {
        snprintf(path, sizeof(path), "%.*s", (int)(p - FOLDER_OF_ID), FOLDER_OF_ID);
        mkdir(path, 0755);
    }
    ck_assert_int_eq(mkdir(FOLDER_OF_ID, 0755), 0);
    snprintf(path, sizeof(path), "%s/config.json", FOLDER_OF_ID);
    write_file(path, "{}", 2);
    ck_assert_msg(broker_container_config(fx.b, CONFIG_ID, &fd, &err) == 0, "%s", err.msg);
    ck_assert(file_is(fd, "{}"));
    close_fd(fd);
    unlink(path);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    ck_assert_int_eq(broker_container_config(fx.b, CONFIG_ID, &fd, &err), -EPERM);
    unlink(path);
    rmdir(FOLDER_OF_ID);
}
END_TEST

START_TEST(the_host_tells_about_itself)
{
    struct error err = ERROR_NULL;
    struct broker_facts f;
    char text[64];
    int fd = -1, r;

    ck_assert_int_eq(broker_facts(fx.b, &f, &err), 0);
    ck_assert_uint_ge(f.kernel_version, 5u << 16);
    ck_assert_uint_eq(f.cpus, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
    ck_assert_uint_ne(f.capabilities, 0);
    ck_assert_uint_eq(f.capabilities & 1, 0); /* CAP_CHOWN is not on the list */
    ck_assert(f.bpf_loaded == (f.bpf_problem[0] == '\0'));
    ck_assert(f.sideband == (f.sideband_problem[0] == '\0'));
    ck_assert_int_eq(broker_kallsyms(fx.b, &fd, &err), 0);
    ck_assert_int_gt(read(fd, text, sizeof(text)), 10);
    ck_assert(f.kallsyms == (memcmp(text, "0000000000000000", 16) != 0));
    close_fd(fd);
    fd = -1;
    r = broker_container_logs(fx.b, &fd, &err);
    ck_assert(r == 0 || r == BROKER_ABSENT);
    close_fd(fd);
}
END_TEST

/* What the broker gives of flamed's configuration begins with @text. */
static void expect_config(const char *text)
{
    struct error err = ERROR_NULL;
    char got[64] = "";
    int fd = -1;

    ck_assert_msg(broker_config(fx.b, &fd, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    ck_assert_int_ge(read(fd, got, sizeof(got) - 1), 0);
    ck_assert_str_eq(got, text);
    close(fd);
}

START_TEST(gives_the_configuration_as_it_is_now)
{
    static char big[(256 << 10) + 1];
    struct error err = ERROR_NULL;
    char path[64], fresh[80];
    int fd = -1;

    snprintf(path, sizeof(path), FIXTURE_CONFIG, getpid());
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    unlink(path);
    ck_assert_int_eq(broker_config(fx.b, &fd, &err), BROKER_ABSENT);
    write_file(path, "one", 3);
    expect_config("one");
    write_file(fresh, "two", 3); /* as editors do */
    ck_assert_int_eq(rename(fresh, path), 0);
    expect_config("two");
    write_file(fresh, "three", 5); /* as Kubernetes does */
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink(fresh, path), 0);
    expect_config("three");
    write_file(fresh, big, sizeof(big));
    ck_assert_int_eq(broker_config(fx.b, &fd, &err), -EFBIG);
    unlink(path);
    unlink(fresh);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(broker_config(fx.b, &fd, &err), -EINVAL); /* and does not wait for a writer */
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(broker_config(fx.b, &fd, &err), -EINVAL);
    rmdir(path);
    ck_assert(!broker_lost(fx.b));
}
END_TEST

static void fixture_open(void)
{
    fixture_start();
    fixture_client();
    layout = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static void fixture_shut(void)
{
    munmap(layout, 4096);
    fixture_stop();
}

int main(void)
{
    Suite *s = suite_create("broker");
    TCase *tc = tcase_create("broker");
    SRunner *sr;
    int failed = can_test_broker();

    if (failed)
        return failed;
    tcase_add_checked_fixture(tc, fixture_open, fixture_shut);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, mem_of_a_jvm_is_read_only);
    tcase_add_test(tc, mem_is_refused);
    tcase_add_test(tc, our_own_are_refused_even_with_a_libjvm);
    tcase_add_test(tc, a_thread_is_no_process);
    tcase_add_test(tc, what_is_gone_is_gone);
    tcase_add_test(tc, a_reused_pid_is_another_process);
    tcase_add_test(tc, after_an_exec_mem_reads_nothing);
    tcase_add_test(tc, a_real_jvm_opens_itself);
    tcase_add_test(tc, mapped_gives_what_is_mapped_to_execute);
    tcase_add_test(tc, mapped_refuses_odd_ranges);
    tcase_add_test(tc, the_vdso_is_a_sealed_copy);
    tcase_add_loop_test(tc, files_in_a_root_are_what_they_seem, 0, TRICKS);
    tcase_add_test(tc, tmp_may_be_a_link_inside_the_root);
    tcase_add_test(tc, a_folder_that_is_a_link_leads_nowhere_outside);
    tcase_add_test(tc, debug_files_are_elf);
    tcase_add_test(tc, a_file_system_that_hangs_holds_one_process);
    tcase_add_test(tc, debug_links_take_base_names_only);
    tcase_add_test(tc, container_config_takes_ids_only);
    tcase_add_test(tc, the_host_tells_about_itself);
    tcase_add_test(tc, gives_the_configuration_as_it_is_now);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? 1 : 0;
}
