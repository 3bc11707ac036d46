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
#define SAMPLE_USER_MIN 16 /* words of a user stack: the range of unwind_max_frames */
#define SAMPLE_USER_MAX 2048

enum sample_flags {
    SAMPLE_IN_KERNEL = 1, /* the interrupt hit kernel mode */
    SAMPLE_USER_CUT = 2,  /* user stack ended by a limit, not at its root */
    SAMPLE_KERNEL_CUT = 4,
    SAMPLE_KERNEL_THREAD = 8, /* the task has no user memory */
    SAMPLE_THROTTLED = 16,    /* with SAMPLE_RUNNABLE: its cgroup had used up its CPU quota */
    SAMPLE_SAME_STEP = 16,    /* with a klass: as in is_same_step() of alloc_worth.bpf.h */
    SAMPLE_GIVEN_BACK = 16,   /* without both: no sample, but the block `object` was freed. With a
                               * `value`, the block is not tracked instead; `object` 0: its address
                               * is unknown, too */
    SAMPLE_WANTS_THREAD = 32, /* the walk lacked the JavaThread, which it would have used */
    SAMPLE_RUNNABLE = 64,     /* with wait_ns: the thread was runnable and waited for a processor */
    SAMPLE_ALONE = 64,        /* with a klass: the object stands for hardly more than its own
                               * bytes */
    SAMPLE_REGISTERS = 128,   /* user[] is indexed by enum sample_register: flamed walks the
                               * stack */
};

/* Registers of a thread that does not run, from when it left user mode. */
enum sample_register {
    SAMPLE_REGISTER_RUNS, /* times that it got a processor: the third number of its schedstat */
    SAMPLE_REGISTER_PC,
    SAMPLE_REGISTER_SP,
    SAMPLE_REGISTER_FP,
    SAMPLE_REGISTER_THREAD, /* from here on the members of struct unwind_registers */
    SAMPLE_REGISTER_LINK,
    SAMPLE_REGISTER_METHOD,
    SAMPLE_REGISTER_BCP,
    SAMPLE_REGISTER_COUNT,
};

struct sample_record {
    SAMPLE_U64 time_ns;             /* CLOCK_MONOTONIC */
    SAMPLE_U64 start_boottime_ns;   /* of the process (thread group leader) */
    SAMPLE_U64 value;               /* in the event's unit; 0: weight times the period */
    SAMPLE_U64 wait_ns;             /* length of the wait that ended at time_ns; 0: no wait */
    SAMPLE_U64 klass;               /* class of the allocated object, in the target; 0: no
                                     * allocation */
    SAMPLE_U64 run_ns;              /* CPU time of its thread, for a tick; else 0 */
    SAMPLE_U64 unloads;             /* 1 + classes that its JVM had unloaded; 0: unknown, or
                                     * classes may be redefined */
    SAMPLE_U32 host_pid, host_tid;  /* in flamed's own pid namespace; 0: invisible there */
    SAMPLE_U32 exec_id;             /* task->self_exec_id: changes with each exec */
    SAMPLE_U32 weight;              /* number of ticks that the record stands for, at least 1 */
    SAMPLE_U32 flush;               /* number of the flush that met the unfinished wait; 0: none */
    SAMPLE_U32 flushed;             /* last flush that met the wait before its end; 0: none */
    SAMPLE_U8 kernel_count;         /* number of kernel frames that follow first, leaf first */
    SAMPLE_U8 context_count;        /* number of words behind the frames: 0 or CONTEXT_WORDS */
    SAMPLE_U16 user_count;          /* number of user frames, which follow the kernel's */
    SAMPLE_U8 set, flags, user_end; /* user_end: why the user stack ended (unwind/unwind.h) */
    SAMPLE_U8 lock;                 /* enum unwind_lock (unwind/process.h) */
    /* The next two members are as stored in the target's memory. */
    SAMPLE_U64 lock_class; /* class of the lock; 0: unreadable */
    SAMPLE_U64
    lock_owner;        /* the monitor's own owner word, else a JavaThread; 0: none, or unknown */
    SAMPLE_U32 object; /* the agent's number of a tracked object, or the number of a tracked
                        * block of malloc (native_live.bpf.h); else 0 */
    SAMPLE_U32 collections; /* with object: 1 + collections begun in the JVM; 0: unknown */
    char comm[SAMPLE_COMM_BYTES];
    /* SAMPLE_U64 kernel[kernel_count], user[user_count]; struct sample_context, or none */
};

#ifndef __bpf__
_Static_assert(sizeof(struct sample_record) == 128, "sample_record must have no padding");

/* Returns nonzero if @r is of a virtual thread without a carrier, so without a kernel thread. All
 * words of its stack are return addresses. */
static inline int sample_is_virtual(const struct sample_record *r)
{
    return r->wait_ns && r->host_pid && !r->host_tid;
}

/* Returns nonzero if @r is of a thread that waited for a processor. */
static inline int sample_is_runnable(const struct sample_record *r)
{
    return !r->klass && r->flags & SAMPLE_RUNNABLE;
}
#endif
