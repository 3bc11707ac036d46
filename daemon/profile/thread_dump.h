/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of all Java threads of a JVM at one moment: the backend's answer, which render/ writes
 * as JSON or text. Texts are clean (base/text.h) and interned in the dump. Thread: the owner's.
 */
#pragma once

#include "base/cleanup.h"
#include "base/intern.h"

#include <stdbool.h>

#define THREAD_DUMP_MAX 200000 /* limit of threads; further ones are counted */
#define THREAD_DUMP_TEXT_MAX ((size_t)64 << 20)
#define THREAD_DUMP_WARNINGS 8
#define THREAD_DUMP_WARNING_BYTES 256

enum dumped_state {
    DUMPED_UNKNOWN,
    DUMPED_NEW,
    DUMPED_RUNNABLE,
    DUMPED_BLOCKED,
    DUMPED_WAITING,
    DUMPED_TIMED_WAITING,
    DUMPED_TERMINATED,
    DUMPED_STATES
};

/* Completeness of a stack. */
enum thread_stack {
    THREAD_STACK_WHOLE,
    THREAD_STACK_CUT,     /* outer frames are missing */
    THREAD_STACK_NONE,    /* the thread has no Java frames */
    THREAD_STACK_RUNNING, /* the thread is running, so that its stack is not in memory */
    THREAD_STACK_CHANGED, /* the thread ran while it was read */
    THREAD_STACKS
};

enum thread_lock {
    THREAD_LOCK_NONE,
    THREAD_LOCK_MONITOR,
    THREAD_LOCK_NOTIFY,
    THREAD_LOCK_LOCK,
    THREAD_LOCK_CONDITION,
    THREAD_LOCK_PARK,
    THREAD_LOCKS
};

struct dumped_thread {
    uint64_t id;                   /* Thread.threadId() */
    uint64_t owner_id, carrier_id; /* Thread.threadId() of the lock's owner, and of the carrier; 0:
                                    * none */
    uint64_t owner_word; /* if owner_id is 0: word by which the JVM identifies the owner; 0: none */
    int32_t host_tid, ns_tid; /* thread ids of a platform thread; 0: not known */
    bool is_virtual, is_daemon, is_mounted;
    uint8_t state; /* enum dumped_state */
    uint8_t why;   /* enum thread_stack */
    uint8_t lock;  /* enum thread_lock */
    /* Ids of strings. @stack: one line per frame, innermost first; 0: none. */
    uint32_t name, stack, lock_class;
};

struct thread_dump {
    int32_t host_pid;
    uint64_t time_ns; /* CLOCK_REALTIME at the start */
    char java_version[128], vm_name[128];
    struct intern *strings;        /* owned */
    struct dumped_thread *threads; /* owned; by id */
    size_t count, room;
    uint64_t left_out;   /* threads without room */
    uint64_t incomplete; /* number of unreadable places in the VM's tables */
    uint64_t took_ns;
    size_t warning_count;
    char warnings[THREAD_DUMP_WARNINGS][THREAD_DUMP_WARNING_BYTES];
};

/* Returns an empty dump, or NULL without memory for it. */
struct thread_dump *thread_dump_new(void);
/* Frees @d, which may be NULL. Returns NULL. */
struct thread_dump *thread_dump_free(struct thread_dump *d);
/* Adds a sentence for the reader; none beyond THREAD_DUMP_WARNINGS. */
void thread_dump_warn(struct thread_dump *d, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Sorts the threads by id. */
void thread_dump_sort(struct thread_dump *d);
/* Returns the thread with @id of a sorted dump; NULL: none. */
const struct dumped_thread *thread_dump_find(const struct thread_dump *d, uint64_t id);
CLEANUP_FUNCTION(thread_dump_freep, thread_dump, thread_dump_free)
