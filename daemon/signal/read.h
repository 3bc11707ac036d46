/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the numbers of a JVM come from: /proc, its cgroups, its counters. Each function writes what
 * it could read and leaves the rest as it is. Thread: the engine's.
 */
#pragma once

#include "discover/discover.h"
#include "signal/numbers.h"

#define READ_THREADS_MAX 256 /* whose time on the run queue is read, else that of none */

/* ---- read_node.c ---- */

/* Reads what the node lacks. */
void read_node(int proc_fd, struct number_reading *r);

/* ---- read_process.c ---- */

/* Reads what the kernel counts of @p; @r has what read_node() read. 0, PROC_GONE, or -errno
 * (-ETIMEDOUT: not answered). */
int read_process(int proc_fd, const struct process *p, struct number_reading *r);
/* Reads how many descriptors it may have. */
void read_limits(int proc_fd, const struct process *p, struct number_reading *r);
/* Reads how long its threads ran, and waited for a processor. */
void read_threads(int proc_fd, const struct process *p, struct number_reading *r);

/* ---- read_cgroup.c ---- */

/* Reads the files of @f. False: one of them cannot be read any more. */
bool read_cgroup(const struct broker_cgroup_files *f, struct number_reading *r);
/* Closes the files of @f, and leaves it without any. */
void cgroup_files_close(struct broker_cgroup_files *f);
/* Gets the number behind @key and a blank at the start of a line of @text. */
bool read_field(struct span text, const char *key, double *ret);
/* Gets the time in ns in which some thread waited, of a file such as cpu.pressure. */
bool read_pressure(struct span text, double *ret);

/* ---- read_jvm.c ---- */

/* Reads what JVM @p counts itself, as it was read last or, if that was long ago, now. */
void read_jvm(struct discover *d, struct process *p, struct number_reading *r);
/* Reads what does not change while JVM @p runs: how much heap and metaspace it may have. */
void read_fixed(const struct process *p, struct number_reading *r);
