/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a function of a file by its name: by the symbol in the file, or by its readable C++ name
 * without parameters. Thread: any.
 */
#pragma once

#include "namer/namer.h"
#include "symbolize/elf_reading.h"

struct function_found {
    uint64_t offset;     /* offset in the file of its begin */
    uint64_t start, end; /* range of the file's mapping */
    char symbol[128];    /* if several symbols match, one of them */
};

/* Returns whether a person may call @path @file: its last part is @file, or begins with @file and a
 * dot, like libc.so.6 for libc.so. *ret_exact: the last part is @file. */
bool function_file_matches(struct span path, struct span file, bool *ret_exact);
#define FUNCTIONS_MAX 32 /* names in one search */
/* Finds the functions of @image with the symbols @names, or with symbols that begin with them, in
 * one pass. If several symbols match, takes the one with the lowest address. *ret_offsets: [@count]
 * offsets in the file; 0: none. @count: at most FUNCTIONS_MAX. */
void function_find_all(const struct elf_image *image, const char *const *names, size_t count,
                       bool by_prefix, uint64_t *ret_offsets);
#define FUNCTION_SYMBOLS_MAX 2000 /* mangled symbols that may have the requested name */

/* Finds @name in @image, into ret->offset. @namer has the readable forms of mangled symbols, for
 * @owner. Returns 0 or -errno. -ENOENT: there is no such function. -ENOTUNIQ: there are several,
 * and ret->symbol is one of them. -EAGAIN: readable forms are not ready. -E2BIG: more than
 * FUNCTION_SYMBOLS_MAX symbols may match. */
int function_find(const struct elf_image *image, struct namer *namer, uint64_t owner,
                  struct span name, struct function_found *ret);
