/* SPDX-License-Identifier: Apache-2.0 */
/* Reads ahead, in one turn of a reader, the memory that naming the places of a stack needs. */
#include "hotspot/code/code.h"

struct prepare {
    size_t count;
    struct hotspot_place places[HOTSPOT_PREPARE_MAX];
};

/* Reads what hotspot_code_find() needs for @pc, and what hotspot_code_locate() needs for its
 * code. */
static void code_keep(struct hotspot_vm *vm, uint64_t pc, bool is_return_address)
{
    struct hotspot_code code;

    if (code_find(vm, pc, &code) == 0)
        location_keep(vm, &code, pc, is_return_address);
}

static int run_prepare(struct hotspot_vm *vm, void *arg)
{
    const struct prepare *p = arg;

    for (size_t i = 0; i < p->count && !vm->memory.missed; i++) {
        const struct hotspot_place *at = &p->places[i];

        if (at->method)
            method_keep_at(vm, at->method, at->bcp);
        else
            code_keep(vm, at->pc, at->is_return_address);
    }
    return 0;
}

void hotspot_prepare(struct hotspot_vm *vm, const struct hotspot_place *places, size_t count)
{
    struct prepare p = { .count = MIN(count, (size_t)HOTSPOT_PREPARE_MAX) };

    memcpy(p.places, places, p.count * sizeof(*places));
    vm_ask(vm, run_prepare, &p, sizeof(p));
}
