/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/private_fs.h"

#include "base/cleanup.h"

#include <errno.h>
#include <sys/mount.h>

int private_fs_open(const char *type, unsigned attributes)
{
    _cleanup_close_ int fs = fsopen(type, FSOPEN_CLOEXEC);
    int root;

    if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -errno;
    root = fsmount(fs, FSMOUNT_CLOEXEC,
                   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | attributes);
    return root < 0 ? -errno : root;
}
