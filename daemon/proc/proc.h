/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main header of proc/: the identity of a process, and the text formats of /proc. They are pure
 * parsers over bytes that a container may have written. Knows no JVM. Readers take a directory fd
 * of /proc, so that tests feed folders of files.
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/siphash.h"

/* A process image: a process between two execs. The exec number starts at 0 and rises with each
 * exec that flamed sees, so `sh -c 'exec java'` is two images. Every cache has this as its key. */
struct proc_id {
    int32_t host_pid;
    uint32_t exec_no;
    uint64_t start_ticks; /* field 22 of /proc/PID/stat: clock ticks (100/s) after boot */
};

/* Outcome (> 0) of an act on a process that has exited. Its pid may already belong to another
 * process. */
#define PROC_GONE 1

/* Returns whether both are the same process. */
static inline bool proc_id_equal(const struct proc_id *a, const struct proc_id *b)
{
    return a->host_pid == b->host_pid && a->exec_no == b->exec_no &&
           a->start_ticks == b->start_ticks;
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
    bool deleted; /* the path ended in " (deleted)", which was cut off */
    struct span
        path; /* points into the text; empty for anonymous memory; "[vdso]" and the like as is */
};

/* Returns whether both lines have the same range, offset, device and inode. These numbers identify
 * a file only while it is mapped there: later another file may have them. */
