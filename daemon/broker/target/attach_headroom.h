/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that a process may start another thread, and has memory for it. HotSpot ends the whole JVM
 * if it cannot start the thread of its attach listener ("unable to create native thread"; JDK 8 to
 * 26). That happens at a limit of its container, its user, itself or the machine.
 */
#pragma once

#include "broker/target/target.h"

/* Required headroom: far more than the thread needs, because other processes take some at the same
 * time. */
#define ROOM_THREADS 16
#define ROOM_MAPPINGS 256
#define ROOM_ADDRESSES_BYTES (UINT64_C(256) << 20) /* reserved: a stack, an arena of malloc */
/* memory that the thread touches */
#define ROOM_MEMORY_BYTES (UINT64_C(4) << 20)

/* Checks that the target @t, with user @host_uid and this many mappings, has room for another
 * thread. Reads a few small files. A limit that is not there counts as no limit. Return: 0; -EAGAIN
 * with a sentence and a remedy; PROC_GONE; -errno, also if the cgroups cannot be found. Thread: the
 * broker's. */
int attach_headroom_check(const struct server *s, const struct target *t, uint32_t host_uid,
                          uint64_t mappings, struct error *err);
/* Checks that the target's memory cgroups have room for all of a stream's pages, too. Return: as
 * attach_headroom_check(). */
int attach_headroom_check_stream(const struct server *s, const struct target *t, struct error *err);
