/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The borders between a target's container and us: namespaces, and the right to trace across them.
 */
#pragma once

#include "base/error.h"
#include "broker/target/target.h"
#include "proc/proc.h"

/* Returns CLONE_NEW* of the namespaces of @t that are not ours. flamed-attach joins them all, so
 * that its entry gives the container no namespace of ours. */
uint32_t namespaces_foreign(const struct server *s, const struct target *t);

/* Refuses a target if its container could take over flamed-attach, in one of two ways:
 * - it shares our pid namespace and may trace in it, but has fewer capabilities than flamed-attach
 *   begins with;
 * - it may switch off the system call filters of a process that it traces. Then it could make
 *   flamed-attach fork in flamed's cgroup, outside of the container's limits. A process of root's
 *   outside of
 *   containers is accepted: its cgroup limits nothing. @foreign: of namespaces_foreign(). Return:
 *   0, PROC_GONE, or -EPERM with a sentence. */
int namespaces_check_tracing(const struct target *t, const struct proc_status *status,
                             uint32_t foreign, struct error *err);
