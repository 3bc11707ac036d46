/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that a probe at an offset of an ELF file cannot break the code. Two kinds of places
 * qualify. One is the first instruction of a function, if the kernel emulates that instruction. An
 * endbr64 and a comparison of known length may precede it. The other is the jump that tests the
 * result of a call. A probe in the middle of an instruction would crash the process. On aarch64
 * start_aarch64.c and result_aarch64.c list the instructions.
 *
 * The file is its owner's, and may be hostile or change while it is read. Fixed fields are read by
 * bounded pread(2). A binary search of the table of functions takes some 30 reads. If that table
 * lacks the function, up to 16,384 symbols are searched. function_results_find() searches the table
 * 264 times at most. Pure but for these reads; thread: any.
 */
#pragma once

#include "base/error.h"

/* Checks that a function begins at @offset of the file @fd, which is open for reading. Return: 0
 * and *ret_offset, which is @offset, or the offset behind an endbr64 and a comparison there, or
 * behind a landing pad of aarch64. -EPERM with @err: no function begins at @offset, or the file has
 * no usable table, or is for another processor than this one. -ENOEXEC with @err: the function
 * begins with an instruction at which no probe may stand. */
int function_start_check(int fd, uint64_t offset, uint64_t *ret_offset, struct error *err);

/* Does the same by the rules of the processor @machine, EM_X86_64 or EM_AARCH64. For tests. */
int function_start_check_of(uint16_t machine, int fd, uint64_t offset, uint64_t *ret_offset,
                            struct error *err);

/* Returns the length of the kernel's breakpoint if @code, of @n bytes, begins with one; else 0. */
size_t function_start_breakpoint(const uint8_t *code, size_t n);

/* Does the same by the rules of the processor @machine. For tests. */
size_t function_start_breakpoint_of(uint16_t machine, const uint8_t *code, size_t n);

#define FUNCTION_RESULTS_MAX 8
/* A place where a function tests the result of a call, and the register that holds the result. */
struct function_result {
    uint64_t offset;
    uint32_t reg; /* by ALLOC_REGISTERS: 0 is rax, or x0 */
};
/* Finds where the function at @offset tests the result of another function. Such a place is a call,
 * a `test` of the result's register, and the conditional jump that follows, which is the probe's
 * place. On aarch64 test and jump are one instruction. Up to seven instructions may be between call
 * and test if they keep the result. Allowed are mov of the result to another register, mov from the
 * stack, and four instructions that write or compare eax. The functions that this one jumps to are
 * searched, too. The call must lead to a function of the sorted table, and the jump must stay in
 * its own function. Random bytes match with a probability below 1 in 2^50. Return: 0 and *ret_count
 * places, at least 1. -ENOEXEC with @err: there is no such place. -EPERM with @err: @offset is not
 * in code. */
int function_results_find(int fd, uint64_t offset, struct function_result ret[FUNCTION_RESULTS_MAX],
                          size_t *ret_count, struct error *err);
/* Does the same by the rules of the processor @machine. For tests. */
int function_results_find_of(uint16_t machine, int fd, uint64_t offset,
                             struct function_result ret[FUNCTION_RESULTS_MAX], size_t *ret_count,
                             struct error *err);
