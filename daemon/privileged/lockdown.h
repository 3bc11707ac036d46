/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops privileges: the broker before it reads its first request, the supervisor before it starts
 * the broker. Each first raises limits that it cannot raise later.
 */
#pragma once

#include "base/error.h"

/* Drops every capability that is not in the list, from the bounding set too where allowed. Also
 * sets no_new_privs and limits, and installs a filter of system calls. A missing capability is no
 * error: requests that need it fail with a message. Call it once, single-threaded. Return: 0 or
 * -errno. */
int broker_lockdown(struct error *err);

/* Locks down the launcher (launcher.h). Allows the start of flamed-attach and its calls, but no
 * perf events, BPF programs or files of a target. @mounts: also allows mounting in containers
 * (mounter.h). Return: 0 or -errno. */
int launcher_lockdown(bool mounts, struct error *err);

/* Locks down an opener (file_openers.h): the broker's filter, and the capabilities to open a
 * target's files. Return: 0 or -errno. */
int opener_lockdown(struct error *err);

/* Locks down the supervisor (supervisor.h), which keeps the rights that its children need, and the
 * rights for starting them. Raises the limit of locked memory beyond its hard limit: before Linux
 * 5.11 BPF maps count towards it, and CAP_SYS_RESOURCE is dropped here. @mounts: as for the
 * launcher. Return: 0 or -errno. */
int supervisor_lockdown(bool mounts, struct error *err);
/* Locks down the process that forks openers. It keeps their rights, and the calls for forking them.
 * Returns 0 or -errno. */
int nursery_lockdown(struct error *err);
