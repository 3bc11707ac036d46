/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readings of a process that may never return. They are of its memory, of what the kernel reads in
 * it (cmdline, maps), and of what the kernel withholds during an exec (stat). A page whose file
 * system does not answer (a container's own FUSE, NFS without its server) holds its reader in the
 * kernel, beyond SIGKILL. So a reader, a thread of its own, makes them for the engine's thread,
 * which waits for it a moment only. A reader that does not return is abandoned, and another takes
 * its place. Nothing of the same owner (proc_owner()) is read until it is back: the owner is
 * quarantined. One without budget is refused in the same way. The number of readers is bounded. In
 * any other thread a reading is simply made.
 */
#pragma once

#include "base/clock.h"
#include "proc/proc.h"

#define READERS_MAX 32
#define READERS_WAIT_NS (100 * NSEC_PER_MSEC) /* asleep in the kernel for this long: abandoned */
#define READERS_TURN_NS (10 * NSEC_PER_SEC)   /* that a machine may give a reader no turn */
/* One reading asks for no more at a time: sixteen pages, which disks answer in time. */
#define READERS_BYTES_MAX ((size_t)64 << 10)
/* What looking at the maps of one owner may take at once; OWNER_BUDGET_SHARE in the long run. */
#define READERS_LOOKS_AT_ONCE_NS (300 * NSEC_PER_MSEC)

/* This long if it continues from page to page, and each is late. */
#define READERS_SLOW_NS (300 * NSEC_PER_MSEC)

/* Something to be read. It must own whatever it uses: it may outlive who asked. */
struct reading {
    int (*run)(struct reading *r);
    void (*drop)(struct reading *r); /* frees it */
    bool jvm;                        /* it is of a JVM's memory */
    bool asleep_only;                /* its owner pays for the time asleep alone */
};

/* Has readers make the readings of the calling thread from now on. Borrows @proc_fd for good. */
void readers_use(int proc_fd);
bool readers_are_used(void);
/* Has *@r made, a reading of process @id: the result of its run(). -ETIMEDOUT: it was not made, or
 * has not come back; then *@r may have been taken (NULL). */
int readers_run(const struct proc_id *id, struct reading **r);
/* Says, in a reader, that its reading continues with another page. False: nobody waits for it any
 * more. In any other thread true. */
bool readers_next_page(void);
/* pread(2) of @fd, which is memory of JVM @id, at most READERS_BYTES_MAX. The bytes, or -errno. In
 * a reader it is simply made, but by one that was left not at all: @fd may be another's by now. */
ssize_t readers_pread(const struct proc_id *id, int fd, uint64_t at, void *buf, size_t n);

/* As proc_read_stat(), of process @id, whose start time may be 0 (not known). -ETIMEDOUT: the
 * kernel withholds it while an exec waits for a file to be closed. */
int readers_stat(int proc_fd, const struct proc_id *id, struct proc_stat *ret);

/* Returns whether a reading of the owner of @id has not come back. Thread: any. */
bool readers_wait_for(const struct proc_id *id);
/* Returns the owner of @id, as proc_owner() told it when @id was asked for the first time. Thread:
 * the one of readers_use(). */
uint64_t readers_owner(const struct proc_id *id);
/* Returns whether the owner of @id has time left for looks at its maps; and what one took. */
bool readers_afford(const struct proc_id *id);
void readers_spend(const struct proc_id *id, uint64_t took_ns);

struct reader_held {
    struct proc_id id;
    uint64_t owner;
    bool jvm; /* as of its reading */
};
struct readers_stats {
    uint64_t left;          /* that did not come back in time, ever */
    uint64_t refused;       /* readings that were not made for it */
    uint64_t looks_put_off; /* because an owner had no time left */
    size_t held;            /* of them now */
    struct reader_held who[READERS_MAX];
};
/* Thread: any. */
void readers_stats(struct readers_stats *ret);
