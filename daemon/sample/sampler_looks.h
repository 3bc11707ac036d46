/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads looks.bpf.c, which visits the threads of processes: sampler_program_looks of program.h, and
 * its further functions. Runs inside flamed-broker only.
 */
#pragma once

#include "base/error.h"
#include "sample/looks_abi.h"

/* Limit of open iterators of a program. Each takes 32 KiB of the kernel's memory. Two programs have
 * iterators at most, so all take 32 MiB. */
#define SAMPLER_LOOKS_MAX 512

struct sampler_looks;

/* Returns whether this kernel has BPF iterators over threads. */
bool sampler_looks_iterate(void);
/* Selects process @pid for later passes. @epoch 0: deselects it. With a new epoch, the places of
 * all its threads are written again. 0 or -errno. */
int sampler_looks_process(struct sampler_looks *l, int32_t pid, uint32_t epoch);
/* Opens the next pass. Reading *ret_fd, which the caller owns, performs the pass. 0, or -errno with
 * @err. -EDQUOT: too many of the passes before are still open. */
int sampler_looks_open(struct sampler_looks *l, const struct looks_pass *pass, int *ret_fd,
                       struct error *err);
