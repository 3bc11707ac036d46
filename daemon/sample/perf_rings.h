/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed's side of the perf home (perf_abi.h): reads what the kernel wrote into the rings of
 * processors. Thread: the engine's.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "sample/perf_abi.h"
#include "sample/sample_abi.h"

/* A sample as the kernel copied it. */
struct perf_sample {
    /* With SAMPLE_REGISTERS the walk is still to be made; else there is no user stack. Not known:
     * the start of its process, its image, its thread's name and CPU time. */
    struct sample_record rec;
    uint64_t frames[SAMPLE_KERNEL_MAX + SAMPLE_REGISTER_COUNT]; /* as rec says */
    struct span stack; /* from the stack pointer on; valid during the call */
};

/* Reads the body of a PERF_RECORD_SAMPLE with the header's @misc. Returns false if it is none. */
bool perf_sample_parse(struct span body, uint16_t misc, struct perf_sample *ret);

struct perf_rings;

/* Makes one without rings. Returns NULL where there is no memory. */
struct perf_rings *perf_rings_new(void);
/* NULL is fine. Returns NULL. */
struct perf_rings *perf_rings_free(struct perf_rings *r);
/* Maps @count rings of @bytes each, and closes their @fds. 0 or -errno with @err. */
int perf_rings_add(struct perf_rings *r, const int *fds, size_t count, size_t bytes,
                   struct error *err);
/* Returns how many there are. */
size_t perf_rings_count(const struct perf_rings *r);

typedef void (*perf_sample_fn)(void *cookie, const struct perf_sample *s);
/* Hands on the samples of all rings, at most @max, none of them twice as many as another. Number
 * handed over. Never blocks. */
size_t perf_rings_drain(struct perf_rings *r, size_t max, perf_sample_fn fn, void *cookie);
/* Returns how many samples found a full ring, or were held back by the kernel, as it says. */
uint64_t perf_rings_lost(const struct perf_rings *r);
/* Returns how many records made no sense. */
uint64_t perf_rings_malformed(const struct perf_rings *r);
