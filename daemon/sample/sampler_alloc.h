/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads alloc.bpf.c, which samples allocations of Java threads and calls of functions:
 * sampler_program_alloc of program.h, and its further functions. Its probes (uprobes) are links,
 * each an fd of this process, so any end of the process removes them from all targets. Runs inside
 * flamed-broker only.
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

/* Puts @probes into @target, in place of its other ones. The caller repeats the call until they are
 * in. Return: 0: they are in. -EINPROGRESS: they are being put. -EAGAIN: no set runs. -E2BIG:
 * ALLOC_PROCESSES_MAX have probes. -errno. @err is set unless 0. */
int sampler_alloc_probe(struct sampler_alloc *a, const struct uprobe_target *target,
                        const struct alloc_vm *vm, const struct alloc_probe *probes, size_t count,
                        struct error *err);
/* Removes the probes of process @pid. -ENOENT: the process has none. */
int sampler_alloc_unprobe(struct sampler_alloc *a, int32_t pid);
/* Gets how often the probes of sampler_alloc_probe() in process @pid were hit. -ENOENT: it has
 * none. */
int sampler_alloc_hits(const struct sampler_alloc *a, int32_t pid, uint64_t *ret);

/* ---- probes of agents ---- */

/* Lets set @set, of event alloc, sample by agents in place of probes in libjvm.so. -ENOENT: there
 * is no such set. */
int sampler_alloc_by_agents(struct sampler_alloc *a, uint32_t set);
/* Puts a probe at @offset of @target, the file of the agent in the process. @class_klass,
 * @collections: as in struct alloc_agent. The probe ends with the last set of agents. Return: as
 * sampler_alloc_probe(). */
int sampler_alloc_agent(struct sampler_alloc *a, const struct uprobe_target *target,
                        uint32_t class_klass, uint64_t collections, uint64_t offset,
                        struct error *err);
/* Removes the agent's probe of process @pid. -ENOENT: the process has none. */
int sampler_alloc_unagent(struct sampler_alloc *a, int32_t pid);

/* Checks that all probes of process @pid are in, also those of the functions below. 0.
 * -EINPROGRESS; -ENOENT: none were requested; other -errno: some failed. @err is set unless 0. */
int sampler_alloc_begun(const struct sampler_alloc *a, int32_t pid, struct error *err);

/* ---- calls of functions ---- */

/* Has set @set count the calls of the function that begins at @offset of @target, in place of
 * another function there. The caller repeats the call until the probe is in. Return: 0: it is in.
 * -EINPROGRESS: it is being put. -EAGAIN: no such set runs. -E2BIG: ALLOC_TARGET_MAX probes are in
 * that process, or ALLOC_CALLS_MAX in all. -errno. @err is set unless 0. */
int sampler_alloc_call(struct sampler_alloc *a, const struct uprobe_target *target, uint32_t set,
                       uint64_t offset, struct error *err);
/* Lets set @set sample the bytes that calls of the function at @offset request. Other functions of
 * that set and process stay. In a set that tracks blocks, @argument may be ALLOC_MALLOC_FREE or
 * ALLOC_MALLOC_RESULT; two functions may share an @offset for the latter. Return: as
 * sampler_alloc_call(). */
int sampler_alloc_malloc(struct sampler_alloc *a, const struct uprobe_target *target, uint32_t set,
                         uint64_t offset, enum alloc_malloc argument, struct error *err);
/* Removes the probe of sampler_alloc_malloc() for @set at @offset of @target. -ENOENT: there is
 * none. */
int sampler_alloc_unmalloc(struct sampler_alloc *a, const struct uprobe_target *target,
                           uint32_t set, uint64_t offset);
/* Gets how often process @pid called functions of sampler_alloc_malloc() since the first was
 * probed. -ENOENT: it has none. */
int sampler_alloc_mallocs(const struct sampler_alloc *a, int32_t pid, uint64_t *ret);
/* Removes all probes of calls of @set in process @pid. -ENOENT: there are none. */
int sampler_alloc_uncall(struct sampler_alloc *a, int32_t pid, uint32_t set);
