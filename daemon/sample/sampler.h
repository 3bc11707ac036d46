/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads the BPF programs and arms their events; runs inside flamed-broker only. Ends with its
 * process: every link and map is an fd. Thread: the broker's only one.
 */
#pragma once

#include "base/error.h"
#include "unwind/process.h"

struct sampler;

/* hidden: ticks in processes outside our pid namespace, while every process was asked for. */
struct sampler_stats {
    uint64_t samples, lost_ring, lost_other, hidden, time_ns, runs;
};

/* Loads. @err says what the kernel lacks and the remedy (no BTF, capability, verifier). @pid_ns_fd:
 * the pid namespace in whose terms processes are numbered, or -1 for the initial one. 0 or -errno.
 */
int sampler_new(int pid_ns_fd, size_t ring_bytes, struct sampler **ret, struct error *err);
struct sampler *sampler_free(struct sampler *s);
/* The ring buffer's map fd and size; borrowed from @s. */
int sampler_ring_fd(const struct sampler *s, size_t *ret_bytes);

#define SAMPLER_SETS_MAX 4
#define SAMPLER_ROWS_MAX (2u << 20) /* of the table of rows: 16 MiB */
/* Arms cpu-clock on every online CPU with a fixed period. 0; -EBUSY when all sets are taken;
 * -errno. */
int sampler_start(struct sampler *s, uint64_t period_ns, uint32_t *ret_set, struct error *err);
int sampler_stop(struct sampler *s, uint32_t set);
int sampler_filter_process(struct sampler *s, int32_t pid, uint32_t sets);
int sampler_filter_all(struct sampler *s, uint32_t sets);
/* Copies @count rows to index @first of the table of rows. -EINVAL: they do not lie in it. */
int sampler_put_rows(struct sampler *s, uint32_t first, const struct unwind_row *rows,
                     uint32_t count);
/* Describes process @pid to the unwinder; NULL forgets it. -E2BIG: too many processes. */
int sampler_put_process(struct sampler *s, int32_t pid, const struct unwind_process *p);
void sampler_stats(const struct sampler *s, struct sampler_stats *ret);
