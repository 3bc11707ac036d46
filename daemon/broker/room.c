/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/room.h"

#include "base/cleanup.h"

#include <inttypes.h>

#define SMALL_FILE_MAX 65536

/* The number that is all of a small file. False where there is none, as in "max". */
static bool read_number(int dir_fd, const char *path, uint64_t *ret)
{
    _cleanup_buf_ struct buf text;

    buf_init(&text, SMALL_FILE_MAX);
    return buf_read_at(&text, dir_fd, path) == 0 && span_parse_dec(span_trim(buf_span(&text)), ret);
}

/* Whether the cgroup at @folder, or one above it, has no room. @folder is changed. */
static bool is_full(const struct server *s, char *folder, size_t base)
{
    char path[4096 + 128];
    uint64_t most, now;

    for (;;) {
        char *slash;

        snprintf(path, sizeof(path), "%s/pids.max", folder);
        if (read_number(s->host_root_fd, path, &most)) {
            snprintf(path, sizeof(path), "%s/pids.current", folder);
            if (read_number(s->host_root_fd, path, &now) && now + ROOM_THREADS > most)
                return true;
        }
        slash = strrchr(folder + base, '/');
        if (!slash)
            return false;
        *slash = '\0';
    }
}

/* As is_full() of the target's own, of either version. A path with ".." is of another cgroup
 * namespace and not followed. */
static bool cgroup_is_full(const struct server *s, struct span text)
{
    static const char *const MOUNTS[] = { "sys/fs/cgroup/pids", "sys/fs/cgroup",
                                          "sys/fs/cgroup/unified" };
    struct cgroup_line line;

    while (cgroup_take_line(&text, &line)) {
        bool v1 = span_eq_str(line.controllers, "pids");
        char folder[4096 + 64];

        if ((!v1 && line.hierarchy != 0) || line.path.n >= 4096 ||
            memmem(line.path.p, line.path.n, "..", 2))
            continue;
        for (size_t i = v1 ? 0 : 1; i < (v1 ? 1 : ARRAY_SIZE(MOUNTS)); i++) {
            size_t base = strlen(MOUNTS[i]);

            memcpy(folder, MOUNTS[i], base);
            span_copy(line.path, folder + base, sizeof(folder) - base);
            if (is_full(s, folder, base))
                return true;
        }
    }
    return false;
}

/* The soft limit in a line "Max processes  95555  95555  processes". */
static uint64_t user_limit(struct span text)
{
    struct span line, word;
    uint64_t v;

    while (span_take_line(&text, &line)) {
        if (span_take_str(&line, "Max processes") && span_take_word(&line, &word) &&
            span_parse_dec(word, &v))
            return v;
    }
    return UINT64_MAX;
}

/* All threads of the machine, from "0.10 0.20 0.30 2/345 6789"; 0: not known. */
static uint64_t count_threads(const struct server *s)
{
    _cleanup_buf_ struct buf text;
    struct span rest;
    uint64_t v;

    buf_init(&text, SMALL_FILE_MAX);
    if (buf_read_at(&text, s->proc_fd, "loadavg") < 0)
        return 0;
    rest = buf_span(&text);
    rest = span_from(rest, span_find(rest, '/') + 1);
    return span_take_dec(&rest, &v) ? v : 0;
}

static int read_own(const struct target *t, const char *name, struct buf *ret, struct error *err)
{
    _cleanup_close_ int fd = -1;
    int r = target_open_proc(t, name, &fd, err);

    buf_init(ret, SMALL_FILE_MAX);
    return r ? r : buf_read_fd(ret, fd);
}

int room_check(const struct server *s, const struct target *t, uint32_t host_uid, struct error *err)
{
    _cleanup_buf_ struct buf cgroup = BUF_NULL, limits = BUF_NULL;
    uint64_t used = count_threads(s), most = UINT64_MAX, machine;
    int r = read_own(t, "cgroup", &cgroup, err);

    if (r == 0)
        r = read_own(t, "limits", &limits, err);
    if (r)
        return r;
    if (cgroup_is_full(s, buf_span(&cgroup))) {
        error_set(err, -EAGAIN,
                  "process %d is near its container's limit of processes: a JVM that cannot start "
                  "its attach listener ends",
                  t->host_pid);
        error_remedy(err, "raise pids.max of its cgroup (the pids limit of the container); "
                          "symbols=memory needs no attach");
        return -EAGAIN;
    }
    /* Whose threads they are is not counted: where the user's limit is above all that there are, it
     * is not reached. Root of the host has none. */
    if (host_uid != 0)
        most = user_limit(buf_span(&limits));
    if (read_number(s->proc_fd, "sys/kernel/threads-max", &machine))
        most = MIN(most, machine);
    if (most != UINT64_MAX && used + ROOM_THREADS > most) {
        error_set(err, -EAGAIN,
                  "process %d may be near its user's or the machine's limit of %" PRIu64
                  " threads: a JVM that cannot start its attach listener ends",
                  t->host_pid, most);
        error_remedy(err, "raise the limit of processes (ulimit -u, LimitNPROC=); symbols=memory "
                          "needs no attach");
        return -EAGAIN;
    }
    return 0;
}
