/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memfds that hold the agent, one per JVM. A JVM that gets another one maps the agent a second
 * time (and says so in its log). Two JVMs never share one, because what a container holds open must
 * be nobody else's. Sealed: nobody can change them. Thread: the broker's.
 */
#pragma once

#include "broker/target/target.h"

#define AGENTS_MAX 256

struct agents;

/* Makes the table at the first call. *ret_fd: borrowed, until the next call. Finds the file that
 * the JVM has mapped already, also after a restart of the broker. 0, PROC_GONE, -errno. */
int agents_get(struct agents **agents, const struct target *t, uint64_t start_ticks, int *ret_fd,
               struct error *err);
/* Gives how the JVM @host_pid that got an agent ended, as wait(2) says it.
 * Return: 0: *ret_status, which is forgotten then. -EAGAIN: it lives, or the kernel still clears it
 * away. BROKER_ABSENT: not known (before Linux 6.15 if its parent has reaped it), or it is none of
 * ours. */
int agents_ended(struct agents *agents, int proc_fd, int32_t host_pid, uint64_t start_ticks,
                 int *ret_status);
/* Finds where in the agent's file its probe is: the function flamed_agent_sampled. 0: nowhere. */
uint64_t agents_probe_offset(void);
struct agents *agents_free(struct agents *agents);
