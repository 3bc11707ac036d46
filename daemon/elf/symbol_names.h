/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a symbol table: appended, and found by their position. The first 4 MiB are stored
 * plainly. Later names are compressed (zstd), block by block, as names of functions repeat each
 * other: a million names take a tenth of their size. Thread: the owner's.
 */
#pragma once

#include "base/buf.h"

#define NAMES_PLAIN_BYTES ((size_t)4 << 20)
#define NAMES_BLOCK_BYTES ((size_t)16 << 10)
#define NAMES_NAME_MAX 4096 /* most bytes of a name; longer ones are cut */

struct symbol_names;

int symbol_names_new(struct symbol_names **ret); /* 0 or -ENOMEM */
struct symbol_names *symbol_names_free(struct symbol_names *n);
/* Appends @name, cut at NAMES_NAME_MAX. *ret: its position; positions rise. Returns 0, -ENOSPC (4
 * GiB of names) or -ENOMEM. */
int symbol_names_add(struct symbol_names *n, struct span name, uint32_t *ret);
/* Returns the name at position @at, which symbol_names_add() returned. Points into @n until the
 * next call with @n. */
struct span symbol_names_get(struct symbol_names *n, uint32_t at);
/* Frees the memory that only adding needs. Names may still be added. */
void symbol_names_fit(struct symbol_names *n);
size_t symbol_names_bytes(const struct symbol_names *n); /* their memory */
