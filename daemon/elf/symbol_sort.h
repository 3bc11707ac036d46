/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts entries in place: qsort() would take as much memory again. Pure. */
#pragma once

#include "elf/symbol_table.h"

/* Returns whether @a comes before @b. */
typedef bool (*symbol_before_fn)(const struct symbol_item *a, const struct symbol_item *b);

/* Sorts @items. Takes O(n log n) steps for any input. */
void symbol_sort(struct symbol_item *items, size_t count, symbol_before_fn before);
