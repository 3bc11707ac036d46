/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of counted functions, and of functions that request memory from a C library. Each set has
 * its own probes, and each probe has a slot.
 */
#pragma once

#include "sample/alloc_sample.bpf.h"

/* Written by the loader. */
__u32 call_epochs[ALLOC_CALLS_MAX]; /* epoch of the probe in each slot; 0: counts nothing */

/* By process id. */
MAP(mallocs, HASH, ALLOC_PROCESSES_MAX, __u32, struct alloc_mallocs);

MAP(blocks, PERCPU_ARRAY, STACK_SETS_MAX, __u32, struct block);

/* Returns true if set @set, below STACK_SETS_MAX, samples this call. *ret_value: the record's
 * value; 0: an interval. A call that preempts another one may distort the block, but harms nothing
 * else. */
static __always_inline bool takes_call(__u32 set, __u64 *ret_value)
{
    struct block *b = bpf_map_lookup_elem(&blocks, &set);

    *ret_value = 0;
    UNWIND_MASK(set, STACK_SETS_MAX - 1); /* older verifiers forget the bound of a key */
    return !b || is_picked(b, &rates[set], ret_value);
}

/* Returns the set of a probe that belongs to one set. */
static __always_inline __u32 set_of(__u32 kind)
{
    return (__u32)(kind >= ALLOC_MALLOC ? (kind - ALLOC_MALLOC) / ALLOC_MALLOC_KINDS
                                        : kind - ALLOC_CALL) &
           (STACK_SETS_MAX - 1);
}

/* Returns the bytes that a call of a function of @kind (enum alloc_malloc) requests, by its first
 * three arguments; 0: none. */
static __always_inline __u64 asked_bytes(__u32 kind, __u64 first, __u64 second, __u64 third)
{
    __u64 bytes = first;

    if (kind == ALLOC_MALLOC_PRODUCT)
        bytes = first < SIZE_MAX_BYTES && second < (1ULL << 23)   ? first * second
                : second < SIZE_MAX_BYTES && first < (1ULL << 23) ? first * second
                                                                  : SIZE_MAX_BYTES;
    else if (kind == ALLOC_MALLOC_THIRD || kind == ALLOC_MALLOC_THIRD_OF_LARGE)
        bytes = kind == ALLOC_MALLOC_THIRD_OF_LARGE && second <= ALLOC_ALIGNED ? 0 : third;
    else if (kind != ALLOC_MALLOC_FIRST)
        bytes = kind == ALLOC_MALLOC_SECOND_OF_OLD && first <= ALLOC_ALIGNED ? 0 : second;
    return bytes < SIZE_MAX_BYTES ? bytes : 0; /* malloc fails for more */
}

/* Returns asked_bytes() of a call of process @host_pid, and counts the call. */
static __always_inline __u64 asked(__u32 host_pid, __u32 kind, const struct arguments *args)
{
    struct alloc_mallocs *m = bpf_map_lookup_elem(&mallocs, &host_pid);

    if (m)
        __sync_fetch_and_add(&m->calls, 1);
    return asked_bytes((kind - ALLOC_MALLOC) % ALLOC_MALLOC_KINDS, args->n[0], args->n[1],
                       args->n[2]);
}

/* Returns true if the probe of @cookie is being removed, and so counts nothing. */
static __always_inline bool is_going(__u64 cookie)
{
    return ALLOC_COOKIE_KIND(cookie) >= ALLOC_CALL &&
           ALLOC_COOKIE_EPOCH(cookie) !=
               call_epochs[ALLOC_COOKIE_SLOT(cookie) & (ALLOC_CALLS_MAX - 1)];
}
