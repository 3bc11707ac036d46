/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/cgroup_folders.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

/* Returns true if the hierarchy of @line is mounted at @m. */
static bool is_of(const struct mountinfo *m, const struct cgroup_line *line)
{
    struct span rest = line->controllers, one;

    if (line->hierarchy == 0)
        return span_eq_str(m->type, "cgroup2");
    if (!span_eq_str(m->type, "cgroup") || rest.n == 0)
        return false;
    while (span_take_until(&rest, ',', &one)) {
        char name[64];

        if (one.n >= sizeof(name))
            return false;
        span_copy(one, name, sizeof(name));
        if (!mountinfo_has(m, name))
            return false;
    }
    return true;
}

/* Cuts @root, the mounted part of the hierarchy, off the start of @path. False: @path is not below
 * it. */
static bool cut_root(struct span root, struct span *path)
{
    if (span_eq_str(root, "/"))
        return true;
    if (root.n > path->n || memcmp(root.p, path->p, root.n) != 0 ||
        (root.n < path->n && path->p[root.n] != '/'))
        return false;
    *path = span_from(*path, root.n);
    return true;
}

bool cgroup_is_mounted(const struct mountinfo *m, const struct cgroup_line *line,
                       struct span *ret_path)
{
    *ret_path = line->path;
    return is_of(m, line) && cut_root(m->root, ret_path);
}

size_t cgroup_levels(struct span path)
{
    size_t levels = 0;

    for (size_t i = 0; i < path.n; i++) {
        if (path.p[i] == '/' && levels++ == CGROUP_LEVELS_MAX)
            return i;
    }
    return path.n;
}

/* Returns true for the name of a user's service. All cgroups below it belong to the user, even
 * those that root owns. */
static bool is_users(struct span part)
{
    return span_starts_with(part, "user@") && span_ends_with(part, ".service");
}

/* Returns true if others than root may make folders in the cgroup @fd. */
static bool is_others(int fd)
{
    struct stat st;

    return fstat(fd, &st) < 0 || st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH));
}

bool cgroup_cut_to_root(int mount_fd, struct span *path)
{
    _cleanup_close_ int at = openat(mount_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct span rest = *path, part;
    bool others = false;

    path->n = 0;
    while (at >= 0 && !others && span_take_until(&rest, '/', &part)) {
        char name[NAME_MAX + 1];
        int next;

        if (part.n == 0)
            continue;
        if (part.n >= sizeof(name) || is_others(at))
            break;
        span_copy(part, name, sizeof(name));
        next = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            return false;
        close_fd(at);
        at = next;
        path->n = (size_t)(part.p + part.n - path->p);
        others = is_users(part);
    }
    return others || (at >= 0 && is_others(at));
}
