/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ELF files as compilers and strip leave them, in a folder of the test's: "pie", "fixed" (where it
 * lies), "shared", "noid" (no build-id), "cxx", and of these "stripped", "bare", "unlinked",
 * "linked", "minidebug", with "pie.debug" and "noid.debug".
 */
#pragma once

#include "elf/elf_file.h"

/* Makes them. 0; 77: compilers are missing; 1. */
int built_set_up(void);
void built_tear_down(void);
/* Returns the path of a file there; the last eight stay valid. */
const char *built_path(const char *name);
void built_write(const char *path, const void *p, size_t n);

/* Runs a program to its end; false when it is missing or fails. */
bool built_run(const char *const argv[]);

struct built {
    struct elf_file *file;
    struct symbol_table symbols;
    int fd;
};
struct built built_load(const char *path);
void built_close(struct built *b);
/* Returns the symbol that is called @name, or NULL. */
const struct symbol *built_symbol(const struct symbol_table *t, const char *name);
