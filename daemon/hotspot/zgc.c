/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where ZGC has moved an object to (unwind/forwarding.h). The masks of its colours are in the
 * VM's tables. The non-generational ZGC has one map from granules to ZForwardings, which is in the
 * tables, too. The generational ZGC has two maps, for the old and the young generation. No table
 * has these, so flamed searches for them by their form.
 */
#include "hotspot/vm.h"

#include "unwind/forwarding.h"

#define GRANULES_MAX ((uint64_t)1 << 24) /* 32 TiB */
#define HEAP_BYTES_MAX 65536u            /* searched bytes of a ZHeap */
#define MAPS_MAX 16                      /* candidates for a map in a ZHeap */
#define ENTRIES_MAX ((uint64_t)1 << 24)
#define ALIGNMENT_SHIFT_MAX 30
#define TRIES_MAX 10
#define TRY_AGAIN_NS (100 * NSEC_PER_MSEC) /* after the first try; doubles each time */
#define JDK_FIRST 16                       /* first JDK with entries of this form */

/* Rows of the VM's tables for one kind of ZGC. */
struct tables {
    uint64_t globals_at;
    struct layout_field bad_mask, offset_mask, heap, maps;
    uint64_t forwarding_bytes;
};

static struct tables tables_of(const struct hotspot_vm *vm)
{
    const struct hotspot_layout *l = &vm->layout;

    if (vm->names.coloured_oops)
        return (struct tables){ l->z_globals_at, l->z_bad_mask,   l->z_offset_mask,
                                l->z_heap,       l->z_page_table, l->sizeof_ZForwarding };
    if (l->x_globals_at)
        return (struct tables){ l->x_globals_at, l->x_weak_bad_mask, l->x_offset_mask,
                                l->x_heap,       l->x_forwardings,   l->sizeof_XForwarding };
    /* The mask of bad references includes the colour "remapped". The mask of weak bad references
     * does not. */
    return (struct tables){ l->z_globals_at, l->z_weak_bad_mask, l->z_offset_mask,
                            l->z_heap,       l->z_forwardings,   l->sizeof_ZForwarding };
}

static bool has_tables(const struct hotspot_vm *vm, const struct tables *t)
{
    return vm->layout.jdk >= JDK_FIRST && t->globals_at && vm->layout.collected_heap_at &&
           layout_has(t->bad_mask) && layout_has(t->offset_mask) && layout_has(t->heap) &&
           layout_has(t->maps) && t->forwarding_bytes >= sizeof(struct unwind_forwarding) &&
           t->forwarding_bytes < MEMORY_PAGE;
}

/* Finds the addresses of the masks. The VM has pointers to them. */
static int find_masks(struct hotspot_vm *vm, const struct tables *t, struct unwind_zgc *z)
{
    struct hotspot_memory *m = &vm->memory;
    uint64_t globals, at;
    int r = memory_u64(m, t->globals_at, &globals) ?:
            field_u64(vm, globals, t->bad_mask, &z->bad_mask) ?:
            field_u64(vm, globals, t->offset_mask, &at) ?: memory_u64(m, at, &z->offset_mask);

    return r == 0 && (!z->bad_mask || (z->offset_mask + 1) & z->offset_mask) ? -EBADMSG : r;
}

/* Returns whether @pair is a map: its size, at most @most granules, and its address. The memory
 * must be mapped at both ends of the map. */
static bool is_map(struct hotspot_vm *vm, const uint64_t pair[2], uint64_t most)
{
    uint64_t word;

    return pair[0] && pair[0] <= most && pair[1] && pair[1] % MEMORY_PAGE == 0 &&
           pair[1] < MEMORY_ADDRESS_MAX && memory_u64(&vm->memory, pair[1], &word) == 0 &&
           memory_u64(&vm->memory, pair[1] + 8 * (pair[0] - 1), &word) == 0;
}

/* Finds the maps of the old and the young generation in the ZHeap, behind the page table at @table.
 * They are the first two maps of the same size, which is at most that of the page table. */
static int find_two(struct hotspot_vm *vm, uint64_t table, struct unwind_zgc *z)
{
    uint64_t most = z->granules, end = table + MIN(vm->layout.sizeof_ZHeap, HEAP_BYTES_MAX);
    uint64_t maps[MAPS_MAX][2];
    unsigned count = 0;

    for (uint64_t at = table + 16; at + 16 <= end && count < MAPS_MAX; at += 8) {
        int r = memory_read(&vm->memory, at, maps[count], sizeof(maps[0]));

        if (r < 0)
            return r;
        if (!is_map(vm, maps[count], most))
            continue;
        for (unsigned i = 0; i < count; i++) {
            if (maps[i][0] != maps[count][0])
                continue;
            z->granules = maps[i][0];
            z->maps[UNWIND_MAP_OLD] = maps[i][1];
            z->maps[UNWIND_MAP_YOUNG] = maps[count][1];
            return 0;
        }
        count++;
    }
    return -ENOENT;
}

