/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/program.h"

#include "base/cleanup.h"
#include "broker/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

/* A tmpfs that is mounted nowhere. Its root directory, or -errno. */
static int detached_tmpfs(void)
{
    _cleanup_close_ int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
    int root;

    if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "size", "256k", 0) < 0 ||
        fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -errno;
    root = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    return root < 0 ? -errno : root;
}

static int write_file(int root_fd, const char *name, const char *p, size_t n)
{
    _cleanup_close_ int fd =
        openat(root_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0555);

    return fd < 0 ? -errno : memory_write(fd, p, n);
}

static int program_in_tmpfs(const char *name, const void *p, size_t n, int *ret_fd)
{
    struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
    _cleanup_close_ int root = detached_tmpfs(), fd = -1;
    int r;

    if (root < 0)
        return root;
    r = write_file(root, name, p, n);
    if (r < 0)
        return r;
    if (mount_setattr(root, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) < 0)
        return -errno;
    fd = openat(root, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *ret_fd = take_fd(&fd);
    return 0;
}

int program_open(const char *name, const void *p, size_t n, int *ret_fd)
{
    int r = memory_sealed(name, MEMORY_PROGRAM, p, n, ret_fd);

    return r == -EACCES ? program_in_tmpfs(name, p, n, ret_fd) : r;
}
