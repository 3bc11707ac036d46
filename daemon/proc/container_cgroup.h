/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that runtimes give to the cgroups of containers. Pure; thread: any. A name is only a
 * convention, not a proof. Parts of a path are as the kernel reports them: systemd writes some
 * characters as \xNN.
 */
#pragma once

#include "proc/proc.h"

/* Hexadecimal digits of the id that most runtimes put into a cgroup's name. */
#define CONTAINER_ID_DIGITS 64

/* A container that has a name without an id in its cgroup. */
struct container_cgroup {
    struct span name;
    const char *runtime; /* NULL: a virtual machine */
    /* Of systemd-machined: the container is outside of its cgroup "supervisor". */
    bool machine;
};
/* Parses @part, a cgroup in @parent. Returns whether it is the cgroup of such a container. */
bool container_cgroup_parse(struct span part, struct span parent, struct container_cgroup *ret);

/* Returns the runtime that makes the cgroups in the folder @part. Returns "" if several runtimes
 * may make them, NULL if no known one does. */
const char *container_cgroup_folder(struct span part);

/* Returns whether @part may be the cgroup of a container that runc was given no cgroup path for:
 * runc then uses the container's name. */
bool container_cgroup_is_bare(struct span part);
/* Returns whether such a name counts on @line: that of version 2, or of systemd's hierarchy. It
 * counts on no line if the process is not in a pid namespace below flamed's. */
bool container_cgroup_bare_counts(const struct cgroup_line *line);