static inline bool mapping_same_place(const struct mapping *a, const struct mapping *b)
{
    return a->start == b->start && a->end == b->end && a->offset == b->offset &&
           a->inode == b->inode && a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

/* Parses one line. ret->path points into @line. Returns 0, or -EBADMSG (then *ret is untouched). */
int maps_parse_line(struct span line, struct mapping *ret);

struct maps {
    struct buf text;         /* owned; the paths point into it */
    struct mapping *entries; /* owned, [count], sorted by start */
    size_t count;
    size_t left_out; /* executable mappings that found no room */
    bool truncated;  /* a limit was hit: mappings beyond it are missing */
    bool late;       /* the limit of time or of text was hit */
};

void maps_deinit(struct maps *m);
/* Returns the mapping that contains @address, or NULL. Points into @m. */
const struct mapping *maps_find(const struct maps *m, uint64_t address);
/* Returns whether most stacks of a process lead through @m: libjvm, libc, the loader, the vdso. */
bool mapping_is_vital(const struct mapping *m);
/* Returns whether @path has the name of HotSpot's library: libjvm.so, or a name of a copy or of an
 * older version, such as libjvm.so.old. */
bool path_is_libjvm(struct span path);

#define MAPS_EXEC_MAX 4096 /* flamed keeps at most this many executable mappings of a process */
#define MAPS_MET_MAX 256   /* of these, mappings that samples met beyond limits */

/* Addresses of code that samples met in mappings without room. */
struct maps_met {
    uint64_t at[MAPS_MET_MAX];
    size_t count;
};
/* Adds @address to *met, which the first call allocates and the caller frees. Returns whether it is
 * new. */
bool maps_meet(struct maps_met **met, uint64_t address);
/* Returns whether samples met code in @m. @met may be NULL. */
bool maps_have_met(const struct maps_met *met, const struct mapping *m);

struct maps_limits {
    size_t entries;
    size_t path_bytes;    /* limit of all paths together; a path equal to the previous one takes
                           * none */
    uint64_t ns;          /* limit of processor time for the read */
    bool every;           /* takes mappings that are not executable, too */
    struct maps_met *met; /* borrowed, may be NULL; the read leaves one address for each mapping */
};
/* Gets the executable mappings, or all, from the maps file @fd of process @id; takes @fd. If there
 * is no room for all executable ones, libjvm, libc, the loader and those of @met come first. The
 * read may never return (stall_readers.h). Returns 0 (with ret->truncated after a limit),
 * -ETIMEDOUT if the read did not return in time, or -errno (-ESRCH: the target has exited). */
int maps_read_exec(const struct proc_id *id, int fd, const struct maps_limits *limits,
                   struct maps *ret);

/* ---- /proc/PID/status, stat, cgroup, cmdline, uid_map ---- */

#define PROC_NS_DEPTH_MAX 32
#define PROC_STATUS_MAX_BYTES ((size_t)64 << 10)

struct proc_status {
    char state; /* R S D T t Z X I */
    int32_t tgid, ppid;
    int32_t tracer;                    /* 0: no process traces it */
    uint32_t uid, gid;                 /* effective, in the reader's user namespace */
    uint32_t real_uid, saved_uid;      /* in the reader's user namespace, too */
    uint32_t file_uid;                 /* the file system uid, in the reader's user namespace */
    uint64_t capabilities;             /* CapPrm; all bits if it is missing */
    int32_t ns_pid[PROC_NS_DEPTH_MAX]; /* NSpid: outermost first */
    size_t ns_depth;                   /* entries of ns_pid; 0: the line is missing, or the text was
                                        * cut there */
    bool whole;                        /* NSpid, CapPrm and CapBnd were there: no cut before them */
    uint64_t signals_caught;           /* SigCgt, bit n-1 for signal n */
    uint64_t capability_bounds; /* CapBnd, bit n for capability n; all bits if it is missing */
    uint64_t rss_bytes;         /* VmRSS, 0 for kernel threads and zombies */
    uint64_t swap_bytes;        /* VmSwap; 0 for kernel threads and zombies */
    uint64_t kept_bytes;        /* RssAnon and RssShmem, which no file backs; 0 for kernel threads
                                 * and zombies */
    uint32_t threads;
    bool kernel_thread; /* no memory map: no VmSize line and not a zombie */
};
/* Returns the same as proc_stat_is_dead(). */
static inline bool proc_status_is_dead(const struct proc_status *s)
{
    return s->state == 'X' || (s->state == 'Z' && s->threads < 2);
}
/* Parses the complete lines of @text. Returns 0, or -EBADMSG if state, tgid, ppid or uid is missing
 * (then *ret is untouched). */
int proc_status_parse(struct span text, struct proc_status *ret);

struct proc_stat {
    char comm[64]; /* raw bytes between the parentheses, cut; not sanitized */
    char state;
    int32_t ppid;
    uint64_t major_faults;             /* page faults that read from a disk */
    uint64_t utime_ticks, stime_ticks; /* clock ticks, 100 per second */
    uint64_t waited_ticks;             /* of reaped children and their reaped children */
    uint64_t start_ticks;
    uint32_t threads;
    uint64_t vsize_bytes, rss_bytes;
    /* Where the kernel put the stack of the process's program, at random; 0 if the reader may not
     * see it. */
    uint64_t stack_start;
    bool kernel_thread; /* PF_KTHREAD */
    int exit_status;    /* wait(2) status of a zombie; 0 if the reader may not see it */
};
/* Returns whether all threads of the process have ended. If the first thread ends before the
 * others, it is a zombie until they have ended, too, but not dead in this sense. */
static inline bool proc_stat_is_dead(const struct proc_stat *s)
{
    return s->state == 'X' || (s->state == 'Z' && s->threads < 2);
}
/* Parses /proc/PID/stat. Returns 0, or -EBADMSG (then *ret is untouched). */
int proc_stat_parse(struct span text, struct proc_stat *ret);

/* A line of /proc/PID/cgroup: "4:memory:/a/b", and "0::/a/b" for version 2. Points into the text.
 */
struct cgroup_line {
    uint64_t hierarchy;
    struct span controllers, path; /* path: without " (deleted)" */
};
/* Takes lines up to a well-formed one. Returns false if there is none. */
bool cgroup_take_line(struct span *text, struct cgroup_line *ret);
/* Returns whether @line is of the hierarchy of version 1 that has @controller, alone or with
 * others. */
bool cgroup_has(const struct cgroup_line *line, const char *controller);
/* Returns the path that people know the process by: the path of version 2; else that of systemd's
 * hierarchy; else the longest; else "/". Points into @text. */
struct span cgroup_path(struct span text);

#define PROC_CMDLINE_MAX_BYTES ((size_t)128 << 10)
/* Takes the next argument of /proc/PID/cmdline, without its NUL. Returns false at the end. */
bool cmdline_take(struct span *text, struct span *ret);

/* Translates the id @outside, as the reader of /proc/PID/uid_map (or gid_map) sees it, to the id
 * inside that user namespace. Returns -1 if @outside is not mapped. */
int64_t id_map_inside(struct span text, uint32_t outside);

/* Returns whether /proc/PID/uid_map maps each id to itself, as in the reader's own user
 * namespace. */
bool id_map_is_identity(struct span text);

/* Returns whether a line of /proc/PID/cgroup looks like a container's: an id of 64 hexadecimal
 * digits, or a name that runtimes use. A user can choose such a name, so a true result may only
 * remove rights. */
bool cgroup_is_container(struct span text);

/* Returns the user who may act on a process by the kernel's ptrace rules. That is its real,
 * effective and saved user, if these are the same, it has no capability and may be dumped. Returns
 * 0, root, in every other case. Such cases are a container, another user namespace, ids that are
 * not mapped here (65534), and files that cannot be read. */
uint32_t proc_user(int proc_fd, const struct proc_status *status, struct span uid_map,
                   struct span cgroup, int32_t host_pid);

/* Returns whether a process is wholly in a user namespace other than the reader's: then the
 * namespace's maker may trace it, whatever its capabilities. Its real, effective and saved user
 * have to be the same, mapped there and not the reader's root. Its /proc files have to belong to
 * that user or to the root of the namespace. */
bool proc_is_namespaced(int proc_fd, const struct proc_status *status, struct span uid_map,
                        int32_t host_pid);

/* Returns the offset of CLOCK_BOOTTIME in /proc/PID/timens_offsets, in ns; 0 if there is none. */
int64_t timens_boottime_ns(struct span text);
/* Returns the offset of CLOCK_MONOTONIC: a process in that time namespace reads the host's clock
 * plus this offset. */
int64_t timens_monotonic_ns(struct span text);

/* Reads and parses /proc/PID/stat. Returns 0, PROC_GONE, or -errno. Thread: any; does not block for
 * long. */
int proc_read_stat(int proc_fd, int32_t host_pid, struct proc_stat *ret);
int proc_read_status(int proc_fd, int32_t host_pid, struct proc_status *ret);
/* Returns the id of the thread @host_tid in its innermost pid namespace; Returns 0 if the thread is
 * gone or does not belong to @host_pid. */
int32_t proc_innermost_tid(int proc_fd, int32_t host_pid, int32_t host_tid);
/* Reads the RSS of a process from statm, which is cheaper than its status and gives the same number
 * as rss_bytes there. Returns 0, PROC_GONE, -EBADMSG or -errno. */
int proc_read_rss(int proc_fd, int32_t host_pid, uint64_t *ret_bytes);
/* Reads how often a thread has been scheduled on a processor (schedstat). Returns 0, PROC_GONE,
 * -EBADMSG or -errno. */
int proc_read_runs(int proc_fd, int32_t host_pid, int32_t host_tid, uint64_t *ret);
#define PROC_COMM_BYTES 16
/* Reads the name of a thread (comm); a name of exactly PROC_COMM_BYTES gets no NUL. Writes nothing
 * if the thread is gone. */
void proc_read_comm(int proc_fd, int32_t host_pid, int32_t host_tid, char ret[PROC_COMM_BYTES]);
/* Reads the start time alone. Returns the results of proc_read_stat(). */
int proc_read_start(int proc_fd, int32_t host_pid, uint64_t *ret_start_ticks);
/* Pins the process that @id names: compares the start time, but not the exec number. Returns 0 and
 * a pidfd that the caller owns, PROC_GONE, or -errno. */
int proc_open(int proc_fd, const struct proc_id *id, int *ret_pidfd);

/* Returns the owner of a process, never 0. All processes of a container have one owner, and so have
 * all below a cgroup in which others than root may make cgroups. Outside of both, a user has one
 * owner for each service, and one for all sessions. Each process of root has its own owner. If
 * @proc_fd is -1, every process has its own. Returns OWNER_FOREIGN (base/shares.h) if the process
 * has ended, or if a file of it cannot be read whole. Reads these files, then compares the start
 * time, unless that of @id is 0. */
uint64_t proc_owner(int proc_fd, const struct proc_id *id);
/* Does not compare the start time: until an exec ends, which may wait for a file system, the kernel
 * does not answer for it. So this never blocks, but if the process has ended, the owner is that of
 * the next process with its pid. */
uint64_t proc_owner_now(int proc_fd, const struct proc_id *id);
/* Makes proc_owner() use the key @shared, so that its numbers mean the same in another program.
 * Call it before the first proc_owner(). */
void proc_owner_use_key(const struct fingerprint_key *shared);
/* Makes proc_owner() look who owns the cgroups of processes, where this program sees the mounts of
 * their hierarchies. Call it before the first proc_owner(). */
void proc_owner_use_mounts(int proc_fd);

/* One mount of /proc/PID/mountinfo. Spans point into the text; point and source keep the kernel's
 * escapes. */
struct mountinfo {
    uint64_t id, parent;
    struct span root;                  /* the folder of its file system that is mounted */
    struct span point;                 /* below the process' own root */
    struct span type, source, options; /* options: of the file system */
    bool read_only;                    /* the mount or its file system is read-only */
    bool noexec;
    bool shared; /* mounts in it appear elsewhere, too */
};
#define MOUNTINFO_MAX_BYTES ((size_t)1 << 20)
/* Returns whether the file system was mounted with @option. */
bool mountinfo_has(const struct mountinfo *m, const char *option);
/* Takes the next well-formed line. Returns false at the end. */
bool mountinfo_take(struct span *text, struct mountinfo *ret);
/* Calls @fn with the mounts of @path (mountinfo of a process) below @dirfd, in the kernel's order,
 * until it returns true. Return: 1: it did; 0: not for any mount; -EFBIG: not for those in the
 * first MOUNTINFO_MAX_BYTES, and there are more; -errno. */
typedef bool (*mountinfo_fn)(const struct mountinfo *m, void *cookie);
int mountinfo_find(int dirfd, const char *path, mountinfo_fn fn, void *cookie);
