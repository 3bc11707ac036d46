/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox: inside the real filter, what is forbidden kills or is refused, and what flamed needs
 * works. */
#include "sandbox.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child has from before it was locked in. */
struct jail {
    char store[64];
    int store_fd, perf_fd, host_file_fd, ns_fd, listen_fd;
    uint16_t port;
    pid_t victim; /* another process of ours */
};

static struct jail jail;
static bool landlock;

/* ---- forbidden: each returns 0 when it could be done, else -errno; most never return ---- */

static int result(long r)
{
    return r < 0 ? -errno : 0;
}

static int do_execve(void)
{
    char *const argv[] = { (char *)"/bin/true", NULL };

    return result(execv("/bin/true", argv));
}
static int do_execveat(void)
{
    return result(syscall(SYS_execveat, jail.host_file_fd, "", NULL, NULL, AT_EMPTY_PATH));
}
static int do_socket(void)
{
    return result(socket(AF_INET, SOCK_STREAM, 0));
}
static int do_socketpair(void)
{
    int fds[2];

    return result(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
}
static int do_connect(void)
{
    struct sockaddr_in sa = { .sin_family = AF_INET };

    return result(connect(jail.listen_fd, (struct sockaddr *)&sa, sizeof(sa)));
}
static int do_ptrace(void)
{
    return result(ptrace(PTRACE_ATTACH, jail.victim, 0, 0));
}
static int do_process_vm_readv(void)
{
    return result(syscall(SYS_process_vm_readv, jail.victim, NULL, 0, NULL, 0, 0));
}
static int do_bpf(void)
{
    union bpf_attr attr = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1
    };

    return result(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}
static int do_perf_event_open(void)
{
    struct perf_event_attr attr = { .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE };

    return result(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}
static int do_perf_ioctl(void)
{
    return result(ioctl(jail.perf_fd, PERF_EVENT_IOC_DISABLE, 0));
}
static int do_terminal_ioctl(void)
{
    return result(ioctl(0, TIOCSTI, "x"));
}
static int do_mount(void)
{
    return result(mount("none", "/tmp", "tmpfs", 0, NULL));
}
static int do_mmap_exec(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
               ? -errno
               : 0;
}
static int do_mprotect_exec(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return result(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}
static int do_pkey_mprotect_exec(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return result(syscall(SYS_pkey_mprotect, p, 4096, PROT_READ | PROT_EXEC, -1));
}
static int do_fork(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

    if (pid == 0)
        _exit(0);
    return result(pid);
}
static int do_vfork(void)
{
    return result(syscall(SYS_vfork));
}
static int do_clone3(void)
{
    return result(syscall(SYS_clone3, NULL, 0));
}
static int do_setns(void)
{
    return result(setns(jail.ns_fd, 0));
}
static int do_unshare(void)
{
    return result(unshare(CLONE_NEWUSER));
}
static int do_kill(void)
{
    return result(kill(jail.victim, SIGCONT));
}
static int do_tgkill_other(void)
{
    return result(syscall(SYS_tgkill, jail.victim, jail.victim, SIGCONT));
}
static int do_pidfd_signal(void)
{
    int fd = (int)syscall(SYS_pidfd_open, jail.victim, 0);

    return result(syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0));
}
static int do_pidfd_getfd(void)
{
    int fd = (int)syscall(SYS_pidfd_open, jail.victim, 0);

    return result(syscall(SYS_pidfd_getfd, fd, 0, 0));
}
static int do_async_owner(void)
{
    return result(fcntl(jail.listen_fd, F_SETOWN, jail.victim));
}
static int do_chroot(void)
{
    return result(chroot("/tmp"));
}
static int do_setuid(void)
{
    return result(setuid(0));
}
static int do_io_uring(void)
{
    return result(syscall(SYS_io_uring_setup, 1, NULL));
}
static int do_keyctl(void)
{
    return result(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
}
static int do_prlimit_other(void)
{
    struct rlimit limit = { 1, 1 };

    return result(syscall(SYS_prlimit64, jail.victim, RLIMIT_NOFILE, &limit, NULL));
}
static int do_priority(void)
{
    return result(setpriority(PRIO_PROCESS, 0, -1));
}
static int do_undumpable(void)
{
    return result(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}
static int do_x32(void)
{
    return result(syscall(0x40000000 + SYS_getpid));
}
static int do_open_shadow(void)
{
    return result(open("/etc/shadow", O_RDONLY));
}
static int do_open_root(void)
{
    return result(open("/", O_RDONLY | O_DIRECTORY));
}
static int do_open_library(void)
{
    return result(open("/lib64/ld-linux-x86-64.so.2", O_RDONLY));
}
static int do_write_proc(void)
{
    return result(open("/proc/self/mem", O_RDWR));
}
static int do_write_sysctl(void)
{
    return result(open("/proc/sys/kernel/core_pattern", O_WRONLY));
}
static int do_through_proc_root(void)
{
    return result(open("/proc/self/root/etc/passwd", O_RDONLY));
}
static int do_reopen_host_file(void)
{
    char path[40];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", jail.host_file_fd);
    return result(open(path, O_RDWR));
}
static int do_create_outside(void)
{
    return result(open("/tmp/flamed-test-outside", O_WRONLY | O_CREAT, 0600));
}
static int do_unlink_outside(void)
{
    return result(unlink("/tmp/flamed-test-victim"));
}
static int do_read_victim_environ(void)
{
    char path[40];

    snprintf(path, sizeof(path), "/proc/%d/environ", jail.victim);
    return result(open(path, O_RDONLY));
}

#define KILLED 1 /* by the filter; negative: this error */

static const struct {
    const char *name;
    int (*fn)(void);
    int expected;
    bool landlock; /* the refusal is Landlock's */
} FORBIDDEN[] = {
    { "execve", do_execve, KILLED, false },
    { "execveat", do_execveat, KILLED, false },
    { "socket", do_socket, KILLED, false },
    { "socketpair", do_socketpair, KILLED, false },
    { "connect", do_connect, KILLED, false },
    { "ptrace", do_ptrace, KILLED, false },
    { "process_vm_readv", do_process_vm_readv, KILLED, false },
    { "bpf", do_bpf, KILLED, false },
    { "perf_event_open", do_perf_event_open, KILLED, false },
    { "ioctl on a perf fd", do_perf_ioctl, KILLED, false },
    { "TIOCSTI", do_terminal_ioctl, KILLED, false },
    { "mount", do_mount, KILLED, false },
    { "mmap PROT_EXEC", do_mmap_exec, KILLED, false },
    { "mprotect PROT_EXEC", do_mprotect_exec, KILLED, false },
    { "pkey_mprotect", do_pkey_mprotect_exec, KILLED, false },
    { "fork", do_fork, KILLED, false },
    { "vfork", do_vfork, KILLED, false },
    { "clone3", do_clone3, -ENOSYS, false },
    { "setns", do_setns, KILLED, false },
    { "unshare", do_unshare, KILLED, false },
    { "kill", do_kill, KILLED, false },
    { "tgkill of another", do_tgkill_other, KILLED, false },
    { "pidfd_send_signal", do_pidfd_signal, KILLED, false },
    { "pidfd_getfd", do_pidfd_getfd, KILLED, false },
    { "F_SETOWN", do_async_owner, KILLED, false },
    { "chroot", do_chroot, KILLED, false },
    { "setuid", do_setuid, KILLED, false },
    { "io_uring_setup", do_io_uring, KILLED, false },
    { "keyctl", do_keyctl, KILLED, false },
    { "prlimit of another", do_prlimit_other, KILLED, false },
    { "priority over others", do_priority, KILLED, false },
    { "PR_SET_DUMPABLE", do_undumpable, KILLED, false },
    { "x32 system call", do_x32, KILLED, false },
    { "open /etc/shadow", do_open_shadow, -EACCES, true },
    { "open /", do_open_root, -EACCES, true },
    { "open a library", do_open_library, -EACCES, true },
    { "write /proc/self/mem", do_write_proc, -EACCES, true },
    { "write a sysctl", do_write_sysctl, -EACCES, true },
    { "/proc/self/root", do_through_proc_root, -EACCES, true },
    { "reopen a passed fd for writing", do_reopen_host_file, -EACCES, true },
    { "create outside the store", do_create_outside, -EACCES, true },
    { "unlink outside the store", do_unlink_outside, -EACCES, true },
    { "environ of another", do_read_victim_environ, -EACCES, true },
};

/* ---- allowed ---- */

#define NEED(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            dprintf(2, "line %d: %s: %s\n", __LINE__, #x, strerror(errno));                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static void *add_one(void *p)
{
    pthread_setname_np(pthread_self(), "a-thread");
    (*(int *)p)++;
    return p;
}

static int allows_threads(void)
{
    pthread_t t[8];
    int n[8] = { 0 };

    for (int i = 0; i < 8; i++)
        NEED(pthread_create(&t[i], NULL, add_one, &n[i]) == 0);
    for (int i = 0; i < 8; i++)
        NEED(pthread_join(t[i], NULL) == 0 && n[i] == 1);
    return 0;
}

static int allows_memory(void)
{
    char *p = malloc((size_t)64 << 20), *q;

    NEED(p);
    memset(p, 1, (size_t)64 << 20);
    q = realloc(p, (size_t)128 << 20);
    NEED(q && q[12345] == 1);
    free(q);
    return 0;
}

static int allows_proc(void)
{
    char path[40], text[512];
    DIR *d = opendir("/proc");
    int fd, n = 0;

    NEED(d);
    while (readdir(d))
        n++;
    closedir(d);
    NEED(n > 10);
    snprintf(path, sizeof(path), "/proc/%d/stat", jail.victim);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    NEED(fd >= 0 && read(fd, text, sizeof(text)) > 10);
    close(fd);
    snprintf(path, sizeof(path), "/proc/%d/task", jail.victim);
    d = opendir(path);
    NEED(d);
    closedir(d);
    fd = (int)syscall(SYS_pidfd_open, jail.victim, 0);
    NEED(fd >= 0);
    struct pollfd p = { .fd = fd, .events = POLLIN };
    NEED(poll(&p, 1, 0) == 0);
    return 0;
}

static int allows_store(void)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    char path[96], other[96], text[8] = "";
    void *shared;
    int fd;

    snprintf(path, sizeof(path), "%s/file", jail.store);
    snprintf(other, sizeof(other), "%s/other", jail.store);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    NEED(fd >= 0);
    NEED(pwrite(fd, "hello", 5, 0) == 5 && fdatasync(fd) == 0 && fsync(fd) == 0);
    NEED(pread(fd, text, 5, 0) == 5 && memcmp(text, "hello", 5) == 0);
    NEED(fcntl(fd, F_SETLK, &lock) == 0);
    NEED(ftruncate(fd, 32768) == 0);
    shared = mmap(NULL, 32768, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); /* SQLite's -shm */
    NEED(shared != MAP_FAILED);
    memset(shared, 1, 32768);
    NEED(munmap(shared, 32768) == 0 && fchmod(fd, 0640) == 0);
    close(fd);
    NEED(rename(path, other) == 0 && access(other, F_OK) == 0);
    NEED(unlink(other) == 0);
    snprintf(path, sizeof(path), "%s/folder", jail.store);
    NEED(mkdir(path, 0700) == 0 && rmdir(path) == 0);
    fd = openat(jail.store_fd, "below", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    NEED(fd >= 0);
    NEED(unlinkat(jail.store_fd, "below", 0) == 0);
    return 0;
}

static int allows_passed_fds(void)
{
    char magic[4];
    void *p;

    NEED(pread(jail.host_file_fd, magic, 4, 0) == 4 && memcmp(magic, "\177ELF", 4) == 0);
    p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, jail.host_file_fd, 0);
    NEED(p != MAP_FAILED);
    if (jail.perf_fd >= 0) {
        p = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) * 2, PROT_READ | PROT_WRITE, MAP_SHARED,
                 jail.perf_fd, 0);
        NEED(p != MAP_FAILED);
    }
    return 0;
}

static int allows_waiting(void)
{
    struct itimerspec soon = { .it_value = { .tv_nsec = 1000000 } };
    struct epoll_event ev = { .events = EPOLLIN }, got;
    uint64_t one = 1;
    int ep = epoll_create1(EPOLL_CLOEXEC), e = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int t = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

    NEED(ep >= 0 && e >= 0 && t >= 0);
    NEED(epoll_ctl(ep, EPOLL_CTL_ADD, e, &ev) == 0 && epoll_ctl(ep, EPOLL_CTL_ADD, t, &ev) == 0);
    NEED(write(e, &one, sizeof(one)) == sizeof(one));
    NEED(epoll_wait(ep, &got, 1, 1000) == 1);
    NEED(timerfd_settime(t, 0, &soon, NULL) == 0);
    NEED(usleep(2000) == 0);
    NEED(read(t, &one, sizeof(one)) == sizeof(one));
    return 0;
}

static int allows_stdio(void)
{
    FILE *f = fdopen(dup(2), "w");

    NEED(f);
    NEED(fprintf(f, "%s", "") == 0 && fflush(f) == 0);
    fclose(f);
    NEED(isatty(2) == 0); /* refused politely, whatever it is */
    NEED(sysconf(_SC_NPROCESSORS_ONLN) >= 1);
    return 0;
}

static enum MHD_Result answer(void *cls, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_n, void **con)
{
    struct MHD_Response *r;
    enum MHD_Result ok;
    struct stat st;

    (void)cls, (void)method, (void)version, (void)upload, (void)upload_n;
    if (!*con) {
        *con = (void *)1;
        return MHD_YES;
    }
    if (strcmp(url, "/file") == 0 && fstat(jail.host_file_fd, &st) == 0)
        r = MHD_create_response_from_fd((size_t)st.st_size, dup(jail.host_file_fd)); /* sendfile */
    else
        r = MHD_create_response_from_buffer(2, (void *)"ok", MHD_RESPMEM_PERSISTENT);
    ok = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    return ok;
}

/* Serves as flamed does, until the parent closes the pipe. */
static int allows_http(void)
{
    struct MHD_Daemon *d;

    d = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG,
        0, NULL, NULL, answer, NULL, MHD_OPTION_LISTEN_SOCKET, jail.listen_fd,
        MHD_OPTION_THREAD_POOL_SIZE, 2u, MHD_OPTION_CONNECTION_TIMEOUT, 5u, MHD_OPTION_END);
    NEED(d);
    sleep(1);
    MHD_stop_daemon(d);
    return 0;
}

