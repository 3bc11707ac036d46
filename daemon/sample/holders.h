/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes hold a socket, by a BPF program that walks over all descriptors. Thread: one at a
 * time.
 */
#pragma once

#include "base/error.h"

struct holders;

/* Loads the program; takes some ten ms. @pid_ns_fd: of the pid namespace in whose terms processes
 * are numbered, -1: the initial one. 0 or -errno: the kernel has no such iterator, or refuses it.
 */
int holders_new(int pid_ns_fd, struct holders **ret);
struct holders *holders_free(struct holders *h);

/* The processes that hold the socket with the number @inode. Return: how many of at most @max are
 * in @pids; -E2BIG: more; -ETIMEDOUT after @limit_ns; -errno. */
int holders_find(struct holders *h, uint64_t inode, uint64_t limit_ns, int32_t *pids, size_t max);
