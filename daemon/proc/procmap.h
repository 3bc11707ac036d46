/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gets one mapping of a process without reading the text of all others: PROCMAP_QUERY of Linux
 * 6.11. Some distributions added it to older kernels. On -ENOTTY the caller reads the text.
 */
#pragma once

#include "proc/proc.h"

#include <limits.h>

/* Bits of query_flags. They restrict which mapping is returned. */
#define PROCMAP_WRITE 0x02u
#define PROCMAP_EXEC 0x04u
#define PROCMAP_OR_NEXT 0x10u /* the first mapping that ends behind the address */
#define PROCMAP_FILE 0x20u
/* Number of the ioctl, for a filter of system calls. */
#define PROCMAP_QUERY_CALL UINT64_C(0xc0686611)

struct procmap {
    char name[PATH_MAX + 16];
};

/* Gets the mapping of maps file @fd that covers @address and matches @flags. @ret->path points into
 * @name. Returns 0, or -ENOENT if there is no such mapping. Returns -ESRCH if the process has no
 * memory any more, -ENOTTY if the kernel lacks the call, or another -errno. */
int procmap_query(int fd, uint64_t address, unsigned flags, struct procmap *name,
                  struct mapping *ret);
