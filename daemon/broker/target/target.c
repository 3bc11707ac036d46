/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/target/target.h"

#include "base/cleanup.h"
#include "base/dir.h"

#include <fcntl.h>
#include <poll.h>

#define LOOKED_THREADS_MAX 64 /* threads searched for a live one */

/* Returns a live thread of the process; 0: none was found. */
static int32_t live_thread(const struct server *s, int32_t host_pid)
{
    _cleanup_closedir_ DIR *dir = NULL;
    struct proc_stat stat;
    char name[32];

    snprintf(name, sizeof(name), "%d/task", host_pid);
    dir = dir_open(s->proc_fd, name);
    if (!dir)
        return 0;
    for (int i = 0; i < LOOKED_THREADS_MAX; i++) {
        const struct dirent *e = readdir(dir);
        uint64_t host_tid;

        if (!e)
            break;
        if (span_parse_dec(span_of(e->d_name), &host_tid) && host_tid <= INT32_MAX &&
            host_tid != (uint64_t)host_pid &&
            proc_read_stat(s->proc_fd, (int32_t)host_tid, &stat) == 0 && stat.state != 'Z' &&
            stat.state != 'X')
            return (int32_t)host_tid;
    }
    return 0;
}

/* Opens the folder of the process, O_PATH. If its first thread has ended before the others, that
 * thread's folder shows no memory, root or namespaces. Then it opens the folder of a live
 * thread. */
static int open_folder(const struct server *s, int32_t host_pid, bool *ret_lost_thread)
{
    struct proc_stat stat;
    char name[32];

    *ret_lost_thread = false;
    snprintf(name, sizeof(name), "%d", host_pid);
    if (proc_read_stat(s->proc_fd, host_pid, &stat) == 0 && stat.state == 'Z' &&
        !proc_stat_is_dead(&stat)) {
        int32_t host_tid = live_thread(s, host_pid);

        if (host_tid) {
            *ret_lost_thread = true;
            snprintf(name, sizeof(name), "%d/task/%d", host_pid, host_tid);
        }
    }
    return openat(s->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int target_pin(const struct server *s, const struct target_fields *of, struct target *ret,
               struct error *err)
{
    struct proc_id id = { .host_pid = of->host_pid, .start_ticks = of->start_ticks };
    _cleanup_close_ int pidfd = -1;
    bool lost_thread;
    int dir_fd, r;

    r = proc_open(s->proc_fd, &id, &pidfd);
    if (r == -ENOENT) /* Linux 6.9: the id of a thread, so not of the requested process */
        return PROC_GONE;
    if (r < 0)
        return error_code(err, r, "cannot pin process %d", of->host_pid);
    if (r > 0)
        return r;
    dir_fd = open_folder(s, of->host_pid, &lost_thread);
    if (dir_fd < 0)
        return errno == ENOENT
                   ? PROC_GONE
                   : error_errno(err, "cannot open the folder of process %d", of->host_pid);
    *ret = (struct target){
        .host_pid = of->host_pid,
        .pidfd = take_fd(&pidfd),
        .dir_fd = dir_fd,
        .lost_thread = lost_thread,
    };
    return 0;
}

int target_need_thread(const struct target *t, struct error *err)
{
    if (!t->lost_thread)
        return 0;
    error_set(err, -EOPNOTSUPP,
              "the main thread of process %d has ended: without it the kernel neither puts probes "
              "into a process nor enters its namespaces",
              t->host_pid);
    error_remedy(err, "ask for an event that needs no probe, with symbols=memory");
    return -EOPNOTSUPP;
}

int target_check(const struct target *t)
{
    struct pollfd p = { .fd = t->pidfd, .events = POLLIN };
    int r;

    do {
        r = poll(&p, 1, /* timeout= */ 0);
    } while (r < 0 && errno == EINTR);
    return r == 0 ? 0 : PROC_GONE;
}

void target_unpin(struct target *t)
{
    t->pidfd = close_fd(t->pidfd);
    t->dir_fd = close_fd(t->dir_fd);
}

static int open_at_target(const struct target *t, const char *name, int flags, int *ret_fd,
                          struct error *err)
{
    _cleanup_close_ int fd = openat(t->dir_fd, name, flags | O_CLOEXEC);
    int saved = errno, r = target_check(t);

    if (r > 0)
        return r;
    errno = saved;
    if (fd < 0) /* ESRCH: the process has no memory: it has ended, or is a kernel thread */
        return errno == ESRCH || errno == ENOENT
                   ? PROC_GONE
                   : error_errno(err, "cannot open %s of process %d", name, t->host_pid);
    *ret_fd = take_fd(&fd);
    return 0;
}

int target_open_proc(const struct target *t, const char *name, int *ret_fd, struct error *err)
{
    return open_at_target(t, name, O_RDONLY, ret_fd, err);
}

int target_read_proc(const struct target *t, const char *name, struct buf *ret, struct error *err)
{
    _cleanup_close_ int fd = -1;
    int r;

    buf_init(ret, TARGET_TEXT_MAX);
    r = target_open_proc(t, name, &fd, err);
    if (r)
        return r;
    r = buf_read_fd(ret, fd);
    if (r == -ESRCH)
        return PROC_GONE;
    return r < 0 ? error_code(err, r, "cannot read %s of process %d", name, t->host_pid) : 0;
}

int target_open_root(const struct target *t, int *ret_fd, struct error *err)
{
    return open_at_target(t, "root", O_PATH | O_DIRECTORY, ret_fd, err);
}
