/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confines the talker by Landlock: it can neither open nor create files. Its filters of calls
 * forbid the same, but a tracer in a container with CAP_SYS_ADMIN and no filter of its own can
 * suspend them (PTRACE_O_SUSPEND_SECCOMP). In flamed's cgroup the talker could then open devices
 * that are closed to the container. Landlock is part of the credentials, which no tracer changes.
 */
#include "agent/raw.h"
#include "helper/become.h"

#include <errno.h>
#include <linux/landlock.h>
#include <sys/syscall.h>

/* Rights that older kernel headers lack. */
#define TO_ASK_DEVICES (UINT64_C(1) << 15) /* LANDLOCK_ACCESS_FS_IOCTL_DEV: version 5 */
#define TO_CUT (UINT64_C(1) << 14)         /* LANDLOCK_ACCESS_FS_TRUNCATE: version 3 */

/* Version 1 without LANDLOCK_ACCESS_FS_REMOVE_FILE: the porter removes its copy. */
#define OF_VERSION_1                                                                               \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE |   \
     LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_CHAR |  \
     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |    \
     LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

void forbid_files(void)
{
    static const uint64_t VERSIONS[] = {
        OF_VERSION_1 | TO_CUT | TO_ASK_DEVICES,
        OF_VERSION_1 | TO_CUT,
        OF_VERSION_1,
    };
    long rules = -EINVAL;

    for (unsigned i = 0; rules == -EINVAL && i < sizeof(VERSIONS) / sizeof(VERSIONS[0]); i++)
        rules = raw3(SYS_landlock_create_ruleset, &VERSIONS[i], sizeof(VERSIONS[i]), 0);
    if (rules < 0)
        return; /* without Landlock, only the filters of calls confine it */
    raw2(SYS_landlock_restrict_self, rules, 0);
    raw1(SYS_close, rules);
}
