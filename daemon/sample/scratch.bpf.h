/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory for samples of programs that may preempt each other. Each processor has a few pieces. The
 * including file defines two macros before. SCRATCH is the type of a piece, with a member `taken`.
 * SCRATCH_DEPTH is the number of pieces per processor.
 */
#pragma once

MAP(scratches, PERCPU_ARRAY, SCRATCH_DEPTH, __u32, SCRATCH);

/* Takes a free piece; NULL: there is none. */
static __always_inline SCRATCH *take_scratch(void)
{
    for (__u32 i = 0; i < SCRATCH_DEPTH; i++) {
        __u32 key = i;
        SCRATCH *s = bpf_map_lookup_elem(&scratches, &key);

        if (s && __sync_lock_test_and_set(&s->taken, 1) == 0)
            return s;
    }
    return NULL;
}

/* Gives a piece back. */
static __always_inline void give_scratch(SCRATCH *s)
{
    __sync_lock_test_and_set(&s->taken, 0);
}
