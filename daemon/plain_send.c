/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces sendmsg() in the whole program, libmicrohttpd and GnuTLS included, by calls that pass no
 * descriptor: the sandbox forbids the kernel's sendmsg(). Otherwise a worker under an attacker's
 * control could pass a descriptor of the broker's to a client of its Unix socket. Root of a
 * container might then open a file of the host for writing through /proc/self/fd.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Works like sendmsg() of the C library, but passes no descriptors, addresses, or flags beside
 * several pieces of memory. SIGPIPE is ignored (serving.c), and sockets that may not block have
 * O_NONBLOCK. Thread: any. */
__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    if (m->msg_controllen || m->msg_namelen || m->msg_iovlen > IOV_MAX) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (m->msg_iovlen == 1)
        return sendto(fd, m->msg_iov->iov_base, m->msg_iov->iov_len, flags, NULL, 0);
    return writev(fd, m->msg_iov, (int)m->msg_iovlen);
}
