/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the numbers of a JVM from /proc, its cgroups and its counters. Each function writes the
 * numbers it could read and leaves the others. Thread: the engine's.
 */
#pragma once

#include "discover/discover.h"
#include "signal/numbers.h"

#define READ_THREADS_MAX 256 /* times of threads are not read in a JVM with more */

/* ---- read_node.c ---- */

/* Reads the numbers of the node: processors, memory, pressure, steal time. */
void read_node(int proc_fd, struct number_reading *r);

/* ---- read_process.c ---- */

/* Reads what the kernel counts for @p, after read_node() and read_cgroup() have filled @r. Return:
 * 0, PROC_GONE, or -errno (-ETIMEDOUT: not answered). */
int read_process(int proc_fd, const struct process *p, struct number_reading *r);
/* Reads the limit of descriptors of @p. */
void read_limits(int proc_fd, const struct process *p, struct number_reading *r);
/* Reads how long the threads of @p ran, and how long they waited for a processor. */
void read_threads(int proc_fd, const struct process *p, struct number_reading *r);

/* ---- read_cgroup.c ---- */

/* Reads the files of @f. Returns false if one of them cannot be read any more. */
bool read_cgroup(const struct broker_cgroup_files *f, struct number_reading *r);
/* Closes the files of @f, and leaves it without any. */
void cgroup_files_close(struct broker_cgroup_files *f);
/* Gets the number after @key and a blank at the start of a line of @text. */
bool read_field(struct span text, const char *key, double *ret);
/* Gets the time in ns in which some thread waited, from a file such as memory.pressure. */
bool read_pressure(struct span text, double *ret);

/* ---- read_jvm.c ---- */

/* Reads the JVM's own counters: the last values that flamed read, or new values if these are
 * old. */
void read_jvm(struct discover *d, struct process *p, struct number_reading *r);
/* Reads the limits of heap and metaspace, which do not change while JVM @p runs. Returns false if
 * its flags were not read this time. */
bool read_fixed(const struct process *p, struct number_reading *r);
