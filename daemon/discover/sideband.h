/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf's side-band records: forks, execs and exits of the whole node, from one ring per CPU that
 * the broker opened. Records of all CPUs are passed on in the order of their time stamps. Thread:
 * the engine's; never blocks.
 *
 * The broker guarantees for each event: type PERF_TYPE_SOFTWARE, config PERF_COUNT_SW_DUMMY,
 * sample_type exactly PERF_SAMPLE_TID | PERF_SAMPLE_TIME. The bits sample_id_all, task, comm,
 * comm_exec and use_clockid are set, with CLOCK_MONOTONIC. Each event is enabled, one per CPU, for
 * all processes.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

#define SIDEBAND_BYTES ((size_t)128 << 10) /* bytes of data of each ring, a power of two */
#define SIDEBAND_COMM_BYTES 16

enum sideband_kind {
    SIDEBAND_OTHER, /* a record of no interest */
    SIDEBAND_FORK,  /* a new process (threads are SIDEBAND_OTHER) */
    SIDEBAND_EXEC,  /* a process has a new image; comm is its name */
    SIDEBAND_EXIT,  /* the first thread of a process has ended */
    SIDEBAND_LOST,  /* the ring was full: `lost` is the number of missing records */
};

struct sideband_record {
    enum sideband_kind kind;
    int32_t host_pid, parent_pid; /* parent_pid: of FORK only */
    uint64_t time_ns;             /* CLOCK_MONOTONIC */
    uint64_t lost;
    char comm[SIDEBAND_COMM_BYTES + 1]; /* raw bytes, of EXEC only */
};

/* Parses one record: advances *data past it and fills *ret. Returns false, with *data unchanged, if
 * there is no whole and valid record. Pure. */
bool sideband_parse(struct span *data, struct sideband_record *ret);

struct sideband;

/* Returns the bytes of data of each ring, with pages of @page_bytes: whole pages, a power of
 * two. */
static inline size_t sideband_data_bytes(size_t page_bytes)
{
    return page_bytes < SIDEBAND_BYTES ? SIDEBAND_BYTES : page_bytes;
}

/* Maps the rings of @fds, and closes all of @fds in every case. Returns 0 or -errno with the
 * remedy. */
int sideband_map(const int *fds, size_t count, struct sideband **ret, struct error *err);
struct sideband *sideband_unmap(struct sideband *s);

/* Passes at most @max records to @fn, but none of kind SIDEBAND_OTHER. Returns their number. */
typedef void (*sideband_fn)(void *cookie, const struct sideband_record *r);
size_t sideband_drain(struct sideband *s, size_t max, sideband_fn fn, void *cookie);
/* Returns true if a ring was so full at the last sideband_drain() that the next must come within 50
 * ms. */
bool sideband_fills(const struct sideband *s);
/* Returns the bytes dropped because they were no records. sideband_drain() passes one SIDEBAND_LOST
 * if it drops the rest of a ring. */
uint64_t sideband_malformed(const struct sideband *s);
