/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The restrictions that flamed imposes on itself before it reads the first byte that a container or
 * a client wrote. From then on it can read /proc, use its store and the fds it holds, and nothing
 * else. docs/privilege.md has the list.
 *
 * Open before: listening sockets, the broker's socket, the store, the configuration, systemd's
 * notification socket. Call tzset() before if local time is needed.
 */
#pragma once

#include "base/error.h"

struct sandbox_opts {
    int store_fd;  /* folder that stays readable and writable; borrowed; -1: none */
    int proc_fd;   /* /proc, which stays readable; borrowed; -1: sandbox_enter() opens "/proc" */
    int cgroup_fd; /* the folder of cgroups, which stays readable; borrowed; 0 or less: none */
};

/* Restrictions that failed. Each is a sentence; "" if the restriction works. */
struct sandbox_report {
    char landlock_problem[256];
};

/* Drops all capabilities, sets no_new_privs, not dumpable, no core file, Landlock and seccomp. A
 * call that seccomp does not allow kills the process. Cannot be undone. Call once, before any
 * thread is started. Returns 0, or -errno: then flamed must end. A kernel without Landlock is no
 * error; *ret says so. */
int sandbox_enter(const struct sandbox_opts *o, struct sandbox_report *ret, struct error *err);
