/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a sample: whose it is, its names, and those that want it. One that waits for symbols
 * that are being read is held until they are there. Thread: the engine's.
 */
#pragma once

#include "capture/captures.h"
#include "capture/pending_samples.h"
#include "capture/recorder.h"
#include "engine/latency_histogram.h"
#include "sample/perf_rings.h"
#include "unwind_tables/java_threads.h"
#include "unwind_tables/unwinding.h"

struct dispatch {
    struct discover *discover; /* borrowed, as all of these */
    struct unwinding *unwinding;
    struct anchors *anchors;
    struct broker *broker;
    int proc_fd;        /* of /proc */
    uint32_t max_words; /* of a user stack */
    struct captures *captures;
    struct recorder **recorder; /* *recorder NULL: off */
    struct naming naming;
    struct pending_samples pending; /* samples that wait for symbols */
    uint64_t pending_looked_ns;
    struct pending_samples waiting;      /* samples whose user stack is to be walked here */
    struct hotspot_waiting_batch *batch; /* owned, scratch of that; NULL: not needed yet */
    uint64_t *frames;                    /* the same: of one sample */
    uint64_t sampled_ns;                 /* when the last sample that was handed over was taken */
    uint64_t samples, unmatched;         /* handed over; of no process that is known */
    uint64_t copies_lost;                /* there was no room to keep a copied stack */
    struct delays delays;                /* from a sample to its names */
};

/* Takes a sample of the ring: @cookie is the struct dispatch. */
void dispatch_sample(void *cookie, const struct sample_record *rec, const uint64_t *frames);
/* Takes a sample of a thread that the flight recorder looked at. @cookie: as above. */
void dispatch_look(void *cookie, const struct sample_record *rec, const uint64_t *frames);
/* Takes a sample of @p that has its stack. */
void dispatch_known(struct dispatch *d, struct process *p, const struct sample_record *rec,
                    const uint64_t *frames);
/* Hands on the samples that waited for symbols which are there now; all of those taken before
 * @all_until_ns. */
void dispatch_release(struct dispatch *d, uint64_t all_until_ns);

/* ---- waiting.c ---- */

/* Takes a sample of the perf home, and copies it, for dispatch_waiting(). @cookie: as above. */
void dispatch_copied(void *cookie, const struct perf_sample *s);

/* Copies a sample with SAMPLE_REGISTERS, for dispatch_waiting(). False: its stack cannot be walked.
 */
bool dispatch_keep_waiting(struct dispatch *d, struct process *p, const struct sample_record *rec,
                           const uint64_t *frames);
/* Walks the stacks of those that were kept, and hands them on, until @until_ns. */
void dispatch_waiting(struct dispatch *d, uint64_t until_ns);
void dispatch_waiting_deinit(struct dispatch *d);
