/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where generational ZGC has moved an object to. A reference may be older than the move, until its
 * next load by Java code or the next marking. The mask of bad colours says which are. Each granule
 * of memory (2 MiB) that objects were moved out of has a ZForwarding, which maps the index of an
 * object to its new place. The two tables of those, of the young and the old generation, are in no
 * table of the VM: they are found by their size, which is that of the page table.
 */
#include "hotspot/vm.h"

#define GRANULE_SHIFT 21
#define GRANULES_MAX ((uint64_t)1 << 24) /* 32 TiB */
#define TABLES_SEARCHED 65536            /* bytes of the ZHeap behind its page table */
#define PROBES_MAX 256                   /* of a table of hashes */
#define ENTRIES_MAX ((uint64_t)1 << 24)
#define ALIGNMENT_SHIFT_MAX 30

/* A ZForwardingEntry. */
#define ENTRY_POPULATED 1
#define ENTRY_OFFSET_SHIFT 1
#define ENTRY_OFFSET_BITS 45
#define ENTRY_INDEX_SHIFT 46

/* How a ZForwarding begins. */
struct forwarding {
    uint64_t start, bytes; /* of the memory that its objects were in, as offsets */
    uint64_t alignment_shift;
    uint64_t length; /* entries, a power of two */
};

static bool has_tables(const struct hotspot_layout *l)
{
    return l->z_globals_at && l->collected_heap_at && layout_has(l->z_bad_mask) &&
           layout_has(l->z_offset_mask) && layout_has(l->z_heap) && layout_has(l->z_page_table) &&
           l->sizeof_ZForwarding >= sizeof(struct forwarding);
}

/* Finds the addresses of the masks, which the VM keeps pointers to. */
static int find_masks(struct hotspot_vm *vm, struct zgc *z)
{
    struct hotspot_memory *m = &vm->memory;
    uint64_t globals, at;
    int r = memory_u64(m, vm->layout.z_globals_at, &globals);

    if (r == 0)
        r = memory_u64(m, globals + (uint64_t)vm->layout.z_bad_mask.offset, &z->bad_mask_at);
    if (r == 0)
        r = memory_u64(m, globals + (uint64_t)vm->layout.z_offset_mask.offset, &at);
    if (r == 0)
        r = memory_u64(m, at, &z->offset_mask);
    return r == 0 && (z->offset_mask + 1) & z->offset_mask ? -EBADMSG : r;
}

static int find_maps(struct hotspot_vm *vm, struct zgc *z)
{
    struct hotspot_memory *m = &vm->memory;
    uint64_t table, pair[2];
    int r = memory_u64(m, vm->layout.collected_heap_at, &table);

    table += (uint64_t)vm->layout.z_heap.offset + (uint64_t)vm->layout.z_page_table.offset;
    if (r == 0)
        r = memory_u64(m, table, &z->granules);
    if (r == 0 && (!z->granules || z->granules > GRANULES_MAX))
        return -EBADMSG;
    for (uint64_t at = table + sizeof(pair);
         r == 0 && at < table + TABLES_SEARCHED && z->map_count < ZGC_MAPS; at += 8) {
        if (memory_read(m, at, pair, sizeof(pair)) < 0)
            break;
        if (pair[0] == z->granules && pair[1] >= MEMORY_PAGE && pair[1] % 8 == 0 &&
            pair[1] < MEMORY_ADDRESS_MAX)
            z->maps[z->map_count++] = pair[1];
    }
    return r == 0 && z->map_count < ZGC_MAPS ? -ENOENT : r;
}

void zgc_ready(struct hotspot_vm *vm)
{
    struct zgc found = { .known = true };
    int r;

    if (vm->zgc.known || vm->zgc.unusable || !vm->names.known || !vm->names.coloured_oops)
        return;
    r = has_tables(&vm->layout) ? find_masks(vm, &found) : -ENOENT;
    if (r == 0)
        r = find_maps(vm, &found);
    if (r == 0)
        vm->zgc = found;
    vm->zgc.unusable = r == -ENOENT || r == -EBADMSG;
}

/* Places follow one another from the hash of the index on. */
static uint64_t hash(uint64_t index)
{
    uint32_t key = (uint32_t)index;

    key = ~key + (key << 15);
    key ^= key >> 12;
    key += key << 2;
    key ^= key >> 4;
    key *= 2057;
    return key ^ key >> 16;
}

/* Finds object @index of @f, which lies at @at. 0: it was not moved. */
static uint64_t find_entry(struct hotspot_vm *vm, uint64_t at, const struct forwarding *f,
                           uint64_t index)
{
    uint64_t entries = at + ((vm->layout.sizeof_ZForwarding + 7) & ~7U), place = hash(index), entry;

    for (unsigned i = 0; i < PROBES_MAX; i++, place++) {
        if (memory_u64(&vm->memory, entries + 8 * (place & (f->length - 1)), &entry) < 0 ||
            !(entry & ENTRY_POPULATED))
            return 0;
        if (entry >> ENTRY_INDEX_SHIFT == index)
            return entry >> ENTRY_OFFSET_SHIFT & ((UINT64_C(1) << ENTRY_OFFSET_BITS) - 1);
    }
    return 0;
}

uint64_t zgc_forward(struct hotspot_vm *vm, uint64_t raw, uint64_t object)
{
    const struct zgc *z = &vm->zgc;
    uint64_t bad, offset = object & z->offset_mask, at, to;
    struct forwarding f;

    if (!z->known || memory_u64(&vm->memory, z->bad_mask_at, &bad) < 0 || !(raw & bad) ||
        offset >> GRANULE_SHIFT >= z->granules)
        return object;
    for (unsigned i = 0; i < ZGC_MAPS; i++) {
        if (memory_u64(&vm->memory, z->maps[i] + 8 * (offset >> GRANULE_SHIFT), &at) < 0 || !at ||
            memory_read(&vm->memory, at, &f, sizeof(f)) < 0)
            continue;
        f.alignment_shift &= UINT32_MAX;
        if (offset < f.start || offset - f.start >= f.bytes || !f.length ||
            f.length > ENTRIES_MAX || f.length & (f.length - 1) ||
            f.alignment_shift > ALIGNMENT_SHIFT_MAX)
            continue;
        to = find_entry(vm, at, &f, (offset - f.start) >> f.alignment_shift);
        if (to)
            return (object & ~z->offset_mask) | to;
    }
    return object;
}
