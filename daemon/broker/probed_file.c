/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/probed_file.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "broker/file_openers.h"
#include "broker/mapped.h"
#include "broker/target/trusted_fs.h"

#include <sys/stat.h>

#define MOUNTINFO_MAX ((size_t)1 << 20)

/* Where there are openers, one does it: a file system of the target's own may not answer. */
static int open_library(struct server *s, const struct broker_request *q, const struct target *t,
                        int *ret_fd, struct error *err)
{
    bool libjvm = q->kind != BROKER_CALL && q->kind != BROKER_MALLOC;
    struct reply rep = { 0 };
    int r;

    if (!s->opener_count)
        return mapped_open_file(t, q, libjvm, ret_fd, err);
    r = openers_ask(s, q, &rep);
    if (r < 0)
        *err = rep.err;
    for (size_t i = 0; i < rep.fd_count; i++) {
        if (r == 0 && i == 0)
            *ret_fd = rep.fds[i];
        else
            close_fd(rep.fds[i]);
    }
    return r == 0 && rep.fd_count == 0 ? -EIO : r;
}

/* Whether the mounts of @t are those of @whose: "self", or "1" for the host's init. */
static bool has_mounts_of(const struct server *s, const struct target *t, const char *whose)
{
    struct stat theirs, others;
    char path[32];

    snprintf(path, sizeof(path), "%s/ns/mnt", whose);
    return fstatat(t->dir_fd, "ns/mnt", &theirs, 0) == 0 &&
           fstatat(s->proc_fd, path, &others, 0) == 0 && theirs.st_dev == others.st_dev &&
           theirs.st_ino == others.st_ino;
}

/* Whether @t has mounts of its own, and a file system among them that a process serves (FUSE). What
 * cannot be read counts as one. */
static bool has_served_mount(const struct server *s, const struct target *t)
{
    _cleanup_buf_ struct buf text = BUF_NULL;
    struct mountinfo m;
    struct span rest;

    if (has_mounts_of(s, t, "self") || has_mounts_of(s, t, "1"))
        return false;
    buf_init(&text, MOUNTINFO_MAX);
    if (buf_read_at(&text, t->dir_fd, "mountinfo") < 0)
        return true;
    rest = buf_span(&text);
    while (mountinfo_take(&rest, &m)) {
        if (span_eq_str(m.type, "fuse") || span_starts_with(m.type, "fuse."))
            return true;
    }
    return false;
}

/*
 * To put or take a probe, the kernel waits for the lock of the memory of each process that has the
 * file mapped. Until it has them all, nothing can fork. A process holds that lock for as long as it
 * likes with a file system that it serves itself.
 */
int probed_file_refuse_served(struct server *s, const struct broker_request *q,
                              const struct target *t, struct error *err)
{
    struct reply maker = { 0 };

    if (request_namespace_user(s, q, &maker) != 0 && !has_served_mount(s, t))
        return 0;
    error_set(err, -EPERM,
              "process %d may have file systems that it serves itself (FUSE): by one it could keep "
              "the kernel waiting with a probe, and every fork of the machine with it",
              q->host_pid);
    error_remedy(err, "ask for another event; no probe is put in a container without root, nor "
                      "where FUSE is mounted in it");
    return -EPERM;
}

static int open_file(struct server *s, const struct broker_request *q, const struct target *t,
                     int *ret_fd, struct error *err)
{
    _cleanup_close_ int fd = -1;
    int r = open_library(s, q, t, &fd, err);

    if (r == 0 && !s->is_opener)
        r = probed_file_refuse_served(s, q, t, err);
    if (r == 0 && !s->is_opener && dependable_is_copy(fd))
        r = error_set(err, -EOPNOTSUPP,
                      "that file of process %d lies in memory, or on a file system that may not "
                      "answer (FUSE, NFS), so no probe is put there",
                      q->host_pid);
    if (r == 0)
        *ret_fd = take_fd(&fd);
    return r;
}

int probed_file_open(struct server *s, const struct broker_request *q, struct target *ret,
                     int *ret_fd, struct reply *rep)
{
    _cleanup_close_ int fd = -1;
    int r;

    if (!s->sampler && !s->is_opener)
        return error_set(&rep->err, -EAGAIN, "no sampling is under way");
    r = target_pin(s, q, ret, &rep->err);
    if (r == 0)
        r = server_refuse_own(s, q->host_pid, &rep->err);
    if (r == 0)
        r = open_file(s, q, ret, &fd, &rep->err);
    if (r == 0 && s->is_opener)
        return reply_fd(rep, take_fd(&fd));
    if (r == 0)
        *ret_fd = take_fd(&fd);
    return r;
}
