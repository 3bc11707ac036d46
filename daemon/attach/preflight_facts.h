/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the facts that attach/preflight.h judges, without touching the JVM. Thread: the
 * engine's. */
#pragma once

#include "attach/attaching.h"
#include "attach/preflight.h"
#include "request/backend.h"

/* Gathers and judges the facts of @p. @v: the viewer; borrowed; NULL: a viewer that may attach to
 * all. */
void preflight_process(struct attaching *at, const struct viewer *v, struct process *p,
                       struct preflight *ret);
/* Returns the first step that forbids @mode (enum attach_mode); NULL: none. */
const struct preflight_step *preflight_obstacle(const struct preflight *f, uint32_t mode);
/* Returns whether the obstacle may disappear by itself, as the JVM has just started. */
bool preflight_passes(const struct process *p, const struct preflight *f);
