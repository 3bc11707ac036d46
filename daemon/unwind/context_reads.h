/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads of a process's memory on the way to a thread's request. unwind/context_steps.h has what a
 * home defines before.
 */
#pragma once

#include "unwind/context.h"
#include "unwind/forwarding.h"

/* Returns whether @at can be an address of data of a process. */
UNWIND_INLINE bool context_is_address(uint64_t at)
{
    return at >= 4096 && !(at & ~UNWIND_PC_MASK);
}

/* Returns where the @bytes bytes at @at, which could not be read there, can be read: in another
 * view of the heap. 0: nowhere. */
UNWIND_INLINE uint64_t context_find_view(struct context_work *w, uint64_t at, uint32_t bytes)
{
    uint64_t view;
    uint8_t byte;

    UNWIND_LOOP
    for (uint32_t i = 0; i < UNWIND_VIEWS; i++) {
        view = unwind_view(w->view, at, i);
        if (context_is_address(view) && context_read_bytes(w, &byte, 1, view) &&
            context_read_bytes(w, &byte, 1, view + bytes - 1))
            return view;
    }
    return 0;
}

/* Calls context_find_view(). Not static, for the same reason as context_probe(). */
UNWIND_FUNCTION uint64_t context_view(struct context_work *w, uint64_t at, uint32_t bytes)
{
    return w ? context_find_view(w, at, bytes) : 0;
}

/* Copies @bytes bytes of an object at @at to @to. Return: false if they cannot be read. */
UNWIND_INLINE bool context_read_object(struct context_work *w, void *to, uint32_t bytes,
                                       uint64_t at)
{
    if (context_read_bytes(w, to, bytes, at))
        return true;
    at = context_view(w, at, bytes);
    return at && context_read_bytes(w, to, bytes, at);
}

/* Keeps the line of memory at @line, in place of another one. Return: 0 if it cannot be read. A
 * line has most fields of an object, and often the objects that its thread created next: names,
 * ids. A read of it takes about as long as one of a field. Not static, for the same reason as
 * context_probe(). */
UNWIND_FUNCTION int context_keep_line(struct context_work *w, uint64_t line)
{
    uint64_t from = line, at = line & ((CONTEXT_LINES - 1) * CONTEXT_LINE);
    void *to;

    if (!w)
        return 0;
    to = (char *)w->kept + at;
    w->line[at / CONTEXT_LINE] = 0;
    if (!context_is_address(line))
        return 0;
    if (!context_read_bytes(w, to, CONTEXT_LINE, from)) {
        from = context_find_view(w, line, CONTEXT_LINE);
        if (!from || !context_read_bytes(w, to, CONTEXT_LINE, from))
            return 0;
    }
    w->line[at / CONTEXT_LINE] = line + 1;
    return 1;
}

/* Forgets all lines. If a collector copies objects during the walk, an object may be younger than
 * its line, but not than the reference that leads to it. */
UNWIND_INLINE void context_forget_lines(struct context_work *w)
{
    __builtin_memset(w->line, 0, sizeof(w->line));
}

/* Loads a number of @bytes bytes at @at, which is a multiple of @bytes: a power of two, up to 8. If
 * it cannot be read, sets w->fault and returns 0. */
UNWIND_INLINE uint64_t context_load(struct context_work *w, uint64_t at, const uint32_t bytes)
{
    uint64_t line = at & ~(uint64_t)(CONTEXT_LINE - 1), v;
    uint64_t place = at & (CONTEXT_LINES * CONTEXT_LINE - 1);

    UNWIND_MASK(place, CONTEXT_LINES * CONTEXT_LINE - 1);
    if (at & (bytes - 1) ||
        (w->line[place / CONTEXT_LINE] != line + 1 && !context_keep_line(w, line))) {
        w->fault = 1;
        return 0;
    }
    v = w->kept[place / 8] >> place % 8 * 8;
    return bytes < 8 ? v & ((1ULL << bytes % 8 * 8) - 1) : v;
}

/* Loads the word at @at as context_load() does, but in no other view. In a chain of calls, the one
 * to context_view() may be too many for the kernel's verifier. */
UNWIND_INLINE uint64_t context_load_here(struct context_work *w, uint64_t at)
{
    uint64_t v = 0;

    if (context_is_address(at) && context_read_bytes(w, &v, 8, at))
        return v;
    w->fault = 1;
    return 0;
}

/* Copies the @n bytes at @at to @to, but at most @max, a power of two. Return: false if they cannot
 * be read. */
UNWIND_INLINE bool context_copy(struct context_work *w, void *to, const uint32_t max, uint64_t at,
                                uint64_t n)
{
    if (n > max)
        n = max;
    UNWIND_MASK(n, max * 2 - 1);
    if (context_is_address(at) && context_read_object(w, to, (uint32_t)n, at))
        return true;
    w->fault = 1;
    return false;
}
