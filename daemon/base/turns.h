/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scheduling of a thread that works for a moment and then sleeps, while other threads wait for it.
 * On a busy machine the scheduler may make it wait for a whole turn of another program.
 */
#pragma once

#define TURNS_SHORT_NS (100 * 1000) /* the shortest turn that the kernel accepts */

/* Asks the scheduler for shorter turns of the calling thread, so that they come sooner. The thread
 * gets no more time than before. This has no effect before Linux 6.12, nor in flamed.service: its
 * filter of system calls allows it only with the drop-in short-turns.conf.
 * Thread: any. */
void turns_short(void);
