/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one process of /proc, and pins it. A pid identifies a process only together with its start
 * time. The start time is compared after the pidfd was opened, so that the pid cannot be reused in
 * between.
 */
#include "proc/proc.h"

#include <fcntl.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define PROC_STAT_MAX_BYTES ((size_t)4096)

/* Reads /proc/PID/@name into @b. Returns 0, PROC_GONE, or -errno. A file over the ceiling of @b is
 * cut. */
static int read_file(int proc_fd, int32_t host_pid, const char *name, struct buf *b)
{
    char path[64];
    int r;

    snprintf(path, sizeof(path), "%d/%s", host_pid, name);
    r = buf_read_at(b, proc_fd, path);
    if (r == -ENOENT || r == -ESRCH)
        return PROC_GONE;
    return r == -EFBIG ? 0 : r;
}

int proc_read_stat(int proc_fd, int32_t host_pid, struct proc_stat *ret)
{
    _cleanup_buf_ struct buf b = BUF_UPTO(PROC_STAT_MAX_BYTES);
    int r;

    r = read_file(proc_fd, host_pid, "stat", &b);
    return r ? r : proc_stat_parse(buf_span(&b), ret);
}

int proc_read_status(int proc_fd, int32_t host_pid, struct proc_status *ret)
{
    _cleanup_buf_ struct buf b = BUF_UPTO(PROC_STATUS_MAX_BYTES);
    int r;

    r = read_file(proc_fd, host_pid, "status", &b);
    return r ? r : proc_status_parse(buf_span(&b), ret);
}

/* Reads the first @n bytes of /proc/@path into @text. Returns the number of bytes read, -ESRCH if
 * the process is gone, or -errno. */
static ssize_t read_short(int proc_fd, const char *path, char *text, size_t n)
{
    _cleanup_close_ int fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, n);

    if (got < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    return got;
}

int proc_read_rss(int proc_fd, int32_t host_pid, uint64_t *ret_bytes)
{
    char path[32], text[96];
    uint64_t size, resident;
    struct span s;
    ssize_t n;

    snprintf(path, sizeof(path), "%d/statm", host_pid);
    n = read_short(proc_fd, path, text, sizeof(text));
    if (n < 0)
        return n == -ESRCH ? (int)PROC_GONE : (int)n;
    s = (struct span){ text, (size_t)n };
    if (!span_take_dec(&s, &size) || !span_take_char(&s, ' ') || !span_take_dec(&s, &resident))
        return -EBADMSG;
    *ret_bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
    return 0;
}

int proc_read_runs(int proc_fd, int32_t host_pid, int32_t host_tid, uint64_t *ret)
{
    char path[64], text[96];
    struct span s;
    uint64_t ran_ns, waited_ns;
    ssize_t n;

    snprintf(path, sizeof(path), "%d/task/%d/schedstat", host_pid, host_tid);
    n = read_short(proc_fd, path, text, sizeof(text));
    if (n < 0)
        return n == -ESRCH ? (int)PROC_GONE : (int)n;
    s = span_trim((struct span){ text, (size_t)n });
    if (!span_take_dec(&s, &ran_ns) || !span_take_char(&s, ' ') || !span_take_dec(&s, &waited_ns) ||
        !span_take_char(&s, ' ') || !span_take_dec(&s, ret))
        return -EBADMSG;
    return 0;
}

void proc_read_comm(int proc_fd, int32_t host_pid, int32_t host_tid, char ret[PROC_COMM_BYTES])
{
    char path[64], text[64];
    ssize_t n;

    snprintf(path, sizeof(path), "%d/task/%d/comm", host_pid, host_tid);
    n = read_short(proc_fd, path, text, sizeof(text));
    memset(ret, 0, PROC_COMM_BYTES);
    if (n > 1) /* the file ends with a line feed */
        memcpy(ret, text, MIN((size_t)n - 1, (size_t)PROC_COMM_BYTES));
}

int proc_read_start(int proc_fd, int32_t host_pid, uint64_t *ret_start_ticks)
{
    struct proc_stat st;
    int r = proc_read_stat(proc_fd, host_pid, &st);

    if (r == 0)
        *ret_start_ticks = st.start_ticks;
    return r;
}

int proc_open(int proc_fd, const struct proc_id *id, int *ret_pidfd)
{
    _cleanup_close_ int fd = pidfd_open(id->host_pid, 0);
    uint64_t start_ticks;
    int r;

    /* EINVAL (ENOENT since Linux 6.9): now a thread has this id, so the process is gone. */
    if (fd < 0)
        return errno == ESRCH || errno == EINVAL || errno == ENOENT ? PROC_GONE : -errno;
    r = proc_read_start(proc_fd, id->host_pid, &start_ticks);
    if (r == 0 && start_ticks != id->start_ticks)
        r = PROC_GONE;
    if (r == 0)
        *ret_pidfd = take_fd(&fd);
    return r;
}
