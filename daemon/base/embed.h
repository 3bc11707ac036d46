/* SPDX-License-Identifier: Apache-2.0 */
/* Files that the assembler puts into the program. */
#pragma once

#include "base/span.h"

/* Defines `const struct span NAME`: the bytes of the file @path. A NUL follows them. */
#define EMBED(name, path)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 16\n"                                                                         \
            ".L" #name "_start: .incbin \"" path "\"\n"                                            \
            ".L" #name "_end: .byte 0\n"                                                           \
            ".popsection\n"                                                                        \
            ".pushsection .data.rel.ro, \"aw\"\n"                                                  \
            ".balign 8\n"                                                                          \
            ".globl " #name "\n"                                                                   \
            ".type " #name ", @object\n" #name ": .quad .L" #name "_start, .L" #name               \
            "_end - .L" #name "_start\n"                                                           \
            ".size " #name ", 16\n"                                                                \
            ".popsection\n");                                                                      \
    extern const struct span name

_Static_assert(sizeof(struct span) == 16, "EMBED() writes one");
