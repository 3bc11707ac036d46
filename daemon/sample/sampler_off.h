/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads off.bpf.c, which samples time off the processor, beside the programs of sampler.h, whose
 * maps it shares. Its sets have their numbers. Runs inside flamed-broker only.
 */
#pragma once

#include "base/error.h"
#include "event/event_kind.h"

struct sampler_off;
struct sampler_shared;

/* Checks whether this kernel can. 0; -EOPNOTSUPP with @err. Takes some ms. */
int sampler_off_check(struct error *err);
/* Loads, which takes about a second; borrows @shared. 0, or -errno with @err. Thread: any. */
int sampler_off_new(const struct sampler_shared *shared, struct sampler_off **ret,
                    struct error *err);
struct sampler_off *sampler_off_free(struct sampler_off *o);
/* Begins to sample set @set, of an event that is a wait, with @interval_ns. 0 or -errno with @err.
 */
int sampler_off_start(struct sampler_off *o, uint32_t set, enum event_kind kind,
                      uint64_t interval_ns, struct error *err);
/* Ends that; no set of this program: nothing. */
void sampler_off_stop(struct sampler_off *o, uint32_t set);
/* Returns the sets that it samples, as bits. */
uint32_t sampler_off_sets(const struct sampler_off *o);
/* As sampler_filter_process() and sampler_filter_all(); @before: the sets that wanted @pid. To be
 * called after the map has changed. */
void sampler_off_filter_process(struct sampler_off *o, int32_t pid, uint32_t before, uint32_t sets);
void sampler_off_filter_all(struct sampler_off *o, uint32_t sets);
/* Forgets what pcs mean. */
void sampler_off_forget(struct sampler_off *o);
/* Has a sample of set @set written for each wait that is not over. *ret_no: the number that these
 * records have; *ret_late: how many waits are over whose sample is still to come. 0 or -errno. */
int sampler_off_flush(struct sampler_off *o, uint32_t set, uint32_t *ret_no, uint64_t *ret_late);
/* Has those samples of set @set written whose user stack was still to be taken. Their threads wait
 * again, and were not back in their own code. 0 or -errno. */
int sampler_off_lates(struct sampler_off *o, uint32_t set);

struct sampler_off_stats {
    uint64_t samples, lost_ring, lost_other, time_ns;
};
/* Counts since it was loaded. */
void sampler_off_stats(const struct sampler_off *o, struct sampler_off_stats *ret);
