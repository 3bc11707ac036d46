/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What flamed does when a reading of a process holds its engine in the kernel and does not come
 * back: it says so, and where a supervisor starts it again it ends, after it noted whom the next
 * one is to leave alone. Thread: the watch's (capture/watch.h).
 */
#pragma once

#include "proc/touch.h"

#include <stdatomic.h>

struct standstill {
    int notes_fd; /* borrowed: as in broker/left_alone.h; -1: none */
    bool supervised;
    atomic_bool ending; /* a signal asked for it: nothing is waited for any more */
};

void standstill_held(void *cookie, const struct touch_stand *s);
