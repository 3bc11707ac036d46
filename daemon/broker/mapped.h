/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the broker looks up about an executable mapping of a target before it opens something by it.
 */
#pragma once

#include "broker/target/target.h"

#include <limits.h>

struct mapped {
    uint64_t inode;
    uint32_t dev_major, dev_minor;
    bool vdso;
    char path[PATH_MAX]; /* "" for what has none, is deleted or is too long */
};

/* Checks that @t runs what the file @fd has at @offset, and cannot change that. It is the file
 * behind the mapping @at. The kernel puts no probe where @t can write, and does not say
 * so. In code that was patched in memory, a probe would run the file's instruction, and crash @t.
 * 0: a probe may be there; PROC_GONE; -EPERM, also where that cannot be read; -errno. */
int mapped_check_code(const struct target *t, const struct mapping_fields *at, int fd,
                      uint64_t offset, struct error *err);
/* Gets the executable mapping that is exactly @start-@end. 0, PROC_GONE, -ENOENT, -errno. */
int mapped_find(const struct target *t, uint64_t start, uint64_t end, struct mapped *ret,
                struct error *err);
