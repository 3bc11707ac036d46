/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names that runtimes give to the cgroups of containers. Pure; thread: any. A name is a habit
 * of its runtime, not a proof. Parts of a path are as in the kernel: systemd has written some
 * characters as \xNN.
 */
#pragma once

#include "proc/proc.h"

/* Hexadecimal digits of the id that most runtimes put into a cgroup's name. */
#define CONTAINER_ID_DIGITS 64

/* A container that its cgroup names without an id. */
struct container_cgroup {
    struct span name;
    const char *runtime; /* NULL: a virtual machine */
    bool machine;        /* of systemd's machines: its cgroup "supervisor" is outside of it */
};
/* Returns whether @part, a cgroup in @parent, is that of such a container. */
bool container_cgroup_parse(struct span part, struct span parent, struct container_cgroup *ret);

/* Returns the runtime that makes the cgroups in the folder @part; "": several may; NULL: none is
 * known to. */
const char *container_cgroup_folder(struct span part);

/* Returns whether @part may be what runc makes for a container if it gets no other name: NAME. */
bool container_cgroup_is_bare(struct span part);
/* Returns whether such a name counts on @line: on that of version 2, or of systemd's hierarchy. In
 * a pid namespace that is not below ours it counts on none. */
bool container_cgroup_bare_counts(const struct cgroup_line *line);
