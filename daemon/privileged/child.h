/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children that the broker forks before it gives up fork, and that live as long as it does. A child
 * keeps one descriptor: its end of a socket. Thread: the broker's.
 */
#pragma once

/* Forks a child called @name in /proc, which runs @run with its socket (descriptor 3) and exits
 * with the result. Return: its pid and our end in *ret_fd, owned by the caller; -errno. */
int child_start(const char *name, int (*run)(int socket), int *ret_fd);
