/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dir.h"
#include "signal/read.h"

#include "base/cleanup.h"
#include "proc/stall_readers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMITS_BYTES 4096
#define NS_PER_TICK 1e7
#define LIMIT_NEAR 0.6 /* part of the memory limit; below it no signal needs kinds of memory */

/* Reads the number of descriptors. Since Linux 6.2 the size of /proc/PID/fd is this number; before,
 * that size is 0. */
static void take_descriptors(int proc_fd, int32_t host_pid, struct number_reading *r)
{
    char path[32];
    struct stat st;

    snprintf(path, sizeof(path), "%d/fd", host_pid);
    if (fstatat(proc_fd, path, &st, 0) == 0 && st.st_size > 0)
        r->v[NUMBER_DESCRIPTORS] = (double)st.st_size;
}

/* Reads the swapped memory, and the part of RSS that the kernel cannot drop. This takes the kernel
 * long, so it is done only if the node swaps, or if RSS is near the memory limit. */
static int take_kinds(int proc_fd, const struct process *p, struct number_reading *r)
{
    struct proc_status status = { .swap_bytes = 0 };
    int result = 0;

    if (r->v[NUMBER_NODE_SWAP_BYTES] != 0 ||
        r->v[NUMBER_RSS_BYTES] >= LIMIT_NEAR * r->v[NUMBER_MEMORY_LIMIT_BYTES])
        result = proc_read_status(proc_fd, p->id.host_pid, &status);
    r->v[NUMBER_SWAP_BYTES] = (double)status.swap_bytes;
    if (status.kept_bytes)
        r->v[NUMBER_KEPT_BYTES] = (double)status.kept_bytes;
    return result;
}

int read_process(int proc_fd, const struct process *p, struct number_reading *r)
{
    struct proc_stat st;
    int result = readers_stat(proc_fd, &p->id, &st);

    if (result == 0 && st.start_ticks != p->id.start_ticks)
        result = PROC_GONE;
    if (result != 0)
        return result;
    r->v[NUMBER_CPU_NS] = (double)(st.utime_ticks + st.stime_ticks) * NS_PER_TICK;
    r->v[NUMBER_MAJOR_FAULTS] = (double)st.major_faults;
    r->v[NUMBER_THREADS] = (double)st.threads;
    r->v[NUMBER_RSS_BYTES] = (double)st.rss_bytes;
    take_descriptors(proc_fd, p->id.host_pid, r);
    return take_kinds(proc_fd, p, r);
}

void read_limits(int proc_fd, const struct process *p, struct number_reading *r)
{
    _cleanup_buf_ struct buf b = BUF_UPTO(LIMITS_BYTES);
    struct span text, line;
    char path[32];
    uint64_t soft;

    snprintf(path, sizeof(path), "%d/limits", p->id.host_pid);
    if (buf_read_at(&b, proc_fd, path) != 0)
        return;
    text = buf_span(&b);
    while (span_take_line(&text, &line)) {
        if (!span_take_str(&line, "Max open files"))
            continue;
        span_skip_blanks(&line);
        if (span_take_dec(&line, &soft))
            r->v[NUMBER_DESCRIPTORS_MAX] = (double)soft;
    }
}

/* Adds the times of one thread. */
static void add_thread(int task_fd, const char *tid, double *ran, double *waited)
{
    char path[32], text[96];
    uint64_t ran_ns, waited_ns;
    struct span s;
    ssize_t n;

    if (snprintf(path, sizeof(path), "%s/schedstat", tid) >= (int)sizeof(path))
        return;
    {
        _cleanup_close_ int fd = openat(task_fd, path, O_RDONLY | O_CLOEXEC);

        n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    }
    s = (struct span){ text, n > 0 ? (size_t)n : 0 };
    if (!span_take_dec(&s, &ran_ns) || !span_take_char(&s, ' ') || !span_take_dec(&s, &waited_ns))
        return;
    *ran += (double)ran_ns;
    *waited += (double)waited_ns;
}

void read_threads(int proc_fd, const struct process *p, struct number_reading *r)
{
    _cleanup_closedir_ DIR *dir = NULL;
    double ran = 0, waited = 0;
    const struct dirent *e;
    size_t threads = 0;
    char path[32];

    snprintf(path, sizeof(path), "%d/task", p->id.host_pid);
    dir = dir_open(proc_fd, path);
    if (!dir)
        return;
    while ((e = readdir(dir)) && threads <= READ_THREADS_MAX) {
        if (e->d_name[0] == '.')
            continue;
        add_thread(dirfd(dir), e->d_name, &ran, &waited);
        threads++;
    }
    if (threads > READ_THREADS_MAX)
        return;
    r->v[NUMBER_RAN_NS] = ran;
    r->v[NUMBER_RUNNABLE_NS] = waited;
}
