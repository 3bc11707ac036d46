/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to execute inside containers, in a file without a name. No process can write to the
 * file, even with a descriptor of it (CVE-2019-5736).
 */
#pragma once

#include <stddef.h>

/* Makes a sealed memfd with the @n bytes of @p. If vm.memfd_noexec=2 forbids executing it, makes a
 * file on a read-only tmpfs that is not mounted, which needs CAP_SYS_ADMIN. The caller owns the fd.
 * Return: 0 or -errno. */
int exec_memfd_open(const char *name, const void *p, size_t n, int *ret_fd);
