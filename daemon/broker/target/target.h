/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target pinned while the broker opens something of it, and the one way to open a file that a
 * container may have made.
 *
 * Pinning: a pidfd of the pid, then the start time compared, then a directory fd of /proc/PID.
 * After the thing was opened through that directory, target_check() asks the pidfd whether its
 * process still lives. If it does, its pid was never free in between, so all that was opened
 * belongs to it and no other.
 */
#pragma once

#include "broker/server.h"
#include "proc/maps_walk.h"

struct target {
    int32_t host_pid;
    int pidfd;
    int dir_fd;       /* O_PATH: /proc/PID, or the folder of another thread, */
    bool lost_thread; /* since the first one has ended */
};

#define TARGET_NULL ((struct target){ .pidfd = -1, .dir_fd = -1 })

/* Pins the process @of. 0, PROC_GONE, -errno. */
int target_pin(const struct server *s, const struct target_fields *of, struct target *ret,
               struct error *err);
/* 0 while the pinned process lives, else PROC_GONE. */
int target_check(const struct target *t);
/* Refuses what the kernel does by the first thread, if that has ended: probes, and entering
 * namespaces. 0, or -EOPNOTSUPP with @err. */
int target_need_thread(const struct target *t, struct error *err);
void target_unpin(struct target *t);
#define _cleanup_target_ _cleanup_(target_unpin)

/* Opens the file @name of /proc/PID read-only. The fd is the caller's. 0, PROC_GONE, -errno. */
int target_open_proc(const struct target *t, const char *name, int *ret_fd, struct error *err);
#define TARGET_TEXT_MAX 65536 /* what target_read_proc() reads at most */
/* Reads the small file @name of /proc/PID into @ret, which is the caller's in any case. 0,
 * PROC_GONE, -errno. */
int target_read_proc(const struct target *t, const char *name, struct buf *ret, struct error *err);
/* Gets the target's root directory, O_PATH. 0, PROC_GONE, -errno. */
int target_open_root(const struct target *t, int *ret_fd, struct error *err);

/* Walks the text of the maps file @fd (maps_walk.h) until @fn returns true. True if it did. */
bool maps_scan(int fd, maps_fn fn, void *cookie);
/* Does the same with those that are as @which says (PROCMAP_EXEC and others of proc/procmap.h), for
 * less time. An older kernel gives @fn all. */
bool maps_search(int fd, unsigned which, maps_fn fn, void *cookie);
/* Returns true where an executable mapping of a libjvm.so is that begins at *@start. 0 there: any,
 * and *@start becomes where it begins. */
bool maps_find_jvm(int fd, uint64_t *start);

/* Which regular files may be handed out. */
struct file_rule {
    uint64_t max_bytes;
    bool owned; /* owner is @uid or root, no second link to it, nothing mounted over it */
    bool own;   /* and not root's either, unless @uid is root */
    /* What user @uid could read, as far as the file itself says. A container's links and mounts may
     * lead to places that the broker can reach and that user cannot. */
    bool readable;
    uint32_t uid;
    bool elf;                  /* is an ELF object: no core file */
    uint64_t written_since_ns; /* was last written then or later, CLOCK_REALTIME; 0: ever */
    bool follow;               /* a symbolic link at the end is followed too, inside the root */
    /* Lies beside a file of @beside_uid on mount @mount: the same owner and mount, and no symbolic
     * link on the whole way. */
    bool beside;
    uint32_t beside_uid;
    uint64_t mount;
    bool inode; /* is file @ino on device @dev_major:@dev_minor */
    uint64_t ino;
    uint32_t dev_major, dev_minor;
    const struct target *target; /* whose file it is, NULL: the host's */
};

/* Opens @path below @root_fd. Symbolic links on the way are resolved inside that root, at
 * the end followed only where @rule says so; magic links never. The file is looked at before it is
 * opened, so that no FIFO, socket, device or tty is ever opened. What is handed out is
 * dependable_file()'s. 0, BROKER_ABSENT, -errno (-EPERM: not such a file as @rule allows). */
int root_open(int root_fd, const char *path, const struct file_rule *rule, int *ret_fd,
              struct error *err);
/* As root_open() for the file behind the O_PATH descriptor @path_fd; @what names it. */
int file_open(int path_fd, const char *what, const struct file_rule *rule, int *ret_fd,
              struct error *err);
/* Opens the directory @path below @root_fd with @flags (O_PATH or O_RDONLY). 0, BROKER_ABSENT,
 * -errno. */
int root_open_dir(int root_fd, const char *path, int flags, int *ret_fd, struct error *err);

/* Opens the folder @name right below folder @dir_fd, O_PATH. It must be no link, in the same mount,
 * of user @uid and writable for nobody else, as HotSpot wants its counters. Return: as
 * root_open_dir(). */
int folder_open_own(int dir_fd, const char *name, uint32_t uid, int *ret_fd, struct error *err);
/* Returns the mount that @fd is in; 0: not known. */
uint64_t file_mount(int fd);

/* Makes a sealed memfd with @n bytes of @p. 0 or -errno. */
int memfd_of(const char *name, const void *p, size_t n, int *ret_fd, struct error *err);
