/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads the target's memory: the stack through a window that is copied in one read, all else by
 * single reads.
 */
#pragma once

#include "unwind/state.h"

/* Reads 8 bytes of the sampled process's memory. Return: false if they cannot be read. */
UNWIND_INLINE bool unwind_read_u64(struct unwind_walk *w, uint64_t from, uint64_t *ret)
{
    return unwind_read(w, ret, 8, from);
}

/* Reads 4 bytes of the sampled process's memory. Return: false if they cannot be read. */
UNWIND_INLINE bool unwind_read_u32(struct unwind_walk *w, uint64_t from, uint32_t *ret)
{
    return unwind_read(w, ret, 4, from);
}

/* Moves the window so that it begins up to 128 bytes below @addr, but not below the stack pointer
 * if @addr is above that. If the whole window cannot be read, it ends with the page that it begins
 * in. Returns 1 if the window holds any bytes. */
UNWIND_FUNCTION int unwind_move_window(struct unwind_walk *w, uint64_t addr)
{
    uint64_t low = (addr - 128) & ~7ULL;
    uint32_t bytes = UNWIND_WINDOW_BYTES, left;

    if (!w)
        return 0;
    if (w->words < UNWIND_DEEP_WORDS)
        bytes = UNWIND_WINDOW_FIRST_BYTES;
    if (w->at.sp <= addr && low < w->at.sp)
        low = w->at.sp & ~7ULL;
    w->window_low = low;
    w->window_bytes = 0;
    if (!unwind_read(w, w->window, bytes, low)) {
        left = 4096 - (uint32_t)(low & 4095);
        if (left >= bytes)
            return 0;
        bytes = left;
        if (!unwind_read(w, w->window, bytes, low))
            return 0;
    }
    w->window_bytes = bytes;
    return 1;
}

/* Reads the word of the stack at @addr, a multiple of 8. Moves the window there if necessary.
 * Return: false if the word cannot be read. */
UNWIND_INLINE bool unwind_stack(struct unwind_walk *w, uint64_t addr, uint64_t *ret)
{
    uint64_t i = addr - w->window_low;

    if (i >= w->window_bytes || (i & 7)) {
        unwind_move_window(w, addr);
        i = addr - w->window_low;
        if (i >= w->window_bytes || (i & 7))
            return unwind_read_u64(w, addr, ret);
    }
    i >>= 3;
    UNWIND_MASK(i, UNWIND_WINDOW_BYTES / 8 - 1);
    *ret = w->window[i];
    return true;
}
