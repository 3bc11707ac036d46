/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of proc/: the identity of a process, and the text formats of /proc as pure parsers over bytes
 * that a container may have had a hand in. Knows no JVM. Readers take a directory fd of /proc, so that
 * tests feed folders of files.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"

/* A process image: what a profile is about. The exec number starts at 0 and rises with each exec that was
 * seen, so that `sh -c 'exec java'` is two images. Keys of every cache. */
struct proc_id {
    int32_t host_pid;
    uint32_t exec_no;
    uint64_t start_ticks; /* field 22 of /proc/PID/stat: clock ticks (100/s) after boot */
};

/* Outcome (> 0) of whatever acts on a process that meanwhile exited, or whose pid now names another. */
#define PROC_GONE 1

static inline bool proc_id_equal(const struct proc_id *a, const struct proc_id *b)
{
    return a->host_pid == b->host_pid && a->exec_no == b->exec_no && a->start_ticks == b->start_ticks;
}

/* ---- /proc/PID/maps ---- */

#define MAPS_MAX_BYTES ((size_t)16 << 20)
#define MAPS_MAX_LINES 100000

struct mapping {
    uint64_t start, end; /* addresses in the target */
    uint64_t offset;     /* bytes into the file */
    uint64_t inode;
    uint32_t dev_major, dev_minor;
    bool read, write, exec;
    bool deleted;     /* the path ended in " (deleted)", which is cut off */
    struct span path; /* points into the text; empty for anonymous memory; "[vdso]" and the like as is */
};

/* Parses one line. ret->path points into @line. 0, or -EBADMSG (then *ret is untouched). */
int maps_parse_line(struct span line, struct mapping *ret);

struct maps {
    struct buf text;         /* owned: what the paths point into */
    struct mapping *entries; /* owned, [count], sorted by start */
    size_t count;
    bool truncated; /* a limit was hit: entries beyond it are unknown */
};

/* Parses @text, which is taken over in every case. Broken lines are skipped. 0 or -ENOMEM. */
int maps_parse(struct buf *text, struct maps *ret);
void maps_deinit(struct maps *m);
/* The mapping that holds @address, or NULL. Points into @m. */
const struct mapping *maps_find(const struct maps *m, uint64_t address);

/* ---- /proc/PID/status, stat, cgroup, cmdline, uid_map ---- */

#define PROC_NS_DEPTH_MAX 32
#define PROC_STATUS_MAX_BYTES ((size_t)64 << 10)

struct proc_status {
    char state; /* R S D T t Z X I */
    int32_t tgid, ppid;
    uint32_t uid, gid;                  /* effective, in the reader's user namespace */
    int32_t ns_pid[PROC_NS_DEPTH_MAX];  /* NSpid: outermost first */
    size_t ns_depth;                    /* entries of ns_pid, at least 1 */
    uint64_t signals_caught;            /* SigCgt, bit n-1 for signal n */
    uint64_t rss_bytes;                 /* VmRSS, 0 for kernel threads and zombies */
    uint32_t threads;
    bool kernel_thread;                 /* no memory map: no VmSize line and not a zombie */
};
int proc_status_parse(struct span text, struct proc_status *ret);

struct proc_stat {
    char comm[64]; /* raw bytes between the parentheses, cut; not sanitized */
    char state;
    int32_t ppid;
    uint64_t utime_ticks, stime_ticks; /* clock ticks, 100 per second */
    uint64_t start_ticks;
    uint32_t threads;
};
int proc_stat_parse(struct span text, struct proc_stat *ret);

/* Reads and parses /proc/PID/stat. 0, PROC_GONE, or -errno. Thread: any; does not block for long. */
int proc_read_stat(int proc_fd, int32_t host_pid, struct proc_stat *ret);
int proc_read_status(int proc_fd, int32_t host_pid, struct proc_status *ret);
/* Start time only. */
int proc_read_start(int proc_fd, int32_t host_pid, uint64_t *ret_start_ticks);
/* Pins the process @id was discovered as (start time is compared, the exec number is not). 0 and a pidfd
 * the caller owns; PROC_GONE; -errno. */
int proc_open(int proc_fd, const struct proc_id *id, int *ret_pidfd);
