/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/exec_memfd.h"

#include "base/cleanup.h"
#include "launcher/detached.h"
#include "privileged/memfd.h"

#include <errno.h>
#include <fcntl.h>

#define FS_SIZE "256k"

static int write_file(int root_fd, const char *name, const char *p, size_t n)
{
    _cleanup_close_ int fd =
        openat(root_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0555);

    return fd < 0 ? -errno : memfd_write(fd, p, n);
}

static int program_in_tmpfs(const char *name, const void *p, size_t n, int *ret_fd)
{
    _cleanup_detached_ struct detached fs = DETACHED_NULL;
    _cleanup_close_ int fd = -1;
    int r = detached_make(/* source= */ NULL, FS_SIZE, /* mode= */ NULL, 0, &fs) ?:
            write_file(fs.root_fd, name, p, n) ?:
            detached_make_read_only(&fs);

    if (r < 0)
        return r;
    fd = openat(fs.root_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *ret_fd = take_fd(&fd);
    return 0;
}

int exec_memfd_open(const char *name, const void *p, size_t n, int *ret_fd)
{
    int r = memfd_sealed(name, MEMFD_PROGRAM, p, n, ret_fd);

    return r == -EACCES ? program_in_tmpfs(name, p, n, ret_fd) : r;
}
