/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor, as its two files share it: what it keeps running, and how a child begins. */
#pragma once

#include "supervisor/supervise_api.h"

#include <signal.h>
#include <sys/resource.h>

struct supervisor {
    int flamed_fd, store_fd, config_fd, notes_fd, push_fd;
    const char *config_arg; /* "--config=PATH", points into argv; NULL: none */
    const char *audit_arg;  /* "--audit-log=PATH", the same */
    int listen_fds[SUPERVISE_LISTEN_MAX];
    size_t listen_count;
    int uid, gid;
    struct rlimit memlock; /* as we were started with it, for the worker */
    enum log_level log_level;
    bool attach_mount;
    char **extra; /* points into argv */
    int extra_count;
    sigset_t signals, inherited;
    pid_t self, worker, broker; /* 0: not running */
    int worker_status;          /* of the last one that ended */
    uint64_t ended_ns; /* since when the worker has ended but for a thread; 0: it has not */
    bool left_behind, stopping;
    int proc_fd; /* of /proc */
};

/* ---- supervisor_child.c: in a child, between fork and exec ---- */

/* Becomes flamed, as its user and with @broker_fd. Returns -errno, and only then. */
int supervisor_exec_worker(const struct supervisor *s, int broker_fd);
/* Becomes the broker of process @client, which is at the other end of @client_fd. Returns -errno,
 * and only then. */
int supervisor_exec_broker(const struct supervisor *s, int client_fd, pid_t client);
