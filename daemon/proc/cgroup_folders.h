/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folders of cgroups in their file systems: where they are mounted, and who may make folders in
 * them. Thread: any.
 */
#pragma once

#include "proc/proc.h"

/* Returns whether @m is a mount of @line's hierarchy that shows @line's path. *ret_path: the path
 * below the mount. */
bool cgroup_is_mounted(const struct mountinfo *m, const struct cgroup_line *line,
                       struct span *ret_path);

/* Levels of a path that are inspected: the uppermost ones. */
#define CGROUP_LEVELS_MAX 64
/* Returns the length of the first CGROUP_LEVELS_MAX levels of @path; path.n: it has no more. */
size_t cgroup_levels(struct span path);

/* Cuts @path (below the cgroup @mount_fd) after the folders that root made in folders of root's.
 * Returns true if others than root may make folders in the last one that is left. False: @path has
 * only folders of root's, or one cannot be opened. */
bool cgroup_cut_to_root(int mount_fd, struct span *path);
