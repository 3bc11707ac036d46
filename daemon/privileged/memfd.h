/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anonymous files in memory, to be passed on as descriptors. Only MEMFD_PROGRAM files are
 * executable, and vm.memfd_noexec=2 forbids those. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum memfd_use { MEMFD_DATA, MEMFD_PROGRAM };

/* Creates an empty, sealable file, close-on-exec. Returns the fd, or -errno (-EACCES: executable
 * memory files are forbidden on this machine). */
int memfd_open(const char *name, enum memfd_use use);
/* Opens the file of @fd once more, with @flags of open(2), close-on-exec. A lease counts opens of a
 * file, but not the descriptor of memfd_open(). Returns the fd, or -errno. */
int memfd_open_again(int fd, int flags);
/* Writes all @n bytes of @p at the offset of @fd, any file in memory. Return: 0 or -errno. */
int memfd_write(int fd, const void *p, size_t n);
/* Seals @fd against changes and sets its offset to 0. Returns 0 or -errno. */
int memfd_seal(int fd);
/* Creates a sealed file with @n bytes of @p, at offset 0. The caller owns the fd. Return: 0 or
 * -errno. */
int memfd_sealed(const char *name, enum memfd_use use, const void *p, size_t n, int *ret_fd);
