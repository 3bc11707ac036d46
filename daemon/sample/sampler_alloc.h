/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads alloc.bpf.c, which samples what Java threads allocate and calls of functions:
 * sampler_program_alloc, as program.h says, and what it does besides. Its probes (uprobes) are
 * links, each an fd of this process: its end, however it comes, takes them out of all targets. Runs
 * inside flamed-broker only.
 */
#pragma once

#include "base/error.h"
#include "sample/alloc_abi.h"

struct sampler_alloc;
struct uprobe_target;

struct alloc_probe {
    uint64_t offset; /* in the file */
    enum alloc_kind kind;
};

/* Has @probes put into @target, in place of others that it has: to be called again until they are
 * in. Return: 0: they are. -EINPROGRESS: they are being put. -EAGAIN: no set runs. -E2BIG:
 * ALLOC_PROCESSES_MAX have probes. -errno. Each but the first with @err. */
int sampler_alloc_probe(struct sampler_alloc *a, const struct uprobe_target *target,
                        const struct alloc_vm *vm, const struct alloc_probe *probes, size_t count,
                        struct error *err);
/* Takes them out. -ENOENT: it has none. */
int sampler_alloc_unprobe(struct sampler_alloc *a, int32_t pid);

/* ---- probes of agents ---- */

/* Has set @set, of event alloc, take what agents report, in place of the probes in
 * libjvm.so. -ENOENT: it is none. */
int sampler_alloc_by_agents(struct sampler_alloc *a, uint32_t set);
/* Has the probe of the agent put at @offset of @target, the agent that the process has.
 * @class_klass, @collections: as in struct alloc_agent. It ends with the last set of agents.
 * Return: as sampler_alloc_probe(). */
int sampler_alloc_agent(struct sampler_alloc *a, const struct uprobe_target *target,
                        uint32_t class_klass, uint64_t collections, uint64_t offset,
                        struct error *err);
/* Takes it out. -ENOENT: it has none. */
int sampler_alloc_unagent(struct sampler_alloc *a, int32_t pid);

/* Returns the state of all probes of process @pid, also those below: as sampler_probes_begun(). */
int sampler_alloc_begun(const struct sampler_alloc *a, int32_t pid, struct error *err);

/* ---- calls of functions ---- */

/* Has set @set count the calls of the function that begins at @offset of @target, in place of
 * another that it counts there. To be called again until it does. Return: 0: it does. -EINPROGRESS:
 * the probe is being put. -EAGAIN: no such set runs. -E2BIG: ALLOC_TARGET_MAX probes are in that
 * process, or ALLOC_CALLS_MAX in all. -errno. Each but the first with @err. */
int sampler_alloc_call(struct sampler_alloc *a, const struct uprobe_target *target, uint32_t set,
                       uint64_t offset, struct error *err);
/* Has set @set sample the bytes that calls of such a function ask for. Others of that set and
 * process stay. @argument of a set of blocks: ALLOC_MALLOC_FREE, and ALLOC_MALLOC_RESULT, which two
 * functions may have at one @offset. Return: as sampler_alloc_call(). */
int sampler_alloc_malloc(struct sampler_alloc *a, const struct uprobe_target *target, uint32_t set,
                         uint64_t offset, enum alloc_malloc argument, struct error *err);
/* Takes out the probe of @set at @offset of @target, which that had put. -ENOENT: there is none. */
int sampler_alloc_unmalloc(struct sampler_alloc *a, const struct uprobe_target *target,
                           uint32_t set, uint64_t offset);
/* Gets how often process @pid called those since the first of them. -ENOENT: it has none. */
int sampler_alloc_mallocs(const struct sampler_alloc *a, int32_t pid, uint64_t *ret);
/* Ends both. -ENOENT: it counts none there. */
int sampler_alloc_uncall(struct sampler_alloc *a, int32_t pid, uint32_t set);
