/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Finds the new address of an object that ZGC has moved. A reference may be older than the move
 * until Java code loads it or the next marking visits it. Each granule (2 MiB) that objects were
 * moved out of has a ZForwarding, a hash table from an object's index to its new address. It lies
 * in the target's memory, and nothing in it is trusted.
 */
#pragma once

#include "unwind/state.h"

#define UNWIND_GRANULE_SHIFT 21
#define UNWIND_VIEWS 3 /* addresses at which ZGC that is not generational maps its heap */

/* The bits of a ZForwardingEntry. */
#define UNWIND_ENTRY_POPULATED 1
#define UNWIND_ENTRY_OFFSET_SHIFT 1
#define UNWIND_ENTRY_OFFSET_BITS 45
#define UNWIND_ENTRY_INDEX_SHIFT 46

/* The maps of generational ZGC: one for objects moved out of the old generation, one for the
 * young. */
#define UNWIND_MAP_OLD 0
#define UNWIND_MAP_YOUNG 1
#define UNWIND_REMEMBERED (3ULL << 4) /* colours of a reference from an old to an old object */

/* Returns whether the object of the reference @raw may have been moved out of the generation of map
 * @map. @coloured: ZGC is generational; @bad: its bad mask. One of the four "remapped" bits is set.
 * Bit 0 of its number stands for the young generation, bit 1 for the old. */
UNWIND_INLINE bool unwind_may_be_moved(bool coloured, uint64_t raw, uint64_t bad, uint32_t map)
{
    uint64_t has = raw >> 12 & 15, good = ~bad >> 12 & 15;
    bool old, young;

    if (!(raw & bad))
        return false;
    if (!coloured)
        return true;
    old = !(has & 3) != !(good & 3);
    young = !(has & 5) != !(good & 5);
    if (map == UNWIND_MAP_OLD)
        return old;
    return young && !(old && (raw & UNWIND_REMEMBERED) == UNWIND_REMEMBERED);
}

/* Returns the address in view @i of the heap of @at, which is in some view; 0: it is in none.
 * @lowest: the lowest bit of the views' addresses; 0: the heap has no views. The kernel maps a page
 * of a view when the program first uses it there, and BPF programs read only such pages. */
UNWIND_INLINE uint64_t unwind_view(uint64_t lowest, uint64_t at, uint32_t i)
{
    uint64_t view = at & ~(lowest - 1);

    if (!lowest || !view || view & (view - 1) || view >= lowest << UNWIND_VIEWS)
        return 0;
    return (at - view) | lowest << i;
}

/* Returns whether @f covers the object at offset @offset, and sets *ret to the object's index. */
UNWIND_INLINE bool unwind_forwarding_index(const struct unwind_forwarding *f, uint64_t offset,
                                           uint64_t *ret)
{
    if (offset < f->start || offset - f->start >= f->bytes || !f->length)
        return false;
    *ret = (offset - f->start) >> (f->alignment_shift & 31);
    return true;
}

/* Returns the hash of @index: the entry where the search begins, to be masked by the table's
 * length. */
UNWIND_INLINE uint64_t unwind_forwarding_hash(uint64_t index)
{
    uint32_t key = (uint32_t)index;

    key = ~key + (key << 15);
    key ^= key >> 12;
    key += key << 2;
    key ^= key >> 4;
    key *= 2057;
    return key ^ key >> 16;
}

/* Returns the new address of @object by its forwarding entry @entry. */
UNWIND_INLINE uint64_t unwind_forwarded(const struct unwind_zgc *z, uint64_t object, uint64_t entry)
{
    entry = entry >> UNWIND_ENTRY_OFFSET_SHIFT & ((1ULL << UNWIND_ENTRY_OFFSET_BITS) - 1);
    return (object & ~z->offset_mask) | entry;
}
