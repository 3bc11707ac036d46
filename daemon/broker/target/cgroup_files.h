/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a process's cgroups with counters of throttling, pressure and OOM kills. Thread: the
 * broker's.
 */
#pragma once

#include "broker/target/cgroups.h"

/* Opens these files of the cgroups in @cgroup (the text of /proc/PID/cgroup), and reads the limits.
 * @ret's descriptors are the caller's. */
void cgroup_files_open(const struct server *s, struct span cgroup, struct broker_cgroup_files *ret);
