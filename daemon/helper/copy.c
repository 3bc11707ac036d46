/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a JVM may load no memory file (a security module forbids it), the agent lies in the
 * container's own /tmp while it is loaded: a file of the target's user, made by us or not at all.
 * Its name is the same each time, so the JVM's loader knows that the agent is loaded already. The 1
 * in it rises with STREAM_VERSION.
 */
#include "helper/become.h"

#include "agent/raw.h"
#include "agent/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

_Static_assert(STREAM_VERSION == 1, "COPY_PATH has the version in it");

static int copy_into(long to)
{
    static char part[16384];
    long at = 0, n;

    while ((n = raw4(SYS_pread64, ATTACH_FD_AGENT, part, sizeof(part), at)) > 0) {
        long written = raw3(SYS_write, to, part, n);

        if (written != n)
            return written < 0 ? (int)written : -ENOSPC;
        at += n;
    }
    return (int)n;
}

int copy_agent(void)
{
    long fd;
    int r;

    copy_remove(); /* of a helper that was killed; of another user it cannot be, and stays */
    fd = raw4(SYS_openat, AT_FDCWD, COPY_PATH, COPY_FLAGS, 0600);
    if (fd < 0)
        return (int)fd;
    r = copy_into(fd);
    raw1(SYS_close, fd);
    if (r < 0)
        copy_remove();
    return r;
}

void copy_remove(void)
{
    raw3(SYS_unlinkat, AT_FDCWD, COPY_PATH, 0);
}
