/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rows of the outermost functions of musl, which has no .eh_frame. */
#pragma once

#include "unwind_tables/image_rows.h"

/* Adds rows to @t for the outermost code of musl in @code of @file (elf/musl_start.h), which is
 * entered at @entry. Left out are functions that have rows in @t, or find no room. A file without
 * any row gets none, since its frame pointers are followed. 0, also where the file is not linked
 * with musl; -ENOMEM; or what @read said. */
int musl_rows_add(image_read_fn read, const void *file, const struct ehframe_segment *code,
                  uint64_t entry, struct ehframe_table *t);
