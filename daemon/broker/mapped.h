/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the broker reads about an executable mapping of a target before it opens the mapped file.
 */
#pragma once

#include "broker/target/target.h"

#include <limits.h>

struct mapped {
    uint64_t inode;
    uint32_t dev_major, dev_minor;
    bool vdso;
    char path[PATH_MAX]; /* "" if the mapping has no path, or it is deleted or too long */
};

/* Checks that @t runs the code that the file @fd has at @offset, and cannot write to it. @at is a
 * mapping of that file. The kernel puts no probe into a writable mapping, and reports no error. In
 * code that was patched in memory, a probe would run the file's instruction, and crash @t. Return:
 * 0: a probe may be there; PROC_GONE; -EPERM, also if the code cannot be read; -ESTALE: @t does not
 * map it; -errno. */
int mapped_check_code(const struct target *t, const struct mapping_fields *at, int fd,
                      uint64_t offset, struct error *err);
/* Finds the executable mapping with exactly the bounds @start-@end. 0, PROC_GONE, -ENOENT,
 * -errno. */
int mapped_find(const struct target *t, uint64_t start, uint64_t end, struct mapped *ret,
                struct error *err);
