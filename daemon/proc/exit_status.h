/* SPDX-License-Identifier: Apache-2.0 */
/* How a process ended, as the kernel says it of a pidfd that was opened before. Thread: any. */
#pragma once

#include "base/macros.h"
#include "proc/proc.h"

/* The number of the call, for a filter of system calls. */
#define EXIT_STATUS_CALL UINT64_C(0xc040ff0b)

/* Returns whether the process of @pidfd has ended; false for -1. Does not block. */
bool exit_has_come(int pidfd);
/* Gets how the process of @pidfd ended, as wait(2) does. True from when its parent took leave of
 * it, for as long as @pidfd is open; never before Linux 6.15. */
bool exit_status_of(int pidfd, int *ret_status);
/* Does the same of a process that its parent has not waited for, which with some parents is for
 * good, by @proc_fd of /proc. The caller may trace it: else *ret_status is 0. */
bool exit_status_of_zombie(int proc_fd, const struct proc_id *id, int *ret_status);
