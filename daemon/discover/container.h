/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the container of a process in its cgroup paths. Pure; thread: any. The paths are a naming
 * habit of each runtime, not a proof: they label, and grant nothing.
 */
#pragma once

#include "base/span.h"
#include "discover/discover.h"

/* Reads /proc/PID/cgroup. @nested: the process has a pid namespace of its own below ours. Else a
 * bare "/NAME" does not count as a container of runc. True when it is in a container. Then *ret has
 * id, and what the path says of runtime, name, pod_uid, outer and outer_pod_uid; all else is empty.
 * There is no name of one that another container is around, and may have named. False: *ret is all
 * empty. */
bool container_parse(struct span cgroup, bool nested, struct container *ret);

/* Returns true for 64 hex digits in lower case: the ids of docker, containerd, CRI-O and podman. */
bool container_id_is_hex(struct span id);
