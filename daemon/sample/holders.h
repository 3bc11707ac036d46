/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes hold some sockets, by a BPF program that walks over all descriptors. Thread: one
 * at a time.
 */
#pragma once

#include "base/error.h"
#include "sample/holders_abi.h"

struct holders;

/* Loads the program; takes some ten ms. @pid_ns_fd: of the pid namespace in whose terms processes
 * are numbered, -1: the initial one. 0 or -errno: the kernel has no such iterator, or refuses it.
 */
int holders_new(int pid_ns_fd, struct holders **ret);
struct holders *holders_free(struct holders *h);

/* Looks for the processes that hold the TCP sockets @keys, at most HOLDERS_SOCKETS, none of them 0.
 * @keys are cookies if @net_ns is 0. Else they are the inodes of sockets that are open in the
 * network namespace with the inode @net_ns. One walk is for all of them. 0; -ETIMEDOUT after
 * @limit_ns, when nothing is known; -errno. */
int holders_find(struct holders *h, const uint64_t *keys, size_t n, uint64_t net_ns,
                 uint64_t limit_ns);
/* Gets what the last look found of the socket @socket, its place in that list. Return: how many
 * processes hold it; if there are more than HOLDERS_OF_SOCKET, @pids has some of them. A number may
 * have HOLDERS_BOUNDED. */
size_t holders_of(const struct holders *h, size_t socket, uint32_t pids[HOLDERS_OF_SOCKET]);
