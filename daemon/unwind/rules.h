/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the rules for code of a HotSpot VM are made of: a frame's size and shape, tried against what
 * its return address would be.
 */
#pragma once

#include "unwind/codecache.h"

/* Sets w->rule: where the frame ends, and where its caller's frame pointer lies. */
UNWIND_INLINE void unwind_set_rule(struct unwind_walk *w, uint8_t base, int32_t cfa, int16_t fp,
                                   bool keep)
{
    w->rule.base = base;
    w->rule.cfa = cfa;
    w->rule.fp = fp;
    w->rule.keep = keep;
}

/* Sets the rule for a frame of @size bytes in @shape and returns whether its return address is one.
 */
UNWIND_INLINE bool unwind_try_shape(struct unwind_walk *w, struct unwind_process *p, uint32_t shape,
                                    int32_t size, bool native)
{
    int32_t cfa = size;
    int16_t fp = -16;

    if (shape == UNWIND_SHAPE_RETURN) {
        cfa = 8;
        fp = 0;
    } else if (shape == UNWIND_SHAPE_FP) {
        cfa = 16;
    } else if (shape == UNWIND_SHAPE_WHOLE_FP) {
        fp = 0;
    }
    if (cfa < 8)
        return false;
    unwind_set_rule(w, UNWIND_BASE_SP, cfa, cfa < 16 ? 0 : fp, true);
    return unwind_returns_at(w, p, w->at.sp + (uint64_t)cfa - 8, native);
}

/* Reads the instructions around w->at.pc. Return: false if they cannot be read. */
UNWIND_INLINE bool unwind_read_code(struct unwind_walk *w, struct unwind_code *c)
{
    return unwind_read(w, c, sizeof(*c), w->at.pc - 8);
}

/* Bytes of the frame of the blob at hand, and where it is complete (bytes from the start of its
 * code). */
UNWIND_INLINE bool unwind_frame_facts(struct unwind_walk *w, const struct unwind_process *p,
                                      int32_t *ret_size, int32_t *ret_complete)
{
    int32_t words, complete = 0;
    int16_t complete2;

    if (!unwind_read(w, &words, 4, w->blob + p->vm.blob_frame_size))
        return false;
    if (p->vm.frame_complete_bytes == 2) {
        if (!unwind_read(w, &complete2, 2, w->blob + p->vm.blob_frame_complete))
            return false;
        complete = complete2;
    } else if (!unwind_read(w, &complete, 4, w->blob + p->vm.blob_frame_complete)) {
        return false;
    }
    *ret_size = words > 0 && words < (int32_t)(UNWIND_STEP_BYTES_MAX / 8) ? words * 8 : 0;
    *ret_complete = complete;
    return true;
}

/* Words that compiled code pushes around calls of stubs lie between the frame and what it calls. */
UNWIND_INLINE bool unwind_try_probe(struct unwind_walk *w, struct unwind_process *p, int32_t size,
                                    uint32_t words)
{
    int at = unwind_probe(w, p, w->at.sp + (uint64_t)size, words);

    if (at <= 0)
        return false;
    unwind_set_rule(w, UNWIND_BASE_SP, size + at * 8, size + at * 8 >= 16 ? -16 : 0, false);
    return true;
}
