/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that others wait for: it works for a moment, then sleeps. On a busy machine the
 * scheduler may let it wait for a whole turn of a program that computes.
 */
#pragma once

#define TURNS_SHORT_NS (100 * 1000) /* the least that the kernel takes */

/* Asks the scheduler for short turns of the calling thread, which come the sooner. It gets no more
 * time than before. Nothing changes where that is not possible: before Linux 6.12, and in
 * flamed.service, whose filter of system calls forbids it but for its drop-in short-turns.conf.
 * Thread: any. */
void turns_short(void);
