/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory files that hold the agent: one per JVM, because a JVM that is given another one maps
 * the agent a second time (and says so in its log), and never one for two, because what a container
 * holds open must be nobody else's. Sealed: nobody can change them. Thread: the broker's.
 */
#pragma once

#include "broker/target.h"

#define AGENTS_MAX 256

struct agents;

/* Makes the table at the first call. *ret_fd: borrowed, until the next call. Finds the file that
 * the JVM has mapped already, also after a restart of the broker. 0, PROC_GONE, -errno. */
int agents_get(struct agents **agents, const struct target *t, uint64_t start_ticks, int *ret_fd,
               struct error *err);
/* How the JVM @host_pid that an agent was given to ended, as wait(2) says it. 0: *ret_status, which
 * is forgotten then; -EAGAIN: it lives, or the kernel still clears it away; BROKER_ABSENT: the
 * kernel does not tell (before Linux 6.15 of one that its parent took leave of), or it is none of
 * ours. */
int agents_ended(struct agents *agents, int proc_fd, int32_t host_pid, uint64_t start_ticks,
                 int *ret_status);
struct agents *agents_free(struct agents *agents);
