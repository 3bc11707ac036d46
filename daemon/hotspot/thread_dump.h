/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State, stack and lock of each Java thread, platform and virtual, read from the memory of a JVM
 * that keeps running. A call reads some of the threads. Afterwards it compares what it read of each
 * thread with the thread's memory. A thread that ran in between gets no stack, so that no stack is
 * wrong.
 */
#pragma once

#include "hotspot/hotspot.h"

#define DUMP_BATCH_THREADS 512
#define DUMP_BATCH_WORDS 32768
#define DUMP_BATCH_NAMES 65536
#define DUMP_BATCH_HELD 1024
#define DUMP_THREAD_HELD 8 /* the VM's own limit of objects locked without a monitor */
#define DUMP_SLICE_NS (6 * NSEC_PER_MSEC)  /* a batch takes no more threads after this, */
#define DUMP_DRAWS_NS (50 * NSEC_PER_MSEC) /* and draws are given up after this */

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
    DUMP_STACK_CUT,     /* outer frames did not fit */
    DUMP_STACK_NONE,    /* no Java frame: not begun yet, or ended */
    DUMP_STACK_RUNNING, /* running Java code: the stack is not in memory */
    DUMP_STACK_MOUNTED, /* a virtual thread with its stack on its carrier */
    DUMP_STACK_CHANGED, /* the thread ran during the read, or was unreadable */
};

enum hotspot_dump_lock {
    DUMP_LOCK_NONE,      /* no lock, or unknown */
    DUMP_LOCK_MONITOR,   /* waits to enter `synchronized` */
    DUMP_LOCK_NOTIFY,    /* waits in Object.wait() */
    DUMP_LOCK_LOCK,      /* waits for an AbstractOwnableSynchronizer */
    DUMP_LOCK_CONDITION, /* waits for a condition of a synchronizer */
    DUMP_LOCK_PARK,      /* is parked on another object */
};

struct hotspot_dump_thread {
    uint64_t java_id;     /* Thread.threadId() */
    uint64_t java_thread; /* address of a platform thread's JavaThread */
    int32_t ns_tid;       /* of a platform thread, in its innermost pid namespace */
    bool is_virtual, is_daemon;
    uint8_t state;       /* enum hotspot_thread_state */
    uint8_t stack;       /* enum hotspot_dump_stack */
    uint8_t lock;        /* enum hotspot_dump_lock: the lock that it waits for */
    uint64_t lock_klass; /* result of vm_lock_klass(); 0: unknown */
    uint64_t owner_id;   /* java_id of the owner; 0: none, or unknown */
    uint64_t owner_word; /* if owner_id is 0, of a monitor: its owner's JavaThread, an address in
                            the owner's stack, or a key of b->held; 0: none */
    uint64_t runs_id; /* of a platform thread: java_id of the virtual thread that it carries, or its
                         own java_id */
    uint64_t carrier_id; /* java_id of the carrier of a mounted virtual thread; 0: none */
    uint64_t
        carried_id; /* of a carrier: java_id of the virtual thread that its stack begins with */
    uint32_t first, count;    /* range in the words of the batch: frames as in unwind/unwind.h, all
                                 return addresses */
    uint32_t name_at, name_n; /* range in the names of the batch: modified UTF-8 */
};

/* Position of a walk over the tables of virtual threads. All 0: the start. */
struct hotspot_dump_cursor {
    uint32_t set, slot, skip, length;
    uint32_t restarts; /* of the walk of the current set; each because the set's table grew */
};

/* A monitor that does not state which thread holds it. */
struct hotspot_dump_held {
    uint64_t key;     /* owner_word of the threads that wait for the monitor */
    uint64_t java_id; /* of the thread that holds the monitor */
};

struct hotspot_dump_batch {
    /* Threads to read: the platform threads with the JavaThreads in @java_threads, or, with
     * @is_virtual, the virtual threads behind the cursor. */
    bool is_virtual;
    uint32_t asked; /* number of entries of java_threads */
    uint32_t done;  /* platform threads that were read, or have ended */
    uint64_t java_threads[DUMP_BATCH_THREADS];
    struct hotspot_dump_cursor cursor;
    uint32_t draws;     /* not 0: read the threads at this many random places of the tables */
    uint64_t random;    /* seed of the draws; must differ each time */
    bool ended;         /* there are no further virtual threads */
    bool tracks_all;    /* the tables list threads that no executor started, too */
    uint32_t broken;    /* places of the tables that were unreadable */
    uint32_t left_sets; /* executors beyond the limit */
    double weight;      /* with draws: number of threads that each drawn thread stands for */
    uint32_t places;    /* with draws: number of places read */
    /* Results. */
    uint32_t count, word_count, name_bytes, held_count;
    struct hotspot_dump_thread threads[DUMP_BATCH_THREADS];
    uint64_t words[DUMP_BATCH_WORDS];
    char names[DUMP_BATCH_NAMES];
    struct hotspot_dump_held held[DUMP_BATCH_HELD]; /* monitors held by the threads of the list */
};

/* Reads the next threads into @b, at least one if there is one. Return: 0. 1: the VM has no virtual
 * threads (b->ended). -ENOENT: the VM keeps them in an unknown way. -E2BIG: too many draws.
 * -EAGAIN: a collection moves the objects of platform threads. -ETIMEDOUT; -ESRCH: HOTSPOT_GONE;
 * -errno. */
int hotspot_dump_threads(struct hotspot_vm *vm, struct hotspot_dump_batch *b);
