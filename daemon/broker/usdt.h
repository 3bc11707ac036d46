/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the places that an ELF file marks for probes (USDT): notes in its section .note.stapsdt. A
 * place counts only if its code is the shortest no-op: one byte on x86-64, four on aarch64.
 * HotSpot's marks are of this form. The file is its owner's, and may be hostile or change while it
 * is read. It is read by bounded pread(2), at most USDT_BYTES_MAX of notes. Pure but for these
 * reads; thread: any.
 */
#pragma once

#include "base/error.h"

#define USDT_BYTES_MAX ((size_t)1 << 20) /* libjvm.so has some 56 KB */

#define USDT_OPERANDS_MAX 5

struct usdt_wanted {
    const char *provider, *name;
    uint32_t arguments[USDT_OPERANDS_MAX]; /* numbers of the wanted arguments, from 1; 0: none */
};

enum usdt_where { USDT_NOWHERE, USDT_REGISTER, USDT_MEMORY };

/* Where an argument is: in a register, or in memory at that register plus @disp. USDT_NOWHERE: no
 * argument was wanted, or it is neither in a register nor in memory. */
struct usdt_operand {
    enum usdt_where where;
    uint32_t bytes; /* 4 or 8 */
    uint32_t reg;   /* 0 to 15: rax rbx rcx rdx rsi rdi rbp rsp r8..r15; aarch64: x0.., 31: sp */
    int32_t disp;
};

struct usdt_place {
    uint64_t offset;                                 /* in the file */
    uint32_t wanted;                                 /* index of its entry in @wanted */
    struct usdt_operand operands[USDT_OPERANDS_MAX]; /* in the order of that entry's arguments */
};

/* Finds the marks of the @count entries of @wanted in the file @fd. Return: the number of places,
 * at most @max of @ret, in the file's order; an entry may have several. 0: the file has no such
 * mark. -EPERM with @err: a mark is not at a short no-op, or there are more than @max.
 * -ENOMEM. */
int usdt_find(int fd, const struct usdt_wanted *wanted, size_t count, struct usdt_place *ret,
              size_t max, struct error *err);

/* Does the same by the rules of the processor @machine, EM_X86_64 or EM_AARCH64. For tests. */
int usdt_find_of(uint16_t machine, int fd, const struct usdt_wanted *wanted, size_t count,
                 struct usdt_place *ret, size_t max, struct error *err);
