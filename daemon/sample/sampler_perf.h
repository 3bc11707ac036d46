/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The perf home (perf_abi.h) of the sampler: a ring for each processor and the events that write
 * into them. Inside flamed-broker only; thread: the sampler's.
 */
#pragma once

#include "sample/sampler_events.h"

struct perf_home;

/* Opens a ring on each online processor. @why: why BPF programs cannot be used; copied. 0, or
 * -errno with @err. */
int perf_home_new(const struct error *why, struct perf_home **ret, struct error *err);
/* Ends all events and frees @h, which may be NULL. Returns NULL. */
struct perf_home *perf_home_free(struct perf_home *h);
/* Checks that @event can be sampled without BPF. @period 0: at any period. 0; -EOPNOTSUPP, -ERANGE
 * with @err. */
int perf_home_check(const struct perf_home *h, const struct sampler_event *event, uint64_t period,
                    struct error *err);
/* Refuses an event that needs BPF programs. Returns -EOPNOTSUPP with @err. */
int perf_home_refuse(const struct perf_home *h, struct error *err);
/* Opens @event for set @set on @cpu; the event writes samples from then on. Return: an fd that the
 * caller owns. -ENODEV: the processor is offline. -errno with @err. */
int perf_home_open(struct perf_home *h, const struct sampler_event *event, uint32_t cpu,
                   uint32_t set, uint64_t period, struct error *err);
/* Gets the fd, borrowed, of the ring @i, in the order in which processors came online; -ENOENT:
 * there is no such ring. */
int perf_home_ring(const struct perf_home *h, size_t i);
/* Returns why a processor that came online has no ring, the last time; code 0: all have one. */
const struct error *perf_home_problem(const struct perf_home *h);
/* Returns the bytes of each ring, without its first page: a power of two. */
size_t perf_home_ring_bytes(const struct perf_home *h);
/* Returns why BPF programs are not in use. */
const struct error *perf_home_why(const struct perf_home *h);
