/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies between a target's container and us: namespaces, and the right to trace across them.
 */
#pragma once

#include "base/error.h"
#include "broker/target/target.h"
#include "proc/proc.h"

/* Returns CLONE_NEW* of the namespaces of @t that are not our own. flamed-attach joins them all, so
 * that the container gains none by what enters it. */
uint32_t namespaces_foreign(const struct server *s, const struct target *t);

/* Refuses a target whose container could make of flamed-attach what it is not itself:
 * - it shares our pid namespace and may trace in it, but has less than what that begins with;
 * - it may switch off the filters of calls of a process that it traces. Then flamed-attach could be
 *   made to fork in flamed's cgroup, out of its own limits. A process of root's outside of
 *   containers may, too: its cgroup limits nothing. @foreign: of namespaces_foreign(). Return: 0,
 *   PROC_GONE, or -EPERM with a sentence. */
int namespaces_check_tracing(const struct target *t, const struct proc_status *status,
                             uint32_t foreign, struct error *err);
