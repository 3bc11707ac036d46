/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/tracer_file.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/dir.h"

#include <fcntl.h>
#include <unistd.h>

#define NAME "/memfd:datadog-tracer-info-"

/* Returns true if the link @name leads to the file. Reads only the link's text, which is in the
 * kernel, so that no file system can block. */
static bool is_it(int dir_fd, const char *name)
{
    char link[sizeof(NAME) - 1];

    return readlinkat(dir_fd, name, link, sizeof(link)) == sizeof(link) &&
           memcmp(link, NAME, sizeof(link)) == 0;
}

/* Finds the file in @dir, /proc/PID/fd. Returns an O_PATH descriptor, or -1. */
static int find_in(DIR *dir)
{
    const struct dirent *e;

    for (int i = 0; i < TRACER_FILE_LOOKS_MAX && (e = readdir(dir)) != NULL; i++) {
        if (is_it(dirfd(dir), e->d_name))
            return openat(dirfd(dir), e->d_name, O_PATH | O_CLOEXEC);
    }
    return -1;
}

int tracer_file_copy(const struct server *s, const struct target *t, int *ret_fd, struct error *err)
{
    struct file_rule rule = {
        .max_bytes = TRACER_FILE_BYTES_MAX, .readable = true, .nameless = true, .target = t
    };
    struct proc_status status;
    _cleanup_close_ int path_fd = -1, fd = -1;
    _cleanup_buf_ struct buf content = BUF_UPTO(TRACER_FILE_BYTES_MAX);
    int dir_fd = -1, r = target_open_proc(t, "fd", &dir_fd, err);
    _cleanup_closedir_ DIR *dir = NULL;

    if (r)
        return r;
    dir = dir_take(dir_fd);
    if (!dir)
        return error_errno(err, "cannot list the open files of process %d", t->host_pid);
    path_fd = find_in(dir);
    if (path_fd < 0)
        return BROKER_ABSENT;
    r = proc_read_status(s->proc_fd, t->host_pid, &status);
    if (r)
        return r < 0 ? error_code(err, r, "cannot read the status of process %d", t->host_pid) : r;
    rule.uid = status.uid;
    r = file_open(path_fd, "the tracer's file", &rule, &fd, err);
    if (r)
        return r;
    r = buf_read_fd(&content, fd);
    if (r < 0)
        return error_code(err, r, "cannot read the tracer's file of process %d", t->host_pid);
    /* A copy, because flamed could open the file itself again for writing. */
    return memfd_of("tracer-info", content.p, content.n, ret_fd, err);
}
