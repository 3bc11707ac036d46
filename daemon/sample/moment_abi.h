/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What moments.bpf.c, its loader and flamed share: what a JVM does as a whole, as its probes say.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#define MOMENT_U64 uint64_t
#define MOMENT_U32 uint32_t
#else
#include <linux/types.h>
#define MOMENT_U64 __u64
#define MOMENT_U32 __u32
#endif

#define MOMENT_PROCESSES_MAX 256 /* JVMs that have such probes at a time */
#define MOMENT_PLACES_MAX 24     /* of one */
#define MOMENT_RING_BYTES (256u << 10)
#define MOMENT_NAME_BYTES 64
#define MOMENT_OFF_THREADS_MAX 1024 /* that do not run, and that a safepoint would wait for */
#define MOMENT_OFF_WORDS 512        /* of the stack of one */

/* Which probe was hit. */
enum moment_kind {
    MOMENT_SAFEPOINT_BEGIN, /* the VM asks its threads to stop */
    MOMENT_SAFEPOINT_END,
    MOMENT_OPERATION_BEGIN, /* named; at a safepoint all threads have stopped */
    MOMENT_OPERATION_END,
    MOMENT_GC_BEGIN,
    MOMENT_GC_END,
    MOMENT_COLLECTOR, /* named: who collects; between the last two */
    MOMENT_KINDS,
};

/* How the probe tells the address of a name. */
enum moment_operand { MOMENT_NO_NAME, MOMENT_IN_REGISTER, MOMENT_IN_MEMORY };

/* Registers, as operands of probes name them. */
enum moment_register {
    MOMENT_RAX,
    MOMENT_RBX,
    MOMENT_RCX,
    MOMENT_RDX,
    MOMENT_RSI,
    MOMENT_RDI,
    MOMENT_RBP,
    MOMENT_RSP,
    MOMENT_R8,
    MOMENT_R9,
    MOMENT_R10,
    MOMENT_R11,
    MOMENT_R12,
    MOMENT_R13,
    MOMENT_R14,
    MOMENT_R15,
    MOMENT_REGISTERS,
};

/* The attach cookie of a probe. */
#define MOMENT_COOKIE(kind, operand, reg, offset)                                                  \
    ((MOMENT_U64)(kind) | (MOMENT_U64)(operand) << 8 | (MOMENT_U64)(reg) << 16 |                   \
     (MOMENT_U64)(MOMENT_U32)(offset) << 32)
#define MOMENT_COOKIE_OF(cookie, epoch) ((cookie) | (MOMENT_U64)((epoch)&0xff) << 24)
#define MOMENT_COOKIE_EPOCH(cookie) ((MOMENT_U32)((cookie) >> 24 & 0xff))
#define MOMENT_COOKIE_KIND(cookie) ((MOMENT_U32)((cookie)&0xff))
#define MOMENT_COOKIE_OPERAND(cookie) ((MOMENT_U32)((cookie) >> 8 & 0xff))
#define MOMENT_COOKIE_REGISTER(cookie) ((MOMENT_U32)((cookie) >> 16 & 0xff))
#define MOMENT_COOKIE_OFFSET(cookie) ((int)((cookie) >> 32))

struct moment_record {
    MOMENT_U64 time_ns;            /* CLOCK_MONOTONIC */
    MOMENT_U64 start_boottime_ns;  /* of the process */
    MOMENT_U32 host_pid, host_tid; /* as in samples */
    MOMENT_U32 exec_id;
    MOMENT_U32 kind;              /* enum moment_kind */
    char name[MOMENT_NAME_BYTES]; /* ends with NUL; "": none, or not readable */
};

/* Bytes into a JavaThread. */
struct moment_offsets {
    MOMENT_U32 state;     /* what it does: enum moment_thread_state */
    MOMENT_U32 safepoint; /* where the address of what it knows of safepoints is; 0: not known */
};
#define MOMENT_SAFEPOINT_ID 24 /* bytes into that, to which safepoint it stopped for; 0: none */

/* Of a process. */
struct moment_process {
    MOMENT_U64 since_ns; /* it waits for its threads to stop; 0: it does not */
    struct moment_offsets at;
    MOMENT_U32 zero;
    MOMENT_U32 epoch; /* 0 to 255: of its probes; those of another one are on their way out */
};

/* What a JavaThread does, as HotSpot numbers it (all JDKs). Of others a safepoint is waited for. */
enum moment_thread_state {
    MOMENT_THREAD_NEW = 2, /* and below: it does not run yet */
    MOMENT_THREAD_NATIVE = 4,
    MOMENT_THREAD_BLOCKED = 10,
    MOMENT_THREAD_STATES = 12, /* more is none */
};

enum moment_counter {
    MOMENT_SAMPLES,     /* records of threads written */
    MOMENT_TIME_NS,     /* spent on them */
    MOMENT_LOST_RING,   /* a ring buffer was full */
    MOMENT_LOST_BUDGET, /* the processor had spent STACK_BUDGET_NS of its window */
    MOMENT_LOST_BUG,    /* a map was not there: cannot happen */
    MOMENT_LOST_ROOM,   /* a thread left its processor, and there was no room for its stack */
    MOMENT_COUNTERS,
};

#ifndef __bpf__
_Static_assert(sizeof(struct moment_record) == 96, "moment_record must have no padding");
#endif
