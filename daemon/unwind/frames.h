/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers of an architecture that are of use outside of walks, too. */
#pragma once

/* UNWIND_AARCH64: tests walk stacks of aarch64 on x86-64. */
#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
#define UNWIND_AARCH64
#endif

#ifdef UNWIND_AARCH64
/* Words below fp of an interpreted frame. */
#define UNWIND_BCP_SLOT 9 /* the address of its bytecode */
#define UNWIND_LOCALS_SLOT 8
/* An interpreted caller has kept room for its whole expression stack, and the callee lies in that.
 * So the caller's sp may be below the callee's fp. */
#define UNWIND_SENDER_BELOW 1
/* glibc: the table of a thread's variables (dtv) lies so far behind what its pointer leads to. */
#define UNWIND_DTV_AT 0
#else
#define UNWIND_BCP_SLOT 8
#define UNWIND_LOCALS_SLOT 7
#define UNWIND_SENDER_BELOW 0
#define UNWIND_DTV_AT 8
#endif
#define UNWIND_BCP_SLOT_8 7 /* in JDK 8 */
