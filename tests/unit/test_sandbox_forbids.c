/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox: under the real filter, forbidden calls kill the process or fail. */
#include "sandbox_jail.h"

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sendfile.h>

/* Forbidden acts. Each returns 0 if it worked, else -errno. Most never return. */

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
/* A listening socket that is shut down can connect. TCP Fast Open connects without connect(2),
 * which Landlock does not see. */
static int do_connect_by_fast_open(void)
{
    struct sockaddr_in sa = { .sin_family = AF_INET };

    sa.sin_port = htons(jail.port);
    sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (shutdown(jail.shut_fd, SHUT_RDWR) < 0)
        return result(-1);
    return result(sendto(jail.shut_fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&sa, sizeof(sa)));
}
/* A packet filter may drop anything, and can be locked. */
static int do_filter_packets(void)
{
    struct sock_filter drop = { .code = BPF_RET | BPF_K };
    struct sock_fprog program = { .len = 1, .filter = &drop };

    return result(
        setsockopt(jail.shut_fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)));
}
static int do_sign_packets(void)
{
    struct tcp_md5sig sign = { .tcpm_keylen = 1 };

    sign.tcpm_addr.ss_family = AF_INET;
    return result(setsockopt(jail.shut_fd, IPPROTO_TCP, TCP_MD5SIG, &sign, sizeof(sign)));
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
    return result(open("/proc/self/mem", O_RDWR | O_NOFOLLOW));
}
static int do_write_sysctl(void)
{
    return result(open("/proc/sys/kernel/core_pattern", O_WRONLY | O_NOFOLLOW));
}
static int do_through_proc_root(void)
{
    return result(open("/proc/self/root/etc/passwd", O_RDONLY));
}
/* Landlock does not know unmounted file systems, and allows everything on them. */
static int reopen(int fd, int flags)
{
    char path[40];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return result(open(path, flags, 0600));
}
static int do_reopen_host_file(void)
{
    return reopen(jail.host_file_fd, O_RDWR);
}
static int do_reopen_memory(void)
{
    return reopen(jail.memory_fd, O_RDWR);
}
static int do_reopen_memory_to_write(void)
{
    return reopen(jail.memory_fd, O_WRONLY | O_APPEND);
}
static int do_reopen_memory_to_cut(void)
{
    return reopen(jail.memory_fd, O_RDONLY | O_TRUNC);
}
static int do_reopen_memory_as_new(void)
{
    return reopen(jail.memory_fd, O_RDONLY | O_CREAT);
}
static int do_reopen_memory_no_link(void)
{
    return reopen(jail.memory_fd, O_RDWR | O_NOFOLLOW);
}
/* An open file that counts nowhere would keep memory of the broker's, unseen. */
static int do_keep_memory(void)
{
    return reopen(jail.memory_fd, O_PATH | O_CLOEXEC);
}
static int do_keep_memory_as_folder(void)
{
    return reopen(jail.memory_fd, O_PATH | O_DIRECTORY);
}
/* A pipe or a socket would keep pages of the broker's file after the file is closed. */
static int do_keep_pages(void)
{
    int pipe_fds[2];

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return result(-1);
    return result((int)sendfile(pipe_fds[1], jail.memory_fd, NULL, 4096));
}
static int do_splice_pages(void)
{
    int pipe_fds[2];

    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return result(-1);
    return result((int)splice(jail.memory_fd, NULL, pipe_fds[1], NULL, 4096, 0));
}
/* Gets only the link, which keeps no file. */
static int do_keep_memory_no_link(void)
{
    char path[40], other[64];
    struct stat st;
    int fd;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", jail.memory_fd);
    fd = open(path, O_PATH | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISLNK(st.st_mode))
        return result(-1);
    snprintf(other, sizeof(other), "/proc/self/fd/%d", fd);
    return result(open(other, O_RDONLY));
}
/* Passes one, as to a client of the Unix socket. */
static int do_pass_descriptor(void)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS } };
    struct iovec iov = { .iov_base = (void *)"x", .iov_len = 1 };
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
    };

    memcpy(CMSG_DATA(&control.head), &jail.host_file_fd, sizeof(int));
    return result(syscall(SYS_sendmsg, jail.unix_fd, &m, 0));
}
static int do_create_outside(void)
{
    return result(open("/tmp/flamed-test-outside", O_WRONLY | O_CREAT | O_NOFOLLOW, 0600));
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

static const struct {
    const char *name;
    int (*fn)(void);
    int expected;
    bool landlock; /* true: Landlock refuses it */
} FORBIDDEN[] = {
    { "execve", do_execve, KILLED, false },
    { "execveat", do_execveat, KILLED, false },
    { "socket", do_socket, KILLED, false },
    { "socketpair", do_socketpair, KILLED, false },
    { "connect", do_connect, KILLED, false },
    { "connect by TCP Fast Open", do_connect_by_fast_open, KILLED, false },
    { "filter packets of a socket", do_filter_packets, -EPERM, false },
    { "have a socket want signed packets", do_sign_packets, KILLED, false },
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
    { "pass a descriptor on", do_pass_descriptor, KILLED, false },
    { "open /etc/shadow", do_open_shadow, -EACCES, true },
    { "open /", do_open_root, -EACCES, true },
    { "open a library", do_open_library, -EACCES, true },
    { "write /proc/self/mem", do_write_proc, -EACCES, true },
    { "write a sysctl", do_write_sysctl, -EACCES, true },
    { "/proc/self/root", do_through_proc_root, -EACCES, true },
    { "reopen a passed fd for writing", do_reopen_host_file, KILLED, false },
    { "reopen memory", do_reopen_memory, KILLED, false },
    { "reopen memory to write", do_reopen_memory_to_write, KILLED, false },
    { "reopen memory to cut it", do_reopen_memory_to_cut, KILLED, false },
    { "reopen memory as new", do_reopen_memory_as_new, KILLED, false },
    { "reopen memory, no link", do_reopen_memory_no_link, -ELOOP, false },
    { "keep memory", do_keep_memory, KILLED, false },
    { "keep memory as a folder", do_keep_memory_as_folder, -ENOTDIR, false },
    { "keep pages of memory by sendfile", do_keep_pages, KILLED, false },
    { "keep pages of memory by splice", do_splice_pages, KILLED, false },
    { "keep memory, no link", do_keep_memory_no_link, -ELOOP, false },
    { "create outside the store", do_create_outside, -EACCES, true },
    { "unlink outside the store", do_unlink_outside, -EACCES, true },
    { "environ of another", do_read_victim_environ, -EACCES, true },
};

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

static void set_up_files(void)
{
    set_up();
    close(open("/tmp/flamed-test-victim", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void tear_down_files(void)
{
    unlink("/tmp/flamed-test-victim");
    unlink("/tmp/flamed-test-outside");
    tear_down();
}

int main(void)
{
    TCase *tc = tcase_create("sandbox_forbids");

    tcase_add_unchecked_fixture(tc, set_up_files, tear_down_files);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, forbids, 0, ARRAY_SIZE(FORBIDDEN));
    tcase_add_test(tc, holds_nothing);
    return suite_run_case("sandbox_forbids", tc);
}
