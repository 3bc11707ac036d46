/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/detached.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <sys/mount.h>

static int set(int fs, const char *key, const char *value)
{
    return value && fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0) < 0 ? -errno : 0;
}

int detached_make(const char *source, const char *size, const char *mode, unsigned attributes,
                  struct detached *ret)
{
    _cleanup_close_ int fs = fsopen(DETACHED_TYPE, FSOPEN_CLOEXEC);
    int root, r = fs < 0 ? -errno : set(fs, "source", source);

    if (r == 0)
        r = set(fs, "size", size);
    if (r == 0)
        r = set(fs, "mode", mode);
    if (r == 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        r = -errno;
    if (r < 0)
        return r;
    root = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | attributes);
    if (root < 0)
        return -errno;
    *ret = (struct detached){ .fs_fd = take_fd(&fs), .root_fd = root };
    return 0;
}

/* Changes the file system instead of its only mount, for kernels before 5.12. */
static int reconfigure(int fs)
{
    return fsconfig(fs, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0 ||
                   fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) < 0
               ? -errno
               : 0;
}

int detached_make_read_only(const struct detached *d)
{
    struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };

    if (mount_setattr(d->root_fd, "", AT_EMPTY_PATH, &read_only, sizeof(read_only)) == 0)
        return 0;
    return errno == ENOSYS ? reconfigure(d->fs_fd) : -errno;
}

void detached_close(struct detached *d)
{
    d->fs_fd = close_fd(d->fs_fd);
    d->root_fd = close_fd(d->root_fd);
}
