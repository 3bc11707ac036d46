/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the hierarchies of control groups are mounted on the host: that of version 2, those of
 * version 1 by their controllers, or both (hybrid). Thread: the broker's, or an opener's.
 */
#pragma once

#include "broker/target/target.h"

/* Opens the folder (O_PATH) that @line's hierarchy is mounted on; *ret_path is what of the line's
 * path lies below it. -ENOENT: it is mounted nowhere, or the path leads outside of what is. */
int cgroup_open_mount(const struct server *s, const struct cgroup_line *line, struct span *ret_path,
                      int *ret_fd);

/* Writes @cgroup (the text of /proc/PID/cgroup) into @out with each path cut where it leads into a
 * folder that root alone did not make. */
void cgroup_made_by_root(const struct server *s, struct span cgroup, struct buf *out);

/* Those that are looked at in a path; of a deeper one the uppermost, which its makers cannot lift.
 */
#define CGROUP_LEVELS_MAX 64
/* Returns whether a path of @cgroup (the text of /proc/PID/cgroup) has more levels. */
bool cgroup_is_too_deep(struct span cgroup);

/* @folder is a cgroup, below @mount_fd. */
typedef bool (*cgroup_fn)(void *cookie, int mount_fd, const char *folder);
/* Calls @fn with each cgroup of @cgroup (the text of /proc/PID/cgroup) that may have @controller,
 * in version 1, 2 or both. Calls it with each above, too, up to the mount, but with none below
 * CGROUP_LEVELS_MAX. Return: true as soon as @fn does. */
bool cgroup_any(const struct server *s, struct span cgroup, const char *controller, cgroup_fn fn,
                void *cookie);

/* Reads the @n numbers, between blanks, that the file @name of the cgroup begins with. False: it
 * does not begin with so many, or there is none. */
bool cgroup_read_numbers(int mount_fd, const char *folder, const char *name, uint64_t *ret,
                         size_t n);
/* Returns the CPU limit of this cgroup, in thousandths of a CPU; 0: it has none. */
uint64_t cgroup_cpu_limit_at(int mount_fd, const char *folder);

/* Returns the least CPU limit of the cgroups in @cgroup and of those above, in thousandths of a
 * CPU; 0: there is none. */
uint64_t cgroup_cpu_limit(const struct server *s, struct span cgroup);
/* Returns whether one of the cgroups in @cgroup is frozen, in version 1, 2 or both. */
bool cgroup_frozen(const struct server *s, struct span cgroup);
