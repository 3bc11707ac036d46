/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program to be executed inside containers, in a file that nobody can find by a name and nobody
 * can write, not even who has a descriptor of it (CVE-2019-5736).
 */
#pragma once

#include <stddef.h>

/* A sealed memory file with the @n bytes of @p; where vm.memfd_noexec=2 forbids to execute one, a
 * file of a tmpfs that is mounted nowhere and read-only, which takes CAP_SYS_ADMIN. The fd is the
 * caller's. 0 or -errno. */
int program_open(const char *name, const void *p, size_t n, int *ret_fd);
