/* SPDX-License-Identifier: Apache-2.0 */
/* launcher_message_check(): it accepts an attach and nothing else. */
#include "launcher/launcher.h"

#include "base/macros.h"

#include <sched.h>

#define NAMESPACES                                                                                 \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWUTS |     \
     CLONE_NEWCGROUP | CLONE_NEWTIME)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool x)
{
    if (!x)
        abort();
}

/* The first byte is the number of descriptors beside it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct launcher_message m = { 0 };
    size_t n = size ? size - 1 : 0, fds = size ? data[0] : 0;

    if (n)
        memcpy(&m, data + 1, MIN(n, sizeof(m)));
    if (launcher_message_check(&m, n, fds) < 0)
        return 0;
    need(n == sizeof(m) && fds == ATTACH_FD_STATUS - ATTACH_FD_RESULT + 1);
    need(m.owner != 0 && m.host_pid > 0 && m.job.ns_pid > 0 && m.job.mode <= ATTACH_MOUNT);
    need((int32_t)m.job.uid != -1 && (int32_t)m.job.gid != -1);
    need(m.job.timeout_ms > 0 && m.job.timeout_ms <= ATTACH_DEADLINE_MS);
    need(m.mounts <= ATTACH_MOUNTS_ALL && (!m.mounts || m.job.ns_flags & CLONE_NEWNS));
    need((m.job.mode == ATTACH_MOUNT) == ((m.mounts & ATTACH_MOUNTS_AGENT) != 0));
    need(!(m.job.ns_flags & ~(uint32_t)NAMESPACES));
    return 0;
}
