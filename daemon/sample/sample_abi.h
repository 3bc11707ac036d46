/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The records that the BPF programs write and flamed reads. Fixed-width, no padding; shared by
 * both.
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#define SAMPLE_U64 uint64_t
#define SAMPLE_U32 uint32_t
#define SAMPLE_U16 uint16_t
#define SAMPLE_U8 uint8_t
#else
#include <linux/types.h>
#define SAMPLE_U64 __u64
#define SAMPLE_U32 __u32
#define SAMPLE_U16 __u16
#define SAMPLE_U8 __u8
#endif

#define SAMPLE_COMM_BYTES 16
#define SAMPLE_KERNEL_MAX 127
#define SAMPLE_USER_MIN 16 /* words of a user stack: what unwind_max_frames may be set to */
#define SAMPLE_USER_MAX 2048

enum sample_flags {
    SAMPLE_IN_KERNEL = 1, /* the interrupt hit kernel mode */
    SAMPLE_USER_CUT = 2,  /* user stack ended by a limit, not at its root */
    SAMPLE_KERNEL_CUT = 4,
    SAMPLE_KERNEL_THREAD = 8, /* the task has no user memory */
    SAMPLE_THROTTLED = 16,    /* with SAMPLE_RUNNABLE: its cgroup had used up its time */
    SAMPLE_SAME_STEP = 16,    /* with a klass: as one of its thread's last, see alloc.bpf.c */
    SAMPLE_GIVEN_BACK = 16,   /* with neither: no sample, but the end of block `object`; with a
                                 `value` nobody follows it; `object` 0: or knows where it is */
    SAMPLE_WANTS_THREAD = 32, /* the walk would have used the JavaThread, and did not know it */
    SAMPLE_RUNNABLE = 64,     /* with wait_ns: for a processor, and for nothing else */
    SAMPLE_ALONE = 64,        /* with a klass: it stands for hardly more than itself */
    SAMPLE_REGISTERS = 128,   /* user[] is an enum sample_register: the walk is flamed's to make */
};

/* Of a thread that does not run, as it left user mode. */
enum sample_register {
    SAMPLE_REGISTER_RUNS, /* how often it was given a processor: what its schedstat says third */
    SAMPLE_REGISTER_PC,
    SAMPLE_REGISTER_SP,
    SAMPLE_REGISTER_FP,
    SAMPLE_REGISTER_THREAD, /* this one and below: struct unwind_registers */
    SAMPLE_REGISTER_LINK,
    SAMPLE_REGISTER_METHOD,
    SAMPLE_REGISTER_BCP,
    SAMPLE_REGISTER_COUNT,
};

struct sample_record {
    SAMPLE_U64 time_ns;             /* CLOCK_MONOTONIC */
    SAMPLE_U64 start_boottime_ns;   /* of the process (thread group leader) */
    SAMPLE_U64 value;               /* in the event's unit; 0: a period for each of weight */
    SAMPLE_U64 wait_ns;             /* that ended at time_ns; 0: of no wait */
    SAMPLE_U64 klass;               /* of what was allocated, in the target; 0: nothing was */
    SAMPLE_U64 run_ns;              /* CPU time of its thread, of a tick; else 0 */
    SAMPLE_U32 host_pid, host_tid;  /* in flamed's own pid namespace; 0: not visible there */
    SAMPLE_U32 exec_id;             /* task->self_exec_id: changes with each exec */
    SAMPLE_U32 weight;              /* samples this record stands for (>= 1) */
    SAMPLE_U32 flush;               /* the wait was not over, and this flush met it; 0: none */
    SAMPLE_U32 flushed;             /* the last flush that met the wait before; 0: none */
    SAMPLE_U8 kernel_count;         /* frames that follow, leaf first: kernel, */
    SAMPLE_U8 context_count;        /* 0, or CONTEXT_WORDS behind the frames */
    SAMPLE_U16 user_count;          /* then user */
    SAMPLE_U8 set, flags, user_end; /* user_end: why the user stack ended (unwind/unwind.h) */
    SAMPLE_U8 lock;                 /* enum unwind_lock (unwind/process.h) */
    /* As they lie in the target's memory: */
    SAMPLE_U64 lock_class;  /* of the lock; 0: not readable */
    SAMPLE_U64 lock_owner;  /* of a monitor as it says, else a JavaThread; 0: none, or not known */
    SAMPLE_U32 object;      /* the agent's number of it, if that follows it, or that of a block of
                               malloc (native_live.bpf.h); else 0 */
    SAMPLE_U32 collections; /* with object: 1 + those that had begun in the JVM; 0: not known */
    char comm[SAMPLE_COMM_BYTES];
    /* SAMPLE_U64 kernel[kernel_count], user[user_count]; struct sample_context, or none */
};

#ifndef __bpf__
_Static_assert(sizeof(struct sample_record) == 120, "sample_record must have no padding");

/* Returns whether @r is of a virtual thread without a carrier, which no thread of the kernel is.
 * All its words are return addresses. */
static inline int sample_is_virtual(const struct sample_record *r)
{
    return r->wait_ns && r->host_pid && !r->host_tid;
}

/* Returns whether what @r is of waited for a processor. */
static inline int sample_is_runnable(const struct sample_record *r)
{
    return !r->klass && r->flags & SAMPLE_RUNNABLE;
}
#endif
