/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/jar_file.h"

#include "base/cleanup.h"
#include "base/dir.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#define DELETED " (deleted)" /* the kernel appends it to the name of a file that was replaced */

/* Returns true if the link @link leads to a file called @name. Reads only the link's text, which is
 * in the kernel, so that no file system can block. */
static bool is_called(int dir_fd, const char *link, const char *name)
{
    char path[PATH_MAX];
    ssize_t n = readlinkat(dir_fd, link, path, sizeof(path));
    struct span file = { path, n > 0 && n < (ssize_t)sizeof(path) ? (size_t)n : 0 };

    if (!span_starts_with(file, "/"))
        return false;
    if (span_ends_with(file, DELETED))
        file.n -= strlen(DELETED);
    return span_eq_str(span_base_name(file), name);
}

/* Finds the file in @dir, /proc/PID/fd. Returns an O_PATH descriptor, or -1. */
static int find_in(DIR *dir, const char *name)
{
    const struct dirent *e;

    for (int i = 0; i < JAR_FILE_LOOKS_MAX && (e = readdir(dir)) != NULL; i++) {
        if (is_called(dirfd(dir), e->d_name, name))
            return openat(dirfd(dir), e->d_name, O_PATH | O_CLOEXEC);
    }
    return -1;
}

int jar_file_open(const struct server *s, const struct target *t, const char *name, int *ret_fd,
                  struct error *err)
{
    struct file_rule rule = { .max_bytes = JAR_FILE_BYTES_MAX, .readable = true, .target = t };
    struct proc_status status;
    _cleanup_close_ int path_fd = -1;
    _cleanup_closedir_ DIR *dir = NULL;
    int dir_fd = -1, r;

    if (!span_ends_with(span_of(name), ".jar") && !span_ends_with(span_of(name), ".war"))
        return error_set(err, -EPERM, "%s is not the name of a jar", name);
    r = target_open_proc(t, "fd", &dir_fd, err);
    if (r)
        return r;
    dir = dir_take(dir_fd);
    if (!dir)
        return error_errno(err, "cannot list the open files of process %d", t->host_pid);
    path_fd = find_in(dir, name);
    if (path_fd < 0)
        return BROKER_ABSENT;
    r = proc_read_status(s->proc_fd, t->host_pid, &status);
    if (r)
        return r < 0 ? error_code(err, r, "cannot read the status of process %d", t->host_pid) : r;
    rule.uid = status.uid;
    return file_open(path_fd, "the program's jar", &rule, ret_fd, err);
}
