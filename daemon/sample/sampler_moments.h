/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads moments.bpf.c, which tells what JVMs do as a whole, beside the programs of sampler.h, whose
 * maps it shares. Its records have a ring of their own. Its probes (uprobes) are links, each an fd
 * of this process: its end, however it comes, takes them out of all targets. Runs inside
 * flamed-broker only.
 */
#pragma once

#include "base/error.h"
#include "sample/moment_abi.h"

struct bpf_program;
struct sampler_moments;
struct sampler_shared;
struct uprobes;

struct moment_probe {
    uint64_t offset; /* in the file */
    uint32_t kind;   /* enum moment_kind */
    struct moment_place place;
};

/* Loads, which takes about a second; borrows @shared. 0, or -errno with @err. Thread: any. */
int sampler_moments_new(const struct sampler_shared *shared, struct sampler_moments **ret,
                        struct error *err);
struct sampler_moments *sampler_moments_free(struct sampler_moments *m);
/* Returns the ring's map fd, borrowed from @m; it has MOMENT_RING_BYTES. */
int sampler_moments_ring_fd(const struct sampler_moments *m);
/* Returns the program of the ticks that sample late threads that run. */
struct bpf_program *sampler_moments_tick(struct sampler_moments *m);
/* Set @set, whose ticks are @period_ns apart, samples late threads from now on. 0, or -errno with
 * @err. */
int sampler_moments_start(struct sampler_moments *m, uint32_t set, uint64_t period_ns,
                          struct error *err);
/* Set @set samples none any more; with the last one all probes go. */
void sampler_moments_stop(struct sampler_moments *m, uint32_t set);
/* Hands probes that are to go to @detach, which is uprobes_detach() sooner or later, instead of
 * waiting for that. */
void sampler_moments_detach_by(struct sampler_moments *m,
                               void (*detach)(void *ctx, struct uprobes *probes), void *ctx);
void sampler_moments_filter_all(struct sampler_moments *m, uint32_t sets);
/* Forgets what pcs mean. */
void sampler_moments_forget(struct sampler_moments *m);
/* Puts @probes into the file @fd for process @pid alone, in place of those that it has.
 * @at: borrowed. Return: 0. -EAGAIN: no set runs. -E2BIG:
 * MOMENT_PROCESSES_MAX have probes. -errno with @err. */
int sampler_moments_probe(struct sampler_moments *m, int32_t pid, const struct moment_offsets *at,
                          int fd, const struct moment_probe *probes, size_t count,
                          struct error *err);
/* Takes those of @groups (bits of enum moment_group) out; of MOMENT_GROUP_STOPS, or 0: all.
 * -ENOENT: it has none. */
int sampler_moments_unprobe(struct sampler_moments *m, int32_t pid, uint32_t groups);

struct sampler_moments_stats {
    uint64_t samples, lost_ring, lost_budget, lost_other, time_ns;
};
/* Counts since it was loaded. */
void sampler_moments_stats(const struct sampler_moments *m, struct sampler_moments_stats *ret);
