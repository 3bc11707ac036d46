/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Makes rows for the outermost functions of musl, which has no .eh_frame. */
#pragma once

#include "unwind_tables/image_rows.h"

/* Adds rows to @t for the outermost code of musl (elf/musl_start.h) in @code of @file, with the
 * entry point @entry. Leaves out functions that have rows in @t, or find no room. A file without
 * any row gets none: walks follow its frame pointers. Returns 0, also if the file is not linked
 * with musl; -ENOMEM; or what @read returned. */
int musl_rows_add(image_read_fn read, const void *file, const struct ehframe_segment *code,
                  uint64_t entry, struct ehframe_table *t);
