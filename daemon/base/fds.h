/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closes many file descriptors at once, sets how many there may be, and reads at an offset. Thread:
 * any; safe between fork and exec.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

/* Limits of open files of flamed and of its broker; the same as in the units of systemd. */
#define FDS_WANTED 16384

/* Closes every open descriptor from @first to @last (~0u: the highest). Without close_range(2)
 * (before Linux 5.9), closes those that /proc/self/fd lists. If that cannot be read, closes each
 * number up to the limit of open files. Keeps errno. */
void fds_close(unsigned first, unsigned last);

/* Raises the process's soft limit of open files to @wanted, as far as its hard limit allows. Never
 * lowers it. Returns the soft limit, which children inherit, or 0 if it cannot be read. */
uint64_t fds_raise_limit(uint64_t wanted);

/* Reads all of @n bytes at @offset of a file. */
static inline bool fd_read_at(int fd, uint64_t offset, void *p, size_t n)
{
    return offset <= INT64_MAX && pread(fd, p, n, (off_t)offset) == (ssize_t)n;
}
