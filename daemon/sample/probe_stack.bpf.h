/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Since Linux 6.13 the functions of a program can have a private stack, one for each processor. It
 * is meant for programs that never run twice at the same time on a processor. Programs at uprobes
 * may: their thread can be preempted, and another thread can then hit a probe. Both runs would
 * write to one stack, and the kernel would follow corrupted pointers. A program with a tail call
 * gets no private stack (check_max_stack_depth() in kernel/bpf/verifier.c).
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "sample/map.bpf.h"

const volatile bool never;

MAP(no_programs, PROG_ARRAY, 1, __u32, __u32);

/* Keeps the program at a uprobe with context @ctx on the stack of its thread. Every such program
 * calls this. The kernel removes the tail call, which is never reached, but only after the verifier
 * has seen it. */
static __always_inline void use_thread_stack(void *ctx)
{
    if (never)
        bpf_tail_call(ctx, &no_programs, 0);
}
