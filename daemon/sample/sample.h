/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of sample/ for flamed: the consumer of the BPF ring buffer. The interface for the
 * broker, which loads the programs, is sample/sampler.h.
 */
#pragma once

#include "base/error.h"
#include "sample/moment_abi.h"
#include "sample/sample_abi.h"

struct ring;

/* Maps the ring buffer map @map_fd (borrowed; may be closed afterwards) of @bytes. 0 or -errno. */
int ring_open(int map_fd, size_t bytes, struct ring **ret, struct error *err);
struct ring *ring_close(struct ring *r);

/* Takes a record. @rec is valid during the call; @frames holds rec->kernel_count + rec->user_count
 * + rec->context_count words. */
typedef void (*ring_sample_fn)(void *cookie, const struct sample_record *rec,
                               const uint64_t *frames);
/* Passes every complete record to @fn, at most @max. Returns their number. Never blocks. Skips and
 * counts malformed records. Thread: the engine's. */
size_t ring_drain(struct ring *r, size_t max, ring_sample_fn fn, void *cookie);
/* Takes a moment. @names: NULL unless its kind has names. Both are valid during the call. */
typedef void (*ring_moment_fn)(void *cookie, const struct moment_record *rec,
                               const struct moment_names *names);
/* Does the same as ring_drain() for a ring of moments. */
size_t ring_drain_moments(struct ring *r, size_t max, ring_moment_fn fn, void *cookie);
uint64_t ring_malformed(const struct ring *r);
