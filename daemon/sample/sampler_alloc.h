/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads alloc.bpf.c, which samples what Java threads allocate and calls of functions, beside the
 * programs of sampler.h, whose maps it shares. Its sets have their numbers. Its probes (uprobes)
 * are links, each an fd of this process: its end, however it comes, takes them out of all targets.
 * Runs inside flamed-broker only.
 */
#pragma once

#include "base/error.h"
#include "sample/alloc_abi.h"

struct sampler_alloc;
struct sampler_shared;
struct uprobes;

struct alloc_probe {
    uint64_t offset; /* in the file */
    enum alloc_kind kind;
};

/* Checks whether this kernel can. 0; -errno with @err. */
int sampler_alloc_check(struct error *err);
/* Loads, which takes about a second; borrows @shared. 0, or -errno with @err. Thread: any. */
int sampler_alloc_new(const struct sampler_shared *shared, struct sampler_alloc **ret,
                      struct error *err);
struct sampler_alloc *sampler_alloc_free(struct sampler_alloc *a);
/* Hands probes that are to go to @detach, which is uprobes_detach() sooner or later, instead of
 * waiting for that. Until then they do nothing. */
void sampler_alloc_detach_by(struct sampler_alloc *a,
                             void (*detach)(void *ctx, struct uprobes *probes), void *ctx);
/* Begins to sample set @set, one record for each @interval bytes. */
int sampler_alloc_start(struct sampler_alloc *a, uint32_t set, uint64_t interval);
/* Ends that; no set of this program: nothing. With the last one all probes go. */
void sampler_alloc_stop(struct sampler_alloc *a, uint32_t set);
void sampler_alloc_filter_all(struct sampler_alloc *a, uint32_t sets);
/* Forgets what pcs mean. */
void sampler_alloc_forget(struct sampler_alloc *a);
/* Puts @probes into the file @fd for process @pid alone, in place of those that it has. Return: 0.
 * -EAGAIN: no set runs. -E2BIG: ALLOC_PROCESSES_MAX have probes. -errno with @err. */
int sampler_alloc_probe(struct sampler_alloc *a, int32_t pid, const struct alloc_vm *vm, int fd,
                        const struct alloc_probe *probes, size_t count, struct error *err);
/* Takes them out. -ENOENT: it has none. */
int sampler_alloc_unprobe(struct sampler_alloc *a, int32_t pid);

/* ---- probes of agents ---- */

/* Has set @set, which sampler_alloc_start() began, take what agents tell, in place of the probes in
 * libjvm.so. -ENOENT: it is none. */
int sampler_alloc_by_agents(struct sampler_alloc *a, uint32_t set);
/* Begins to sample set @set of objects that agents follow, one record for each @interval bytes. It
 * takes what agents tell, too. */
int sampler_alloc_start_live(struct sampler_alloc *a, uint32_t set, uint64_t interval);
/* Puts the probe of the agent into the file @fd, which is the agent that process @pid has, at
 * @offset. @class_klass, @collections: as of struct alloc_agent. In place of the one that it has.
 * It ends with the last set of agents. Return: 0. -EAGAIN: no such set runs. -E2BIG: too many have
 * one. -errno with @err. */
int sampler_alloc_agent(struct sampler_alloc *a, int32_t pid, uint32_t class_klass,
                        uint64_t collections, int fd, uint64_t offset, struct error *err);
/* Takes it out. -ENOENT: it has none. */
int sampler_alloc_unagent(struct sampler_alloc *a, int32_t pid);

/* ---- calls of functions ---- */

/* Begins to sample set @set, one record for each @period calls, or at a pace (EVENT_PACED).
 * sampler_alloc_stop() ends it. */
int sampler_alloc_start_calls(struct sampler_alloc *a, uint32_t set, uint64_t period);
/* Does that of blocks of malloc, one record for each @interval bytes. They are followed: there is a
 * second record when such a block is given back. */
int sampler_alloc_start_blocks(struct sampler_alloc *a, uint32_t set, uint64_t interval);
/* Has set @set count the calls of the function that begins at @offset of the file @fd, in process
 * @pid alone. In place of the one that it counts there. Return: 0. -E2BIG: ALLOC_TARGET_MAX probes
 * are in that process, or ALLOC_CALLS_MAX in all. -errno with @err. */
int sampler_alloc_call(struct sampler_alloc *a, int32_t pid, uint32_t set, int fd, uint64_t offset,
                       struct error *err);
/* Has set @set sample the bytes that calls of such a function ask for. Others of that set and
 * process stay. @argument of a set of blocks: ALLOC_MALLOC_FREE, and ALLOC_MALLOC_RESULT, which two
 * functions may have at one @offset. Return: as sampler_alloc_call(). */
int sampler_alloc_malloc(struct sampler_alloc *a, int32_t pid, uint32_t set, int fd,
                         uint64_t offset, enum alloc_malloc argument, struct error *err);
/* Gets how often process @pid called those since the first of them. -ENOENT: it has none. */
int sampler_alloc_mallocs(const struct sampler_alloc *a, int32_t pid, uint64_t *ret);
/* Ends both. -ENOENT: it counts none there. */
int sampler_alloc_uncall(struct sampler_alloc *a, int32_t pid, uint32_t set);

struct sampler_alloc_stats {
    uint64_t samples, lost_ring, lost_budget, lost_other, time_ns;
};
/* Counts since it was loaded. */
void sampler_alloc_stats(const struct sampler_alloc *a, struct sampler_alloc_stats *ret);
