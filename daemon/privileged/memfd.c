/* SPDX-License-Identifier: Apache-2.0 */
#include "privileged/memfd.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL /* since Linux 6.3 */
#define MFD_NOEXEC_SEAL 8u
#define MFD_EXEC 16u
#endif

int memfd_open(const char *name, enum memfd_use use)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create(name, flags | (use == MEMFD_PROGRAM ? MFD_EXEC : MFD_NOEXEC_SEAL));

    if (fd < 0 && errno == EINVAL) /* EINVAL: the kernel is older than Linux 6.3 */
        fd = memfd_create(name, flags);
    return fd < 0 ? -errno : fd;
}

int memfd_open_again(int fd, int flags)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    fd = open(path, flags | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int memfd_seal(int fd)
{
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0 ||
        lseek(fd, 0, SEEK_SET) < 0)
        return -errno;
    return 0;
}

int memfd_write(int fd, const void *p, size_t n)
{
    size_t done = 0;

    while (done < n) {
        ssize_t r = write(fd, (const char *)p + done, n - done);

        if (r < 0)
            return -errno;
        done += (size_t)r;
    }
    return 0;
}

int memfd_sealed(const char *name, enum memfd_use use, const void *p, size_t n, int *ret_fd)
{
    _cleanup_close_ int fd = memfd_open(name, use);
    int r = fd < 0 ? fd : memfd_write(fd, p, n);

    if (r == 0)
        r = memfd_seal(fd);
    if (r == 0)
        *ret_fd = take_fd(&fd);
    return r;
}
