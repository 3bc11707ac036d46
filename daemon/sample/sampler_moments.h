/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads moments.bpf.c, which tells what JVMs do as a whole: sampler_program_moments, as program.h
 * says, and what it does besides. Its records have a ring of their own. Its probes (uprobes) are
 * links, each an fd of this process: its end, however it comes, takes them out of all targets. Runs
 * inside flamed-broker only.
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

/* Returns the ring's map fd, borrowed from @m; it has MOMENT_RING_BYTES. */
int sampler_moments_ring_fd(const struct sampler_moments *m);
/* Has @probes put into @target, in place of others that it has: to be called again until they are
 * in. @thread: borrowed. Return: 0: they are in. -EINPROGRESS: they are being put. -EAGAIN: no set
 * runs. -E2BIG: MOMENT_PROCESSES_MAX have probes. -errno. Each but the first with @err. */
int sampler_moments_probe(struct sampler_moments *m, const struct uprobe_target *target,
                          const struct moment_thread *thread, const struct moment_probe *probes,
                          size_t count, struct error *err);
/* Returns the state of the probes of process @pid: as sampler_probes_begun(). */
int sampler_moments_begun(const struct sampler_moments *m, int32_t pid, struct error *err);
/* Takes those of @groups (bits of enum moment_group) out; of MOMENT_GROUP_STOPS, or 0: all.
 * -ENOENT: it has none. */
int sampler_moments_unprobe(struct sampler_moments *m, int32_t pid, uint32_t groups);
