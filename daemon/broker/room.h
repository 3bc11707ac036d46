/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process may start another thread. HotSpot ends the whole JVM where the thread of its
 * attach listener cannot be started ("unable to create native thread"), which is so where its
 * container has a limit of processes (pids.max) that is reached, or its user (RLIMIT_NPROC), or
 * the machine.
 */
#pragma once

#include "broker/target.h"

/* Threads that must be left: others start some meanwhile. */
#define ROOM_THREADS 16

/* 0; -EAGAIN and a sentence; PROC_GONE. @host_uid is the target's. What is not known limits
 * nothing. Reads a few small files. */
int room_check(const struct server *s, const struct target *t, uint32_t host_uid,
               struct error *err);
