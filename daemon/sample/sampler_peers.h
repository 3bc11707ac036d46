/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what threads wait for: the system call, and the peer of a socket, by a BPF program that
 * walks all threads. Thread: one at a time.
 */
#pragma once

#include "base/error.h"
#include "sample/peers_abi.h"

struct peers_walk;

/* Loads the program; takes some ten ms. @pid_ns_fd: the pid namespace that numbers processes, -1:
 * the initial one. 0 or -errno: the kernel has no such iterator, or refuses it. */
int peers_walk_new(int pid_ns_fd, struct peers_walk **ret);
struct peers_walk *peers_walk_free(struct peers_walk *w);
/* Finds the @n threads @wanted of process @host_pid, at most PEERS_MAX. Takes some 100 ns for each
 * thread of the machine. Writes one of @ret for each; host_tid 0: it does not wait in a system
 * call. 0; -ETIMEDOUT after @limit_ns; -errno. */
int peers_walk_find(struct peers_walk *w, int32_t host_pid, const struct peers_wanted *wanted,
                    size_t n, uint64_t limit_ns, struct waiting_peer ret[PEERS_MAX]);
