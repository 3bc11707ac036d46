/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door of sample/ for flamed: the consumer of the BPF ring buffer. The loader of the programs
 * is the broker's alone (sample/sampler.h).
 */
#pragma once

#include "base/error.h"
#include "sample/moment_abi.h"
#include "sample/sample_abi.h"

struct ring;

/* Maps the ring buffer map @map_fd (borrowed; may be closed afterwards) of @bytes. 0 or -errno. */
int ring_open(int map_fd, size_t bytes, struct ring **ret, struct error *err);
struct ring *ring_close(struct ring *r);

/* @rec is valid during the call; @frames holds rec->kernel_count + rec->user_count +
 * rec->context_count words. */
typedef void (*ring_sample_fn)(void *cookie, const struct sample_record *rec,
                               const uint64_t *frames);
/* Hands every complete record to @fn, at most @max of them. Number handed over. Never blocks.
 * Malformed records are skipped and counted. Thread: the engine's. */
size_t ring_drain(struct ring *r, size_t max, ring_sample_fn fn, void *cookie);
/* @names: NULL, or of kinds that have some. Both are valid during the call. */
typedef void (*ring_moment_fn)(void *cookie, const struct moment_record *rec,
                               const struct moment_names *names);
/* Does the same of a ring of moments. */
size_t ring_drain_moments(struct ring *r, size_t max, ring_moment_fn fn, void *cookie);
uint64_t ring_malformed(const struct ring *r);
