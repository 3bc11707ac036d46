/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rows of the code of a native image, for which its .eh_frame has none. */
#pragma once

#include "unwind_tables/ehframe.h"

/* Reads just @n bytes at @offset of a file. 0 or -errno. */
typedef int (*image_read_fn)(const void *file, uint64_t offset, void *p, size_t n);

/* Adds rows to @t for functions in the code @code of @file. Left out are functions that have rows
 * in @t, that do not have the shape of compiled Java code (elf/image_code.h), or find no room. 0;
 * -ENOMEM; or what @read said. */
int image_rows_add(image_read_fn read, const void *file, const struct ehframe_segment *code,
                   struct ehframe_table *t);
