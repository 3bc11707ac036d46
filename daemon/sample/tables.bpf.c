// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The walk over descriptor tables, with reads that the kernel compiles into loads (Linux 6.2). */
#include "sample/tables.bpf.h"

/* A kernel struct that begins with a number. */
struct timespec64 {
    __s64 tv_sec;
} __attribute__((preserve_access_index));

extern void *bpf_rdonly_cast(const void *address, __u32 type) __ksym;

/* A load that fails returns 0. Only memory of a table that is no longer its thread's can fail. */
static __always_inline __u64 read_u64(__u64 at)
{
    struct timespec64 *number =
        bpf_rdonly_cast((const void *)at, bpf_core_type_id_kernel(struct timespec64));

    return (__u64)number->tv_sec;
}
