/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What flamed-broker gives up before it reads its first request, and what the supervisor gives up
 * before it starts it. Each raises first the limits that it may not raise afterwards.
 */
#pragma once

#include "base/error.h"

/* Drops every capability that is not on the list (the bounding set too where allowed), sets
 * no_new_privs, limits and a filter of system calls. What it lacks of the list is not an error:
 * requests then say so. Call once, single-threaded. 0 or -errno. */
int broker_lockdown(struct error *err);

/* Does the same for the launcher (launcher.h). It allows what starting flamed-attach takes and what
 * that needs itself, and nothing that opens perf events, BPF programs or files of a target.
 * @mounts: also the calls that mount in containers (mounter.h). */
int launcher_lockdown(bool mounts, struct error *err);

/* Does the same for an opener (file_openers.h): the broker's filter, and the capabilities that
 * opening a target's files takes. */
int opener_lockdown(struct error *err);

/* Does the same for the supervisor (supervisor.h): it keeps what its children need, and what
 * starting them takes. Raises the limit of locked memory past its hard limit, because BPF maps
 * count towards it before Linux 5.11, and CAP_SYS_RESOURCE is given up here. @mounts: as for the
 * launcher. */
int supervisor_lockdown(bool mounts, struct error *err);
/* Does the same for what forks openers: their own, and the calls that this takes. */
int nursery_lockdown(struct error *err);
