/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which process the engine's thread is reading at this moment: its memory, or what the kernel tells
 * out of it (cmdline, maps). A page whose file system gives no answer (a container's own FUSE, NFS
 * without its server) holds who reads it in the kernel, beyond SIGKILL: so it says before what it
 * reads, and another thread looks whether it comes back. There is one watched thread in a process.
 */
#pragma once

#include "base/clock.h"
#include "proc/proc.h"

#define TOUCH_LOOK_NS NSEC_PER_SEC /* between two looks */
/* So many looks at one and the same reading, the thread asleep in the kernel at each: it stands. A
 * machine without time to run the thread does not count, nor one that was stopped altogether. */
#define TOUCH_STANDS_LOOKS 10
/* One reading asks for no more at a time: sixteen pages, which disks answer in time. */
#define TOUCH_READ_MAX ((size_t)64 << 10)

enum touch_what { TOUCH_MEMORY, TOUCH_CMDLINE, TOUCH_MAPS };

struct touch_stand {
    struct proc_id id; /* whose it is; exec_no 0 */
    uint64_t owner;    /* as proc_owner(), since its first reading: it may be gone by now */
    enum touch_what what;
    unsigned seconds; /* that it has lasted at least */
};

/* The calling thread is the one to be watched from now on. Borrows @proc_fd. */
void touch_watch(int proc_fd);
/* Around each reading; they do not nest. Without effect in any other thread. */
void touch_begin(const struct proc_id *id, enum touch_what what);
void touch_end(void);

/* Looks at the watched thread: every TOUCH_LOOK_NS, by one thread. Whether one and the same reading
 * has held it since the look before. */
bool touch_look(int proc_fd, struct touch_stand *ret);
/* "memory", "command line", "mappings". */
const char *touch_name(enum touch_what what);
/* Whether one and the same reading has held it for @looks looks, as of the last. Thread: any. */
bool touch_stands(unsigned looks, struct touch_stand *ret);
