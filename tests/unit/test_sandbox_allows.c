/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox: under the real filter, everything that flamed needs works. */
#include "sandbox_jail.h"

#include <dirent.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#define LARGE_BYTES 20000

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

/* Keeps the folder of a process, to read below it. */
static int open_folder(void)
{
    int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), folder, below;
    char name[16], text[16];

    NEED(proc >= 0);
    snprintf(name, sizeof(name), "%d", jail.victim);
    folder = openat(proc, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    NEED(folder >= 0);
    below = openat(folder, "stat", O_RDONLY | O_CLOEXEC);
    NEED(below >= 0 && read(below, text, sizeof(text)) == sizeof(text));
    close(below);
    close(folder);
    folder = openat(proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    NEED(folder >= 0);
    close(folder);
    close(proc);
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
    NEED(open_folder() == 0);
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
    fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
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
    fd = openat(jail.store_fd, "below", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
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
    NEED(isatty(2) == 0); /* returns an error, but does not kill */
    NEED(sysconf(_SC_NPROCESSORS_ONLN) >= 1);
    return 0;
}

static enum MHD_Result answer(void *cls, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_n, void **con)
{
    static const char large[LARGE_BYTES];
    bool is_large = strcmp(url, "/large") == 0;
    struct MHD_Response *r;
    enum MHD_Result ok;

    (void)cls, (void)method, (void)version, (void)upload, (void)upload_n;
    if (!*con) {
        *con = (void *)1;
        return MHD_YES;
    }
    r = MHD_create_response_from_buffer(is_large ? sizeof(large) : 2,
                                        (void *)(uintptr_t)(is_large ? large : "ok"),
                                        MHD_RESPMEM_PERSISTENT);
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
    large = allows_http_bytes("/large");
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status 0x%x", status);
    ck_assert_int_gt(small, 20);
    ck_assert_int_gt(large, 10000);
}
END_TEST

/* An abort must still end the process as an abort. */
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

int main(void)
{
    TCase *tc = tcase_create("sandbox_allows");

    tcase_add_unchecked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, allows, 0, ARRAY_SIZE(ALLOWED));
    tcase_add_test(tc, serves_http_inside);
    tcase_add_test(tc, abort_ends_as_abort);
    return suite_run_case("sandbox_allows", tc);
}
