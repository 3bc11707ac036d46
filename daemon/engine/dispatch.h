/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of a sample: find its process, name it, hand it to the captures and the recorder that
 * take it. While symbols of its files are being read, the sample is held. Thread: the engine's.
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
    struct discover *discover; /* all pointers are borrowed unless said otherwise */
    struct unwinding *unwinding;
    struct anchors *anchors;
    struct broker *broker;
    int proc_fd;        /* fd of /proc */
    uint32_t max_words; /* words of a user stack */
    struct captures *captures;
    struct recorder **recorder; /* *recorder NULL: off */
    struct naming naming;
    struct pending_samples pending; /* held samples: their symbols are being read */
    uint64_t pending_looked_ns;
    struct pending_samples waiting;      /* samples with a user stack that the engine walks */
    struct hotspot_waiting_batch *batch; /* owned, scratch of `waiting`; NULL: not needed yet */
    uint64_t *frames;                    /* owned, scratch: the frames of one sample */
    uint64_t sampled_ns;                 /* samples up to this CLOCK_MONOTONIC time are read */
    uint64_t samples, unmatched; /* samples from the ring; samples without a known process */
    uint64_t copies_lost;        /* copied stacks without room */
    struct delays delays;        /* delays from a sample to its names */
};

/* Takes a sample from the ring. @cookie: the struct dispatch. */
void dispatch_sample(void *cookie, const struct sample_record *rec, const uint64_t *frames);
/* Takes a sample of a thread from a pass of the flight recorder. @cookie: the struct dispatch. */
void dispatch_look(void *cookie, const struct sample_record *rec, const uint64_t *frames);
/* Takes a sample of @p with its stack walked. */
void dispatch_known(struct dispatch *d, struct process *p, const struct sample_record *rec,
                    const uint64_t *frames);
/* Delivers the held samples with all symbols read, and every held sample taken before
 * @all_until_ns. */
void dispatch_release(struct dispatch *d, uint64_t all_until_ns);

/* ---- waiting.c ---- */

/* Copies a sample of the perf rings for dispatch_waiting(). @cookie: the struct dispatch. */
void dispatch_copied(void *cookie, const struct perf_sample *s);

/* Copies a sample with SAMPLE_REGISTERS for dispatch_waiting(). Returns false if its stack cannot
 * be walked, or there is no room. */
bool dispatch_keep_waiting(struct dispatch *d, struct process *p, const struct sample_record *rec,
                           const uint64_t *frames);
/* Walks the stacks of the copied samples and delivers them, until @until_ns. */
void dispatch_waiting(struct dispatch *d, uint64_t until_ns);
/* Walks and delivers the samples of dispatch_look() at once. @cookie: the struct dispatch. */
void dispatch_walk_looks(void *cookie);
void dispatch_waiting_deinit(struct dispatch *d);
