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
#include "unwind_tables/java_threads.h"
#include "unwind_tables/unwinding.h"

struct dispatch {
    struct discover *discover; /* borrowed, as all of these */
    struct unwinding *unwinding;
    struct anchors *anchors;
    struct captures *captures;
    struct recorder **recorder; /* *recorder NULL: off */
    struct naming naming;
    struct pending_samples pending; /* samples that wait for symbols */
    uint64_t pending_looked_ns;
    uint64_t sampled_ns;         /* when the last sample that was handed over was taken */
    uint64_t samples, unmatched; /* handed over; of no process that is known */
    struct delays delays;        /* from a sample to its names */
};

/* A sample of the ring: @cookie is the struct dispatch. */
void dispatch_sample(void *cookie, const struct sample_record *rec, const uint64_t *frames);
/* Hands on the samples that waited for symbols which are there now; all of those taken before
 * @all_until_ns. */
void dispatch_release(struct dispatch *d, uint64_t all_until_ns);
