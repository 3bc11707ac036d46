/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads off.bpf.c, which samples time off the processor: sampler_program_off of program.h, and its
 * further functions. Runs inside flamed-broker only.
 */
#pragma once

#include <stdint.h>

struct sampler_off;

/* Writes a sample of set @set for each unfinished wait. *ret_no: the number in these records;
 * *ret_late: the number of finished waits with a pending sample. 0 or -errno. */
int sampler_off_flush(struct sampler_off *o, uint32_t set, uint32_t *ret_no, uint64_t *ret_late);
/* Writes the samples of set @set with a pending user stack, of threads that wait again before they
 * returned to their own code. 0 or -errno. */
int sampler_off_lates(struct sampler_off *o, uint32_t set);
