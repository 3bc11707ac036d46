/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the places that an ELF file marks for probes (USDT): notes in its section .note.stapsdt. A
 * place counts if a no-op of one byte stands there in code, as the marks of HotSpot are. The file
 * is its owner's, and may be hostile or change: it is read by bounded pread(2), at most
 * USDT_BYTES_MAX of notes. Pure but for that; thread: any.
 */
#pragma once

#include "base/error.h"

#define USDT_BYTES_MAX ((size_t)1 << 20) /* libjvm's have some 56 KB */

#define USDT_OPERANDS_MAX 5

struct usdt_wanted {
    const char *provider, *name;
    uint32_t arguments[USDT_OPERANDS_MAX]; /* numbers, from 1, of those of interest; 0: none */
};

enum usdt_where { USDT_NOWHERE, USDT_REGISTER, USDT_MEMORY };

/* Where an argument is: in a register, or at what it holds plus @disp. USDT_NOWHERE: none was
 * wanted, or it is somewhere else. */
struct usdt_operand {
    enum usdt_where where;
    uint32_t bytes; /* 4 or 8 */
    uint32_t reg;   /* 0 to 15: rax rbx rcx rdx rsi rdi rbp rsp r8..r15 */
    int32_t disp;
};

struct usdt_place {
    uint64_t offset;                                 /* in the file */
    uint32_t wanted;                                 /* which one it is */
    struct usdt_operand operands[USDT_OPERANDS_MAX]; /* as that one's arguments */
};

/* Looks for the @count of @wanted in the file @fd. Return: the number of places, at most @max of
 * @ret, by the order in the file; one of @wanted may have several. 0: it marks none of them. -EPERM
 * with @err: it marks one at what is no such no-op, or more than @max. -ENOMEM. */
int usdt_find(int fd, const struct usdt_wanted *wanted, size_t count, struct usdt_place *ret,
              size_t max, struct error *err);
