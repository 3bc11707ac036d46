/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/probed_file.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "broker/file_openers.h"
#include "broker/target/trusted_fs.h"

#include <sys/stat.h>

#define MOUNTINFO_MAX ((size_t)1 << 20)

/* Opens the file through an opener, because the target's own file system may not answer. */
static int open_mapped(struct server *s, const struct mapping_fields *at, int *ret_fd,
                       struct error *err)
{
    const struct broker_request q = { .version = BROKER_WIRE_VERSION,
                                      .kind = BROKER_MAPPED,
                                      .fields.mapped = *at };
    struct reply rep = { 0 };
    int r = file_openers_take(s, BROKER_MAPPED) ? file_openers_ask(s, &q, &rep)
                                                : request_mapped(s, at, &rep);

    if (r < 0)
        *err = rep.err;
    if (r == BROKER_ABSENT || (r == 0 && !rep.fd_count))
        return error_set(err, -ENOENT, "cannot open the file that process %d has mapped",
                         at->target.host_pid);
    if (r == 0)
        *ret_fd = rep.fds[0];
    return r;
}

/* Returns true if @t has the mount namespace of @whose: "self", or "1" for the host's init. */
static bool has_mounts_of(const struct server *s, const struct target *t, const char *whose)
{
    struct stat theirs, others;
    char path[32];

    snprintf(path, sizeof(path), "%s/ns/mnt", whose);
    return fstatat(t->dir_fd, "ns/mnt", &theirs, 0) == 0 &&
           fstatat(s->proc_fd, path, &others, 0) == 0 && theirs.st_dev == others.st_dev &&
           theirs.st_ino == others.st_ino;
}

/* Returns whether a process may serve a file system of this type, by FUSE or by a pair of pipes. */
static bool is_served(struct span type)
{
    return span_eq_str(type, "9p") ||
           (span_starts_with(type, "fuse") && !span_eq_str(type, "fusectl"));
}

/* Returns true if @t has its own mounts, and a process serves one of them (FUSE). Unreadable mounts
 * count as served. */
static bool has_served_mount(const struct server *s, const struct target *t)
{
    _cleanup_buf_ struct buf text = BUF_UPTO(MOUNTINFO_MAX);
    struct mountinfo m;
    struct span rest;

    if (has_mounts_of(s, t, "self") || has_mounts_of(s, t, "1"))
        return false;
    if (buf_read_at(&text, t->dir_fd, "mountinfo") < 0)
        return true;
    rest = buf_span(&text);
    while (mountinfo_take(&rest, &m)) {
        if (is_served(m.type))
            return true;
    }
    return false;
}

/*
 * With a file system that it serves itself, a process can hold the lock of its memory as long as it
 * likes. The comment at the top of probed_file.h says what waits for this lock.
 */
int probed_file_refuse_served(struct server *s, const struct target_fields *of,
                              const struct target *t, struct error *err)
{
    struct reply maker = { 0 };

    if (request_namespace_user(s, of, &maker) != 0 && !has_served_mount(s, t))
        return 0;
    error_set(err, -EPERM,
              "process %d may serve a file system itself (FUSE): a probe into a file there could "
              "stall the kernel, and every fork on the machine",
              of->host_pid);
    error_remedy(err, "use another event; flamed puts no probes into rootless containers, nor "
                      "where FUSE is mounted");
    return -EPERM;
}

int probed_file_open(struct server *s, const struct mapping_fields *at, struct target *ret,
                     int *ret_fd, struct error *err)
{
    _cleanup_close_ int fd = -1;
    int r;

    r = target_pin(s, &at->target, ret, err) ?: server_refuse_own(s, ret->host_pid, err) ?:
        target_need_thread(ret, err) ?: open_mapped(s, at, &fd, err) ?:
        probed_file_refuse_served(s, &at->target, ret, err);
    if (r == 0 && dependable_is_copy(fd))
        r = error_set(err, -EOPNOTSUPP,
                      "that file of process %d lies in memory, or on a file system that may not "
                      "answer (FUSE, NFS), so no probe is put there",
                      ret->host_pid);
    if (r == 0)
        *ret_fd = take_fd(&fd);
    return r;
}
