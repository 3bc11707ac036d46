/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the supervisor's two files: its state, and how a child starts. */
#pragma once

#include "supervisor/supervise_api.h"

#include <signal.h>
#include <sys/resource.h>

struct supervisor {
    int flamed_fd, store_fd, config_fd, notes_fd, push_fd;
    const char *config_arg; /* "--config=PATH", points into argv; NULL: none */
    const char *audit_arg;  /* "--audit-log=PATH", points into argv; NULL: none */
    int listen_fds[SUPERVISE_LISTEN_MAX];
    size_t listen_count;
    int uid, gid;
    struct rlimit memlock; /* limits at the supervisor's start, restored for the worker */
    enum log_level log_level;
    bool attach_mount, bpf_only;
    char **extra; /* points into argv */
    int extra_count;
    sigset_t signals;
    pid_t self, worker, broker; /* 0: not running */
    int worker_status;          /* wait(2) status of the last worker */
    uint64_t ended_ns;          /* time since which the worker is a zombie; 0: it is none */
    bool left_behind, stopping;
    int proc_fd; /* of /proc */
};

/* ---- supervisor_child.c: in a child, between fork and exec ---- */

/* Executes flamed as its user, with @broker_fd. Returns -errno on failure, otherwise not. */
int supervisor_exec_worker(const struct supervisor *s, int broker_fd);
/* Executes the broker for the process @client at the other end of @client_fd. Returns -errno on
 * failure, otherwise not. */
int supervisor_exec_broker(const struct supervisor *s, int client_fd, pid_t client);
