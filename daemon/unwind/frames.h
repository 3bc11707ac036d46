/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Frame layout of an architecture, for the unwinder and for other layers. */
#pragma once

/* UNWIND_AARCH64 may also be defined on x86-64, for tests that walk stacks of aarch64. */
#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define UNWIND_AARCH64
#endif

#ifdef UNWIND_AARCH64
/* Slots of an interpreted frame, in words below fp. */
#define UNWIND_BCP_SLOT 9 /* address of the current bytecode */
#define UNWIND_LOCALS_SLOT 8
/* 1: the caller's sp may be below the callee's fp. An interpreted caller reserves its whole
 * expression stack, and the callee's frame begins inside that. */
#define UNWIND_SENDER_BELOW 1
/* glibc: bytes from the thread pointer to the pointer to the thread's dtv, its table of
 * thread-local storage by module. */
#define UNWIND_DTV_AT 0
/* glibc: bytes from pthread_self() to the thread pointer, at least and at most: struct pthread. It
 * has 0x740 bytes in glibc 2.36, and 0x720 in 2.41. */
#define UNWIND_SELF_MIN 0x600
#define UNWIND_SELF_MAX 0x900
#else
#define UNWIND_BCP_SLOT 8
#define UNWIND_LOCALS_SLOT 7
#define UNWIND_SENDER_BELOW 0
#define UNWIND_DTV_AT 8
#define UNWIND_SELF_MIN 0
#define UNWIND_SELF_MAX 0
#endif
#define UNWIND_BCP_SLOT_8 7 /* UNWIND_BCP_SLOT of JDK 8 */
