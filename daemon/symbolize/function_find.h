/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a function of a file by its name: by the symbol in the file, or by its readable C++ name
 * without parameters. Thread: any.
 */
#pragma once

#include "namer/namer.h"
#include "symbolize/elf_reading.h"

struct function_found {
    uint64_t offset;     /* offset of its begin in the file */
    uint64_t start, end; /* of the file's mapping */
    char symbol[128];    /* of several equal names, one of a single function */
};

/* Returns whether @path is what a person calls @file: the last part is @file, or begins with @file
 * and a dot, as libc.so.6 for libc.so. *ret_exact: the last part is @file. */
bool function_file_matches(struct span path, struct span file, bool *ret_exact);
#define FUNCTIONS_MAX 32 /* in one search */
/* Finds the functions of @image with the symbols @names, or with symbols that begin with them, in
 * one pass. Of several symbols, takes the first in memory. *ret_offsets: [@count] offsets in the
 * file; 0: none. @count: at most FUNCTIONS_MAX. */
void function_find_all(const struct elf_image *image, const char *const *names, size_t count,
                       bool by_prefix, uint64_t *ret_offsets);
#define FUNCTION_SYMBOLS_MAX 2000 /* mangled ones that may be a name's */

/* Finds @name in @image, into ret->offset. @namer has the readable forms of mangled symbols, for
 * @owner. Return: 0. -ENOENT: there is none. -ENOTUNIQ: there are several, and ret->symbol is one.
 * -EAGAIN: readable forms are coming. -E2BIG: more than FUNCTION_SYMBOLS_MAX symbols may be it. */
int function_find(const struct elf_image *image, struct namer *namer, uint64_t owner,
                  struct span name, struct function_found *ret);
