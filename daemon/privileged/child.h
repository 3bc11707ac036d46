/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts children that the broker forks before it gives up fork. They live as long as the broker. A
 * child keeps one descriptor: its end of a socket. Thread: the broker's.
 */
#pragma once

/* Forks a child called @name in /proc, which runs @run with its socket (descriptor 3) and exits
 * with the result. Returns its pid and, in *ret_fd, the caller's end of the socket; or -errno. */
int child_start(const char *name, int (*run)(int socket), int *ret_fd);
