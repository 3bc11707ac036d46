/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/target/target.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

int target_pin(const struct server *s, const struct target_fields *of, struct target *ret,
               struct error *err)
{
    struct proc_id id = { .host_pid = of->host_pid, .start_ticks = of->start_ticks };
    _cleanup_close_ int pidfd = -1;
    char name[16];
    int dir_fd, r;

    r = proc_open(s->proc_fd, &id, &pidfd);
    if (r == -ENOENT) /* Linux 6.9: a thread's id, so not the process that was meant */
        return PROC_GONE;
    if (r < 0)
        return error_code(err, r, "cannot pin process %d", of->host_pid);
    if (r > 0)
        return r;
    snprintf(name, sizeof(name), "%d", of->host_pid);
    dir_fd = openat(s->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return errno == ENOENT
                   ? PROC_GONE
                   : error_errno(err, "cannot open the folder of process %d", of->host_pid);
    *ret = (struct target){
        .host_pid = of->host_pid,
        .pidfd = take_fd(&pidfd),
        .dir_fd = dir_fd,
    };
    return 0;
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
    if (fd < 0) /* ESRCH: it has no memory any more, or never had (a kernel thread) */
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
