/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/target/attach_headroom_impl.h"

#include <inttypes.h>

static bool has_few_pids(void *cookie, int mount_fd, const char *folder)
{
    char path[4096 + 128];
    uint64_t most, now;

    (void)cookie;
    snprintf(path, sizeof(path), "%s/pids.max", folder);
    if (!attach_headroom_read_number(mount_fd, path, &most))
        return false;
    snprintf(path, sizeof(path), "%s/pids.current", folder);
    return attach_headroom_read_number(mount_fd, path, &now) && now + ROOM_THREADS > most;
}

/* Counts all threads of the machine, from "0.10 0.20 0.30 2/345 6789"; 0: unknown. */
static uint64_t count_threads(const struct server *s)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(TARGET_TEXT_MAX);
    struct span rest;
    uint64_t v;

    if (buf_read_at(&text, s->proc_fd, "loadavg") < 0)
        return 0;
    rest = buf_span(&text);
    rest = span_from(rest, span_find(rest, '/') + 1);
    return span_take_dec(&rest, &v) ? v : 0;
}

/* Returns the machine's limit of threads, UINT64_MAX if unknown. */
static uint64_t machine_limit(const struct server *s)
{
    static const char *const FILES[] = { "sys/kernel/threads-max", "sys/kernel/pid_max" };
    uint64_t most = UINT64_MAX, v;

    for (size_t i = 0; i < ARRAY_SIZE(FILES); i++) {
        if (attach_headroom_read_number(s->proc_fd, FILES[i], &v))
            most = MIN(most, v);
    }
    return most;
}

int attach_headroom_check_threads(const struct server *s, const struct target *t,
                                  const struct attach_headroom_facts *f, uint32_t host_uid,
                                  struct error *err)
{
    uint64_t most = machine_limit(s), user;
    int r = cgroup_any(s, f->cgroup, "pids", has_few_pids, NULL);

    if (r < 0)
        return cgroup_refuse_unknown(t, r, err);
    if (r) {
        error_set(err, -EAGAIN,
                  "process %d is near its container's limit of processes: a JVM that cannot start "
                  "its attach listener exits",
                  t->host_pid);
        error_remedy(err, "raise pids.max of its cgroup (the pids limit of the container); "
                          "symbols=memory needs no attach");
        return -EAGAIN;
    }
    /* The kernel shows no number of threads by user. But a limit above the machine's number of
     * threads cannot be reached. Root of the host has no limit. */
    if (host_uid != 0 && attach_headroom_find_number(f->limits, "Max processes", &user))
        most = MIN(most, user);
    if (most != UINT64_MAX && count_threads(s) + ROOM_THREADS > most) {
        error_set(err, -EAGAIN,
                  "process %d may be near its user's or the machine's limit of %" PRIu64
                  " threads: a JVM that cannot start its attach listener exits",
                  t->host_pid, most);
        error_remedy(err, "raise the limit of processes (ulimit -u, LimitNPROC=); symbols=memory "
                          "needs no attach");
        return -EAGAIN;
    }
    return 0;
}
