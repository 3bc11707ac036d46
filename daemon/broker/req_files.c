/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests for files that a runtime writes into its own /tmp: hsperfdata and perf maps.
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/dir.h"
#include "broker/target/target.h"

#include <fcntl.h>

#define HSPERFDATA_MAX_BYTES                                                                       \
    (UINT64_C(1) << 20)      /* usually 32 KiB; -XX:PerfDataMemorySize may set more */
#define TICKS_PER_SECOND 100 /* of /proc, independent of the kernel's HZ */
#define HSPERFDATA_PREFIX "hsperfdata_"
#define TMP_ENTRIES_MAX 100000 /* limit of names read in a target's /tmp */
/* excludes absurd sizes; flamed's own limit is lower */
#define PERFMAP_MAX_BYTES (UINT64_C(1) << 36)

/* What locates a target's files in /tmp. */
struct tmp_place {
    const struct target *target;
    int root_fd;
    uint32_t uid;
    int32_t inner_pid;
};

static int tmp_place(const struct server *s, const struct target *t, struct tmp_place *ret,
                     struct error *err)
{
    struct proc_status status;
    int fd = -1, r;

    r = proc_read_status(s->proc_fd, t->host_pid, &status);
    if (r < 0)
        return error_code(err, r, "cannot read the status of process %d", t->host_pid);
    if (r > 0)
        return r;
    if (status.ns_depth == 0)
        return error_set(err, -EBADMSG, "process %d has no pid of its own", t->host_pid);
    /* Also checks that the process still lives, so that the status was that of the target. */
    r = target_open_root(t, &fd, err);
    if (r)
        return r;
    *ret = (struct tmp_place){
        .target = t,
        .root_fd = fd,
        .uid = status.uid,
        .inner_pid = status.ns_pid[status.ns_depth - 1],
    };
    return 0;
}

/* Opens the target's file in the folder @name of /tmp. */
static int open_hsperfdata(const struct tmp_place *place, int tmp_fd, const char *name, int *ret_fd,
                           struct error *err)
{
    struct file_rule rule = { .max_bytes = HSPERFDATA_MAX_BYTES,
                              .owned = true,
                              .own = true,
                              .uid = place->uid,
                              .target = place->target };
    _cleanup_close_ int folder = -1;
    char file[16];
    int r = folder_open_own(tmp_fd, name, place->uid, &folder, err);

    if (r)
        return r;
    snprintf(file, sizeof(file), "%d", place->inner_pid);
    return root_open(folder, file, &rule, ret_fd, err);
}

/* Searches the folders /tmp/hsperfdata_* for one that belongs to the target's user and holds its
 * file. The user's name, which the container defines, is not looked up. */
static int find_hsperfdata(const struct tmp_place *place, int *ret_fd, struct error *err)
{
    _cleanup_closedir_ DIR *dir = NULL;
    int fd = -1, r, worst = BROKER_ABSENT;

    r = root_open_dir(place->root_fd, "tmp", O_RDONLY, &fd, err);
    if (r)
        return r;
    dir = dir_take(fd);
    if (!dir)
        return error_errno(err, "cannot list /tmp");
    for (int i = 0; i < TMP_ENTRIES_MAX; i++) {
        const struct dirent *e = readdir(dir);

        if (!e)
            break;
        if (strncmp(e->d_name, HSPERFDATA_PREFIX, strlen(HSPERFDATA_PREFIX)) != 0)
            continue;
        r = open_hsperfdata(place, dirfd(dir), e->d_name, ret_fd, err);
        if (r == 0)
            return 0;
        if (r < 0)
            worst = r;
    }
    return worst;
}

/*
 * hsperfdata. Safe: a regular file inside the target's own root, with the one name that a JVM of
 * that pid uses. It is small, belongs to the target's user and has one link, so it is no other's
 * file linked in. Its folder belongs to that user and is no link and no mount. flamed has to
 * distrust the contents.
 */
int request_hsperfdata(struct server *s, const struct target_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    struct tmp_place place = { .root_fd = -1 };
    int fd = -1, r;

    r = target_pin(s, q, &t, &rep->err) ?: tmp_place(s, &t, &place, &rep->err) ?:
        find_hsperfdata(&place, &fd, &rep->err);
    close_fd(place.root_fd);
    return r ? r : reply_fd(rep, fd);
}

/* Converts @start_ticks of /proc/PID/stat to CLOCK_REALTIME; 0: unknown. */
static uint64_t started_realtime_ns(uint64_t start_ticks)
{
    uint64_t since_boot_ns = start_ticks * (NSEC_PER_SEC / TICKS_PER_SECOND);
    uint64_t now_ns = clock_ns(CLOCK_REALTIME), up_ns = clock_ns(CLOCK_BOOTTIME);

    return start_ticks && since_boot_ns < up_ns ? now_ns - (up_ns - since_boot_ns) : 0;
}

/*
 * perfmap. Safe for the reasons of hsperfdata: /tmp/perf-<innermost pid>.map in the target's root,
 * owned by its user or root, one link, regular. A file last written before the process began
 * belongs to an earlier process with the same pid, and is refused.
 */
int request_perfmap(struct server *s, const struct target_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    struct tmp_place place = { .root_fd = -1 };
    struct file_rule rule = { .max_bytes = PERFMAP_MAX_BYTES, .owned = true, .target = &t };
    char path[40];
    int fd = -1, r;

    r = target_pin(s, q, &t, &rep->err) ?: tmp_place(s, &t, &place, &rep->err);
    if (r == 0) {
        rule.uid = place.uid;
        rule.written_since_ns = started_realtime_ns(q->start_ticks);
        snprintf(path, sizeof(path), "tmp/perf-%d.map", place.inner_pid);
        r = root_open(place.root_fd, path, &rule, &fd, &rep->err);
    }
    close_fd(place.root_fd);
    return r ? r : reply_fd(rep, fd);
}
