/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which container a process is in, read off its cgroup paths. Pure; thread: any. The paths are a
 * naming habit of each runtime, not a proof: they label, and grant nothing.
 */
#pragma once

#include "base/span.h"
#include "discover/discover.h"

/* Reads /proc/PID/cgroup. @nested: the process has a pid namespace of its own below ours, without
 * which a bare "/NAME" is not taken for a container of runc. True when it is in a container; then
 * *ret has id and, as far as the path tells, runtime, name and pod_uid, and all else empty. False:
 * *ret is all empty. */
bool container_parse(struct span cgroup, bool nested, struct container *ret);

/* True for 64 hex digits in lower case: what docker, containerd, CRI-O and podman call a container.
 */
bool container_id_is_hex(struct span id);

static inline bool container_is_lower_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}
