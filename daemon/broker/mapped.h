/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the broker looks up about an executable mapping of a target before it opens something by it.
 */
#pragma once

#include "broker/target.h"

#include <limits.h>

struct mapped {
    uint64_t inode;
    uint32_t dev_major, dev_minor;
    bool vdso;
    char path[PATH_MAX]; /* "" for what has none, is deleted or is too long */
};

/* The executable mapping that is exactly @start-@end. 0, PROC_GONE, -ENOENT, -errno. */
int mapped_find(const struct target *t, uint64_t start, uint64_t end, struct mapped *ret,
                struct error *err);
