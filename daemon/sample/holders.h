/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the processes that hold given sockets, by BPF programs that walk all descriptors. Thread:
 * one at a time.
 */
#pragma once

#include "base/error.h"
#include "sample/holders_abi.h"

struct holders;

/* Loads the program; takes some ten ms. @pid_ns_fd: the pid namespace that numbers processes, -1:
 * the initial one. 0 or -errno: the kernel has no such iterator, or refuses it. */
int holders_new(int pid_ns_fd, struct holders **ret);
struct holders *holders_free(struct holders *h);

/* Finds the processes that hold the TCP sockets @keys, at most HOLDERS_SOCKETS, none of them 0.
 * @keys are cookies if @net_ns is 0. Else they are inodes of sockets that are open in the network
 * namespace with the inode @net_ns. One walk serves all of them. 0; -ETIMEDOUT after @limit_ns,
 * without any result; -errno. */
int holders_find(struct holders *h, const uint64_t *keys, size_t n, uint64_t net_ns,
                 uint64_t limit_ns);
/* Returns whether the last walk was the fast one. */
bool holders_were_fast(const struct holders *h);
/* Gets the holders of the socket at index @socket of the last walk's keys. Return: their number;
 * above HOLDERS_OF_SOCKET, @pids has only some of them. A number may have the flag
 * HOLDERS_BOUNDED. */
size_t holders_of(const struct holders *h, size_t socket, uint32_t pids[HOLDERS_OF_SOCKET]);
