/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The counters of a program, for its loader: enum stack_counter, and more if the including file
 * defines their number as COUNTERS. (cpu.bpf.c has its own: no program preempts it, so it need not
 * count atomically.)
 */
#pragma once

#ifndef COUNTERS
#define COUNTERS STACK_COUNTERS
#endif

MAP(counters, PERCPU_ARRAY, COUNTERS, __u32, __u64);

/* Adds @n to counter @which. */
static __always_inline void count(__u32 which, __u64 n)
{
    __u64 *c = bpf_map_lookup_elem(&counters, &which);

    if (c)
        __sync_fetch_and_add(c, n);
}
