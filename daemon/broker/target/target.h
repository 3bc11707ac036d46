/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target, pinned while the broker opens files of it, and the only way to open a file that a
 * container may have made.
 *
 * Pinning: a pidfd of the pid, then the start time compared, then a directory fd of /proc/PID.
 * After a file was opened through that directory, target_check() asks the pidfd whether its process
 * still lives. If it does, its pid was never free in between, so all opened files belong to it and
 * no other.
 */
#pragma once

#include "broker/server.h"
#include "proc/maps_walk.h"

struct target {
    int32_t host_pid;
    int pidfd;
    int dir_fd;       /* O_PATH: /proc/PID, or the folder of another thread */
    bool lost_thread; /* because the first thread has ended */
};

#define TARGET_NULL ((struct target){ .pidfd = -1, .dir_fd = -1 })

/* Pins the process @of. 0, PROC_GONE, -errno. */
int target_pin(const struct server *s, const struct target_fields *of, struct target *ret,
               struct error *err);
/* Does the same for a JVM that flamed may inspect (server_refuse_own()). -EPERM: it is not a JVM.
 * An opener reads its mappings (known_jvms.c). The process may exec at any time: *ret_stack_start
 * is that of the program that was checked, or of an earlier one (proc_stat.stack_start). 0:
 * unknown. */
int server_pin_jvm(struct server *s, const struct target_fields *of, struct target *ret,
                   uint64_t *ret_stack_start, struct error *err);
/* Checks that @t still lives, and runs the program with @stack_start. 0, PROC_GONE, -ESRCH. */
int server_check_program(const struct server *s, const struct target *t, uint64_t stack_start,
                         struct error *err);
/* Finds the executable mapping of libjvm.so at *@start in the maps @maps_fd of @t; 0: anywhere,
 * which sets it. 0; -EPERM: none. */
int target_check_jvm(const struct target *t, int maps_fd, uint64_t *start, struct error *err);

/* The file of the program that a process runs. */
struct program {
    uint32_t dev_major, dev_minor;
    uint64_t inode;
};
/* Gets the program file of process @host_pid. Returns false if it cannot be read, or there is none.
 */
bool target_program(const struct server *s, int32_t host_pid, struct program *ret);
/* Checks that the pinned process lives. 0, else PROC_GONE. */
int target_check(const struct target *t);
/* Refuses a target with an ended first thread. The kernel uses that thread for probes and for
 * entering namespaces. 0, or -EOPNOTSUPP with @err. */
int target_need_thread(const struct target *t, struct error *err);
void target_unpin(struct target *t);
#define _cleanup_target_ _cleanup_(target_unpin)

/* Opens the file @name of /proc/PID read-only. The fd is the caller's. 0, PROC_GONE, -errno. */
int target_open_proc(const struct target *t, const char *name, int *ret_fd, struct error *err);
#define TARGET_TEXT_MAX 65536 /* limit of target_read_proc() */
/* Reads the small file @name of /proc/PID into @ret, owned by the caller in any case. 0, PROC_GONE,
 * -errno. */
int target_read_proc(const struct target *t, const char *name, struct buf *ret, struct error *err);
/* Gets the target's root directory, O_PATH. 0, PROC_GONE, -errno. */
int target_open_root(const struct target *t, int *ret_fd, struct error *err);

/* Walks the text of the maps file @fd (maps_walk.h) until @fn returns true. Returns true if it
 * did. */
bool maps_scan(int fd, maps_fn fn, void *cookie);
/* Does the same faster, for the mappings that @which selects (PROCMAP_EXEC and others of
 * proc/procmap.h). On an older kernel @fn gets all mappings. */
bool maps_search(int fd, unsigned which, maps_fn fn, void *cookie);
/* Returns true if an executable mapping of a libjvm.so begins at *@start. *@start 0: any mapping,
 * and *@start becomes its start. */
bool maps_find_jvm(int fd, uint64_t *start);

/* Conditions for a regular file that may be handed out. */
struct file_rule {
    uint64_t max_bytes;
    bool owned; /* owner is @uid or root, one link, no mount over it */
    bool own;   /* with `owned`: root as the owner is not enough, unless @uid is root */
    /* User @uid could read it, by the file's own owner and mode. A container's links and mounts may
     * lead to places that the broker can reach and that user cannot. */
    bool readable;
    uint32_t uid;
    bool nameless;             /* the file has no name in any folder, as files in memory */
    bool elf;                  /* an ELF object: no core file */
    uint64_t written_since_ns; /* earliest last write, CLOCK_REALTIME; 0: any */
    bool follow;               /* a symbolic link at the end is followed, too, inside the root */
    /* The file has the owner @beside_uid and is on mount @mount, like the file beside it, and no
     * symbolic link is on the whole path. */
    bool beside;
    uint32_t beside_uid;
    uint64_t mount;
    bool inode; /* the file has inode @ino on device @dev_major:@dev_minor */
    uint64_t ino;
    uint32_t dev_major, dev_minor;
    const struct target *target; /* the process that has the file, NULL: the host */
};

/* Opens @path below @root_fd. Symbolic links on the way are resolved inside that root, at the end
 * only if @rule says so; magic links never. The file is inspected before it is opened, so that no
 * FIFO, socket, device or tty is ever opened. The returned file is that of dependable_file(). 0,
 * BROKER_ABSENT, -errno (-EPERM: @rule does not allow the file). */
int root_open(int root_fd, const char *path, const struct file_rule *rule, int *ret_fd,
              struct error *err);
/* Opens the file behind the O_PATH descriptor @path_fd as root_open() does; @what is its name in
 * errors. */
int file_open(int path_fd, const char *what, const struct file_rule *rule, int *ret_fd,
              struct error *err);
/* Opens the directory @path below @root_fd with @flags (O_PATH or O_RDONLY). 0, BROKER_ABSENT,
 * -errno. */
int root_open_dir(int root_fd, const char *path, int flags, int *ret_fd, struct error *err);

/* Opens the folder @name right below folder @dir_fd, O_PATH. It must not be a link, and must be in
 * the same mount. Like HotSpot's counters, it must belong to user @uid and be writable for no
 * other.
 * Return: as root_open_dir(). */
int folder_open_own(int dir_fd, const char *name, uint32_t uid, int *ret_fd, struct error *err);
/* Returns the id of the mount that @fd is in; 0: unknown. */
uint64_t file_mount(int fd);

/* Makes a sealed memfd with @n bytes of @p. 0 or -errno. */
int memfd_of(const char *name, const void *p, size_t n, int *ret_fd, struct error *err);
