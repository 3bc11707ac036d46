/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples unmounted virtual threads for events of waiting: no kernel thread shows their waits. Each
 * look draws some threads at random and reads them from the memory of their JVM
 * (hotspot/thread_dump.h). A sample stands for the time since the previous look, and for threads
 * that were not drawn. Captures get some 20 looks a second, the flight recorder one. Thread: the
 * engine's.
 */
#pragma once

#include "capture/virtual_wishes.h"
#include "engine/dispatch.h"
#include "hotspot/thread_dump.h"
#include "sample/yields_abi.h"

struct virtual_waits {
    struct hotspot_dump_batch *batch;    /* owned; NULL until the first wish */
    uint64_t hashes[DUMP_BATCH_THREADS]; /* hashes of the batch's threads */
    uint32_t alike[DUMP_BATCH_THREADS];
    uint64_t frames[SAMPLE_USER_MAX];
    uint64_t paid_ns;               /* CLOCK_MONOTONIC until which past looks have used up the
                                     * looks' share of time */
    uint32_t next;                  /* the next wish in turn */
    struct virtual_wishes recorded; /* the flight recorder's wishes: all JVMs */
    uint64_t recorded_ns;           /* CLOCK_MONOTONIC of the last renewal of these wishes */
};

/* Frees the members of @v. */
void virtual_waits_deinit(struct virtual_waits *v);
/* Samples the virtual threads of @p that wait now. Each sample has the whole wait. The probes of
 * @closing have stored when it began. Sets what the look missed in @closing. Returns
 * CLOCK_MONOTONIC of the look; 0: it failed. */
uint64_t virtual_waits_close(struct virtual_waits *v, struct dispatch *d, struct process *p,
                             struct waits_closing *closing);
/* Looks at the due JVMs of @wishes and of the recorder. Hands the samples to @d. */
void virtual_waits_tick(struct virtual_waits *v, struct virtual_wishes *wishes, struct dispatch *d,
                        uint64_t now_ns);

/* ---- virtual_waits_known.c ---- */

/* Waits in a process that have not ended, from the broker. */
struct known_waits {
    struct yields_start *at; /* owned; sorted by thread */
    size_t count;
};

/* Gets the waits of process @host_pid that have not ended. Return: 0; -errno: *ret is empty. */
int known_waits_get(struct broker *b, int32_t host_pid, struct known_waits *ret);
void known_waits_deinit(struct known_waits *k);
/* Returns the time that threads which @b lacks have waited, from @from_ns until @at_ns. Leaves out
 * threads that monitors have blocked, as they may run again. */
uint64_t known_waits_unlisted(const struct known_waits *k, const struct hotspot_dump_batch *b,
                              uint64_t from_ns, uint64_t at_ns);
/* Returns the wait of thread @tid; NULL: @k has none. */
const struct yields_wait *known_waits_find(const struct known_waits *k, uint64_t tid);
