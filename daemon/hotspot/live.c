/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which objects are alive, by the words of weak references (JNI's, of an agent). A collector
 * that finds an object dead writes null to the word: 0, or with coloured pointers (ZGC of JDK 21
 * and up) a number of 16 bits. Until then, the object counts as alive. In a collection of the young
 * generation alone, generational ZGC treats these references as strong.
 */
#include "hotspot/vm.h"

#define COLOUR_BITS 16        /* at most, of a pointer; no object has so low an address */
#define Z_GENERATIONAL_JDK 24 /* first JDK in which ZGC needs no flag for it */

uint64_t vm_heap_field(struct hotspot_vm *vm, struct layout_field field)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t heap;

    if (!l->collected_heap_at || !layout_has(field) ||
        memory_u64(&vm->memory, l->collected_heap_at, &heap) < 0 || !heap ||
        heap >= MEMORY_ADDRESS_MAX - (uint64_t)field.offset)
        return 0;
    return heap + (uint64_t)field.offset;
}

static int run_collections(struct hotspot_vm *vm, void *arg)
{
    uint64_t *ret = arg;

    memory_begin(&vm->memory);
    *ret = vm_heap_field(vm, vm->layout.heap_collections);
    return 0;
}

uint64_t hotspot_vm_collections(struct hotspot_vm *vm)
{
    uint64_t at = 0;

    return vm_ask(vm, run_collections, &at, sizeof(at)) == 0 ? at : 0;
}

static int run_live(struct hotspot_vm *vm, void *arg)
{
    struct hotspot_live *l = arg;
    uint8_t collects = 0;
    uint64_t at, word;

    memory_begin(&vm->memory);
    at = vm_heap_field(vm, vm->layout.heap_collections);
    l->collections =
        at && memory_u32(&vm->memory, at, &l->collections) == 0 ? l->collections + 1 : 0;
    /* The flag is read after the number, which the VM increments while the flag is set. So a
     * counted collection is seen under way, or it has ended. */
    at = vm_heap_field(vm, vm->layout.heap_collects);
    if (at && memory_read_direct(&vm->memory, at, &collects, sizeof(collects)) == 0 && collects)
        l->under_way = true;
    for (uint32_t i = 0; i < l->count; i++) {
        int r = l->words[i] ? memory_u64(&vm->memory, l->words[i], &word) : -EFAULT;

        if (r == -ESRCH)
            return r;
        l->alive[i] = r == 0 && word >> COLOUR_BITS != 0;
    }
    return 0;
}

int hotspot_vm_live(struct hotspot_vm *vm, struct hotspot_live *l)
{
    struct hotspot_flag flags[] = {
        { .name = "UseZGC" },
        { .name = "UseShenandoahGC" },
        { .name = "ZGenerational", .value = vm->layout.jdk >= Z_GENERATIONAL_JDK },
    };
    int r = hotspot_vm_flags(vm, flags, ARRAY_SIZE(flags));

    if (r != 0)
        return r;
    l->count = MIN(l->count, (uint32_t)HOTSPOT_LIVE_MAX);
    l->under_way = flags[0].value || flags[1].value;
    l->young_blind = flags[0].value && flags[2].value;
    r = vm_call(vm, run_live, l, sizeof(*l));
    return r == -ESRCH ? (int)HOTSPOT_GONE : r;
}