static int allows_http_bytes(const char *path)
{
    char request[128], text[4096];
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(jail.port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), total = 0;
    ssize_t n;

    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0)
        return -errno;
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
             path);
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
        return -errno;
    while ((n = recv(fd, text, sizeof(text), 0)) > 0) {
        if (total == 0 && memcmp(text, "HTTP/1.1 200", 12) != 0)
            return -EBADMSG;
        total += (int)n;
    }
    close(fd);
    return total;
}

static int allows_giving_way(void)
{
    return setpriority(PRIO_PROCESS, 0, 0);
}

static const struct {
    const char *name;
    int (*fn)(void);
} ALLOWED[] = {
    { "threads", allows_threads },
    { "memory", allows_memory },
    { "/proc", allows_proc },
    { "store", allows_store },
    { "passed fds", allows_passed_fds },
    { "waiting", allows_waiting },
    { "stdio", allows_stdio },
    { "giving way", allows_giving_way },
};

/* ---- the frame ---- */

static pid_t in_sandbox(int (*fn)(void), int pipe_fd)
{
    pid_t pid = fork();

    if (pid == 0) {
        struct sandbox_opts o = { .store_fd = jail.store_fd, .proc_fd = -1 };
        struct sandbox_report rep;
        struct error err = ERROR_NULL;
        int r = sandbox_enter(&o, &rep, &err);

        if (r < 0) {
            dprintf(2, "%s\n", err.msg);
            _exit(99);
        }
        r = fn();
        if (pipe_fd >= 0 && write(pipe_fd, &r, sizeof(r)) != sizeof(r))
            _exit(98);
        _exit(0);
    }
    return pid;
}

