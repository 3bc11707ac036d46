/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files in the forms that compilers and strip make, in the test's own folder: "pie", "fixed"
 * (at a fixed address), "shared", "noid" (no build-id), "cxx". Also "stripped", "bare", "unlinked",
 * "linked" and "minidebug" variants, with "pie.debug" and "noid.debug".
 */
#pragma once

#include "elf/elf_file.h"

/* Makes the files. 0; 77: compilers are missing; 1: failed. */
int built_set_up(void);
void built_tear_down(void);
/* Returns the path of such a file. The last eight paths stay valid. */
const char *built_path(const char *name);
void built_write(const char *path, const void *p, size_t n);

/* Runs a program to its end. Returns false if it is missing or fails. */
bool built_run(const char *const argv[]);

struct built {
    struct elf_file *file;
    struct symbol_table symbols;
    int fd;
};
struct built built_load(const char *path);
void built_close(struct built *b);
/* Returns the symbol named @name, or NULL. */
const struct symbol *built_symbol(const struct symbol_table *t, const char *name);
