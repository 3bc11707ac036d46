/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/cgroups.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <limits.h>

/* Whether @m is where the hierarchy of @line is mounted. */
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

/* What of @path lies below what is mounted. */
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

static int open_at(const struct server *s, const struct mountinfo *m, int *ret_fd)
{
    char path[PATH_MAX];
    struct span point = m->point;

    if (!span_take_char(&point, '/') || point.n >= sizeof(path))
        return -ENOENT;
    span_copy(point, path, sizeof(path));
    return root_open_dir(s->host_root_fd, path[0] ? path : ".", O_PATH, ret_fd, NULL) == 0
               ? 0
               : -ENOENT;
}

int cgroup_open_mount(const struct server *s, const struct cgroup_line *line, struct span *ret_path,
                      int *ret_fd)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct mountinfo m;
    struct span rest;

    if (memmem(line->path.p, line->path.n, "/..", 3)) /* as seen from another cgroup namespace */
        return -ENOENT;
    buf_init(&text, MOUNTINFO_MAX_BYTES);
    if (buf_read_at(&text, s->proc_fd, s->initial_pid_ns ? "1/mountinfo" : "self/mountinfo") < 0)
        return -ENOENT;
    rest = buf_span(&text);
    while (mountinfo_take(&rest, &m)) {
        struct span path = line->path;

        if (is_of(&m, line) && cut_root(m.root, &path) && open_at(s, &m, ret_fd) == 0) {
            *ret_path = path;
            return 0;
        }
    }
    return -ENOENT;
}
