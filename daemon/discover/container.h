/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the container of a process in its cgroup paths. Pure; thread: any. Runtimes name cgroups by
 * custom only, so a path proves nothing: use the result as a label, never for access.
 */
#pragma once

#include "base/span.h"
#include "discover/discover.h"

/* Reads /proc/PID/cgroup. @nested: the process has a pid namespace of its own below ours. Else a
 * bare "/NAME" does not count as a container of runc. Returns true if the process is in a
 * container. Then *ret has the id, and from the path runtime, name, pod_uid, outer and
 * outer_pod_uid; the rest is empty. A nested container has no name here, as the container around it
 * may have chosen that name. Returns false if it is in none; *ret is then empty. */
bool container_parse(struct span cgroup, bool nested, struct container *ret);

/* Returns true for 64 hex digits in lower case: the ids of docker, containerd, CRI-O and podman. */
bool container_id_is_hex(struct span id);
