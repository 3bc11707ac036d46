/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a symbol table: added one after the other, found by where each lies. The first 4 MiB
 * lie as they are. What comes then is packed (zstd), block by block, as names of functions repeat
 * each other: a million of them take a tenth. Thread: the owner's.
 */
#pragma once

#include "base/buf.h"

#define NAMES_PLAIN_BYTES ((size_t)4 << 20)
#define NAMES_BLOCK_BYTES ((size_t)16 << 10)
#define NAMES_NAME_MAX 4096 /* bytes of a name that are kept */

struct symbol_names;

int symbol_names_new(struct symbol_names **ret); /* 0 or -ENOMEM */
struct symbol_names *symbol_names_free(struct symbol_names *n);
/* Adds @name, cut at NAMES_NAME_MAX. *ret: where it lies, which rises. 0, -ENOSPC (4 GiB of them)
 * or -ENOMEM. */
int symbol_names_add(struct symbol_names *n, struct span name, uint32_t *ret);
/* Returns the name at @at, as symbol_names_add() gave it. Points into @n until the next call with
 * @n. */
struct span symbol_names_get(struct symbol_names *n, uint32_t at);
/* Gives back what is only needed for adding. More may be added all the same. */
void symbol_names_fit(struct symbol_names *n);
size_t symbol_names_bytes(const struct symbol_names *n); /* that they take */
