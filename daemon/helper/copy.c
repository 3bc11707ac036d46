/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the agent into the container's /tmp while it is loaded, for JVMs that a security module
 * keeps from loading memory files. The copy belongs to the target's user. flamed-attach creates the
 * file itself or fails. Its name is constant, so that the JVM's loader recognises a loaded agent.
 * The 1 in it is STREAM_VERSION.
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

    copy_remove(); /* a killed helper may have left one; another user's file stays */
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
