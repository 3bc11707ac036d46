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
 * (proc_owner()) share the room for waits. The caller repeats it until they are in. Return: 0: they
 * are. -EINPROGRESS: they are being put. -EAGAIN: no set runs. -E2BIG: YIELDS_PROCESSES_MAX have
 * probes. -errno. Each but the first with @err. */
int sampler_yields_probe(struct sampler_yields *y, const struct uprobe_target *target,
                         uint64_t owner, const struct yields_vm *vm,
                         const struct yields_places *places, struct error *err);
/* Removes them, and forgets the waits. -ENOENT: the process has none. */
int sampler_yields_unprobe(struct sampler_yields *y, int32_t pid);
/* Checks the probes of process @pid, as sampler_alloc_begun() does. */
int sampler_yields_begun(struct sampler_yields *y, int32_t pid, struct error *err);
/* Gets the counts of the probes of process @pid. If a wait was missed, those that are stored from
 * now on are all of the later ones. 0; -ENOENT: it has no probes. */
int sampler_yields_counts(struct sampler_yields *y, int32_t pid, struct yields_counts *ret);
/* Copies the waits of process @pid that go on: at most @max. *ret_count: their number. 0; -ENOENT:
 * it has no probes; -errno. */
int sampler_yields_waits(struct sampler_yields *y, int32_t pid, struct yields_start *ret,
                         size_t max, size_t *ret_count);
