/* SPDX-License-Identifier: Apache-2.0 */
/* What glibc has only since 2.36. A program with these of its own starts where glibc is older (tarball.cmake). */
#include <errno.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

int pidfd_open(pid_t pid, unsigned flags)
{
    return (int)syscall(SYS_pidfd_open, pid, flags);
}

int fsopen(const char *type, unsigned flags)
{
    return (int)syscall(SYS_fsopen, type, flags);
}

int fsconfig(int fd, unsigned command, const char *key, const void *value, int aux)
{
    return (int)syscall(SYS_fsconfig, fd, command, key, value, aux);
}

int fsmount(int fd, unsigned flags, unsigned attributes)
{
    return (int)syscall(SYS_fsmount, fd, flags, attributes);
}

int move_mount(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    return (int)syscall(SYS_move_mount, from_fd, from, to_fd, to, flags);
}

int mount_setattr(int fd, const char *path, unsigned flags, struct mount_attr *attr, size_t size)
{
    return (int)syscall(SYS_mount_setattr, fd, path, flags, attr, size);
}

/* For libcrypt, which has no other source of salt. */
void arc4random_buf(void *buf, size_t size)
{
    for (size_t n = 0; n < size;) {
        ssize_t r = getrandom((char *)buf + n, size - n, 0);

        if (r < 0 && errno != EINTR)
            abort();
        n += r > 0 ? (size_t)r : 0;
    }
}

#pragma GCC visibility pop
