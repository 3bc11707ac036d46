/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads of a process that may never return. Some are of its memory, or of files for which the
 * kernel reads that memory (cmdline, maps). The kernel blocks others during an exec (stat). A file
 * system may not answer, such as a container's own FUSE, or NFS without its server. A read of a
 * page from there blocks the thread in the kernel, where even SIGKILL does not end it. So a reader
 * thread reads for the engine's thread, which waits only a moment. A reader that does not return is
 * abandoned, and another takes its place. The same applies to a reader that computes for long.
 * Until it returns, flamed reads nothing of the same owner (proc_owner()): the owner is
 * quarantined. Reads of an owner without budget are refused in the same way. The number of readers
 * is bounded. In any other thread these functions read directly.
 */
#pragma once

#include "base/clock.h"
#include "proc/proc.h"

#define READERS_MAX 32
#define READERS_WAIT_NS (100 * NSEC_PER_MSEC) /* a reader asleep for this long is abandoned */
#define READERS_TURN_NS (10 * NSEC_PER_SEC)   /* a reader may wait this long for a processor */
/* The CPU time of one read. A JVM's tables may make a read compute for as long as they like. */
#define READERS_CPU_NS NSEC_PER_SEC
/* The most bytes of one read: sixteen pages, which a disk delivers in time. */
#define READERS_BYTES_MAX ((size_t)64 << 10)
/* The time that reads of one owner's maps may take at once. In the long run their share is
 * OWNER_BUDGET_SHARE. */
#define READERS_LOOKS_AT_ONCE_NS (300 * NSEC_PER_MSEC)
/* The CPU time that reads of one owner may take at once, and their share in the long run: 1 ns in
 * this many. To name 10,000 samples a second of a JVM takes a sixth of a processor. */
#define READERS_WORK_AT_ONCE_NS NSEC_PER_SEC
#define READERS_WORK_SHARE 4
#define READERS_ALL_WORK_SHARE 2 /* the same share for all owners together */

/* A reader is also abandoned if its read lasts this long, with each page late. */
#define READERS_SLOW_NS (300 * NSEC_PER_MSEC)

/* A read. It has to own all data that it uses, because it may outlive its caller. */
struct reading {
    int (*run)(struct reading *r);
    void (*drop)(struct reading *r); /* frees the struct */
    bool jvm;                        /* it reads a JVM's memory */
    bool asleep_only;                /* its CPU time is not charged to the owner */
};

/* Makes reader threads do the reads of the calling thread from now on. Borrows @proc_fd, which has
 * to stay open. */
void readers_use(int proc_fd);
bool readers_are_used(void);
/* Runs *@r, a read of process @id, and returns the result of its run(). Returns -ETIMEDOUT if the
 * read did not run or has not returned. *@r is then NULL if the reader keeps the read. */
int readers_run(const struct proc_id *id, struct reading **r);
/* Records, in a reader, that the read continues with another page. Returns false if the read was
 * abandoned. Returns true in any other thread. */
bool readers_next_page(void);
/* Returns whether this thread is a reader with an abandoned read, which should end soon. */
bool readers_is_left(void);
/* Reads like pread(2) from @fd, the memory of JVM @id, at most READERS_BYTES_MAX. Returns the
 * number of bytes, or -errno. A reader thread reads directly, but not after it was abandoned: @fd
 * may then belong to another file. */
ssize_t readers_pread(const struct proc_id *id, int fd, uint64_t at, void *buf, size_t n);

/* Does the same as proc_read_stat() for process @id; @id may have a start time of 0 (unknown).
 * Returns -ETIMEDOUT while the kernel blocks the read because an exec waits for a file to be
 * closed. */
int readers_stat(int proc_fd, const struct proc_id *id, struct proc_stat *ret);

/* Returns whether a read of the owner of @id has not returned. Thread: any. */
bool readers_wait_for(const struct proc_id *id);
/* Returns the result of proc_owner() at the first call for @id that could read the files. Thread:
 * the caller of readers_use(). */
uint64_t readers_owner(const struct proc_id *id);
/* Return whether the owner of @id has budget left for reads of its maps, and charge it for one
 * read. */
bool readers_afford(const struct proc_id *id);
void readers_spend(const struct proc_id *id, uint64_t took_ns);
/* Do the same for CPU time of the calling thread that the memory of @id caused. Reads of memory are
 * charged to the same budget. */
bool readers_afford_work(const struct proc_id *id);
void readers_spend_work(const struct proc_id *id, uint64_t cpu_ns);

struct reader_held {
    struct proc_id id;
    uint64_t owner;
    bool jvm; /* the read was of a JVM's memory */
};
struct readers_stats {
    uint64_t left;          /* reads that did not return in time, since the start */
    uint64_t refused;       /* reads refused: the owner is held or has no budget, or all readers are
                             * held */
    uint64_t looks_put_off; /* reads of maps that were postponed because their owner had no budget
                             * left */
    size_t held;            /* abandoned readers that have not returned yet */
    struct reader_held who[READERS_MAX];
};
/* Returns the processor time of all readers since the start. */
uint64_t readers_cpu_ns(void);
/* Gets the counters. Thread: any. */
void readers_stats(struct readers_stats *ret);
