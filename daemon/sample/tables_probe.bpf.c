// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The walk over descriptor tables for kernels before Linux 6.2: a call of the kernel for each
 * read. */
#include "sample/tables.bpf.h"

static __always_inline __u64 read_u64(__u64 at)
{
    __u64 value = 0;

    if (bpf_probe_read_kernel(&value, sizeof(value), (void *)at))
        look.failed = 1;
    return value;
}
