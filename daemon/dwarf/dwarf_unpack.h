/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks a compressed debug section, by zlib or zstd, from beginning to end. The bytes are
 * hostile: output is never more than requested, and a zstd window has a limit. Thread: any, one at
 * a time.
 */
#pragma once

#include "base/span.h"

#define DWARF_ZSTD_WINDOW_LOG_MAX 24 /* 16 MiB; output of objcopy and compilers needs 2 to 8 */

enum dwarf_packing { DWARF_PLAIN, DWARF_ZLIB, DWARF_ZSTD };

struct dwarf_unpacker;

/* Starts at the first byte. Return: NULL if memory ran out. */
struct dwarf_unpacker *dwarf_unpacker_new(enum dwarf_packing packing);
/* Copies @u in its current state. Return: NULL if memory ran out, or for zstd, which cannot be
 * copied. */
struct dwarf_unpacker *dwarf_unpacker_copy(struct dwarf_unpacker *u);
struct dwarf_unpacker *dwarf_unpacker_free(struct dwarf_unpacker *u);
size_t dwarf_unpacker_bytes(const struct dwarf_unpacker *u); /* bytes of memory; 0 for NULL */
/* Unpacks from @in to @to, up to @n bytes, and advances both. Return: false if the bytes are broken
 * or end before @n. */
bool dwarf_unpacker_run(struct dwarf_unpacker *u, struct span *in, char **to, size_t *n);
