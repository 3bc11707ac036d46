/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads moments.bpf.c, which reports events of JVMs as a whole: sampler_program_moments of
 * program.h, and its further functions. Its records have a ring of their own. Its probes (uprobes)
 * are links, each an fd of this process, so any end of the process removes them from all targets.
 * Runs inside flamed-broker only.
 */
#pragma once

#include "base/error.h"
#include "sample/moment_abi.h"

struct sampler_moments;
struct uprobe_target;

struct moment_probe {
    uint64_t offset; /* in the file */
    uint32_t kind;   /* enum moment_kind */
    struct moment_place place;
};

/* Returns the ring's map fd, borrowed from @m; the ring has MOMENT_RING_BYTES. */
int sampler_moments_ring_fd(const struct sampler_moments *m);
/* Puts @probes into @target, in place of its other ones. The caller repeats the call until they are
 * in. @thread: borrowed. Return: 0: they are in. -EINPROGRESS: they are being put. -EAGAIN: no set
 * runs. -E2BIG: MOMENT_PROCESSES_MAX have probes. Other -errno. @err is set unless 0. */
int sampler_moments_probe(struct sampler_moments *m, const struct uprobe_target *target,
                          const struct moment_thread *thread, const struct moment_probe *probes,
                          size_t count, struct error *err);
/* Checks the probes of process @pid. Returns as sampler_alloc_begun(). */
int sampler_moments_begun(const struct sampler_moments *m, int32_t pid, struct error *err);
/* Removes the probes of @groups (bits of enum moment_group); all of them for MOMENT_GROUP_STOPS, or
 * 0. -ENOENT: the process has none. */
int sampler_moments_unprobe(struct sampler_moments *m, int32_t pid, uint32_t groups);
