/* SPDX-License-Identifier: Apache-2.0 */
#include "base/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

int capabilities_drop(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };

    return syscall(SYS_capset, &header, sets) < 0 && geteuid() == 0 ? -errno : 0;
}
