/* SPDX-License-Identifier: Apache-2.0 */
/* broker: gives the memory of a JVM and of no other process, however often pids are reused. */
#include "base/dir.h"
#include "broker_jvm.h"
#include "sample/sample.h"
#include "tests/read_jvm.h"
#include "tests/unit/hotspot/live_jvm.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>

static char secret[] = "the quick brown fox";

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
    /* An unprivileged process cannot open it again with more rights. */
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    again = fork();
    if (again == 0)
        _exit(setresuid(65534, 65534, 65534) < 0 ? 3 : open(link, O_RDWR) < 0 ? 0 : 1);
    int status;
    ck_assert_int_eq(waitpid(again, &status, 0), again);
    ck_assert_int_eq(status, 0);
    close(fd);
    end_child(pid);
}
END_TEST

/* The service words of Datadog's tracer come in a copy that cannot be changed. */
START_TEST(tracer_info_is_a_copy)
{
    int file = memfd_create("datadog-tracer-info-a1b2c3d4", 0), fd = -1;
    struct error err = ERROR_NULL;
    pid_t pid = start_jvm(), plain = start_child(NULL, NULL); /* both have the file open */
    struct proc_id id = id_of(pid);
    char text[8] = "";

    ck_assert_int_eq(write(file, "said", 4), 4);
    ck_assert_msg(broker_tracer_info(fx.b, &id, &fd, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(pread(fd, text, sizeof(text), 0), 4);
    ck_assert_str_eq(text, "said");
    ck_assert_int_eq(fcntl(fd, F_GET_SEALS) & F_SEAL_WRITE, F_SEAL_WRITE);
    fd = close_fd(fd);
    id = id_of(plain);
    ck_assert_int_eq(broker_tracer_info(fx.b, &id, &fd, &err), -EPERM); /* not a JVM */
    id = id_of(pid);
    ck_assert_int_eq(ftruncate(file, 64 << 10), 0);
    ck_assert_int_eq(broker_tracer_info(fx.b, &id, &fd, &err), -EFBIG);
    ck_assert_int_eq(fd, -1);
    close(file);
    end_child(plain);
    end_child(pid);
}
END_TEST

#define LIKE_TRACERS "memfd:datadog-tracer-info-a1b2c3d4"

/* A user's JVM has the test's folder for its root. It has a file there open that its user cannot
 * read: by O_PATH. Its path looks like the name of a file in memory. */
static void be_jvm_with_file(void *cookie)
{
    be_jvm(cookie);
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(fx.dir, fx.dir, NULL, MS_BIND, NULL) < 0 || chdir(fx.dir) < 0 ||
        syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0 ||
        setresuid(65534, 65534, 65534) < 0 || open("/" LIKE_TRACERS, O_RDONLY) >= 0 ||
        open("/" LIKE_TRACERS, O_PATH) < 0)
        _exit(4);
}

START_TEST(tracer_info_is_no_file_of_others)
{
    struct error err = ERROR_NULL;
    struct proc_id id;
    char path[128];
    int fd = -1;
    pid_t pid;

    snprintf(path, sizeof(path), "%s/" LIKE_TRACERS, fx.dir);
    write_file(path, "root's own", 10);
    chmod(path, 0600);
    end_child(start_jvm()); /* makes the files; then the deleted one again */
    write_file((snprintf(path, sizeof(path), "%s/deleted.so", fx.dir), path), ELF_BYTES,
               sizeof(ELF_BYTES));
    pid = start_child(be_jvm_with_file, NULL);
    id = id_of(pid);
    ck_assert_int_eq(broker_tracer_info(fx.b, &id, &fd, &err), -EPERM);
    ck_assert_msg(strstr(err.msg, "tracer's file"), "%s", err.msg);
    snprintf(path, sizeof(path), "%s/" LIKE_TRACERS, fx.dir);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(broker_tracer_info(fx.b, &id, &fd, &err), -EPERM); /* without a name, too */
    ck_assert_msg(strstr(err.msg, "tracer's file"), "%s", err.msg);
    ck_assert_int_eq(fd, -1);
    end_child(pid);
}
END_TEST

START_TEST(tracer_info_is_absent)
{
    struct error err = ERROR_NULL;
    pid_t pid = start_jvm();
    struct proc_id id = id_of(pid);
    int fd = -1;

    ck_assert_int_eq(broker_tracer_info(fx.b, &id, &fd, &err), BROKER_ABSENT);
    end_child(pid);
}
END_TEST

/* Opens files as a JVM does, before it is forked. */
static int open_in_folder(const char *name, int flags)
{
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", fx.dir, name);
    fd = open(path, flags | O_CREAT | O_CLOEXEC, 0644);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* Counts the descriptors of all children of @parent. */
static int count_descriptors(pid_t parent)
{
    char path[64];
    int pid, count = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
    _cleanup_fclose_ FILE *children = fopen(path, "re");
    ck_assert_ptr_nonnull(children);
    while (fscanf(children, "%d", &pid) == 1) {
        snprintf(path, sizeof(path), "/proc/%d/fd", pid);
        _cleanup_closedir_ DIR *dir = opendir(path);
        while (dir && readdir(dir))
            count++;
    }
    return count;
}

/* Openers outlive flamed, so what a compromised flamed makes one lose is lost to the next. */
START_TEST(a_name_that_is_no_jar_costs_no_descriptor)
{
    struct error err = ERROR_NULL;
    pid_t pid = start_jvm();
    struct proc_id id = id_of(pid);
    int fd = -1, before;

    ck_assert_int_eq(broker_program_jar(fx.b, &id, "shop.txt", &fd, &err), -EPERM);
    before = count_descriptors(fx.broker);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(broker_program_jar(fx.b, &id, "shop.txt", &fd, &err), -EPERM);
    ck_assert_int_lt(count_descriptors(fx.broker), before + 10);
    end_child(pid);
}
END_TEST

/* The jar of a program is a file that the JVM has open, also if its name leads to another one. */
START_TEST(program_jar_is_what_the_jvm_has_open)
{
    int file = open_in_folder("shop.jar", O_RDWR), other = open_in_folder("shop.txt", O_RDWR), fifo;
    struct error err = ERROR_NULL;
    struct proc_id id;
    char path[128], text[8] = "";
    int fd = -1;
    pid_t pid, plain;

    snprintf(path, sizeof(path), "%s/fifo.jar", fx.dir);
    ck_assert_int_eq(mkfifo(path, 0644), 0);
    fifo = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fifo, 0);
    ck_assert_int_eq(write(file, "old", 3), 3);
    pid = start_jvm();
    plain = start_child(NULL, NULL);
    snprintf(path, sizeof(path), "%s/shop.jar", fx.dir);
    ck_assert_int_eq(unlink(path), 0);
    close(open_in_folder("shop.jar", O_RDWR));
    id = id_of(pid);
    ck_assert_msg(broker_program_jar(fx.b, &id, "shop.jar", &fd, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(pread(fd, text, sizeof(text), 0), 3);
    ck_assert_str_eq(text, "old");
    ck_assert_int_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    fd = close_fd(fd);
    ck_assert_int_eq(broker_program_jar(fx.b, &id, "hop.jar", &fd, &err), BROKER_ABSENT);
    ck_assert_int_eq(broker_program_jar(fx.b, &id, "shop.txt", &fd, &err), -EPERM);
    ck_assert_int_eq(broker_program_jar(fx.b, &id, "fifo.jar", &fd, &err), -EPERM);
    ck_assert_msg(strstr(err.msg, "not a regular file"), "%s", err.msg);
    id = id_of(plain);
    ck_assert_int_eq(broker_program_jar(fx.b, &id, "shop.jar", &fd, &err), -EPERM); /* no JVM */
    ck_assert_int_eq(fd, -1);
    close(file);
    close(other);
    close(fifo);
    end_child(plain);
    end_child(pid);
}
END_TEST

#define SECRET_JAR "secret.jar"

/* A user's JVM that has root's file open by O_PATH, which shows that it exists, not what it has. */
static void be_jvm_with_jar(void *cookie)
{
    be_jvm(cookie);
    if (open_in_folder(SECRET_JAR, O_PATH) < 0 || setresuid(65534, 65534, 65534) < 0)
        _exit(4);
}

START_TEST(program_jar_is_no_file_of_others)
{
    int file = open_in_folder(SECRET_JAR, O_RDWR), fd = -1;
    struct error err = ERROR_NULL;
    struct proc_id id;
    char path[128];
    pid_t pid;

    ck_assert_int_eq(fchmod(file, 0600), 0);
    close(file);
    end_child(start_jvm()); /* makes the files; then the deleted one again */
    write_file((snprintf(path, sizeof(path), "%s/deleted.so", fx.dir), path), ELF_BYTES,
               sizeof(ELF_BYTES));
    pid = start_child(be_jvm_with_jar, NULL);
    id = id_of(pid);
    ck_assert_int_eq(broker_program_jar(fx.b, &id, SECRET_JAR, &fd, &err), -EPERM);
    ck_assert_msg(strstr(err.msg, "may not read"), "%s", err.msg);
    ck_assert_int_eq(fd, -1);
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
}

/* A path to requests reads texts and words anywhere in a process. */
START_TEST(paths_to_requests_are_for_jvms)
{
    const struct context_path path = { .step_count = 1,
                                       .steps = { { .op = CONTEXT_WORD, .key = 1, .offset = 8 } } };
    pid_t plain = start_child(NULL, NULL), jvm = start_jvm();
    struct proc_id id = id_of(plain), old = id_of(jvm), own = id_of(getpid());
    struct error err = ERROR_NULL;
    struct broker_facts facts;

    facts_once_loaded(fx.b, &facts);
    if (facts.bpf_problem[0])
        return;
    ck_assert_int_eq(broker_put_context(fx.b, &id, &path, &err), -EPERM);
    ck_assert_int_eq(broker_put_context(fx.b, &own, &path, &err), -EPERM);
    old.start_ticks--;
    ck_assert_int_eq(broker_put_context(fx.b, &old, &path, &err), PROC_GONE);
    id = id_of(jvm);
    ck_assert_msg(broker_put_context(fx.b, &id, &path, &err) == 0, "%s", err.msg);
    end_child(jvm);
    ck_assert_int_eq(broker_put_context(fx.b, &id, NULL, &err), 0); /* of one that has ended */
    end_child(plain);
}
END_TEST

#define MANY_PAGES 4096
#define FEW_BYTES (64u << 10) /* less than the text of as many mappings */

static void exec_itself(int signal)
{
    (void)signal;
    execl("/proc/self/exe", "test", "pause", NULL);
    _exit(4);
}

/* A JVM with many mappings. It execs the same file, and is none, at SIGUSR1. */
static void be_large_jvm(void *cookie)
{
    size_t page = (size_t)getpagesize();
    char *p = mmap(NULL, MANY_PAGES * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    be_jvm(cookie);
    for (size_t i = 0; i < MANY_PAGES; i += 2) {
        if (p == MAP_FAILED || mprotect(p + i * page, page, PROT_NONE) < 0)
            _exit(3);
    }
    signal(SIGUSR1, exec_itself);
    signal(SIGQUIT, exec_itself); /* flamed attaches to no JVM that does not catch it */
}

/* Returns how many bytes the process has read. */
static uint64_t bytes_read(int pid)
{
    unsigned long long n = 0;
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/io", pid);
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "rchar: %llu", &n), 1);
    return n;
}

static uint64_t bytes_read_by_openers(void)
{
    uint64_t sum = 0;
    char path[64];
    int pid;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", fx.broker, fx.broker);
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    ck_assert_ptr_nonnull(f);
    while (fscanf(f, "%d", &pid) == 1)
        sum += bytes_read(pid);
    return sum;
}

static void await_comm(pid_t pid, const char *comm)
{
    struct proc_stat stat = { .state = 0 };

    for (int i = 0; i < 5000 && strcmp(stat.comm, comm) != 0; i++, usleep(2000))
        ck_assert_int_eq(proc_read_stat(fx.proc_fd, pid, &stat), 0);
    ck_assert_str_eq(stat.comm, comm);
}

/* Reading mappings may block: openers do it, and not the broker. They do it once for each program
 * that a process runs. */
START_TEST(openers_look_once_for_a_libjvm)
{
    const struct context_path path = { .step_count = 1,
                                       .steps = { { .op = CONTEXT_WORD, .key = 1, .offset = 8 } } };
    uint64_t broker, openers, again;
    struct error err = ERROR_NULL;
    struct broker_facts facts;
    struct proc_id id;
    int fd = -1;
    pid_t pid;

    facts_once_loaded(fx.b, &facts);
    if (facts.bpf_problem[0])
        return;
    end_child(start_jvm()); /* makes the files; then the deleted one again */
    char deleted[128];
    write_file((snprintf(deleted, sizeof(deleted), "%s/deleted.so", fx.dir), deleted), ELF_BYTES,
               sizeof(ELF_BYTES));
    pid = start_child(be_large_jvm, NULL);
    id = id_of(pid);
    broker = bytes_read(fx.broker);
    openers = bytes_read_by_openers();
    ck_assert_msg(broker_put_context(fx.b, &id, &path, &err) == 0, "%s", err.msg);
    again = bytes_read_by_openers();
    ck_assert_uint_gt(again - openers, FEW_BYTES);
    ck_assert_msg(broker_put_context(fx.b, &id, &path, &err) == 0, "%s", err.msg);
    ck_assert_uint_lt(bytes_read_by_openers() - again, FEW_BYTES);
    again = bytes_read_by_openers();
    ck_assert_msg(broker_pagemap(fx.b, &id, &fd, &err) == 0, "%s", err.msg);
    close(fd);
    ck_assert_uint_gt(bytes_read_by_openers() - again, FEW_BYTES);
    again = bytes_read_by_openers();
    ck_assert_msg(broker_attach_check(fx.b, &id, &err) == 0, "%s", err.msg); /* counts them */
    ck_assert_uint_gt(bytes_read_by_openers() - again, FEW_BYTES);
    ck_assert_uint_lt(bytes_read(fx.broker) - broker, FEW_BYTES);
    kill(pid, SIGUSR1);
    await_comm(pid, "exe");
    ck_assert_int_eq(broker_put_context(fx.b, &id, &path, &err), -EPERM);
    end_child(pid);
}
END_TEST

/* ---- paths to requests ---- */

#define SPINS 10 /* samples of a program */

static void spin(int signal)
{
    (void)signal;
    for (;;)
        getppid();
}

static void exec_and_spin(int signal)
{
    (void)signal;
    execl("/proc/self/exe", "test", "spin", NULL);
    _exit(4);
}

static void be_jvm_that_execs(void *cookie)
{
    be_jvm(cookie);
    signal(SIGUSR1, exec_and_spin);
    signal(SIGUSR2, spin);
}

/* Samples of a process, by whether they have a request. */
struct spun {
    uint32_t pid, exec_id; /* exec_id: 0, or of the samples that do not count */
    unsigned with, without;
    uint32_t last_exec_id;
};

static void count_spun(void *cookie, const struct sample_record *rec, const uint64_t *frames)
{
    struct spun *s = cookie;

    (void)frames;
    if (rec->host_pid != s->pid || rec->exec_id == s->exec_id)
        return;
    s->last_exec_id = rec->exec_id;
    s->with += rec->context_count != 0;
    s->without += rec->context_count == 0;
}

static struct spun await_samples(struct ring *ring, pid_t pid, uint32_t but_exec_id)
{
    struct spun s = { .pid = (uint32_t)pid, .exec_id = but_exec_id };

    for (int i = 0; i < 5000 && s.with + s.without < SPINS; i++, usleep(2000))
        ring_drain(ring, 10000, count_spun, &s);
    ck_assert_uint_ge(s.with + s.without, SPINS);
    return s;
}

/* The program that follows a JVM in its process is none, and nothing of its memory is read, even if
 * flamed leaves the path there. */
START_TEST(a_path_ends_with_its_program)
{
    const struct context_path path = { .step_count = 1,
                                       .steps = { { .op = CONTEXT_WORD, .key = 1, .offset = 8 } } };
    struct error err = ERROR_NULL;
    struct broker_facts facts;
    struct ring *ring = NULL;
    struct spun jvm, next;
    struct proc_id id;
    size_t bytes = 0;
    uint32_t set = 0;
    int fd = -1;
    pid_t pid;

    facts_once_loaded(fx.b, &facts);
    if (facts.bpf_problem[0])
        return;
    end_child(start_jvm()); /* makes the files */
    char deleted[128];
    write_file((snprintf(deleted, sizeof(deleted), "%s/deleted.so", fx.dir), deleted), ELF_BYTES,
               sizeof(ELF_BYTES));
    pid = start_child(be_jvm_that_execs, NULL);
    id = id_of(pid);
    ck_assert_int_eq(broker_ring(fx.b, &fd, &bytes, &err), 0);
    ck_assert_int_eq(ring_open(fd, bytes, &ring, &err), 0);
    ck_assert_msg(broker_put_context(fx.b, &id, &path, &err) == 0, "%s", err.msg);
    ck_assert_int_eq(broker_sample_start(fx.b, "cpu", 5000000, &set, &err), 0);
    ck_assert_int_eq(broker_filter_process(fx.b, pid, 1u << set, &err), 0);
    kill(pid, SIGUSR2);
    jvm = await_samples(ring, pid, 0);
    ck_assert_uint_eq(jvm.without, 0);
    kill(pid, SIGUSR1); /* also within the other handler */
    next = await_samples(ring, pid, jvm.last_exec_id);
    ck_assert_uint_eq(next.with, 0);
    ck_assert_int_eq(broker_sample_stop(fx.b, set, &err), 0);
    ring_close(ring);
    end_child(pid);
}
END_TEST

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
        expect_no_mem(id_of(2), PROC_GONE); /* kthreadd has no memory */
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
    ck_assert_int_eq(broker_mem(fx.b, &id, &fd, &err), -EPERM); /* --client names this process */
    munmap(p, 4096);
}
END_TEST

/* The broker's openers, their nursery, and the launcher. */
START_TEST(children_of_the_broker_are_refused)
{
    struct broker_facts facts;
    unsigned count = 0;
    char path[64];
    int pid;
    FILE *f;

    facts_once_loaded(fx.b, &facts); /* the broker has started them by now */
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", fx.broker, fx.broker);
    f = fopen(path, "re");
    ck_assert_ptr_nonnull(f);
    while (fscanf(f, "%d", &pid) == 1) {
        struct error err = ERROR_NULL;
        struct proc_id id = id_of(pid);

        ck_assert_int_eq(broker_attach_check(fx.b, &id, &err), -EPERM);
        ck_assert_msg(strstr(err.msg, "is flamed itself"), "%s", err.msg);
        count++;
    }
    fclose(f);
    ck_assert_uint_ge(count, 6);
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
    end_child(start_jvm()); /* makes the files; then the deleted one again */
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
            return; /* not possible on this machine */
        pid = start_jvm();
        id = id_of(pid);
        end_child(pid);
        usleep(30000); /* start times count in ticks of 10 ms */
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
    expect_no_mem(id, -EPERM); /* the same process is no longer a JVM */
    close(fd);
    close(go[0]);
    close(go[1]);
    end_child(pid);
}
END_TEST

/* ---- a real JVM ---- */

START_TEST(a_real_jvm_opens_itself)
{
    static const int RELEASES[] = { 17, 25, 21, 11, 8 };
    const char *const args[] = { "Idle", "1", NULL };
    struct error err = ERROR_NULL;
    struct live_jvm j = { 0 };
    struct proc_id id;
    char magic[4], text[64];
    struct maps m = { 0 };
    int maps = -1, mem = -1, perf = -1;
    size_t i = 0;

    while (i < ARRAY_SIZE(RELEASES) && !live_has(RELEASES[i]))
        i++;
    if (i == ARRAY_SIZE(RELEASES) || !live_compile("Idle.java"))
        return; /* no JDK on this machine */
    live_start(RELEASES[i], args, &j);
    live_attach(&j);
    id = id_of(j.pid);
    ck_assert_int_eq(broker_maps(fx.b, &id, &maps, &err), 0);
    ck_assert_msg(broker_mem(fx.b, &id, &mem, &err) == 0, "%s", err.msg);
    read_maps(maps, &m);
    ck_assert_int_eq(pread(mem, magic, 4, (off_t)libjvm_of(&m)), 4);
    maps_deinit(&m);
    ck_assert_mem_eq(magic, "\177ELF", 4);
    for (int tries = 0; tries < 500 && perf < 0; tries++, usleep(10000)) {
        if (broker_hsperfdata(fx.b, &id, &perf, &err) == BROKER_ABSENT)
            continue; /* not yet written */
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

static void open_with_text(void)
{
    setenv("FLAMED_OLD_KERNEL", "procmap_query", 1);
    fixture_open();
}

int main(int argc, char **argv)
{
    TCase *tc = tcase_create("broker_mem"), *text = tcase_create("broker_mem_text");
    Suite *suite = suite_create("broker_mem");
    int skip = can_test_broker();

    if (argc > 1 && strcmp(argv[1], "pause") == 0)
        return pause();
    if (argc > 1 && strcmp(argv[1], "spin") == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        spin(0);
    }
    if (skip)
        return skip;
    tcase_add_checked_fixture(text, open_with_text, fixture_shut);
    tcase_set_timeout(text, 30);
    tcase_add_test(text, openers_look_once_for_a_libjvm);
    suite_add_tcase(suite, text);
    tcase_add_checked_fixture(tc, fixture_open, fixture_shut);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, mem_of_a_jvm_is_read_only);
    tcase_add_test(tc, tracer_info_is_a_copy);
    tcase_add_test(tc, tracer_info_is_no_file_of_others);
    tcase_add_test(tc, tracer_info_is_absent);
    tcase_add_test(tc, a_name_that_is_no_jar_costs_no_descriptor);
    tcase_add_test(tc, program_jar_is_what_the_jvm_has_open);
    tcase_add_test(tc, program_jar_is_no_file_of_others);
    tcase_add_test(tc, mem_is_refused);
    tcase_add_test(tc, paths_to_requests_are_for_jvms);
    tcase_add_test(tc, a_path_ends_with_its_program);
    tcase_add_test(tc, children_of_the_broker_are_refused);
    tcase_add_test(tc, our_own_are_refused_even_with_a_libjvm);
    tcase_add_test(tc, a_thread_is_no_process);
    tcase_add_test(tc, what_is_gone_is_gone);
    tcase_add_test(tc, a_reused_pid_is_another_process);
    tcase_add_test(tc, after_an_exec_mem_reads_nothing);
    tcase_add_test(tc, a_real_jvm_opens_itself);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
