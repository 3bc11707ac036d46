/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a process may start another thread, and has memory for it. HotSpot ends the whole JVM if
 * it cannot start the thread of its attach listener ("unable to create native thread"; JDK 8 to
 * 26). That is so if a limit of its container, its user, itself or the machine is reached.
 */
#pragma once

#include "broker/target/target.h"

/* What must be left, far more than the thread takes: others take some at the same time. */
#define ROOM_THREADS 16
#define ROOM_MAPPINGS 256
#define ROOM_ADDRESSES_BYTES                                                                       \
    (UINT64_C(256) << 20)                     /* a stack is reserved, and an arena of malloc       \
                                               */
#define ROOM_MEMORY_BYTES (UINT64_C(4) << 20) /* of a memory cgroup: what of it is touched */

/* 0; -EAGAIN with a sentence and a remedy; PROC_GONE; -errno. @host_uid is the target's. What is
 * not known limits nothing. Reads a few small files, and the target's maps to their end. Thread:
 * the broker's. */
int attach_headroom_check(const struct server *s, const struct target *t, uint32_t host_uid,
                          struct error *err);
/* Does the same: whether its memory cgroups have room for all of a stream's pages besides. */
int attach_headroom_check_stream(const struct server *s, const struct target *t, struct error *err);
