/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where code of aarch64 tests the result of a call: a cbz or cbnz of 64 bits, which the kernel
 * emulates. All instructions have four bytes, so a probe there is never within one. Pure; thread:
 * any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true if the instruction at @code is a call, or a jump without a condition if @jump, and
 * gets its distance in bytes. */
bool result_aarch64_leads(const uint8_t *code, bool jump, int64_t *ret_distance);

/* Returns the offset of the test of a call's result. The call is at offset @at of the function
 * @code, which has @bytes. 0: there is no test that jumps within the function. Up to seven
 * instructions may be between them, if they keep the result. These are moves, loads from the stack,
 * comparisons and jumps with a condition. Calls may be there if they preserve the result's
 * register. *ret_reg becomes the place of the result in alloc_scratch->registers. */
size_t result_aarch64_find(const uint8_t *code, size_t bytes, size_t at, uint32_t *ret_reg);
