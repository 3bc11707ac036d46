/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* References in the heap of a HotSpot VM. */
#pragma once

#include "unwind/frames.h"
#include "unwind/state.h"

#define UNWIND_OOP_COLOURS (15ULL << 12)

/* Returns the address in the eight-byte reference @oop. Generational ZGC shifts it above colour
 * bits. On x86-64 the shift follows from the "remapped" bit (12 to 15) that is set. On aarch64 the
 * shift is always 16. */
UNWIND_INLINE uint64_t unwind_oop(const struct unwind_locks *l, uint64_t oop)
{
    if (!l->coloured)
        return oop;
#ifdef UNWIND_AARCH64
    return oop >> 16;
#endif
    if (oop & 1 << 12)
        return oop >> 13;
    if (oop & 1 << 13)
        return oop >> 14;
    if (oop & 1 << 14)
        return oop >> 15;
    return oop & 1 << 15 ? oop >> 16 : oop;
}
