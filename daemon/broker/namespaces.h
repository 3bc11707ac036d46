/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies between a target's container and us.
 */
#pragma once

#include "base/error.h"
#include "broker/target.h"
#include "proc/proc.h"

/* Returns CLONE_NEW* of the namespaces of @t that are not our own. flamed-attach joins them all, so
 * that the container gains none by what enters it. */
uint32_t namespaces_foreign(const struct server *s, const struct target *t);
