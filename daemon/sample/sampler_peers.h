/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads peers.bpf.c, which finds what threads wait for: sampler_program_peers of program.h, and its
 * further function. Runs inside flamed-broker only.
 */
#pragma once

#include "base/error.h"
#include "sample/peers_abi.h"

struct sampler_peers;

/* Finds the @n threads @wanted of process @host_pid, at most PEERS_MAX, and the peers of the
 * sockets wanted. Takes some 100 ns for each thread of the machine. Writes one of @ret for each
 * thread; host_tid 0: the thread does not wait in a system call. 0; -ETIMEDOUT after @limit_ns;
 * -errno. */
int sampler_peers_find(struct sampler_peers *p, int32_t host_pid, const struct peers_wanted *wanted,
                       size_t n, uint64_t limit_ns, struct waiting_peer ret[PEERS_MAX]);
