/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/capability_text.h"

#include <linux/capability.h>

static const struct {
    unsigned capability;
    const char *sentence;
} RIGHTS[] = {
    { CAP_SYS_PTRACE, "flamed-broker lacks CAP_SYS_PTRACE: it cannot read the maps and "
                      "the memory of other users' processes. Their Java code has no "
                      "names and their stacks are cut; run it as root or give it that "
                      "capability" },
    { CAP_DAC_READ_SEARCH,
      "flamed-broker lacks CAP_DAC_READ_SEARCH: perf maps and hsperfdata files of "
      "other users stay closed; give it that capability" },
    { CAP_SYS_ADMIN,
      "flamed-broker lacks CAP_SYS_ADMIN: files that were deleted or lie in overlays "
      "cannot be opened, so that their functions have no names; give it that capability" },
    { CAP_SYSLOG,
      "flamed-broker lacks CAP_SYSLOG: where kernel.kptr_restrict is 1 kernel frames have no "
      "names; give it that capability" },
};

void rights_problems(uint64_t capabilities, void (*fn)(void *cookie, const char *sentence),
                     void *cookie)
{
    for (size_t i = 0; i < ARRAY_SIZE(RIGHTS); i++) {
        if (!(capabilities & UINT64_C(1) << RIGHTS[i].capability))
            fn(cookie, RIGHTS[i].sentence);
    }
}
