/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The integer types of the headers in unwind/, which compile for clang's BPF target and for the
 * host.
 */
#pragma once

#ifdef __bpf__
#include <linux/types.h>
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s8 int8_t;
typedef __s16 int16_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
typedef _Bool bool;
#define true 1
#define false 0
#else
#include <stdbool.h>
#include <stdint.h>
#endif

#define UNWIND_ASSERT(condition) _Static_assert(condition, #condition)
