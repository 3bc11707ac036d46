/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the processes that hold given sockets by BPF programs that walk the tables of descriptors.
 * It is fast, but sometimes without result. Thread: one at a time.
 */
#pragma once

#include "base/error.h"
#include "sample/holders_abi.h"

struct tables;

/* Loads the programs. @pid_ns_inum: inode of the pid namespace that numbers processes; 0: the
 * initial one. NULL: the kernel refuses them, or there is no memory. */
struct tables *tables_new(uint32_t pid_ns_inum);
struct tables *tables_free(struct tables *t);

/* Finds the holders of the TCP sockets with the cookies @keys, at most HOLDERS_SOCKETS. Return: the
 * sockets with their holders, valid until the next call. NULL: no result, because a socket was
 * closed during the walk, or because the walk took too long. */
const struct holders_socket *tables_find(struct tables *t, const uint64_t *keys, size_t n);
