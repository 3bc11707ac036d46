/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the Java threads of a VM have allocated on its heap, added up over looks at them.
 * HotSpot counts it for each thread (Thread::_allocated_bytes and what is used of its buffer), and
 * for none that has ended. So what a thread allocates behind the last look at it is missing, and
 * all of a thread that begins and ends between two looks. Pure; thread: the owner's.
 */
#pragma once

#include "base/array.h"
#include "base/cleanup.h"

#define ALLOCATED_THREADS_MAX 16384
#define ALLOCATED_BYTES_MAX (UINT64_C(1) << 50) /* of one thread: more makes no sense */

struct allocated_thread {
    uint64_t thread; /* its JavaThread */
    uint64_t bytes;  /* the most that it was seen to have allocated */
    int32_t tid;     /* another one in its place has another */
    bool missed;     /* at the last look */
};

struct allocated {
    struct allocated_thread *threads; /* owned; ascending by thread and tid */
    size_t count;
    uint64_t bytes;   /* of all that were seen */
    uint64_t at_ns;   /* CLOCK_MONOTONIC of the last look; 0: there was none */
    uint64_t next_ns; /* no look before */
    uint64_t looks;
};

/* Adds what the @count threads in @now, in any order, have allocated since the look before. What
 * each had before the first look counts, too. A thread that is missing in one look is still known
 * in the next. Takes @now, which malloc() made. */
void allocated_add(struct allocated *a, struct allocated_thread *now, size_t count);
