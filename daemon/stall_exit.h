/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last line of defence: ends flamed if the engine is stalled, or if too many readings of
 * processes have not returned. Before that it notes the owners that the next flamed must
 * quarantine. While the engine works, it reports that to systemd every second (WatchdogSec=).
 * Thread: the watch's (engine/watchdog.h).
 */
#pragma once

#include "base/macros.h"

struct stall_exit {
    int notes_fd;   /* borrowed: a file of notes as in quarantine/quarantine.h; -1: none */
    int notify_fd;  /* borrowed: as from notify_open(); -1: no service manager waits */
    unsigned looks; /* successive checks that found the engine stalled */
};

/* Checks once per second. @stands_s: seconds for which the engine has been stalled; 0: it works. */
void stall_exit_look(void *cookie, unsigned stands_s);
/* Ends this process with @status if readings of processes have not returned; else returns. Such
 * readings keep the process and all its open files until the kernel ends them. */
void stall_exit_end(int status);
