/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drops privileges: the broker before it reads its first request, the supervisor before it starts
 * the broker. Each first raises limits that it cannot raise later.
 */
#pragma once

#include "base/error.h"

/* Drops every capability outside of the list (and of the bounding set where allowed), sets
 * no_new_privs and limits, and installs a filter of system calls. A missing capability is no error:
 * requests that need it fail with a sentence. Call it once, single-threaded. Return: 0 or
 * -errno. */
int broker_lockdown(struct error *err);

/* Locks down the launcher (launcher.h). Allows starting flamed-attach and the calls of
 * flamed-attach, but no perf events, BPF programs or files of a target. @mounts: also allows
 * mounting in containers (mounter.h). Return: 0 or -errno. */
int launcher_lockdown(bool mounts, struct error *err);

/* Locks down an opener (file_openers.h): the broker's filter, and the capabilities to open a
 * target's files. Return: 0 or -errno. */
int opener_lockdown(struct error *err);

/* Locks down the supervisor (supervisor.h), which keeps what its children need and what starting
 * them needs. Raises the limit of locked memory past its hard limit, since BPF maps count towards
 * it before Linux 5.11 and CAP_SYS_RESOURCE is given up here. @mounts: as for the launcher. Return:
 * 0 or -errno. */
int supervisor_lockdown(bool mounts, struct error *err);
/* Locks down the process that forks openers: their rights, and the calls to fork them. Return: 0 or
 * -errno. */
int nursery_lockdown(struct error *err);
