/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher: a child of the broker, made before the broker gives up fork and exec. It does
 * nothing but start flamed-attach and end it at its deadline. So the broker, which opens files that
 * containers made, cannot start programs or enter namespaces. The launcher, which can, reads
 * nothing but fixed-size messages of the broker. It is two processes: one that starts the other
 * again if it ends too soon. Under systemd it is a service of its own (launcher_service.c).
 */
#pragma once

#include "base/error.h"
#include "helper/job.h"

#define LAUNCHER_RUNNING_MAX 4
#define LAUNCHER_INTERVAL_NS UINT64_C(1000000000) /* one attach per second of an owner */
#define LAUNCHER_OWNERS_MAX 16                    /* and of so many owners */
#define LAUNCHER_KILL_AFTER_MS 1000u              /* past the helper's own time-out */

/* The descriptors beside a message, in this order: ATTACH_FD_RESULT to ATTACH_FD_STATUS. */
#define LAUNCHER_FDS (ATTACH_FD_STATUS - ATTACH_FD_RESULT + 1)

struct launcher_message {
    int32_t host_pid;
    uint32_t mounts;      /* bits of enum attach_mounts */
    uint64_t start_ticks; /* with host_pid: whom it is for, so that there is one at a time */
    struct attach_job job;
    uint32_t host_uid, host_gid; /* whose the mounted file is to be; 0 where there is none */
    uint64_t owner;              /* as proc_owner(): who takes turns with others */
    uint64_t serial;             /* of launcher_send(): by which its answer is known */
};
_Static_assert(sizeof(struct launcher_message) == 72, "no padding");

/* The answer to each: whether it is begun, with the JVM's file beside it where that is mounted. */
struct launcher_answer {
    uint64_t serial;
    int32_t error; /* errno */
    uint32_t zero;
};

/* Checks that the @n bytes of @m are whole, with @fd_count descriptors, and ask for what a helper
 * may do. The launcher can enter namespaces: a taken-over broker gets no more of that than
 * attaches. Pure. Return: 0 or -EBADMSG. */
int launcher_message_check(const struct launcher_message *m, size_t n, size_t fd_count);

/* Forks it. @mounts: it may mount in containers. *ret_fd: our end of its socket; unchanged where it
 * could not be made (logged), then attaching is refused. */
void launcher_start(bool mounts, int *ret_fd);
/* Does the same as a service: takes one connection of root's from the socket that systemd passes,
 * and serves it to its end. 0 or -errno. */
int launcher_serve(bool mounts, struct error *err);
/* Serves the connection @socket to its end. Gives up what it does not need first. 0 or -errno
 * (logged). */
int launcher_run(int socket, bool mounts);
/* Hands a job over, with another serial; the descriptors stay the caller's. The result comes
 * through the pipe LAUNCHER_FDS[0], also that it was refused: one per JVM, one per second, and
 * turns.h. 0 or -errno. */
int launcher_send(int fd, struct launcher_message *m, const int fds[LAUNCHER_FDS]);
/* Waits for its answer to @m, a second at most. *ret_file: the caller's, -1 where nothing is
 * mounted. 0; > 0: the errno for which it was refused, and the pipe tells so; -errno. */
int launcher_take_answer(int fd, const struct launcher_message *m, int *ret_file);
