/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads off.bpf.c, which samples time off the processor: sampler_program_off, as program.h says,
 * and what it does besides. Runs inside flamed-broker only.
 */
#pragma once

#include <stdint.h>

struct sampler_off;

/* Has a sample of set @set written for each wait that is not over. *ret_no: the number that these
 * records have; *ret_late: how many waits are over whose sample is still to come. 0 or -errno. */
int sampler_off_flush(struct sampler_off *o, uint32_t set, uint32_t *ret_no, uint64_t *ret_late);
/* Has those samples of set @set written whose user stack was still to be taken. Their threads wait
 * again, and were not back in their own code. 0 or -errno. */
int sampler_off_lates(struct sampler_off *o, uint32_t set);
