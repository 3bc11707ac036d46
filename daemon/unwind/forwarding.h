/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where ZGC has moved an object to. A reference may be older than the move, until Java code loads
 * it or the next marking passes it. Each granule (2 MiB) that objects were moved out of has a
 * ZForwarding. That is a table of hashes from the index of an object to its new place. Its memory
 * is the target's, and nothing in it is trusted.
 */
#pragma once

#include "unwind/state.h"

#define UNWIND_GRANULE_SHIFT 21

/* A ZForwardingEntry. */
#define UNWIND_ENTRY_POPULATED 1
#define UNWIND_ENTRY_OFFSET_SHIFT 1
#define UNWIND_ENTRY_OFFSET_BITS 45
#define UNWIND_ENTRY_INDEX_SHIFT 46

/* Maps of generational ZGC: of what its old and its young generation have moved. */
#define UNWIND_MAP_OLD 0
#define UNWIND_MAP_YOUNG 1
#define UNWIND_REMEMBERED                                                                          \
    (3ULL << 4) /* colours of a reference from an old object to an old one                         \
                 */

/* Returns whether what the reference @raw leads to may have been moved by what map @map is of.
 * @coloured: ZGC is generational; @bad: its mask. Of the four bits "remapped" one is set. Its
 * number has a bit for each generation, the young one's first. */
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

/* Returns whether @f is of the object at offset @offset; *ret is the index of it. */
UNWIND_INLINE bool unwind_forwarding_index(const struct unwind_forwarding *f, uint64_t offset,
                                           uint64_t *ret)
{
    if (offset < f->start || offset - f->start >= f->bytes || !f->length)
        return false;
    *ret = (offset - f->start) >> (f->alignment_shift & 31);
    return true;
}

/* Returns the entry from which on index @index is looked for, before it is cut to the length. */
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

/* Returns where @object, which entry @entry is of, is now. */
UNWIND_INLINE uint64_t unwind_forwarded(const struct unwind_zgc *z, uint64_t object, uint64_t entry)
{
    entry = entry >> UNWIND_ENTRY_OFFSET_SHIFT & ((1ULL << UNWIND_ENTRY_OFFSET_BITS) - 1);
    return (object & ~z->offset_mask) | entry;
}
