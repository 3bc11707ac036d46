/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of an x86-64 stack around a pc, by the instructions there. HotSpot's code generators of
 * JDK 8 to 25 write these bytes; the names of the instructions stand beside them.
 */
#pragma once

#include "unwind/memory.h"

/* ---- where a return address lies ---- */

#define UNWIND_LEAF_CFA 8 /* bytes from sp to the caller's sp before anything is saved */

/* Bytes from the CFA to the place of the caller's fp. The narrow
 * type costs BPF programs less stack. */
typedef int16_t unwind_distance;

/* Returns the offset of the return address from the CFA. It does not depend on the @fp and the @cfa
 * of the rule. */
UNWIND_INLINE int32_t unwind_ra_place(int16_t fp, int32_t cfa)
{
    (void)fp;
    (void)cfa;
    return -8;
}

/* Returns the offset of the caller's fp from the CFA; 0: it is in its register. */
UNWIND_INLINE unwind_distance unwind_fp_place(int16_t fp, int32_t cfa)
{
    (void)cfa;
    return fp;
}

/* Returns whether the return address is in a register: never on x86-64. */
UNWIND_INLINE bool unwind_ra_in_link(int16_t fp)
{
    (void)fp;
    return false;
}

/* Converts the fp of a row, in words, to the fp of a rule, in bytes. */
UNWIND_INLINE int16_t unwind_row_fp(const struct unwind_row *row)
{
    return (int16_t)(row->fp * 8);
}

/* Returns @ra: x86-64 does not sign return addresses. */
UNWIND_INLINE uint64_t unwind_unsigned(uint64_t ra)
{
    return ra;
}

/* Returns whether @pc is a signal return without a row: none on x86-64. */
UNWIND_INLINE bool unwind_is_sigreturn(struct unwind_walk *w, uint64_t pc)
{
    (void)w;
    (void)pc;
    return false;
}

/* ---- instructions ---- */

#define UNWIND_BYTE(v, i) ((uint32_t)((v) >> (8 * (i))) & 0xff)
/* Byte @k from the end of an eight-byte word: 1 is the last byte. */
#define UNWIND_BACK(v, k) UNWIND_BYTE(v, 8 - (k))

/* Returns whether @v, the eight bytes before a return address, ends in a call instruction. */
UNWIND_INLINE bool unwind_after_call(uint64_t v)
{
    uint32_t b1 = UNWIND_BACK(v, 1), b2 = UNWIND_BACK(v, 2), b3 = UNWIND_BACK(v, 3);
    uint32_t b4 = UNWIND_BACK(v, 4), b5 = UNWIND_BACK(v, 5), b6 = UNWIND_BACK(v, 6);
    uint32_t b7 = UNWIND_BACK(v, 7);

    if (b5 == 0xe8) /* call rel32 */
        return true;
    if (b2 == 0xff && ((b1 & 0xf8) == 0xd0 || ((b1 & 0xf8) == 0x10 && b1 != 0x14 && b1 != 0x15)))
        return true; /* call reg; call [reg] */
    if (b3 == 0xff && (((b2 & 0xf8) == 0x50 && b2 != 0x54) || b2 == 0x14))
        return true;              /* call [reg+d8]; call [sib] */
    if (b4 == 0xff && b3 == 0x54) /* call [sib+d8] */
        return true;
    if (b6 == 0xff && (((b5 & 0xf8) == 0x90 && b5 != 0x94) || b5 == 0x15))
        return true;                 /* call [reg+d32]; call [rip+d32] */
    return b7 == 0xff && b6 == 0x94; /* call [sib+d32] */
}

/* Returns the target of the call before the return address @ra; 0: the instructions do not show
 * it. */
UNWIND_INLINE uint64_t unwind_call_target(struct unwind_walk *w, uint64_t ra)
{
    uint64_t before, target;
    uint16_t mov;

    if (!unwind_read_u64(w, ra - 8, &before))
        return 0;
    if (UNWIND_BACK(before, 5) == 0xe8)
        return ra + (uint64_t)(int64_t)(int32_t)(uint32_t)(before >> 32);
    /* mov r10,imm64; call r10: how C2 calls stubs up to JDK 24 */
    if (before >> 40 != 0xd2ff41 || !unwind_read(w, &mov, 2, ra - 13) || mov != 0xba49 ||
        !unwind_read_u64(w, ra - 11, &target))
        return 0;
    return target;
}

/*
 * Returns the bytes between a compiled frame and the return address @ra of its call into the VM's
 * library; 0: no such call. The callee is a sine, cosine, tangent, exponential, power or logarithm.
 * JDK 8 saves all registers around it (MacroAssembler::fp_runtime_fallback). No debug record shows
 * that, but the code after the call that restores them does.
 */
