/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/room_impl.h"

#include "broker/cgroups.h"

#define CGROUP_PATH_MAX 4096

bool room_read_number(int dir_fd, const char *path, uint64_t *ret)
{
    _cleanup_buf_ struct buf text = BUF_NULL;

    buf_init(&text, TARGET_TEXT_MAX);
    return buf_read_at(&text, dir_fd, path) == 0 && span_parse_dec(span_trim(buf_span(&text)), ret);
}

bool room_find_number(struct span text, const char *key, uint64_t *ret)
{
    struct span line, word;

    while (span_take_line(&text, &line)) {
        if (span_take_str(&line, key))
            return span_take_word(&line, &word) && span_parse_dec(word, ret);
    }
    return false;
}

/* Of @folder, and of each above it up to the mount. @folder is changed. */
static bool any_above(int mount_fd, char *folder, bool (*is_full)(int mount_fd, const char *folder))
{
    char *slash;

    while (!is_full(mount_fd, folder)) {
        slash = strrchr(folder, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    return true;
}

bool room_any_cgroup(const struct server *s, struct span cgroup, const char *controller,
                     bool (*is_full)(int mount_fd, const char *folder))
{
    struct cgroup_line line;

    while (cgroup_take_line(&cgroup, &line)) {
        _cleanup_close_ int mount = -1;
        char folder[CGROUP_PATH_MAX] = ".";
        struct span path;

        if ((line.hierarchy != 0 && !cgroup_has(&line, controller)) ||
            cgroup_open_mount(s, &line, &path, &mount) < 0 || path.n + 1 >= sizeof(folder))
            continue;
        if (path.n > 1)
            span_copy(path, folder + 1, sizeof(folder) - 1);
        if (any_above(mount, folder, is_full))
            return true;
    }
    return false;
}

int room_check(const struct server *s, const struct target *t, uint32_t host_uid, struct error *err)
{
    _cleanup_buf_ struct buf cgroup = BUF_NULL, limits = BUF_NULL, status = BUF_NULL;
    struct room_facts f;
    int r = target_read_proc(t, "cgroup", &cgroup, err);

    if (r == 0)
        r = target_read_proc(t, "limits", &limits, err);
    if (r == 0)
        r = target_read_proc(t, "status", &status, err);
    f = (struct room_facts){ buf_span(&cgroup), buf_span(&limits), buf_span(&status) };
    if (r == 0)
        r = room_check_threads(s, t, &f, host_uid, err);
    return r ? r : room_check_memory(s, t, &f, err);
}
