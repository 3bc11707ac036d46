/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gets one mapping of a process without reading the text of all others: PROCMAP_QUERY of Linux
 * 6.11, or of an older kernel of some distributions. On -ENOTTY the caller reads the text.
 */
#pragma once

#include "proc/proc.h"

#include <limits.h>

/* Bits of query_flags: which mapping, besides the address. */
#define PROCMAP_WRITE 0x02u
#define PROCMAP_EXEC 0x04u
#define PROCMAP_OR_NEXT 0x10u /* the first that ends behind the address */
#define PROCMAP_FILE 0x20u
/* The number of the ioctl, for a filter of system calls. */
#define PROCMAP_QUERY_CALL UINT64_C(0xc0686611)

struct procmap {
    char name[PATH_MAX + 16];
};

/* Gets the mapping of maps file @fd that covers @address and matches @flags. @ret->path points into
 * @name. 0; -ENOENT: there is none; -ESRCH: the process has no memory any more; -ENOTTY: the kernel
 * lacks the call; -errno. */
int procmap_query(int fd, uint64_t address, unsigned flags, struct procmap *name,
                  struct mapping *ret);
