/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of discover/ on the machine they run on: opens perf events and other users' files
 * itself, as flamed-broker would. Needs root. */
#pragma once

#include "discover/table.h"

extern unsigned live_maps_opened, live_sideband_opened; /* how often it opened them */

/* If set, files of running processes that are no children of it are not counted. */
extern pid_t live_maps_parent;

/* What the broker does for it; its cookie is &live_maps_opened. */
extern const struct discover_source LIVE_SOURCE;

/* 0; 77: the machine lacks what it takes, which is printed. */
int live_missing(void);
/* Returns a list of processes by the files in @proc, which *ret_proc_fd is then. */
struct discover *live_discover(int *ret_proc_fd, const char *proc);
void live_nap(uint64_t ns);
/* Starts a program with its output thrown away; and kills it. */
pid_t live_start(const char *const *argv);
void live_stop(pid_t pid);
/* Polls for this long, and once more when that is over: where the machine was stalled in that time,
 * that is the only time. */
void live_poll_for(struct discover *d, uint64_t ns);