static int find_maps(struct hotspot_vm *vm, const struct tables *t, struct unwind_zgc *z)
{
    struct hotspot_memory *m = &vm->memory;
    uint64_t table = 0;
    int r = memory_u64(m, vm->layout.collected_heap_at, &table);

    table += (uint64_t)t->heap.offset + (uint64_t)t->maps.offset;
    if (r == 0)
        r = memory_u64(m, table, &z->granules);
    if (r == 0 && (!z->granules || z->granules > GRANULES_MAX))
        return -EBADMSG;
    if (r == 0 && vm->names.coloured_oops)
        return find_two(vm, table, z);
    if (r == 0)
        r = memory_u64(m, table + 8, &z->maps[0]);
    return r == 0 && !z->maps[0] ? -ENOENT : r;
}

/* Returns whether vm->zgc may be filled in by a later try. */
static bool is_open(const struct hotspot_vm *vm)
{
    return vm->names.known && vm->names.zgc && !vm->zgc.known && !vm->zgc.unusable &&
           !vm->proof.objects_off;
}

static bool is_due(const struct hotspot_vm *vm)
{
    return is_open(vm) && (!vm->zgc.tries || clock_monotonic_ns() >= vm->zgc.next_ns);
}

static void try_later(struct zgc *z)
{
    z->next_ns = clock_monotonic_ns() + ((uint64_t)TRY_AGAIN_NS << z->tries);
    z->unusable = ++z->tries == TRIES_MAX;
}

void zgc_ready(struct hotspot_vm *vm)
{
    struct zgc found = { .known = true };
    struct tables t;
    int r;

    if (!is_due(vm) || vm_reads_nothing(vm))
        return;
    t = tables_of(vm);
    r = has_tables(vm, &t) ? find_masks(vm, &t, &found.at) : -ENOENT;
    if (r == 0)
        r = find_maps(vm, &t, &found.at);
    found.at.forwarding_bytes = (uint32_t)((t.forwarding_bytes + 7) & ~7ULL);
    if (r == 0)
        vm->zgc = found;
    else if (r == -ENOENT || r == -EBADMSG)
        vm->zgc.unusable = true;
    else
        try_later(&vm->zgc);
}

static int run_zgc(struct hotspot_vm *vm, void *arg)
{
    (void)arg;
    memory_begin(&vm->memory);
    zgc_ready(vm);
    return 0;
}

int hotspot_vm_zgc(struct hotspot_vm *vm, struct unwind_zgc *ret)
{
    char none;

    if (vm_is_left(vm) || (is_due(vm) && vm_call(vm, run_zgc, &none, 0) < 0))
        return -EAGAIN;
    if (!vm->zgc.known)
        return is_open(vm) ? -EAGAIN : -ENOENT;
    *ret = vm->zgc.at;
    return 0;
}

/* Returns the entry of object @index in the forwarding @f, which is at @at; 0: the object was not
 * moved. */
static uint64_t find_entry(struct hotspot_vm *vm, uint64_t at, const struct unwind_forwarding *f,
                           uint64_t index)
{
    uint64_t place = unwind_forwarding_hash(index), entry;

    at += vm->zgc.at.forwarding_bytes;
    for (unsigned i = 0; i < UNWIND_FORWARDING_PROBES; i++, place++) {
        if (memory_u64(&vm->memory, at + 8 * (place & (f->length - 1)), &entry) < 0 ||
            !(entry & UNWIND_ENTRY_POPULATED))
            return 0;
        if (entry >> UNWIND_ENTRY_INDEX_SHIFT == index)
            return entry;
    }
    return 0;
}

uint64_t zgc_forward(struct hotspot_vm *vm, uint64_t raw, uint64_t object)
{
    const struct unwind_zgc *z = &vm->zgc.at;
    uint64_t bad, offset = object & z->offset_mask, at, index, entry;
    struct unwind_forwarding f;

    if (!vm->zgc.known || memory_u64(&vm->memory, z->bad_mask, &bad) < 0 ||
        offset >> UNWIND_GRANULE_SHIFT >= z->granules)
        return object;
    for (unsigned i = 0; i < UNWIND_FORWARDINGS && z->maps[i]; i++) {
        if (!unwind_may_be_moved(vm->names.coloured_oops, raw, bad, i) ||
            memory_u64(&vm->memory, z->maps[i] + 8 * (offset >> UNWIND_GRANULE_SHIFT), &at) < 0 ||
            !at || memory_read(&vm->memory, at, &f, sizeof(f)) < 0)
            continue;
        if (f.length > ENTRIES_MAX || f.length & (f.length - 1) ||
            f.alignment_shift > ALIGNMENT_SHIFT_MAX || !unwind_forwarding_index(&f, offset, &index))
            continue;
        entry = find_entry(vm, at, &f, index);
        if (entry)
            return unwind_forwarded(z, object, entry);
    }
    return object;
}
