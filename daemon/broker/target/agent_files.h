/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memfds that hold the agent, one per JVM. A JVM that gets a second memfd maps the agent a
 * second time, and logs that. Two JVMs never share one, because a file that one container holds
 * open must not reach another. Each is sealed against changes. Thread: the broker's.
 */
#pragma once

#include "broker/target/target.h"

#define AGENTS_MAX 256

struct agents;

typedef int (*agents_find_fn)(struct server *s, const struct target_fields *of, int *ret_fd,
                              struct error *err);

/* Gets the agent's file for the JVM @t, which @of names. That is the file of its entry. Without an
 * entry (as after a restart of the broker), it is the file that the JVM has mapped, else a new
 * file. @find searches for a mapped file. Makes the table at the first call. *ret_fd: borrowed,
 * until the next call. 0, PROC_GONE, -errno. */
int agents_get(struct server *s, const struct target *t, const struct target_fields *of,
               agents_find_fn find, int *ret_fd, struct error *err);
/* Finds the agent's file among the mappings of @t, which may block; *ret_fd -1: there is none. 0,
 * PROC_GONE, -errno. */
int agents_find(const struct target *t, int *ret_fd, struct error *err);
/* Gets the exit status of the JVM @host_pid that got an agent, as wait(2) gives it.
 * Return: 0 and *ret_status; the entry is dropped then. -EAGAIN: it lives, or the kernel is still
 * removing it. BROKER_ABSENT: unknown (before Linux 6.15 if its parent has reaped it), or it got no
 * agent of ours. */
int agents_ended(struct agents *agents, int proc_fd, int32_t host_pid, uint64_t start_ticks,
                 int *ret_status);
/* Returns the offset of the probe's function flamed_agent_sampled in the agent's file. 0: the file
 * has no such function. */
uint64_t agents_probe_offset(void);
struct agents *agents_free(struct agents *agents);
