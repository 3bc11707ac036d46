/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/target/cgroups.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <limits.h>

#define CGROUP_PATH_MAX 4096
#define CPU_MAX_BYTES 128 /* of cpu.max, and of a file with one number */
#define MILLI 1000

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

struct search {
    const struct server *s;
    const struct cgroup_line *line;
    struct span path; /* the part of the line's path below the mount */
    int fd;
};

static bool open_if_mounted(const struct mountinfo *m, void *cookie)
{
    struct search *search = cookie;

    return cgroup_is_mounted(m, search->line, &search->path) &&
           open_at(search->s, m, &search->fd) == 0;
}

int cgroup_open_mount(const struct server *s, const struct cgroup_line *line, struct span *ret_path,
                      int *ret_fd)
{
    struct search search = { .s = s, .line = line, .fd = -1 };
    int r;

    if (span_eq_str(line->path, "/..") || span_starts_with(line->path, "/../"))
        return -ENOENT; /* outside of our cgroup namespace */
    r = mountinfo_find(s->proc_fd, s->initial_pid_ns ? "1/mountinfo" : "self/mountinfo",
                       open_if_mounted, &search);
    if (r <= 0)
        return r < 0 ? r : -ENOENT;
    *ret_path = search.path;
    *ret_fd = search.fd;
    return 0;
}

int cgroup_refuse_unknown(const struct target *t, int r, struct error *err)
{
    if (r == -EFBIG)
        error_set(
            err, r,
            "cannot find the cgroups of process %d among the first MiB of the machine's mounts",
            t->host_pid);
    else
        error_code(err, r, "cannot find the cgroups of process %d", t->host_pid);
    error_remedy(err, "symbols=memory needs no attach");
    return r;
}

/* Calls @fn with @folder, and with each folder above it up to the mount. Changes @folder. */
static bool any_above(int mount_fd, char *folder, cgroup_fn fn, void *cookie)
{
    char *slash;

    while (!fn(cookie, mount_fd, folder)) {
        slash = strrchr(folder, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    return true;
}

bool cgroup_is_too_deep(struct span cgroup)
{
    struct cgroup_line line;

    while (cgroup_take_line(&cgroup, &line)) {
        if (cgroup_levels(line.path) < line.path.n)
            return true;
    }
    return false;
}

int cgroup_any(const struct server *s, struct span cgroup, const char *controller, cgroup_fn fn,
               void *cookie)
{
    struct cgroup_line line;
    int r, unknown = 0;

    while (cgroup_take_line(&cgroup, &line)) {
        _cleanup_close_ int mount = -1;
        char folder[CGROUP_PATH_MAX] = ".";
        struct span path;

        if (line.hierarchy != 0 && !cgroup_has(&line, controller))
            continue;
        r = cgroup_open_mount(s, &line, &path, &mount);
        if (r < 0) {
            unknown = r == -ENOENT ? unknown : r;
            continue;
        }
        path.n = cgroup_levels(path);
        if (path.n + 1 >= sizeof(folder))
            continue;
        if (path.n > 1)
            span_copy(path, folder + 1, sizeof(folder) - 1);
        if (any_above(mount, folder, fn, cookie))
            return 1;
    }
    return unknown;
}

bool cgroup_read_numbers(int mount_fd, const char *folder, const char *name, uint64_t *ret,
                         size_t n)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(CPU_MAX_BYTES);
    char path[CGROUP_PATH_MAX + 128];
    struct span rest, word;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (buf_read_at(&text, mount_fd, path) < 0)
        return false;
    rest = buf_span(&text);
    for (size_t i = 0; i < n; i++) {
        if (!span_take_word(&rest, &word) || !span_parse_dec(span_trim(word), &ret[i]))
            return false; /* "max", -1 */
    }
    return true;
}

uint64_t cgroup_cpu_limit_at(int mount_fd, const char *folder)
{
    uint64_t v[2]; /* microseconds of CPU time per period, and the period */

    if ((cgroup_read_numbers(mount_fd, folder, "cpu.max", v, 2) ||
         (cgroup_read_numbers(mount_fd, folder, "cpu.cfs_quota_us", v, 1) &&
          cgroup_read_numbers(mount_fd, folder, "cpu.cfs_period_us", v + 1, 1))) &&
        v[0] && v[1] && v[0] <= UINT64_MAX / MILLI)
        return MAX(v[0] * MILLI / v[1], UINT64_C(1));
    return 0;
}

static bool note_cpu_limit(void *cookie, int mount_fd, const char *folder)
{
    uint64_t *least = cookie, limit = cgroup_cpu_limit_at(mount_fd, folder);

    if (limit)
        *least = MIN(*least, limit);
    return false;
}

uint64_t cgroup_cpu_limit(const struct server *s, struct span cgroup)
{
    uint64_t least = UINT64_MAX;

    cgroup_any(s, cgroup, "cpu", note_cpu_limit, &least);
    return least == UINT64_MAX ? 0 : least;
}

static bool file_says(int dir_fd, const char *path, const char *line)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(TARGET_TEXT_MAX);
    struct span rest, one;

    if (buf_read_at(&text, dir_fd, path) < 0)
        return false;
    rest = buf_span(&text);
    while (span_take_line(&rest, &one)) {
        if (span_eq_str(span_trim(one), line))
            return true;
    }
    return false;
}

int cgroup_frozen(const struct server *s, struct span cgroup)
{
    struct cgroup_line line;
    int r, unknown = 0;

    while (cgroup_take_line(&cgroup, &line)) {
        _cleanup_close_ int mount = -1;
        bool v2 = line.hierarchy == 0;
        char path[CGROUP_PATH_MAX + 64];
        struct span below;

        if (!v2 && !cgroup_has(&line, "freezer"))
            continue;
        r = cgroup_open_mount(s, &line, &below, &mount);
        if (r < 0) {
            unknown = r == -ENOENT ? unknown : r;
            continue;
        }
        snprintf(path, sizeof(path), ".%.*s/%s", (int)MIN(below.n, (size_t)CGROUP_PATH_MAX),
                 below.p, v2 ? "cgroup.events" : "freezer.state");
        if (v2 ? file_says(mount, path, "frozen 1")
               : file_says(mount, path, "FROZEN") || file_says(mount, path, "FREEZING"))
            return 1;
    }
    return unknown;
}
