/* SPDX-License-Identifier: Apache-2.0 */
/* Validates messages of the broker. */
#include "launcher/launcher.h"

#include <errno.h>
#include <sched.h>

#define NAMESPACES                                                                                 \
    (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWUTS |     \
     CLONE_NEWCGROUP | CLONE_NEWTIME)
/* Setresuid() would not change the id, so the process would stay root. */
#define UNCHANGED UINT32_MAX

int launcher_message_check(const struct launcher_message *m, size_t n, size_t fd_count)
{
    const struct attach_job *j = &m->job;

    if (n != sizeof(*m) || fd_count != LAUNCHER_FDS)
        return -EBADMSG;
    if (m->host_pid <= 0 || m->owner == 0 || j->magic != ATTACH_MAGIC ||
        j->version != ATTACH_VERSION || j->ns_flags & ~(uint32_t)NAMESPACES ||
        j->uid == UNCHANGED || j->gid == UNCHANGED || j->ns_pid <= 0 || j->mode > ATTACH_MOUNT ||
        j->timeout_ms == 0 || j->timeout_ms > ATTACH_DEADLINE_MS)
        return -EBADMSG;
    if (m->mounts & ~(uint32_t)ATTACH_MOUNTS_ALL ||
        (m->mounts && !(j->ns_flags & CLONE_NEWNS)) || /* never mounts in flamed's own mount
                                                        * namespace */
        (m->mounts & ATTACH_MOUNTS_PAID && !(m->mounts & ATTACH_MOUNTS_AGENT)) ||
        (j->mode == ATTACH_MOUNT) != ((m->mounts & ATTACH_MOUNTS_AGENT) != 0) ||
        m->host_uid == UNCHANGED || m->host_gid == UNCHANGED ||
        (!m->mounts && (m->host_uid || m->host_gid)))
        return -EBADMSG;
    return 0;
}
