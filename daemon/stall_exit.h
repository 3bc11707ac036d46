/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last line: what flamed does when its engine is stalled, or when as many readings of
 * processes as it may leave behind have not come back. It ends, so that another is started, after
 * it noted whom that one is to leave alone; and it tells systemd every second that all is well
 * (WatchdogSec=). Thread: the watch's (engine/watchdog.h).
 */
#pragma once

#include "base/macros.h"

struct standstill {
    int notes_fd;   /* borrowed: as in quarantine/quarantine.h; -1: none */
    int notify_fd;  /* borrowed: as notify_open(); -1: nobody waits */
    unsigned looks; /* in a row that found the engine standing */
};

/* @stands_s: for how long the engine is stalled; 0: it works. */
void standstill_look(void *cookie, unsigned stands_s);
/* Ends this process with @status where readings have not come back, which keep it and all that it
 * has open until the kernel lets go of them; else returns. */
void standstill_end(int status);
