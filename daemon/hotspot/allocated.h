/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that the Java threads of a VM have allocated on its heap, added up over looks at them.
 * HotSpot counts them for each live thread (Thread::_allocated_bytes and the used part of its
 * buffer). It keeps no count of an ended thread. So the sum lacks what a thread allocated after the
 * last look at it, and threads that began and ended between two looks. Pure; thread: the owner's.
 */
#pragma once

#include "base/array.h"
#include "base/cleanup.h"

#define ALLOCATED_THREADS_MAX 16384
#define ALLOCATED_BYTES_MAX (UINT64_C(1) << 50) /* limit for one thread: more is implausible */

struct allocated_thread {
    uint64_t thread; /* address of its JavaThread */
    uint64_t bytes;  /* the greatest number of all looks */
    int32_t tid;     /* another tid: an earlier JavaThread had this address */
    bool missed;     /* true: the last look did not find it */
};

struct allocated {
    struct allocated_thread *threads; /* owned; ascending by thread and tid */
    size_t count;
    uint64_t bytes;   /* of all threads seen */
    uint64_t at_ns;   /* CLOCK_MONOTONIC of the last look; 0: there was none */
    uint64_t next_ns; /* earliest time of the next look */
    uint64_t looks;
};

/* Adds what the @count threads in @now, in any order, have allocated since the last look. Bytes
 * from before the first look count, too. A thread that is missing in one look stays in the list
 * until the next look. Takes over @now, which is from malloc(). */
void allocated_add(struct allocated *a, struct allocated_thread *now, size_t count);