UNWIND_FUNCTION int unwind_fallback_bytes(struct unwind_walk *w, uint64_t ra)
{
    uint64_t v, at = ra;
    uint32_t more = 0, bytes = 8;

    if (!w || !unwind_read_u64(w, at, &v))
        return 0;
    if ((v & 0xffffffffffULL) == 0xe908c48348ULL) { /* add rsp,8; jmp +5: past the aligned call */
        bytes += 8;
        at += 14;
        if (!unwind_read_u64(w, at, &v))
            return 0;
    }
    /* (v)movsd [rsp],xmm0; fld [rsp]; add rsp,8; then (v)movdqu xmm0,[rsp] */
    if (v == 0x2404dd240411fbc5ULL)
        at += 12 + 5 + 7 * 6 + 8 * 9;
    else if (v == 0x2404dd2404110ff2ULL)
        at += 12 + 5 + 7 * 6 + 8 * 10;
    else
        return 0;
    /* all 16 registers; then add rsp,256 */
    if (!unwind_read_u64(w, at, &v) || (v & 0xffffffffffffffULL) != 0x00000100c48148ULL)
        return 0;
    bytes += 256;
    at += 7;
    if (!unwind_read_u64(w, at, &v))
        return 0;
    if ((v & 0xffffffffffffffULL) == 0x012404187de3c4ULL) { /* vinsertf128 ymm0,ymm0,[rsp],1 */
        at += 7 + 7 * 8 + 8 * 11;
        if (!unwind_read_u64(w, at, &v) || (v & 0xffffffffffffffULL) != 0x00000100c48148ULL)
            return 0;
        bytes += 256;
        at += 7;
    }
    if (!unwind_read_u32(w, at, &more) || more != 0x243c8b4c) /* mov r15,[rsp]: popa */
        return 0;
    return (int)bytes + 128;
}

/* Returns the enum unwind_shape at a pc in a prologue. @w and @left are for other architectures. */
UNWIND_INLINE uint32_t unwind_prologue(struct unwind_walk *w, const struct unwind_code *c,
                                       int32_t left)
{
    uint32_t at4 = (uint32_t)c->at, before3 = (uint32_t)(c->before >> 40);

    (void)w;
    (void)left;
    if (UNWIND_BACK(c->before, 1) == 0x55) /* after push rbp */
        return UNWIND_SHAPE_FP;
    if ((before3 == 0xec8b48 || before3 == 0xe58948) && UNWIND_BACK(c->before, 4) == 0x55)
        return UNWIND_SHAPE_FP;                 /* after push rbp; mov rbp,rsp */
    if (at4 == 0x246c8948 || at4 == 0x24ac8948) /* at mov [rsp+n],rbp: sub rsp came first */
        return UNWIND_SHAPE_WHOLE_FP;
    if ((UNWIND_BACK(c->before, 4) == 0x48 && UNWIND_BACK(c->before, 3) == 0x83 &&
         UNWIND_BACK(c->before, 2) == 0xec) ||
        (UNWIND_BACK(c->before, 7) == 0x48 && UNWIND_BACK(c->before, 6) == 0x81 &&
         UNWIND_BACK(c->before, 5) == 0xec))
        return UNWIND_SHAPE_WHOLE; /* after sub rsp,n */
    if ((at4 & 0xffffff) == 0x7f8141 || (at4 & 0xffffff) == 0xbf8141)
        return UNWIND_SHAPE_WHOLE; /* at cmp dword [r15+n],imm: the entry barrier of the method */
    return UNWIND_SHAPE_RETURN;
}

/* Returns the enum unwind_shape at a pc in an epilogue. WHOLE: the bytes belong to no epilogue.
 * @size is for other architectures. */
UNWIND_INLINE uint32_t unwind_epilogue(const struct unwind_code *c, int32_t size)
{
    uint32_t b0 = UNWIND_BYTE(c->at, 0), before1 = UNWIND_BACK(c->before, 1);
    uint32_t at3 = (uint32_t)c->at & 0xffffff, at2 = (uint32_t)c->at & 0xffff;

    (void)size;
    if (b0 == 0xc3 || b0 == 0xc2) /* ret */
        return UNWIND_SHAPE_RETURN;
    if (b0 == 0x5d) /* pop rbp */
        return UNWIND_SHAPE_FP;
    if (before1 == 0x5d || before1 == 0xc9) {   /* after pop rbp or leave: polls at a return */
        if (at3 == 0x673b49 || at3 == 0xa73b49) /* cmp rsp,[r15+n]: JDK 16 on */
            return UNWIND_SHAPE_RETURN;
        if (at3 == 0x978b4d) /* mov r10,[r15+n]: JDK 10 to 15 */
            return UNWIND_SHAPE_RETURN;
        if (at2 == 0x0585) /* test eax,[rip+n]: JDK 8 */
            return UNWIND_SHAPE_RETURN;
        if (at3 == 0x7f8349 ||
            at3 == 0xbf8349) /* cmp [r15+n],0: a native wrapper's exception test */
            return UNWIND_SHAPE_RETURN;
    }
    if ((at2 == 0x870f || at2 == 0x850f) && UNWIND_BYTE(c->at, 6) == 0xc3) /* ja, jne; ret */
        return UNWIND_SHAPE_RETURN;
    if ((uint32_t)c->at == 0xc3028541) /* test [r10],eax; ret */
        return UNWIND_SHAPE_RETURN;
    return UNWIND_SHAPE_WHOLE;
}

/* Offsets from sp in the kernel's struct rt_sigframe, at the call of rt_sigreturn. */
#define UNWIND_SIGNAL_FP 120
#define UNWIND_SIGNAL_SP 160
#define UNWIND_SIGNAL_PC 168
#define UNWIND_SIGNAL_LINK 0 /* no such register */
