/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The counters of a program, for its loader. The including file defines COUNTERS before, their
 * number. (cpu.bpf.c has its own: no program preempts it, so it need not count atomically.)
 */
#pragma once

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, COUNTERS);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

/* Adds @n to counter @which. */
static __always_inline void count(__u32 which, __u64 n)
{
    __u64 *c = bpf_map_lookup_elem(&counters, &which);

    if (c)
        __sync_fetch_and_add(c, n);
}
