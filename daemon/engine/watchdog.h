/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks every second whether the engine makes progress. It has its own thread, as all other
 * threads may wait for the engine.
 */
#pragma once

#include "base/macros.h"

struct watch;

/* Calls @stands_s with @engine every second, and @look with @cookie and its result. All are
 * borrowed; @look may be NULL. Returns 0 or -errno. */
int watch_start(unsigned (*stands_s)(void *engine), void *engine,
                void (*look)(void *cookie, unsigned stands_s), void *cookie, struct watch **ret);
/* Ends the thread. Accepts NULL. Returns NULL. */
struct watch *watch_stop(struct watch *w);
