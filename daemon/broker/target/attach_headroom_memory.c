/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/stream.h"
#include "broker/target/attach_headroom_impl.h"

#define KIB 1024

static int too_little(const struct target *t, const char *what, const char *remedy,
                      struct error *err)
{
    error_set(err, -EAGAIN,
              "process %d is near %s: a JVM that cannot start its attach listener exits",
              t->host_pid, what);
    error_remedy(err, "%s; symbols=memory needs no attach", remedy);
    return -EAGAIN;
}

/* Refuses a target that is near one of its own limits. The limit of locked memory counts only if it
 * has locked some memory. */
static int check_own_limits(const struct target *t, const struct attach_headroom_facts *f,
                            struct error *err)
{
    static const struct {
        const char *limit, *used, *what, *remedy;
        bool always;
    } LIMITS[] = {
        { "Max address space", "VmSize:", "its limit of address space",
          "raise ulimit -v (LimitAS=)", true },
        { "Max data size", "VmData:", "its limit of data", "raise ulimit -d (LimitDATA=)", true },
        { "Max locked memory", "VmLck:", "its limit of locked memory",
          "raise ulimit -l (LimitMEMLOCK=)", false },
    };
    uint64_t most, used_kib;

    for (size_t i = 0; i < ARRAY_SIZE(LIMITS); i++) {
        if (attach_headroom_find_number(f->limits, LIMITS[i].limit, &most) &&
            attach_headroom_find_number(f->status, LIMITS[i].used, &used_kib) &&
            (used_kib || LIMITS[i].always) && used_kib * KIB + ROOM_ADDRESSES_BYTES > most)
            return too_little(t, LIMITS[i].what, LIMITS[i].remedy, err);
    }
    return 0;
}

static int check_mappings(const struct server *s, const struct target *t, uint64_t mappings,
                          struct error *err)
{
    uint64_t most;

    if (!attach_headroom_read_number(s->proc_fd, "sys/vm/max_map_count", &most))
        return 0;
    /* A look counts at most MAPS_MAX_LINES mappings, so a process with that many is refused,
     * too. */
    most = MIN(most > ROOM_MAPPINGS ? most - ROOM_MAPPINGS : 1, (uint64_t)MAPS_MAX_LINES);
    return mappings < most ? 0
                           : too_little(t, "the limit of mappings", "raise vm.max_map_count", err);
}

/* Refuses if the machine cannot commit the memory (vm.overcommit_memory=2). */
static int check_commit(const struct server *s, const struct target *t, struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(TARGET_TEXT_MAX);
    uint64_t mode, most_kib, used_kib;

    if (!attach_headroom_read_number(s->proc_fd, "sys/vm/overcommit_memory", &mode) || mode != 2 ||
        buf_read_at(&text, s->proc_fd, "meminfo") < 0 ||
        !attach_headroom_find_number(buf_span(&text), "CommitLimit:", &most_kib) ||
        !attach_headroom_find_number(buf_span(&text), "Committed_AS:", &used_kib) ||
        used_kib + ROOM_ADDRESSES_BYTES / KIB <= most_kib)
        return 0;
    return too_little(t, "the machine's limit of committed memory", "raise vm.overcommit_ratio",
                      err);
}

/* Returns the bytes that the kernel reclaims before it kills a process: page cache and slabs. */
static uint64_t reclaimable(int mount_fd, const char *folder)
{
    static const char *const KEYS[] = { "active_file ", "inactive_file ", "slab_reclaimable ",
                                        "total_active_file ", "total_inactive_file " };
    _cleanup_buf_ struct buf text = BUF_UPTO(TARGET_TEXT_MAX);
    char path[4096 + 128];
    uint64_t own = 0, total = 0, v;

    snprintf(path, sizeof(path), "%s/memory.stat", folder);
    if (buf_read_at(&text, mount_fd, path) < 0)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(KEYS); i++) {
        if (attach_headroom_find_number(buf_span(&text), KEYS[i], &v))
            *(i < 3 ? &own : &total) += v;
    }
    return total ? total : own; /* version 1 has both; its limit applies to the total */
}

/* Returns true if the cgroup has less free memory than *@cookie, in bytes. */
static bool has_little_memory(void *cookie, int mount_fd, const char *folder)
{
    uint64_t needed = *(const uint64_t *)cookie;

    static const char *const NAMES[][2] = { { "memory.max", "memory.current" },
                                            { "memory.limit_in_bytes", "memory.usage_in_bytes" } };
    char path[4096 + 128];
    uint64_t most, now;

    for (size_t i = 0; i < ARRAY_SIZE(NAMES); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, NAMES[i][0]);
        if (!attach_headroom_read_number(mount_fd, path, &most))
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, NAMES[i][1]);
        if (attach_headroom_read_number(mount_fd, path, &now) && now + needed > most &&
            now - MIN(now, reclaimable(mount_fd, folder)) + needed > most)
            return true;
    }
    return false;
}

static int check_cgroups(const struct server *s, const struct target *t, struct span cgroup,
                         uint64_t needed, struct error *err)
{
    int r = cgroup_any(s, cgroup, "memory", has_little_memory, &needed);

    if (r <= 0)
        return r < 0 ? cgroup_refuse_unknown(t, r, err) : 0;
    return too_little(t, "its container's limit of memory",
                      "raise memory.max of its cgroup (the memory limit of the container)", err);
}

int attach_headroom_check_stream(const struct server *s, const struct target *t, struct error *err)
{
    _cleanup_buf_ struct buf cgroup = BUF_NULL;
    int r = target_read_proc(t, "cgroup", &cgroup, err);

    return r ? r : check_cgroups(s, t, buf_span(&cgroup), STREAM_BYTES + ROOM_MEMORY_BYTES, err);
}

int attach_headroom_check_memory(const struct server *s, const struct target *t,
                                 const struct attach_headroom_facts *f, struct error *err)
{
    int r = check_own_limits(t, f, err) ?: check_mappings(s, t, f->mappings, err) ?: check_commit(s, t, err);

    return r ? r : check_cgroups(s, t, f->cgroup, ROOM_MEMORY_BYTES, err);
}
