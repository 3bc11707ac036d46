/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a JVM may be attached to now: gathers what attach/preflight.h judges, touching nothing.
 * Thread: the engine's.
 */
#pragma once

#include "attach/attaching.h"
#include "attach/preflight.h"
#include "request/backend.h"

/* @v: the viewer; borrowed; NULL: one that may attach to all. */
void preflight_process(struct attaching *at, const struct viewer *v, struct process *p,
                       struct preflight *ret);
/* Returns the first step that stands against @mode (enum attach_mode); NULL: none. */
const struct preflight_step *preflight_obstacle(const struct preflight *f, uint32_t mode);
/* Returns whether what stands against it may pass by itself: the JVM is in its first moments. */
bool preflight_passes(const struct process *p, const struct preflight *f);
