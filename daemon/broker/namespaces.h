/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies between a target's container and us: namespaces, and the right to trace across them.
 */
#pragma once

#include "base/error.h"
#include "broker/target.h"
#include "proc/proc.h"

/* Returns CLONE_NEW* of the namespaces of @t that are not our own. flamed-attach joins them all, so
 * that the container gains none by what enters it. */
uint32_t namespaces_foreign(const struct server *s, const struct target *t);

/* Refuses a target whose container could take flamed-attach before that has given up its rights:
 * it shares our pid namespace and may trace in it, but has less than those rights itself.
 * @foreign: of namespaces_foreign(). Return: 0, or -EPERM with a sentence. */
int namespaces_check_tracing(const struct target *t, const struct proc_status *status,
                             uint32_t foreign, struct error *err);
