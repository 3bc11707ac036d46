/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the host's ids of the threads of a dump: the JVM knows only their ids inside the container.
 * Thread: any. */
#pragma once

#include "profile/thread_dump.h"

/* Sets host_tid of the threads of @dump, by /proc/@host_pid/task below @proc_fd. The host_tid of a
 * thread that is not found stays unchanged. */
void dump_find_host_tids(int proc_fd, int32_t host_pid, struct thread_dump *dump);
