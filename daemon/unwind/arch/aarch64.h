/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of an aarch64 stack around a pc, by the instructions there. HotSpot's code generators
 * of JDK 11 to 25 write these instructions; their names stand beside them. Each has four bytes.
 *
 * A function that calls others saves fp and the link register in adjacent words. A leaf function
 * leaves the return address in the link register. So the fp of a rule gives the places of both, in
 * bytes:
 *   0: both are in their registers.
 *   Below 0: fp is that far from the CFA, and the return address in the word above.
 *   Above 0, even: fp is at fp - 8 from the base of the CFA, and the return address above.
 *   Above 0, odd: the return address alone is at fp - 9 from the base; the caller's fp is in its
 *   register.
 */
#pragma once

#include "unwind/memory.h"

/* ---- where a return address lies ---- */

#define UNWIND_LEAF_CFA 0 /* bytes from sp to the caller's sp before anything is saved */

/* Bytes from the CFA to the place of the caller's fp. */
typedef int32_t unwind_distance;

/* Returns the offset of the return address from the CFA, by the @fp and the @cfa of a rule. @fp is
 * not 0. */
UNWIND_INLINE int32_t unwind_ra_place(int16_t fp, int32_t cfa)
{
    if (fp < 0)
        return fp + 8;
    return (fp & 1 ? fp - 9 : fp) - cfa;
}

/* Returns the offset of the caller's fp from the CFA; 0: it is in its register. */
UNWIND_INLINE unwind_distance unwind_fp_place(int16_t fp, int32_t cfa)
{
    if (fp < 0)
        return fp;
    return !fp || fp & 1 ? 0 : fp - 8 - cfa;
}

/* Returns whether the return address is in the link register, by the @fp of a rule. */
UNWIND_INLINE bool unwind_ra_in_link(int16_t fp)
{
    return fp == 0;
}

#define UNWIND_ROW_FAR (-63) /* a lower fp of a row counts from the CFA */

/* Converts the fp of a row to the fp of a rule. A row counts words from the base of the CFA: 1 is
 * the first. A negative fp means that the return address alone lies there. Below UNWIND_ROW_FAR it
 * counts words from the CFA down to the pair: the pair was pushed before a large buffer. */
UNWIND_INLINE int16_t unwind_row_fp(const struct unwind_row *row)
{
    if (row->fp >= 0)
        return (int16_t)(row->fp * 8);
    if (row->fp < UNWIND_ROW_FAR)
        return (int16_t)((row->fp - UNWIND_ROW_FAR) * 8);
    return (int16_t)(-row->fp * 8 + 1);
}

/* Removes a pointer authentication code (PAC) from a return address. */
UNWIND_INLINE uint64_t unwind_unsigned(uint64_t ra)
{
    return ra & ~(0x7fULL << 48);
}

/* ---- instructions ---- */

#define UNWIND_RET 0xd65f03c0u       /* ret */
#define UNWIND_POP_PAIR 0xa8c17bfdu  /* ldp x29,x30,[sp],#16 */
#define UNWIND_PUSH_PAIR 0xa9bf7bfdu /* stp x29,x30,[sp,#-16]! */
#define UNWIND_DROP_PAIR 0x910043ffu /* add sp,sp,#16 */
#define UNWIND_CMP_SP_X8 0xeb2863ffu /* cmp sp,x8 */

/* Returns whether @i is stp x29,x30,[sp,#n]. */
UNWIND_INLINE bool unwind_is_stp_pair(uint32_t i)
{
    return (i & 0xffc07fff) == 0xa9007bfd;
}

/* Returns whether @i is ldp x29,x30,[sp,#n]. */
UNWIND_INLINE bool unwind_is_ldp_pair(uint32_t i)
{
    return (i & 0xffc07fff) == 0xa9407bfd;
}

/* Returns whether @i is sub sp,sp,#n, sub sp,sp,#n,lsl #12 or sub sp,sp,x8. */
UNWIND_INLINE bool unwind_is_sub_sp(uint32_t i)
{
    return (i & 0xff8003ff) == 0xd10003ff || i == 0xcb2863ff;
}

/* Returns whether @v, the eight bytes before a return address, ends in a call instruction. */
UNWIND_INLINE bool unwind_after_call(uint64_t v)
{
    uint32_t i = (uint32_t)(v >> 32);

    return (i & 0xfc000000) == 0x94000000 || /* bl */
           (i & 0xfffffc1f) == 0xd63f0000 || /* blr */
           (i & 0xfefff800) == 0xd63f0800;   /* blraa and the like */
}