/* KILLED, or what @fn returned. */
static int run(int (*fn)(void))
{
    int pipe_fds[2], status, r = 12345;
    pid_t pid;

    ck_assert_int_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
    pid = in_sandbox(fn, pipe_fds[1]);
    close(pipe_fds[1]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
        ck_assert_int_eq(WTERMSIG(status), SIGSYS);
        r = KILLED;
    } else {
        ck_assert_int_eq(WEXITSTATUS(status), 0);
        ck_assert_int_eq(read(pipe_fds[0], &r, sizeof(r)), sizeof(r));
    }
    close(pipe_fds[0]);
    return r;
}

START_TEST(forbids)
{
    int r;

    if ((FORBIDDEN[_i].landlock && !landlock) ||
        (FORBIDDEN[_i].fn == do_perf_ioctl && jail.perf_fd < 0))
        return;
    r = run(FORBIDDEN[_i].fn);
    ck_assert_msg(r == FORBIDDEN[_i].expected, "%s: %d, not %d", FORBIDDEN[_i].name, r,
                  FORBIDDEN[_i].expected);
}
END_TEST

START_TEST(allows)
{
    int r = run(ALLOWED[_i].fn);

    ck_assert_msg(r == 0, "%s: %d", ALLOWED[_i].name, r);
}
END_TEST

