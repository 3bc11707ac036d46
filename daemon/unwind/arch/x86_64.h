/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the instructions around a pc say about the stack. HotSpot's code generators of JDK 8 to 25
 * write these bytes; the names of instructions stand beside them.
 */
#pragma once

#include "unwind/memory.h"

/* ---- where a return address lies ---- */

#define UNWIND_LEAF_CFA 8 /* bytes from sp to the caller's where nothing was saved yet */

/* From the CFA to the return address of a frame by its rule's @fp. */
UNWIND_INLINE int32_t unwind_ra_place(int16_t fp)
{
    (void)fp;
    return -8;
}

/* From the CFA to the caller's fp; 0: it is in the register still. */
UNWIND_INLINE int16_t unwind_fp_place(int16_t fp)
{
    return fp;
}

/* Whether the return address of such a frame is in a register. */
UNWIND_INLINE bool unwind_ra_in_link(int16_t fp)
{
    (void)fp;
    return false;
}

/* The rule's fp for a row's. */
UNWIND_INLINE int16_t unwind_row_fp(const struct unwind_row *row)
{
    return (int16_t)(row->fp * 8);
}

/* Takes off a return address what a processor signs it with. */
UNWIND_INLINE uint64_t unwind_unsigned(uint64_t ra)
{
    return ra;
}

/* Whether @pc is where a handler returns to, though no row says so. */
UNWIND_INLINE bool unwind_is_sigreturn(struct unwind_walk *w, uint64_t pc)
{
    (void)w;
    (void)pc;
    return false;
}

/* Stores @v at @at, behind all that was stored before: the processor keeps their order. */
UNWIND_INLINE void unwind_publish(uint64_t *at, uint64_t v)
{
    __asm__ volatile("" ::: "memory");
    *(volatile uint64_t *)at = v;
}

/* ---- instructions ---- */

#define UNWIND_BYTE(v, i) ((uint32_t)((v) >> (8 * (i))) & 0xff)
/* The @k-th byte before the end of an eight-byte word: 1 is the last. */
#define UNWIND_BACK(v, k) UNWIND_BYTE(v, 8 - (k))

/* The eight bytes before a return address end in a call instruction. */
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

/* Where the call before the return address @ra goes, when the instructions say so; 0 else. */
UNWIND_INLINE uint64_t unwind_call_target(struct unwind_walk *w, uint64_t ra)
{
    uint64_t before, target;
    uint16_t mov;

    if (!unwind_read_u64(w, ra - 8, &before))
        return 0;
    if (UNWIND_BACK(before, 5) == 0xe8)
        return ra + (uint64_t)(int64_t)(int32_t)(uint32_t)(before >> 32);
    /* mov r10,imm64; call r10: how C2 calls stubs till JDK 24 */
    if (before >> 40 != 0xd2ff41 || !unwind_read(w, &mov, 2, ra - 13) || mov != 0xba49 ||
        !unwind_read_u64(w, ra - 11, &target))
        return 0;
    return target;
}

/*
 * Returns how many bytes lie between a compiled frame and the return address @ra of its call of a
 * routine in the VM's library. The routine is a sine, cosine, tangent, exponential, power or
 * logarithm. JDK 8 saves all registers around it (MacroAssembler::fp_runtime_fallback). No debug
 * record says so, but the code that restores them behind the call does. 0: it is no such call.
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
    /* all 16 of them; add rsp,256 */
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

/* In a prologue. @w and @left are for other architectures. */
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

/* In an epilogue, or WHOLE where the bytes are no part of one. @size is for other architectures. */
UNWIND_INLINE uint32_t unwind_epilogue(const struct unwind_code *c, int32_t size)
{
    uint32_t b0 = UNWIND_BYTE(c->at, 0), before1 = UNWIND_BACK(c->before, 1);
    uint32_t at3 = (uint32_t)c->at & 0xffffff, at2 = (uint32_t)c->at & 0xffff;

    (void)size;
    if (b0 == 0xc3 || b0 == 0xc2) /* ret */
        return UNWIND_SHAPE_RETURN;
    if (b0 == 0x5d) /* pop rbp */
        return UNWIND_SHAPE_FP;
    if (before1 == 0x5d || before1 == 0xc9) {   /* after pop rbp or leave: the polls at a return */
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

/* The kernel's struct rt_sigframe, as rt_sigreturn finds it at sp. */
#define UNWIND_SIGNAL_FP 120
#define UNWIND_SIGNAL_SP 160
#define UNWIND_SIGNAL_PC 168
#define UNWIND_SIGNAL_LINK 0 /* no such register */