/*
 * Returns the bytes between a compiled frame and the return address @ra of its call into the VM's
 * library; 0: no such call. C2 pushes a pair of words before such calls and drops it after them.
 */
UNWIND_FUNCTION int unwind_fallback_bytes(struct unwind_walk *w, uint64_t ra)
{
    uint32_t i = 0;

    if (!w || !unwind_read_u32(w, ra, &i))
        return 0;
    return i == UNWIND_DROP_PAIR ? 16 : 0;
}

#define UNWIND_PROLOGUE_INSTRUCTIONS 32 /* the most between a pc and the end of its prologue */

/* Returns the enum unwind_shape at a pc in a prologue, @left bytes before the frame is complete.
 * Until the pair is saved, the return address is in the link register. */
UNWIND_FUNCTION uint32_t unwind_prologue(struct unwind_walk *w, const struct unwind_code *c,
                                         int32_t left)
{
    uint32_t at, before, next, i, code = 0;

    if (!w || !c)
        return UNWIND_SHAPE_RETURN;
    at = (uint32_t)c->at;
    next = (uint32_t)(c->at >> 32);
    before = (uint32_t)(c->before >> 32);
    if (unwind_is_stp_pair(at) && unwind_is_sub_sp(before))
        return UNWIND_SHAPE_WHOLE_FP; /* the frame is allocated, and the pair is not stored yet */
    if (before == UNWIND_PUSH_PAIR)
        return UNWIND_SHAPE_FP; /* only the pair is pushed yet */
    if (unwind_is_sub_sp(at) && !unwind_is_stp_pair(next))
        return UNWIND_SHAPE_FP;
    if (left <= 0)
        return UNWIND_SHAPE_RETURN;
    UNWIND_LOOP
    for (i = 0; i < UNWIND_PROLOGUE_INSTRUCTIONS; i++) {
        if ((int32_t)(i * 4) >= left)
            return UNWIND_SHAPE_WHOLE;
        if (!unwind_read_u32(w, w->at.pc + i * 4, &code))
            return UNWIND_SHAPE_RETURN;
        if (unwind_is_stp_pair(code) || code == UNWIND_PUSH_PAIR)
            return UNWIND_SHAPE_RETURN;
    }
    return UNWIND_SHAPE_RETURN;
}

/* Returns the enum unwind_shape at a pc in an epilogue of a frame of @size bytes. WHOLE: the
 * instructions belong to no epilogue. */
UNWIND_INLINE uint32_t unwind_epilogue(const struct unwind_code *c, int32_t size)
{
    uint32_t at = (uint32_t)c->at, before = (uint32_t)(c->before >> 32);
    uint32_t before2 = (uint32_t)c->before;
    uint32_t drop = 0x910003ffu | (uint32_t)size << 10; /* add sp,sp,#size */

    if (at == UNWIND_RET)
        return UNWIND_SHAPE_RETURN;
    if (at == UNWIND_POP_PAIR)
        return UNWIND_SHAPE_FP;
    if (before == UNWIND_POP_PAIR || before2 == UNWIND_POP_PAIR)
        return UNWIND_SHAPE_RETURN;
    if (size > 0 && size < 4096 &&
        ((before == drop && unwind_is_ldp_pair(before2)) ||
         (before2 == drop &&
          (before & 0xffc003ff) == 0xf9400388))) /* ldr x8,[x28,#n]: the safepoint poll */
        return UNWIND_SHAPE_RETURN;
    if (before == UNWIND_CMP_SP_X8 && (at & 0xff00001f) == 0x54000008) /* b.hi */
        return UNWIND_SHAPE_RETURN;
    return UNWIND_SHAPE_WHOLE;
}

/* Returns whether @pc is at mov x8,#139; svc #0 of the vdso. Kernels from 5.8 on have no unwind
 * table entry for it. */
UNWIND_INLINE bool unwind_is_sigreturn(struct unwind_walk *w, uint64_t pc)
{
    uint64_t code = 0;

    return unwind_read_u64(w, pc, &code) && code == 0xd4000001d2801168ULL;
}

/* Offsets from sp in the kernel's struct rt_sigframe, at the call of rt_sigreturn. */
#define UNWIND_SIGNAL_FP 544
#define UNWIND_SIGNAL_LINK 552
#define UNWIND_SIGNAL_SP 560
#define UNWIND_SIGNAL_PC 568
