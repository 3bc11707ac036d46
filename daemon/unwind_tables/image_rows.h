/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Makes rows for the code of a native image, which its .eh_frame lacks. */
#pragma once

#include "unwind_tables/ehframe.h"

/* Reads exactly @n bytes at @offset of a file. Returns 0 or -errno. */
typedef int (*image_read_fn)(const void *file, uint64_t offset, void *p, size_t n);

/* Adds rows to @t for the functions in the code @code of @file. Leaves out functions that have rows
 * in @t, lack the shape of compiled Java code (elf/image_code.h), or find no room. Returns 0;
 * -ENOMEM; or what @read returned. */
int image_rows_add(image_read_fn read, const void *file, const struct ehframe_segment *code,
                   struct ehframe_table *t);
