/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each Java thread does now, platform and virtual: state, stack, lock. The memory of a JVM
 * that goes on tells it. Some threads are read at a time. What was read of a thread is compared
 * with its memory afterwards. A thread that has run on in between has no stack here, never a wrong
 * one.
 */
#pragma once

#include "hotspot/hotspot.h"

#define DUMP_BATCH_THREADS 512
#define DUMP_BATCH_WORDS 32768
#define DUMP_BATCH_NAMES 65536
#define DUMP_SLICE_NS (6 * NSEC_PER_MSEC)  /* after which a batch takes no more threads, */
#define DUMP_DRAWS_NS (50 * NSEC_PER_MSEC) /* and draws are given up */

enum hotspot_thread_state {
    THREAD_STATE_UNKNOWN,
    THREAD_STATE_NEW,
    THREAD_STATE_RUNNABLE,
    THREAD_STATE_BLOCKED,
    THREAD_STATE_WAITING,
    THREAD_STATE_TIMED_WAITING,
    THREAD_STATE_TERMINATED,
};

enum hotspot_dump_stack {
    DUMP_STACK_WHOLE,
    DUMP_STACK_CUT,     /* its outer frames had no room */
    DUMP_STACK_NONE,    /* it has no Java frame: not begun yet, or ended */
    DUMP_STACK_RUNNING, /* it runs Java code: memory does not have its stack */
    DUMP_STACK_MOUNTED, /* a virtual thread whose stack is on its carrier */
    DUMP_STACK_CHANGED, /* it ran while it was read, or could not be read */
};

enum hotspot_dump_lock {
    DUMP_LOCK_NONE,      /* nothing is known */
    DUMP_LOCK_MONITOR,   /* to enter `synchronized` */
    DUMP_LOCK_NOTIFY,    /* Object.wait() */
    DUMP_LOCK_LOCK,      /* an AbstractOwnableSynchronizer */
    DUMP_LOCK_CONDITION, /* a condition of one */
    DUMP_LOCK_PARK,      /* another object that it parks for */
};

struct hotspot_dump_thread {
    uint64_t java_id;     /* Thread.threadId() */
    uint64_t java_thread; /* of a platform thread */
    int32_t ns_tid;       /* the same, in its innermost pid namespace */
    bool is_virtual, is_daemon;
    uint8_t state;            /* enum hotspot_thread_state */
    uint8_t stack;            /* enum hotspot_dump_stack */
    uint8_t lock;             /* enum hotspot_dump_lock: what it waits for */
    uint64_t lock_klass;      /* Klass of that; 0: not known */
    uint64_t owner_id;        /* java_id of the owner; 0: none, or not known */
    uint64_t carrier_id;      /* java_id of the carrier of a mounted virtual thread; 0: none */
    uint64_t carried_id;      /* of a carrier: of the virtual thread that its stack begins with */
    uint32_t first, count;    /* words of the batch, as unwind/unwind.h has frames: all are return
                               * addresses */
    uint32_t name_at, name_n; /* of the batch: modified UTF-8 */
};

/* Where a walk over the tables of virtual threads is. All 0: at its begin. */
struct hotspot_dump_cursor {
    uint32_t set, slot, skip, length;
    uint32_t restarts; /* of the present set, because its table grew */
};

struct hotspot_dump_batch {
    /* Which: platform threads by the address of their JavaThread, or, with @is_virtual, those
     * behind the cursor. */
    bool is_virtual;
    uint32_t asked; /* of java_threads */
    uint32_t done;  /* platform threads that were read, or are gone */
    uint64_t java_threads[DUMP_BATCH_THREADS];
    struct hotspot_dump_cursor cursor;
    uint32_t draws;     /* not 0: threads at so many places of the tables, by chance */
    uint64_t random;    /* of that: another number each time */
    bool ended;         /* no more virtual threads follow */
    bool tracks_all;    /* also those that no executor has started are listed */
    uint32_t broken;    /* places of the tables that could not be read */
    uint32_t left_sets; /* executors beyond those that are looked at */
    double weight;      /* of draws: how many threads each stands for */
    uint32_t places;    /* the same: how many were looked at */
    /* What came of it. */
    uint32_t count, word_count, name_bytes;
    struct hotspot_dump_thread threads[DUMP_BATCH_THREADS];
    uint64_t words[DUMP_BATCH_WORDS];
    char names[DUMP_BATCH_NAMES];
};

/* Reads the next threads into @b, at least one if there is one. 0. 1: the VM has no virtual threads
 * (b->ended). -ENOENT: it keeps them in a way that is not known. -E2BIG: too many draws.
 * -ETIMEDOUT; HOTSPOT_GONE as -ESRCH; -errno. */
int hotspot_dump_threads(struct hotspot_vm *vm, struct hotspot_dump_batch *b);
