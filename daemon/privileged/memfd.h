/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are nothing but memory, which can be passed on as descriptors. Never executable unless
 * that is what they are for: where vm.memfd_noexec is 2 no other is allowed. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum memfd_use { MEMFD_DATA, MEMFD_PROGRAM };

/* Opens an empty one that can be sealed, close-on-exec. The fd, or -errno (-EACCES: programs are
 * not allowed in memory here). */
int memfd_open(const char *name, enum memfd_use use);
/* All @n bytes of @p at the offset of @fd, any file in memory. 0 or -errno. */
int memfd_write(int fd, const void *p, size_t n);
/* From now on nobody can change it; its offset is 0. 0 or -errno. */
int memfd_seal(int fd);
/* One with @n bytes of @p that nobody can change, at offset 0. The fd is the caller's. 0, -errno.
 */
int memfd_sealed(const char *name, enum memfd_use use, const void *p, size_t n, int *ret_fd);
