/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads looks.bpf.c, which looks at the threads of processes: sampler_program_looks, as program.h
 * says, and what it does besides. Runs inside flamed-broker only.
 */
#pragma once

#include "base/error.h"
#include "sample/looks_abi.h"

struct sampler_looks;

/* Has passes look at process @pid from now on. @epoch: 0: no more; else another one than before
 * has all places of its threads written again. 0 or -errno. */
int sampler_looks_process(struct sampler_looks *l, int32_t pid, uint32_t epoch);
/* Opens the next pass: reading *ret_fd, which is the caller's, makes it. 0 or -errno. */
int sampler_looks_open(struct sampler_looks *l, const struct looks_pass *pass, int *ret_fd);
