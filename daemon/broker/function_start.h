/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out if a probe at a place of an ELF file cannot break the code. That is the first
 * instruction of a function, and one of a few that the kernel runs in the probe's place. An endbr64
 * and a comparison of known length may stand before it. And it is the jump that tests what a call
 * has returned. A probe in the middle of an instruction would crash the process. The file is its
 * owner's, and may be hostile or change. Fixed fields are read by bounded pread(2). One table is
 * searched by halves, in some 30 reads; if it does not have the function, up to 16,384 symbols are
 * looked through. For what functions return, it is searched 264 times at most. Pure but for that;
 * thread: any.
 */
#pragma once

#include "base/error.h"

/* @fd: for reading. Return: 0 and *ret_offset, which is @offset, or behind the endbr64 and the
 * comparison that stand there. -EPERM with @err: no function begins at @offset, or the file
 * does not say. -ENOEXEC with @err: it begins with another instruction. -errno. */
int function_start_check(int fd, uint64_t offset, uint64_t *ret_offset, struct error *err);

#define FUNCTION_RESULTS_MAX 8
/* Where a function has what another returned to it, and in which register. */
struct function_result {
    uint64_t offset;
    uint32_t reg; /* as instructions number them: 0 is rax */
};
/* Finds where the function at @offset tests what another returned to it. That is a call, and `test`
 * of the result's register behind it. The jump on a condition that follows is the place. Up to
 * seven instructions may be between them that leave this register alone. They are mov of the result
 * to another register, mov of what is on the stack, and four that write or compare eax. Looks into
 * the functions that it goes on in by a jump, too. The call has to lead to a function by the sorted
 * table, and the jump to stay in its own. Bytes that are no instructions of the function are like
 * that with a chance of less than 1 in 2^50. Return: 0 and *ret_count places, 1 at least. -ENOEXEC
 * with @err: there is no such place. -EPERM with @err: no code is there. */
int function_results_find(int fd, uint64_t offset, struct function_result ret[FUNCTION_RESULTS_MAX],
                          size_t *ret_count, struct error *err);
