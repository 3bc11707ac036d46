/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which objects are alive, by the words that weak references are (JNI's, of an agent). A collector
 * that finds an object gone writes null there: 0, or with coloured pointers (ZGC of 21 and up) a
 * number of 16 bits. Until it has looked, the word says that the object is alive.
 */
#include "hotspot/vm.h"

#define COLOUR_BITS 16 /* of a pointer, at most; no object lies so low */

/* The address of the number, or 0. */
static uint64_t collections_at(struct hotspot_vm *vm)
{
    const struct hotspot_layout *l = &vm->layout;
    uint64_t heap;

    if (!l->collected_heap_at || !layout_has(l->heap_collections) ||
        memory_u64(&vm->memory, l->collected_heap_at, &heap) < 0 || !heap ||
        heap >= MEMORY_ADDRESS_MAX - (uint64_t)l->heap_collections.offset)
        return 0;
    return heap + (uint64_t)l->heap_collections.offset;
}

static int run_collections(struct hotspot_vm *vm, void *arg)
{
    uint64_t *ret = arg;

    memory_begin(&vm->memory);
    *ret = collections_at(vm);
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
    uint64_t at, word;

    memory_begin(&vm->memory);
    at = collections_at(vm);
    if (!at || memory_u32(&vm->memory, at, &l->collections) < 0)
        l->collections = 0;
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
    static const char *const CONCURRENT[] = { "UseZGC", "UseShenandoahGC" };
    int r;

    l->count = MIN(l->count, (uint32_t)HOTSPOT_LIVE_MAX);
    l->concurrent = false;
    for (size_t i = 0; i < ARRAY_SIZE(CONCURRENT); i++) {
        uint64_t on = 0;

        l->concurrent |= hotspot_vm_flag(vm, CONCURRENT[i], &on) == 0 && on;
    }
    r = vm_call(vm, run_live, l, sizeof(*l));
    return r == -ESRCH ? (int)HOTSPOT_GONE : r;
}
