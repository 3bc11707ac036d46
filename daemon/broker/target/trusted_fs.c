/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/target/trusted_fs.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"
#include "privileged/memfd.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Missing in linux/magic.h of some build machines. */
#define MAGIC_ZFS 0x2fc12fc1
#define MAGIC_BCACHEFS 0xca451a4e
#define MAGIC_UDF 0x15013346

#define CHUNK_BYTES 65536

/* File systems that the kernel alone serves, from memory or from a device. */
static const uint32_t LOCAL[] = {
    BTRFS_SUPER_MAGIC, CRAMFS_MAGIC,         EROFS_SUPER_MAGIC_V1,
    EXT4_SUPER_MAGIC,  F2FS_SUPER_MAGIC,     HUGETLBFS_MAGIC,
    ISOFS_SUPER_MAGIC, MAGIC_BCACHEFS,       MAGIC_UDF,
    MAGIC_ZFS,         MSDOS_SUPER_MAGIC,    NILFS_SUPER_MAGIC,
    RAMFS_MAGIC,       REISERFS_SUPER_MAGIC, SQUASHFS_MAGIC,
    TMPFS_MAGIC,       XFS_SUPER_MAGIC,
};

/* Returns true if the mounts of @t were made in our own user namespace. In another user namespace,
 * an overlay may be on top of any user's FUSE without showing it. */
static bool has_our_mounts(const struct target *t)
{
    _cleanup_close_ int mounts = -1, owner = -1;
    struct stat theirs, ours;

    if (!t)
        return true;
    mounts = openat(t->dir_fd, "ns/mnt", O_RDONLY | O_CLOEXEC);
    owner = mounts < 0 ? -1 : ioctl(mounts, NS_GET_USERNS);
    return owner >= 0 && fstat(owner, &theirs) == 0 && stat("/proc/self/ns/user", &ours) == 0 &&
           theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

bool dependable_is_copy(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && seals & F_SEAL_WRITE;
}

/* Returns true if @fd is a file without a name that others than its owner may change, such as a
 * memfd that is not sealed. A holder of a descriptor can open it again for writing: neither a
 * folder nor Landlock prevents that. Processes also map code from such files. */
static bool is_others_to_change(int fd)
{
    const int fixed = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    if (seals >= 0 && (seals & fixed) == fixed)
        return false;
    return fstat(fd, &st) < 0 || (st.st_nlink == 0 && st.st_mode & (S_IWGRP | S_IWOTH));
}

static bool is_dependable(int fd, const struct target *t)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0 || is_others_to_change(fd))
        return false;
    if ((uint32_t)fs.f_type == OVERLAYFS_SUPER_MAGIC)
        return has_our_mounts(t);
    return ANY_OF(i, ARRAY_SIZE(LOCAL), (uint32_t)fs.f_type == LOCAL[i]);
}

/* Copies @from to its end. */
static int copy(int from, int to, const char *what, struct error *err)
{
    static char bytes[CHUNK_BYTES];
    uint64_t until_ns = clock_monotonic_ns() + COPY_NS_MAX, at = 0;
    ssize_t n;

    while ((n = pread(from, bytes, sizeof(bytes), (off_t)at)) > 0) {
        at += (uint64_t)n;
        if (at > COPY_MAX_BYTES)
            return error_set(
                err, -EFBIG,
                "%s lies on FUSE, a network or in memory, and is larger than %ju bytes", what,
                (uintmax_t)COPY_MAX_BYTES);
        if (write(to, bytes, (size_t)n) != n)
            return error_set(err, -ENOMEM, "no memory for a copy of %s", what);
        if (clock_monotonic_ns() > until_ns)
            return error_set(err, -ETIMEDOUT, "%s lies on a file system that does not answer",
                             what);
    }
    return n < 0 ? error_errno(err, "cannot read %s", what) : 0;
}

int dependable_file(int fd, const char *what, const struct target *t, int *ret_fd,
                    struct error *err)
{
    _cleanup_close_ int file = fd, memory = -1;
    int r;

    if (is_dependable(file, t)) {
        *ret_fd = take_fd(&file);
        return 0;
    }
    memory = memfd_open("copy", MEMFD_DATA);
    r = memory < 0 ? memory : copy(file, memory, what, err);
    if (r == 0)
        r = memfd_seal(memory);
    if (r == 0)
        *ret_fd = take_fd(&memory);
    return r;
}
