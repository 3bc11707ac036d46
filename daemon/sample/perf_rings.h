/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flamed's side of the perf home (perf_abi.h): reads the rings of processors, which the kernel
 * writes. Thread: the engine's.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"
#include "sample/perf_abi.h"
#include "sample/sample_abi.h"

/* A sample as the kernel copied it. */
struct perf_sample {
    /* With SAMPLE_REGISTERS the walk is pending; else there is no user stack. The start of the
     * process, its image, and the thread's name and CPU time are unknown. */
    struct sample_record rec;
    uint64_t
        frames[SAMPLE_KERNEL_MAX + SAMPLE_REGISTER_COUNT]; /* kernel_count and user_count words */
    struct span stack; /* from the stack pointer on; valid during the call */
};

/* Parses the body of a PERF_RECORD_SAMPLE with the header's @misc. Returns false if it is
 * malformed. */
bool perf_sample_parse(struct span body, uint16_t misc, struct perf_sample *ret);

struct perf_rings;

/* Makes a struct without rings. Returns NULL if memory is short. */
struct perf_rings *perf_rings_new(void);
/* Frees @r, which may be NULL. Returns NULL. */
struct perf_rings *perf_rings_free(struct perf_rings *r);
/* Maps @count rings of @bytes each, and closes their @fds. 0 or -errno with @err. */
int perf_rings_add(struct perf_rings *r, const int *fds, size_t count, size_t bytes,
                   struct error *err);
/* Returns the number of rings. */
size_t perf_rings_count(const struct perf_rings *r);

typedef void (*perf_sample_fn)(void *cookie, const struct perf_sample *s);
/* Passes samples of all rings to @fn, at most @max, in turns, so that each ring is served equally
 * often. Returns their number. Never blocks. */
size_t perf_rings_drain(struct perf_rings *r, size_t max, perf_sample_fn fn, void *cookie);
/* Returns the time (CLOCK_MONOTONIC) before which all samples are drained; UINT64_MAX: all samples
 * are drained. Samples are in the order of time within one ring only. */
uint64_t perf_rings_taken_ns(struct perf_rings *r);
/* Returns how many samples the kernel reported as lost, because a ring was full or by
 * throttling. */
uint64_t perf_rings_lost(const struct perf_rings *r);
/* Returns the number of malformed records. */
uint64_t perf_rings_malformed(const struct perf_rings *r);
