/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the outermost code of musl, in a static program or in its libc.so. musl has no .eh_frame,
 * so walks would end below main() and below a thread's function. The rules come from the code
 * itself. They cover the kernel's entry into a program, the start of a thread by clone(), and the
 * functions from there to the program's own code. These functions make their frame before they
 * branch, and call exit() with the result of their callee. Pure; thread: any.
 */
#pragma once

#include "base/span.h"

#define MUSL_CODE_MAX_BYTES ((uint64_t)32 << 20) /* bytes of code; files with more get no rules */
#define MUSL_RULES_MAX 256
#define MUSL_ENTRY_BYTES 17 /* bytes of the entry code that musl_enters() reads */

enum musl_base {
    MUSL_END,  /* no rule is known from here on */
    MUSL_ROOT, /* outermost code: it has no caller */
    MUSL_SP,   /* the return address lies frame_bytes above the stack pointer */
};

/* A rule that is valid from @pc on. */
struct musl_rule {
    uint64_t pc;
    enum musl_base base;
    uint32_t frame_bytes; /* a multiple of 8 */
};

struct musl_rules {
    struct musl_rule rules[MUSL_RULES_MAX]; /* grouped by function, in order of pc */
    size_t count;
};

/* Returns whether @code, at a program's entry point, is that of musl (also of its libc.so). */
bool musl_enters(struct span code);
/* Reads the code @code, which lies at @vaddr, of a program with the entry point @entry. Returns 0
 * or -ENOMEM. */
int musl_read(struct span code, uint64_t vaddr, uint64_t entry, struct musl_rules *ret);
