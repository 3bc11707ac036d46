/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For yields.bpf.c: the waits that go on, in one map for all processes, and notes about carriers.
 * Entries of waits are shared by owner, so that the threads of one owner's JVMs cannot take the
 * room of another's. `going` is the map.
 */
#pragma once

#include "sample/yields_abi.h"

/* Number of stored waits, of all processes and by share. The loader subtracts the waits that it
 * deletes. A wait that ends before it is counted makes the number -1 for a moment. */
__s32 waits_of_all;
__s32 waits_of[YIELDS_PROCESSES_MAX];

/* Adds @n to the stored waits of @p. */
static __always_inline void count_waits(const struct yields_process *p, __s32 n)
{
    __sync_fetch_and_add(&waits_of_all, n);
    __sync_fetch_and_add(&waits_of[p->share & (YIELDS_PROCESSES_MAX - 1)], n);
}

/* Returns true if one more wait of @p may be stored: its share may have at most as many as are
 * still free. So a single owner may have half of all, and some are always left for others. */
static __always_inline bool has_room(const struct yields_process *p)
{
    return waits_of[p->share & (YIELDS_PROCESSES_MAX - 1)] < (__s32)waits_max - waits_of_all;
}

/* Stores @wait, which begins. If there is no room, counts the wait as refused and returns false. */
static __always_inline bool keep_wait(struct yields_process *p, const struct yields_key *key,
                                      struct yields_wait *wait)
{
    wait->share = (__u8)p->share;
    if (has_room(p) && !bpf_map_update_elem(&going, key, wait, BPF_NOEXIST)) {
        count_waits(p, 1);
        return true;
    }
    if (!bpf_map_update_elem(&going, key, wait, BPF_EXIST))
        return true;
    __sync_fetch_and_add(&p->refused, 1);
    return false;
}

/* Returns the index of the note about the carrier @thread of the JVM in @slot. Each JVM has its own
 * places, so that carriers of different JVMs never share one. */
static __always_inline __u32 yields_note_at(__u32 slot, __u64 thread)
{
    __u32 at = (__u32)(thread * 0x9e3779b97f4a7c15ULL >> 32) & (YIELDS_CARRIERS - 1);

    return (slot & (YIELDS_PROCESSES_MAX - 1)) * YIELDS_CARRIERS + at;
}

/* Deletes the wait of @key, if there is one. */
static __always_inline void drop_wait(const struct yields_process *p, const struct yields_key *key)
{
    if (!bpf_map_delete_elem(&going, key))
        count_waits(p, -1);
}
