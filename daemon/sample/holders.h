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

/* Looks for the processes that hold the sockets with the numbers @inodes, at most HOLDERS_SOCKETS.
 * One walk is for all of them. 0; -ETIMEDOUT after @limit_ns, when nothing is known; -errno. */
int holders_find(struct holders *h, const uint64_t *inodes, size_t n, uint64_t limit_ns);
/* Gets what the last look found of the socket @socket, its place in that list. Return: how many
 * processes hold it; if there are more than HOLDERS_OF_SOCKET, @pids has some of them. */
size_t holders_of(const struct holders *h, size_t socket, int32_t pids[HOLDERS_OF_SOCKET]);
