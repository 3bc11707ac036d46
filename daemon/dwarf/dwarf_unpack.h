/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks a compressed debug section, by zlib or zstd, from front to back. The bytes are hostile:
 * no more is written than asked for, and a zstd window has a limit. Thread: any, one at a time.
 */
#pragma once

#include "base/span.h"

#define DWARF_ZSTD_WINDOW_LOG_MAX 24 /* 16 MiB; what objcopy and compilers write needs 2 to 8 */

enum dwarf_packing { DWARF_PLAIN, DWARF_ZLIB, DWARF_ZSTD };

struct dwarf_unpacker;

/* Begins at the first byte. Return: NULL: no memory. */
struct dwarf_unpacker *dwarf_unpacker_new(enum dwarf_packing packing);
/* Copies @u as it is now. Return: NULL: no memory, or zstd, which cannot be copied. */
struct dwarf_unpacker *dwarf_unpacker_copy(struct dwarf_unpacker *u);
struct dwarf_unpacker *dwarf_unpacker_free(struct dwarf_unpacker *u);
size_t dwarf_unpacker_bytes(const struct dwarf_unpacker *u); /* of memory; NULL: 0 */
/* Unpacks from @in to @n bytes at @to, as much as is there, and takes it from both.
 * Return: false: the bytes are broken, or end before @n. */
bool dwarf_unpacker_run(struct dwarf_unpacker *u, struct span *in, char **to, size_t *n);
