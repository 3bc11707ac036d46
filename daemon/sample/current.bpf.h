/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The JavaThread of the running thread, by its thread pointer. */
#pragma once

#include "sample/stack.bpf.h"

/* Reads the word at @at; 0: unreadable. */
static __always_inline __u64 current_word(__u64 at)
{
    __u64 word = 0;

    if (at < 4096 || at & ~UNWIND_PC_MASK)
        return 0;
    return bpf_probe_read_user(&word, sizeof(word), (const void *)at) ? 0 : word;
}

/* Reads the four bytes at @at; 0: unreadable. */
static __always_inline __u32 current_half(__u64 at)
{
    __u32 half = 0;

    if (at < 4096 || at & ~UNWIND_PC_MASK)
        return 0;
    return bpf_probe_read_user(&half, sizeof(half), (const void *)at) ? 0 : half;
}

/* Returns the JavaThread of the running thread, by its thread pointer; 0: it runs no Java. Some of
 * the VM's own threads are smaller than a JavaThread, so reads must not fail on them. */
static __always_inline __u64 current_thread(const struct unwind_locks *l, __u64 pointer)
{
    __u64 thread;

    if (!l->thread_vtable)
        return 0;
    if (l->current_module) {
        pointer = current_word(pointer + UNWIND_DTV_AT);
        pointer = current_word(pointer + (__u64)l->current_module * UNWIND_DTV_BYTES);
    }
    thread = current_word(pointer + (__u64)l->current_word * 8);
    return current_half(thread) == l->thread_vtable ? thread : 0;
}