START_TEST(serves_http_inside)
{
    pid_t pid = in_sandbox(allows_http, -1);
    int status, small, large;

    small = allows_http_bytes("/");
    large = allows_http_bytes("/file");
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x", status);
    ck_assert_int_gt(small, 20);
    ck_assert_int_gt(large, 10000);
}
END_TEST

/* An abort must still end as an abort. */
static int do_abort(void)
{
    abort();
}
START_TEST(abort_ends_as_abort)
{
    int status;
    pid_t pid = in_sandbox(do_abort, -1);

    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && !WCOREDUMP(status));
}
END_TEST

static int check_state(void)
{
    char text[4096];
    int fd = open("/proc/self/status", O_RDONLY);
    ssize_t n = read(fd, text, sizeof(text) - 1);

    NEED(n > 0);
    text[n] = '\0';
    NEED(strstr(text, "CapPrm:\t0000000000000000"));
    NEED(strstr(text, "CapEff:\t0000000000000000"));
    NEED(strstr(text, "CapAmb:\t0000000000000000"));
    NEED(getuid() != 0 || strstr(text, "CapBnd:\t0000000000000000"));
    NEED(strstr(text, "NoNewPrivs:\t1"));
    NEED(strstr(text, "Seccomp:\t2"));
    return 0;
}
START_TEST(holds_nothing)
{
    ck_assert_int_eq(run(check_state), 0);
}
END_TEST

