/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out if a probe at a place of an ELF file cannot break the code. That is the first
 * instruction of a function, and one of a few that the kernel runs in the probe's place. An endbr64
 * and a comparison of known length may stand before it. A probe in the middle of an instruction
 * would crash the process. The file is its owner's, and may be hostile or change. Fixed fields are
 * read by bounded pread(2). One table is searched by halves, in some 30 reads; if it does not have
 * the function, up to 16,384 symbols are looked through. Pure but for that; thread: any.
 */
#pragma once

#include "base/error.h"

/* @fd: for reading. Return: 0 and *ret_offset, which is @offset, or behind the endbr64 and the
 * comparison that stand there. -EPERM with @err: no function begins at @offset, or the file
 * does not say. -ENOEXEC with @err: it begins with another instruction. -errno. */
int function_start_check(int fd, uint64_t offset, uint64_t *ret_offset, struct error *err);
