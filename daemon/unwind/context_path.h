/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks the form of a path to a thread's request (unwind/context.h). Pure; thread: any. */
#pragma once

#include "unwind/context.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns whether a program may make the step @s, which @left steps follow. */
static inline bool context_step_valid(const struct context_step *s, unsigned left)
{
    if (s->op >= CONTEXT_OPS || s->to >= CONTEXT_REGISTERS || s->from >= CONTEXT_REGISTERS ||
        s->skip > left || s->offset >= CONTEXT_OFFSET_MAX)
        return false;
    if (s->op == CONTEXT_TEXT)
        return s->key <= CONTEXT_NAME_MORE;
    if (s->op == CONTEXT_WORD)
        return s->key < CONTEXT_ID_WORDS;
    if (s->op == CONTEXT_THREAD_LOCAL || s->op == CONTEXT_MAP)
        return s->key <= UINT32_MAX;
    if (s->op == CONTEXT_KEY)
        return s->offset < CONTEXT_REGISTERS;
    if (s->op == CONTEXT_ATTRIBUTE)
        return s->key <= UINT8_MAX && s->offset <= CONTEXT_NAME_MORE;
    if (s->op == CONTEXT_VARIABLE)
        return s->from <= CONTEXT_DTV_WORDS_MAX;
    return s->op == CONTEXT_CLASS || s->op == CONTEXT_NTH || !s->key;
}

/* Returns whether @p has the form that the BPF programs accept: a valid number of valid steps, and
 * zeros behind them. The addresses that the steps lead to are not checked. */
static inline bool context_path_valid(const struct context_path *p)
{
    static const struct context_step NONE = { 0 };

    if (p->step_count > CONTEXT_STEPS_MAX || p->ids >= CONTEXT_IDS_KINDS || p->mark_shift > 63 ||
        p->moves > 1 || p->forwards >= CONTEXT_FORWARDS_KINDS)
        return false;
    for (unsigned i = 0; i < CONTEXT_STEPS_MAX; i++) {
        const struct context_step *s = &p->steps[i];
        bool good = i < p->step_count ? context_step_valid(s, p->step_count - 1u - i)
                                      : memcmp(s, &NONE, sizeof(NONE)) == 0;

        if (!good)
            return false;
    }
    return true;
}