static void set_up(void)
{
    struct perf_event_attr attr = { .size = sizeof(attr),
                                    .type = PERF_TYPE_SOFTWARE,
                                    .config = PERF_COUNT_SW_DUMMY };
    struct sockaddr_in sa = { .sin_family = AF_INET };
    socklen_t n = sizeof(sa);

    snprintf(jail.store, sizeof(jail.store), "/tmp/flamed-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(jail.store));
    jail.store_fd = open(jail.store, O_PATH | O_DIRECTORY | O_CLOEXEC);
    jail.host_file_fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
    jail.ns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    jail.perf_fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    close(open("/tmp/flamed-test-victim", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    jail.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(jail.listen_fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    ck_assert_int_eq(listen(jail.listen_fd, 8), 0);
    ck_assert_int_eq(getsockname(jail.listen_fd, (struct sockaddr *)&sa, &n), 0);
    jail.port = ntohs(sa.sin_port);
    landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0;
    jail.victim = fork();
    if (jail.victim == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (;;)
            pause();
    }
}

static void tear_down(void)
{
    kill(jail.victim, SIGKILL);
    waitpid(jail.victim, NULL, 0);
    unlink("/tmp/flamed-test-victim");
    unlink("/tmp/flamed-test-outside");
    rmdir(jail.store);
    close(jail.listen_fd);
    close(jail.store_fd);
    close(jail.host_file_fd);
    close(jail.ns_fd);
    close_fd(jail.perf_fd);
}

int main(void)
{
    Suite *s = suite_create("sandbox");
    TCase *tc = tcase_create("sandbox");
    SRunner *sr;
    int failed;

    tcase_add_unchecked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, forbids, 0, ARRAY_SIZE(FORBIDDEN));
    tcase_add_loop_test(tc, allows, 0, ARRAY_SIZE(ALLOWED));
    tcase_add_test(tc, serves_http_inside);
    tcase_add_test(tc, abort_ends_as_abort);
    tcase_add_test(tc, holds_nothing);
    suite_add_tcase(s, tc);
    sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? 1 : 0;
}
