/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of virtual threads that are not mounted, for events of waiting: no thread of the kernel
 * shows them. At each look some are drawn by chance, and read in the memory of their JVM
 * (hotspot/thread_dump.h). Each stands for the time since the look before, and for the threads that
 * were not drawn. Captures have some 20 looks a second, the flight recorder one. Thread: the
 * engine's.
 */
#pragma once

#include "capture/virtual_wishes.h"
#include "engine/dispatch.h"
#include "hotspot/thread_dump.h"

struct virtual_waits {
    struct hotspot_dump_batch *batch;    /* owned; NULL until asked for */
    uint64_t hashes[DUMP_BATCH_THREADS]; /* of its threads */
    uint32_t alike[DUMP_BATCH_THREADS];
    uint64_t frames[SAMPLE_USER_MAX];
    uint64_t paid_ns;               /* CLOCK_MONOTONIC, until when the share of looks is used up */
    uint32_t next;                  /* wish whose turn it is */
    struct virtual_wishes recorded; /* the flight recorder's: of all JVMs, */
    uint64_t recorded_ns;           /* CLOCK_MONOTONIC, when they were renewed */
};

/* Frees what it holds. */
void virtual_waits_deinit(struct virtual_waits *v);
/* Looks at the JVMs of @wishes for which it is time, and hands samples to @d. */
void virtual_waits_tick(struct virtual_waits *v, struct virtual_wishes *wishes, struct dispatch *d,
                        uint64_t now_ns);
