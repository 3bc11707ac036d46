/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of the broker that are forked before it gives up fork, and that live as long as it. Each
 * holds nothing of the broker's descriptors but its end of a socket. Thread: the broker's.
 */
#pragma once

/* Forks one that is called @name in /proc and ends with what @run returns; 3 is its socket. Its
 * pid and our end of it, which the caller owns; -errno. */
int child_start(const char *name, int (*run)(int socket), int *ret_fd);
