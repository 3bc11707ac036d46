/* SPDX-License-Identifier: Apache-2.0 */
/* The request for the user that owns the rootless container of a process. */
#include "base/cleanup.h"
#include "broker/target/cgroups.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define NAMESPACE_LEVELS_MAX 33 /* the kernel nests 32 below the first */

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Climbs from the namespace @fd, which it takes, to the namespace of the same kind directly below
 * @ours. Returns the fd of that namespace, owned by the caller, or -1 if @fd is @ours or not below
 * it. */
static int outermost(int fd, const struct stat *ours)
{
    _cleanup_close_ int at = fd;
    struct stat st;

    if (at < 0 || fstat(at, &st) < 0 || is_same(&st, ours))
        return -1;
    for (int i = 0; i < NAMESPACE_LEVELS_MAX; i++) {
        int above = ioctl(at, NS_GET_PARENT);

        if (above < 0 || fstat(above, &st) < 0) {
            close_fd(above);
            return -1;
        }
        if (is_same(&st, ours)) {
            close_fd(above);
            return take_fd(&at);
        }
        close_fd(at);
        at = above;
    }
    return -1;
}

static int open_namespace(const struct target *t, const char *name)
{
    char path[32];

    snprintf(path, sizeof(path), "ns/%s", name);
    return openat(t->dir_fd, path, O_RDONLY | O_CLOEXEC);
}

static bool stat_ours(const struct server *s, const char *name, struct stat *ret)
{
    char path[32];

    snprintf(path, sizeof(path), "self/ns/%s", name);
    return fstatat(s->proc_fd, path, ret, 0) == 0;
}

/* Returns true if a process with rights in our own user namespace made the pid namespace of @t, or
 * if that cannot be read. In that case @t is in a container of root's. Users inside of it may also
 * make namespaces. */
static bool is_in_roots(const struct server *s, const struct target *t, const struct stat *users)
{
    _cleanup_close_ int top = -1, owner = -1;
    struct stat ours, theirs;
    int fd;

    if (!stat_ours(s, "pid", &ours))
        return errno != ENOENT;
    fd = open_namespace(t, "pid");
    if (fd < 0 || fstat(fd, &theirs) < 0 || is_same(&theirs, &ours)) {
        bool unknown = fd < 0;

        close_fd(fd);
        return unknown;
    }
    top = outermost(fd, &ours);
    owner = top < 0 ? -1 : ioctl(top, NS_GET_USERNS);
    return owner < 0 || fstat(owner, &theirs) < 0 || is_same(&theirs, users);
}

/* Returns in *ret whether @t is in a container of root's, by the cgroups that root made. */
static int has_roots_cgroup(const struct server *s, const struct target *t, bool *ret,
                            struct error *err)
{
    _cleanup_buf_ struct buf text = BUF_NULL, made = BUF_UPTO(TARGET_TEXT_MAX);
    int r = target_read_proc(t, "cgroup", &text, err);

    if (r)
        return r;
    cgroup_made_by_root(s, buf_span(&text), &made);
    *ret = made.error || cgroup_is_container(buf_span(&made));
    return 0;
}

/*
 * namespace_user. Safe: one number, the user that made a user namespace, and nothing of the process
 * but that it is in this namespace. The namespace is one right below our own that a user made; the
 * kernel gives its maker all rights in it and in those below it (user_namespaces(7)). There is no
 * answer for a process in a container of root's, where a user may have the same number as one of
 * the host.
 */
int request_namespace_user(struct server *s, const struct target_fields *q, struct reply *rep)
{
    _cleanup_target_ struct target t = TARGET_NULL;
    _cleanup_close_ int top = -1;
    bool roots = true;
    uid_t uid = 0;
    struct stat users;
    int r;

    r = target_pin(s, q, &t, &rep->err);
    if (r)
        return r;
    if (!stat_ours(s, "user", &users))
        return BROKER_ABSENT;
    top = outermost(open_namespace(&t, "user"), &users);
    if (top >= 0 && ioctl(top, NS_GET_OWNER_UID, &uid) < 0)
        uid = 0;
    if (uid != 0 && !is_in_roots(s, &t, &users))
        r = has_roots_cgroup(s, &t, &roots, &rep->err);
    if (r == 0)
        r = target_check(&t);
    if (r)
        return r;
    rep->body.namespace_user.uid = uid;
    return roots || !uid ? BROKER_ABSENT : 0;
}
