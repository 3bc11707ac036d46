/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/room_impl.h"

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

/* Of @folder, and of each above it down to the mount, which are its first @base characters. @folder
 * is changed. */
static bool any_above(const struct server *s, char *folder, size_t base,
                      bool (*is_full)(const struct server *s, const char *folder))
{
    char *slash;

    while (!is_full(s, folder)) {
        slash = strrchr(folder + base, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
    return true;
}

bool room_any_cgroup(const struct server *s, struct span cgroup, const char *controller,
                     bool (*is_full)(const struct server *s, const char *folder))
{
    static const char *const MOUNTS[] = { "sys/fs/cgroup", "sys/fs/cgroup/unified" };
    struct cgroup_line line;

    while (cgroup_take_line(&cgroup, &line)) {
        bool v1 = span_eq_str(line.controllers, controller);
        char folder[CGROUP_PATH_MAX + 64], path[CGROUP_PATH_MAX];

        if ((!v1 && line.hierarchy != 0) || line.path.n >= sizeof(path) ||
            memmem(line.path.p, line.path.n, "..", 2))
            continue;
        span_copy(line.path, path, sizeof(path));
        for (size_t i = 0; i < (v1 ? 1 : ARRAY_SIZE(MOUNTS)); i++) {
            int base = v1 ? snprintf(folder, sizeof(folder), "%s/%s", MOUNTS[0], controller)
                          : snprintf(folder, sizeof(folder), "%s", MOUNTS[i]);

            snprintf(folder + base, sizeof(folder) - (size_t)base, "%s", path);
            if (any_above(s, folder, (size_t)base, is_full))
                return true;
        }
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
