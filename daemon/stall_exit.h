/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last line of defence: used when the engine is stalled, or when flamed may abandon no more
 * readings of processes. It notes the owner with the memory that the next flamed must not read, and
 * ends, so that another flamed is started. Until then it reports to systemd every second that all
 * is well (WatchdogSec=). Thread: the watch's (engine/watchdog.h).
 */
#pragma once

#include "base/macros.h"

struct stall_exit {
    int notes_fd;   /* borrowed: as in quarantine/quarantine.h; -1: none */
    int notify_fd;  /* borrowed: as notify_open(); -1: none waits */
    unsigned looks; /* looks in a row that found the engine stalled */
};

/* @stands_s: for how long the engine is stalled; 0: it works. */
void stall_exit_look(void *cookie, unsigned stands_s);
/* Ends this process with @status if readings have not come back; else returns. Such readings keep
 * the process and all that it has open until the kernel lets them go. */
void stall_exit_end(int status);
