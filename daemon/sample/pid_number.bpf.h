// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* For BPF programs: the number of a process in our pid namespace. */
#pragma once

#include "sample/stack_abi.h"

/* The few kernel fields needed; offsets come from the running kernel's BTF. */
struct ns_common {
    unsigned int inum;
} __attribute__((preserve_access_index));

struct pid_namespace {
    struct ns_common ns;
} __attribute__((preserve_access_index));

struct upid {
    int nr;
    struct pid_namespace *ns;
} __attribute__((preserve_access_index));

struct pid {
    unsigned int level;
    struct upid numbers[];
} __attribute__((preserve_access_index));

/* Inode of the pid namespace that numbers processes; 0: the initial one. */
const volatile __u32 pid_ns_inum;

/* Returns the number of @p in our pid namespace; 0: none. */
static __noinline __u32 pid_number(struct pid *p)
{
    unsigned int level = BPF_CORE_READ(p, level);

    for (unsigned int i = 0; i < STACK_PID_DEPTH_MAX; i++) {
        if (i > level)
            break;
        if (BPF_CORE_READ(p, numbers[i].ns, ns.inum) == pid_ns_inum)
            return BPF_CORE_READ(p, numbers[i].nr);
    }
    return 0;
}
