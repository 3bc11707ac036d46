/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last line: what flamed does when its engine is stalled, or when it may abandon no more
 * readings of processes. It notes whose memory the next flamed is not to read, and ends, so that
 * another is started. Until then it tells systemd every second that all is well (WatchdogSec=).
 * Thread: the watch's (engine/watchdog.h).
 */
#pragma once

#include "base/macros.h"

struct stall_exit {
    int notes_fd;   /* borrowed: as in quarantine/quarantine.h; -1: none */
    int notify_fd;  /* borrowed: as notify_open(); -1: none waits */
    unsigned looks; /* in a row that found the engine standing */
};

/* @stands_s: for how long the engine is stalled; 0: it works. */
void stall_exit_look(void *cookie, unsigned stands_s);
/* Ends this process with @status if readings have not come back; else returns. Such readings keep
 * the process and all that it has open until the kernel lets them go. */
void stall_exit_end(int status);
