/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/code/leaf_map.h"

/* Of code without a loop, nothing but its instructions is read. */
static int make_ranges(struct hotspot_vm *vm, struct leaf_stubs *stubs, const struct blob *b,
                       struct leaf_ranges *ret)
{
    _cleanup_(leaf_material_deinit) struct leaf_material m = { 0 };
    _cleanup_(leaf_graph_deinit) struct leaf_graph g = { 0 };
    int r = leaf_read_code(vm, stubs, b, &m);

    if (r == 0)
        r = leaf_graph_make(m.instructions, m.in.instruction_count, &m.in.ways, &g);
    if (r < 0 || g.loop_count == 0)
        return r;
    r = leaf_read_records(vm, b, &m);
    if (r == 0)
        r = leaf_ranges_make(&m.in, &g, ret);
    for (size_t i = 0; r == 0 && i < ret->count; i++) {
        uint32_t chain = ret->at[i].chain;

        ret->at[i].chain = chain == LEAF_NONE ? 0 : m.scopes[chain];
    }
    return r;
}

/* Puts the map of @b into @m. 0; -errno: it cannot be made now. */
static int map_make(struct hotspot_vm *vm, const struct hotspot_code *code, const struct blob *b,
                    struct leaf_map *m)
{
    struct leaf_maps *maps = vm->leaf_maps;
    struct leaf_map made = { .blob = b->address, .compile_id = b->compile_id };
    int r = make_ranges(vm, &maps->stubs, b, &made.ranges), still;

    if (r < 0 && r != -E2BIG && r != -EBADMSG)
        return r;
    made.unknown = r < 0;
    still = code_still(vm, code);
    if (still <= 0) { /* it may have been replaced while it was read */
        free(made.ranges.at);
        return still < 0 ? still : -ENOENT;
    }
    leaf_maps_put(maps, m, &made);
    return 0;
}

int leaf_map_find(struct hotspot_vm *vm, const struct hotspot_code *code, const struct blob *b,
                  uint32_t pc, struct leaf_spot *ret)
{
    const struct leaf_range *range;
    struct leaf_map *m;
    int r;

    if (!vm->leaf_maps && vm_reads_nothing(vm))
        return -EAGAIN;
    if (!vm->leaf_maps)
        vm->leaf_maps = calloc(1, sizeof(*vm->leaf_maps));
    if (!vm->leaf_maps)
        return -ENOMEM;
    m = &vm->leaf_maps->at[(b->address >> 6) % LEAF_MAPS];
    if (m->blob != b->address || m->compile_id != b->compile_id) {
        if (vm_reads_nothing(vm))
            return -EAGAIN;
        r = map_make(vm, code, b, m);
        if (r < 0)
            return r;
    }
    *ret = (struct leaf_spot){ .bci = LEAF_BCI_KEPT, .verdict = LEAF_UNSURE };
    if (m->unknown)
        return 1;
    range = leaf_ranges_find(&m->ranges, pc);
    if (!range)
        return 0;
    *ret = (struct leaf_spot){ range->chain, range->bci, range->drop, range->verdict };
    return 1;
}
