/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The perf home: sampling without BPF programs. If the kernel refuses them, perf events copy the
 * user's registers and a part of the stack into a ring for each processor. flamed walks that part
 * with the unwinder of the BPF programs. The broker opens these events, and flamed reads them.
 */
#pragma once

#include <asm/perf_regs.h>
#include <linux/perf_event.h>

#define PERF_HOME_HZ_MAX 199         /* samples of a set per second */
#define PERF_HOME_STACK_BYTES 32768u /* copied part of the user's stack in each sample */
/* Bytes of a processor's ring. It holds the samples that flamed has not taken yet, for about a
 * second if flamed is busy. The least size has room for seven samples. PERF_HOME_RINGS_BYTES_MAX
 * limits all rings together, as long as each is larger than the least size. */
#define PERF_HOME_RING_MAX ((size_t)8 << 20)
#define PERF_HOME_RING_MIN ((size_t)256 << 10)
#define PERF_HOME_RINGS_BYTES_MAX ((size_t)64 << 20)

/* The fields of a sample, in the order of perf_event_open(2). The low bits of its period are the
 * number of its set, because events of all sets write into one ring. */
#define PERF_HOME_SAMPLE                                                                           \
    (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |             \
     PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* The copied registers, in the order of a sample; names as in struct unwind_registers. */
#ifdef __aarch64__
#define PERF_HOME_REGISTERS                                                                        \
    (1ull << PERF_REG_ARM64_X12 | 1ull << PERF_REG_ARM64_X22 | 1ull << PERF_REG_ARM64_X28 |        \
     1ull << PERF_REG_ARM64_X29 | 1ull << PERF_REG_ARM64_LR | 1ull << PERF_REG_ARM64_SP |          \
     1ull << PERF_REG_ARM64_PC)
enum perf_home_register {
    PERF_HOME_METHOD,
    PERF_HOME_BCP,
    PERF_HOME_THREAD,
    PERF_HOME_FP,
    PERF_HOME_LINK,
    PERF_HOME_SP,
    PERF_HOME_PC,
    PERF_HOME_REGISTER_COUNT,
};
#else
#define PERF_HOME_REGISTERS                                                                        \
    (1ull << PERF_REG_X86_AX | 1ull << PERF_REG_X86_BX | 1ull << PERF_REG_X86_BP |                 \
     1ull << PERF_REG_X86_SP | 1ull << PERF_REG_X86_IP | 1ull << PERF_REG_X86_R13 |                \
     1ull << PERF_REG_X86_R15)
enum perf_home_register {
    PERF_HOME_LINK,
    PERF_HOME_METHOD,
    PERF_HOME_FP,
    PERF_HOME_SP,
    PERF_HOME_PC,
    PERF_HOME_BCP,
    PERF_HOME_THREAD,
    PERF_HOME_REGISTER_COUNT,
};
#endif
