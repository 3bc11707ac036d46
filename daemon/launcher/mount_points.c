/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/mount_points.h"

#include "base/cleanup.h"
#include "helper/job.h"
#include "launcher/detached.h"
#include "launcher/mounts.h"
#include "proc/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMESPACES_MAX 4096

static const char FOLDERS[][8] = ATTACH_MOUNT_FOLDERS;

/* Buffer for every read. The process has one thread. */
static char text[MOUNTINFO_MAX_BYTES];

static struct span read_info(int info_fd)
{
    size_t n = 0;
    ssize_t r;

    while (n < sizeof(text) && (r = pread(info_fd, text + n, sizeof(text) - n, (off_t)n)) > 0)
        n += (size_t)r;
    return (struct span){ text, n };
}

static bool find_mount(int info_fd, uint64_t id, struct mountinfo *ret)
{
    struct span rest = read_info(info_fd);

    while (mountinfo_take(&rest, ret)) {
        if (ret->id == id)
            return true;
    }
    return false;
}

/* Finds the mount of @fd. *ret_root: @fd is its root. Returns false if the mount is unknown. */
static bool mount_of(int fd, uint64_t *ret_id, bool *ret_root)
{
    struct statx st;

    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0 || !(st.stx_mask & STATX_MNT_ID) ||
        !(st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT))
        return false;
    *ret_id = st.stx_mnt_id;
    *ret_root = (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    return true;
}

/* Opens the folder @name right below the root, which must not be a symbolic link. @flags: O_*;
 * @resolve: further RESOLVE_*. */
static int open_below(int root_fd, const char *name, int flags, uint64_t resolve)
{
    struct open_how how = {
        .flags = (uint64_t)flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve,
    };
    int fd;

    if (flags & O_PATH)
        how.flags &= ~(uint64_t)O_NONBLOCK;
    fd = (int)syscall(SYS_openat2, root_fd, name, &how, sizeof(how));
    return fd < 0 ? -errno : fd;
}

static int check_empty(int fd)
{
    char entries[1024];
    long n = syscall(SYS_getdents64, fd, entries, sizeof(entries));

    /* has room for ".", ".." and one more entry */
    for (long at = 0; at < n;) {
        const struct dirent64 *d = (const void *)(entries + at);

        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            return -ENOTEMPTY;
        if (d->d_reclen == 0)
            return -EIO;
        at += d->d_reclen;
    }
    if (n < 0)
        return -errno;
    return n == 0 || syscall(SYS_getdents64, fd, entries, sizeof(entries)) == 0 ? 0 : -ENOTEMPTY;
}

static int open_place(int root_fd, int info_fd, const char *name, int *ret_fd, uint64_t *ret_mount)
{
    _cleanup_close_ int fd = open_below(root_fd, name, O_RDONLY, RESOLVE_NO_XDEV);
    struct mountinfo m;
    bool is_root;
    int r;

    if (fd < 0)
        return fd;
    r = check_empty(fd);
    if (r < 0)
        return r;
    if (!mount_of(fd, ret_mount, &is_root) || is_root)
        return -EXDEV;
    if (!find_mount(info_fd, *ret_mount, &m))
        return -EXDEV;
    if (m.shared)
        return -EXDEV;
    *ret_fd = take_fd(&fd);
    return 0;
}

int mount_point_open_folder(int root_fd, int info_fd, uint32_t index, int *ret_fd,
                            uint64_t *ret_mount)
{
    _cleanup_close_ int fd = -1;
    struct stat st, root;
    int r = open_place(root_fd, info_fd, FOLDERS[index], &fd, ret_mount);

    if (r < 0)
        return r;
    if (fstat(fd, &st) < 0 || fstat(root_fd, &root) < 0 || st.st_uid != root.st_uid ||
        (st.st_mode & (S_IWGRP | S_IWOTH)))
        return -EPERM;
    *ret_fd = take_fd(&fd);
    return 0;
}

int mount_point_open_tmp(int root_fd, int info_fd, int *ret_fd, uint64_t *ret_mount)
{
    _cleanup_close_ int fd = -1;
    struct statfs fs;
    int r = open_place(root_fd, info_fd, "tmp", &fd, ret_mount);

    if (r < 0)
        return r;
    if (fstatfs(fd, &fs) < 0 || !(fs.f_flags & ST_RDONLY))
        return -EPERM;
    *ret_fd = take_fd(&fd);
    return 0;
}

