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
    int store_fd;  /* directory that stays readable and writable; borrowed; -1: none */
    int proc_fd;   /* directory that stays readable (/proc); borrowed; -1: "/proc" is opened */
    int cgroup_fd; /* directory that stays readable (the cgroups); borrowed; 0 or less: none */
};

/* Restrictions that failed; each a sentence, "" if it works. */
struct sandbox_report {
    char landlock_problem[256];
};

/* Drops all capabilities, sets no_new_privs, not dumpable, no core file, Landlock, seccomp (what is
 * not allowed kills the process). Cannot be undone. Call once, before any thread is started. 0 or
 * -errno: then flamed must not go on. A kernel without Landlock is no error; *ret says so. */
int sandbox_enter(const struct sandbox_opts *o, struct sandbox_report *ret, struct error *err);
