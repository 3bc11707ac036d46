/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads yields.bpf.c, which samples waits of virtual threads: sampler_program_yields of program.h,
 * and its further functions. Its probes (uprobes) are links, each an fd of this process, so any end
 * of the process removes them from all targets. Runs inside flamed-broker only.
 */
#pragma once

#include "base/error.h"
#include "sample/yields_abi.h"

#include <stddef.h>

struct sampler_yields;
struct uprobe_target;

/* Offsets in the file, by enum yields_kind; YIELDS_PREEMPT 0: none. */
struct yields_places {
    uint64_t at[YIELDS_KINDS];
};

/* Puts probes at @places of @target, in place of its other ones. The JVMs of an @owner
 * (proc_owner()) share the room for waits. The caller repeats the call until the probes are in.
 * Return: 0: they are in. -EINPROGRESS: they are being put. -EAGAIN: no set runs. -E2BIG:
 * YIELDS_PROCESSES_MAX have probes. -errno. @err is set unless 0. */
int sampler_yields_probe(struct sampler_yields *y, const struct uprobe_target *target,
                         uint64_t owner, const struct yields_vm *vm,
                         const struct yields_places *places, struct error *err);
/* Removes the probes of process @pid, and forgets its waits. -ENOENT: it has no probes. */
int sampler_yields_unprobe(struct sampler_yields *y, int32_t pid);
/* Checks the probes of process @pid. Returns as sampler_alloc_begun(). */
int sampler_yields_begun(struct sampler_yields *y, int32_t pid, struct error *err);
/* Gets the counts of the probes of process @pid. Clears `missed`: from now on, all waits that begin
 * are known again. 0; -ENOENT: it has no probes. */
int sampler_yields_counts(struct sampler_yields *y, int32_t pid, struct yields_counts *ret);
/* Copies unfinished waits of process @pid, at most @max. *ret_count: their number. 0; -ENOENT: it
 * has no probes; -errno. */
int sampler_yields_waits(struct sampler_yields *y, int32_t pid, struct yields_start *ret,
                         size_t max, size_t *ret_count);
