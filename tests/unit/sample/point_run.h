/* SPDX-License-Identifier: Apache-2.0 */
/* Runs translated filters like the BPF program does. Replaces the kernel's functions that it
 * calls. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "sample/point_filter.h"
#include "unwind/state.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* pid and tid of the running thread. */
#define POINT_RUN_PID 4242u
#define POINT_RUN_CPU 3u
#define POINT_RUN_COMM "worker-7"

static inline uint64_t bpf_get_current_pid_tgid(void)
{
    return UINT64_C(7) << 32 | POINT_RUN_PID;
}

static inline uint32_t bpf_get_smp_processor_id(void)
{
    return POINT_RUN_CPU;
}

static inline long bpf_get_current_comm(void *to, uint32_t bytes)
{
    memset(to, 0, bytes);
    memcpy(to, POINT_RUN_COMM, sizeof(POINT_RUN_COMM));
    return 0;
}

static inline long bpf_probe_read_kernel(void *to, uint32_t bytes, const void *from)
{
    memcpy(to, from, bytes);
    return 0;
}

#include "sample/point.bpf.h"
