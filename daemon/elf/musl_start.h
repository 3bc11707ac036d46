/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outermost code of musl, in a static program or in its libc.so. musl has no .eh_frame, so each
 * stack would be cut below main() and below the function of a thread. Read are, from the code:
 * where the kernel enters a program, where clone() begins a thread, and the functions between these
 * and the program's own. They make their frame before they branch, and call exit() with the result
 * of what they call. Pure; thread: any.
 */
#pragma once

#include "base/span.h"

#define MUSL_CODE_MAX_BYTES ((uint64_t)32 << 20) /* of a file: a larger one has no such rules */
#define MUSL_RULES_MAX 256
#define MUSL_ENTRY_BYTES 17 /* of its code, which musl_enters() looks at */

enum musl_base {
    MUSL_END,  /* nothing is known from here on */
    MUSL_ROOT, /* nothing called it */
    MUSL_SP,   /* the return address lies frame_bytes above the stack pointer */
};

/* From @pc on. */
struct musl_rule {
    uint64_t pc;
    enum musl_base base;
    uint32_t frame_bytes; /* a multiple of 8 */
};

struct musl_rules {
    struct musl_rule rules[MUSL_RULES_MAX]; /* those of one function stand together, by their pc */
    size_t count;
};

/* Returns whether a program that is entered at @code is linked with musl, or is musl's libc.so. */
bool musl_enters(struct span code);
/* Reads the code in @code, which lies at @vaddr; the program is entered at @entry. 0 or -ENOMEM. */
int musl_read(struct span code, uint64_t vaddr, uint64_t entry, struct musl_rules *ret);
