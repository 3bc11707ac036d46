/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own list of its symbols (/proc/kallsyms), with modules and BPF programs. Pure but
 * for kallsyms_read(). Thread: any.
 */
#pragma once

#include "base/error.h"
#include "elf/symbol_table.h"

#define KALLSYMS_MAX_BYTES ((size_t)64 << 20)
#define KALLSYMS_SYMBOLS_MAX ((size_t)2 << 20)
#define KALLSYMS_NAMES_MAX_BYTES ((size_t)64 << 20)
#define KALLSYMS_LAST_BYTES                                                                        \
    ((uint64_t)1 << 20) /* how far the last symbol of a region may reach                           \
                         */

struct kallsyms {
    struct symbol_table symbols; /* names: "do_syscall_64", "nf_hook_slow [nf_tables]" */
    uint64_t lines;              /* lines that could be parsed */
    bool hidden;                 /* all addresses are zero */
};

/* Parses @text. Returns 0 or -ENOMEM. */
int kallsyms_parse(struct span text, struct kallsyms *ret);
/* Reads @fd to its end and parses it. Returns 0, or -errno with @err. Blocks for 50 to 200 ms. */
int kallsyms_read(int fd, struct kallsyms *ret, struct error *err);
void kallsyms_deinit(struct kallsyms *k);
