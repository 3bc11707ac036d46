/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks every second whether the engine's thread comes to anything, on a thread of its own: all
 * others may wait for the engine.
 */
#pragma once

#include "base/macros.h"

struct watch;

/* Calls @stands_s (borrowed with @engine) every second, and hands its answer to @look (borrowed
 * with @cookie; NULL: nobody). 0 or -errno. */
int watch_start(unsigned (*stands_s)(void *engine), void *engine,
                void (*look)(void *cookie, unsigned stands_s), void *cookie, struct watch **ret);
/* NULL is fine. */
struct watch *watch_stop(struct watch *w);
