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
 * part. -errno: unknown. -EFBIG: unknown, because the machine has more mounts than are read. */
int cgroup_open_mount(const struct server *s, const struct cgroup_line *line, struct span *ret_path,
                      int *ret_fd);

/* Says why an attach to @t is refused: its cgroups are unknown, for the reason @r. Returns @r with
 * @err. */
int cgroup_refuse_unknown(const struct target *t, int r, struct error *err);

/* Writes @cgroup (the text of /proc/PID/cgroup) into @out. Cuts each path at the first folder that
 * others than root could have made. Sets the error of @out if the folders of one are unknown. */
void cgroup_made_by_root(const struct server *s, struct span cgroup, struct buf *out);

/* Returns true if a path of @cgroup (the text of /proc/PID/cgroup) has more than CGROUP_LEVELS_MAX
 * levels. The limits of those also apply to all levels below. */
bool cgroup_is_too_deep(struct span cgroup);

/* Visits the cgroup @folder below @mount_fd. */
typedef bool (*cgroup_fn)(void *cookie, int mount_fd, const char *folder);
/* Calls @fn with each cgroup of @cgroup (the text of /proc/PID/cgroup) that may have @controller,
 * in version 1, 2 or both. Also calls it with each cgroup above, up to the mount, but with none
 * below CGROUP_LEVELS_MAX. Returns 1 as soon as @fn returns true; 0: it did for none; -errno: nor
 * did it, but some cgroups are unknown, as in cgroup_open_mount(). */
int cgroup_any(const struct server *s, struct span cgroup, const char *controller, cgroup_fn fn,
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
/* Returns 1 if one of the cgroups in @cgroup is frozen, in version 1, 2 or both; 0: none; -errno:
 * unknown. */
int cgroup_frozen(const struct server *s, struct span cgroup);