bool mount_point_is_in(int info_fd, int mount_fd, uint64_t in_mount)
{
    struct mountinfo m;
    uint64_t id;
    bool is_root;

    return mount_of(mount_fd, &id, &is_root) && find_mount(info_fd, id, &m) &&
           m.parent == in_mount && !m.shared;
}

/* ---- mounts that an ended launcher left ---- */

/* Returns whether @m is the mount @own, or a mount of a launcher that has ended. */
static bool is_left(int proc_fd, const struct mountinfo *m, const char *own)
{
    struct span s = m->source;
    uint64_t pid, start_ticks, number, now_ticks;

    if (!span_eq_str(m->type, DETACHED_TYPE) || !span_take_str(&s, MOUNTS_SOURCE) ||
        !span_take_dec(&s, &pid) || pid > INT32_MAX || !span_take_char(&s, '-') ||
        !span_take_dec(&s, &start_ticks) || !span_take_char(&s, '-') ||
        !span_take_dec(&s, &number) || s.n)
        return false;
    return (own && span_eq_str(m->source, own)) ||
           proc_read_start(proc_fd, (int32_t)pid, &now_ticks) != 0 || now_ticks != start_ticks;
}

/* Unmounts the mount @id if it is the topmost one at the folder @name and belongs to flamed's user.
 */
static void sweep_at(int root_fd, const char *name, uint64_t id)
{
    _cleanup_close_ int fd = open_below(root_fd, name, O_PATH, 0);
    struct stat st;
    uint64_t there;
    bool is_root;

    if (fd < 0 || !mount_of(fd, &there, &is_root) || !is_root || there != id ||
        fstat(fd, &st) < 0 || st.st_uid != geteuid() || fchdir(fd) < 0)
        return;
    umount2(".", MNT_DETACH);
}

static void sweep_one(int proc_fd, int root_fd, int info_fd, const char *own, const char *name)
{
    struct span rest = read_info(info_fd);
    struct mountinfo m;

    while (mountinfo_take(&rest, &m)) {
        if (is_left(proc_fd, &m, own) && span_take_char(&m.point, '/') &&
            span_eq_str(m.point, name)) {
            sweep_at(root_fd, name, m.id);
            return;
        }
    }
}

void mount_points_sweep(int proc_fd, int root_fd, int info_fd, const char *own)
{
    for (size_t i = 0; i < ARRAY_SIZE(FOLDERS); i++)
        sweep_one(proc_fd, root_fd, info_fd, own, FOLDERS[i]);
    sweep_one(proc_fd, root_fd, info_fd, own, "tmp");
}

static bool any_left(int proc_fd, int info_fd)
{
    struct span rest = read_info(info_fd);
    struct mountinfo m;

    while (mountinfo_take(&rest, &m)) {
        if (is_left(proc_fd, &m, NULL))
            return true;
    }
    return false;
}

/* Sweeps the mount namespace of the process @name below @proc_fd, unless it is in @seen. */
static void sweep_process(int proc_fd, const char *name, uint64_t *seen, size_t *seen_count)
{
    _cleanup_close_ int dir = openat(proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC), info = -1,
                        root = -1, ns = -1;
    struct stat st;

    if (dir < 0 || fstatat(dir, "ns/mnt", &st, 0) < 0)
        return;
    for (size_t i = 0; i < *seen_count; i++) {
        if (seen[i] == st.st_ino)
            return;
    }
    if (*seen_count == NAMESPACES_MAX)
        return;
    seen[(*seen_count)++] = st.st_ino;
    info = openat(dir, "mountinfo", O_RDONLY | O_CLOEXEC);
    if (info < 0 || !any_left(proc_fd, info))
        return;
    root = openat(dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ns = openat(dir, "ns/mnt", O_RDONLY | O_CLOEXEC);
    if (root >= 0 && ns >= 0 && setns(ns, CLONE_NEWNS) == 0)
        mount_points_sweep(proc_fd, root, info, NULL);
}

void mount_points_sweep_all(int proc_fd)
{
    static uint64_t seen[NAMESPACES_MAX];
    size_t seen_count = 0;
    struct stat st;
    char entries[8192];
    long n;

    lseek(proc_fd, 0, SEEK_SET);
    if (fstatat(proc_fd, "self/ns/mnt", &st, 0) == 0)
        seen[seen_count++] = st.st_ino;
    while ((n = syscall(SYS_getdents64, proc_fd, entries, sizeof(entries))) > 0) {
        for (long at = 0; at < n;) {
            const struct dirent64 *d = (const void *)(entries + at);

            if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
                sweep_process(proc_fd, d->d_name, seen, &seen_count);
            at += d->d_reclen;
        }
    }
}
