/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mounts of cgroup hierarchies on the host: that of version 2, those of version 1 by their
 * controllers, or both (hybrid). Thread: the broker's, or an opener's.
 */
#pragma once

#include "broker/target/target.h"
#include "proc/cgroup_folders.h"

/* Opens the folder (O_PATH) where @line's hierarchy is mounted. *ret_path is the part of the line's
 * path below that. -ENOENT: the hierarchy is not mounted, or the path leads outside of the mounted
 * part. */
int cgroup_open_mount(const struct server *s, const struct cgroup_line *line, struct span *ret_path,
                      int *ret_fd);

/* Writes @cgroup (the text of /proc/PID/cgroup) into @out. Cuts each path at the first folder that
 * others than root could have made. */
void cgroup_made_by_root(const struct server *s, struct span cgroup, struct buf *out);

/* Returns true if a path of @cgroup (the text of /proc/PID/cgroup) has more than CGROUP_LEVELS_MAX
 * levels. The limits of those also apply to all levels below. */
bool cgroup_is_too_deep(struct span cgroup);

/* Visits the cgroup @folder below @mount_fd. */
typedef bool (*cgroup_fn)(void *cookie, int mount_fd, const char *folder);
/* Calls @fn with each cgroup of @cgroup (the text of /proc/PID/cgroup) that may have @controller,
 * in version 1, 2 or both. Also calls it with each cgroup above, up to the mount, but with none
 * below CGROUP_LEVELS_MAX. Returns true as soon as @fn does. */
bool cgroup_any(const struct server *s, struct span cgroup, const char *controller, cgroup_fn fn,
                void *cookie);

/* Reads the @n numbers at the start of the file @name of the cgroup, separated by blanks. False: it
 * has fewer, or there is no such file. */
bool cgroup_read_numbers(int mount_fd, const char *folder, const char *name, uint64_t *ret,
                         size_t n);
/* Returns the CPU limit of the cgroup @folder itself, in thousandths of a CPU; 0: none. */
uint64_t cgroup_cpu_limit_at(int mount_fd, const char *folder);

/* Returns the least CPU limit of the cgroups in @cgroup and of those above, in thousandths of a
 * CPU; 0: none. */
uint64_t cgroup_cpu_limit(const struct server *s, struct span cgroup);
/* Returns true if one of the cgroups in @cgroup is frozen, in version 1, 2 or both. */
bool cgroup_frozen(const struct server *s, struct span cgroup);
