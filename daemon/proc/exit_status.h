/* SPDX-License-Identifier: Apache-2.0 */
/* How a process ended, read from a pidfd that was opened before its end. Thread: any. */
#pragma once

#include "base/macros.h"
#include "proc/proc.h"

/* Number of the ioctl, for a filter of system calls. */
#define EXIT_STATUS_CALL UINT64_C(0xc040ff0b)

/* Returns whether the process of @pidfd has ended; false if @pidfd is -1. Does not block. */
bool exit_has_come(int pidfd);
/* Gets the wait(2) status of the process of @pidfd. Returns true once the parent has reaped the
 * process. Always returns false before Linux 6.15. */
bool exit_status_of(int pidfd, int *ret_status);
/* Gets the wait(2) status of a zombie from /proc (@proc_fd): some parents never reap their
 * children. *ret_status is 0 unless the caller may trace the process. */
bool exit_status_of_zombie(int proc_fd, const struct proc_id *id, int *ret_status);
