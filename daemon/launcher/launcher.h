/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher: a child that the broker forks before it gives up fork and exec. It only starts
 * flamed-attach and kills it at its deadline. So the broker, which opens files of containers, can
 * neither start programs nor enter namespaces. The launcher can do both, but reads only fixed-size
 * messages of the broker. It consists of two processes: one restarts the other if it dies. Under
 * systemd it is a service of its own (launcher_service.c).
 */
#pragma once

#include "base/error.h"
#include "helper/job.h"

#define LAUNCHER_RUNNING_MAX 4
#define LAUNCHER_INTERVAL_NS UINT64_C(1000000000) /* time between attaches of one owner */
#define LAUNCHER_OWNERS_MAX 16                    /* owners that may attach in such a time */
#define LAUNCHER_KILL_AFTER_MS 1000u              /* time beyond the helper's own timeout */

/* Descriptors of a message, in this order: ATTACH_FD_RESULT to ATTACH_FD_STATUS. */
#define LAUNCHER_FDS (ATTACH_FD_STATUS - ATTACH_FD_RESULT + 1)

struct launcher_message {
    int32_t host_pid;
    uint32_t mounts;      /* bits of enum attach_mounts */
    uint64_t start_ticks; /* identifies the JVM together with host_pid: one attach at a time */
    struct attach_job job;
    uint32_t host_uid, host_gid; /* owner of the mounted file; 0: no file is mounted */
    uint64_t owner;              /* result of proc_owner(): owners take turns */
    uint64_t serial;             /* set by launcher_send(); returned in the answer */
};
_Static_assert(sizeof(struct launcher_message) == 72, "no padding");

/* The answer to a message: whether the attach started. Its descriptor is the JVM's output file, if
 * that is mounted. */
struct launcher_answer {
    uint64_t serial;
    int32_t error; /* errno */
    uint32_t zero;
};

/* Checks that the @n bytes of @m and its @fd_count descriptors are complete, and that they ask for
 * an attach. So a broker under an attacker's control cannot use the launcher's rights for anything
 * else. Pure. Return: 0 or -EBADMSG. */
int launcher_message_check(const struct launcher_message *m, size_t n, size_t fd_count);

/* Forks the launcher. @mounts: the launcher may mount in containers. *ret_fd: the caller's end of
 * its socket. On failure, logs, leaves *ret_fd unchanged, and attaching is refused. */
void launcher_start(bool mounts, int *ret_fd);
/* Runs the launcher as a service: accepts one connection of root from the socket that systemd
 * passes, and serves it until it closes. Return: 0 or -errno. */
int launcher_serve(bool mounts, struct error *err);
/* Drops all rights that the launcher does not need, then serves @socket until it closes. Returns 0,
 * or -errno after logging it. */
int launcher_run(int socket, bool mounts);
/* Sends a job with a new serial; the caller keeps the descriptors. The result comes through the
 * pipe fds[0]. So does a refusal, by the limits on attaches of a JVM and of an owner (turns.h).
 * If all copies of the other end of that pipe are closed, the launcher does not begin the attach.
 * Never blocks. Returns 0; -EPIPE or -ECONNRESET: the launcher is gone; -EAGAIN: it has not read
 * earlier jobs; -errno. */
int launcher_send(int fd, struct launcher_message *m, const int fds[LAUNCHER_FDS]);
/* Waits for the answer to @m, at most a second. *ret_file: owned by the caller; -1: nothing is
 * mounted. Returns 0, the errno (> 0) of a refusal, which is also in the pipe, or -errno. The
 * caller then closes the other end of the pipe, because the launcher may yet receive @m. */
int launcher_take_answer(int fd, const struct launcher_message *m, int *ret_file);
