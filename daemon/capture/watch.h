/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks every second whether a reading of a process holds the engine's thread (proc/touch.h), on a
 * thread of its own: all others may wait for the engine.
 */
#pragma once

#include "proc/touch.h"

struct watch;

/* Calls @held (borrowed with @cookie; NULL: nobody) at each look that finds it held. Borrows
 * @proc_fd. 0 or -errno. */
int watch_start(int proc_fd, void (*held)(void *cookie, const struct touch_stand *s), void *cookie,
                struct watch **ret);
/* NULL is fine. */
struct watch *watch_stop(struct watch *w);
