/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/code/leaf_map.h"

#include "hotspot/code/leaf_methods.h"

#define WANTED_MAX 64 /* methods of one nmethod to resolve */
#define ROUNDS_MAX 6  /* each round resolves the methods that the previous round's methods call */

/* Resolves the wanted methods, at most *left. Return: 1; 0: no method was wanted; -errno. */
static int resolve_wanted(struct leaf_methods *methods, struct leaf_material *m, size_t *left)
{
    size_t count = m->in.method_count, before = *left;
    int r = 0;

    for (uint32_t i = 0; r == 0 && i<count && * left> 0; i++) {
        if (!m->wanted[i] || m->methods[i].resolved)
            continue;
        r = leaf_methods_resolve(methods, i);
        (*left)--;
    }
    return r < 0 ? r : before > *left;
}

/* Finds the ranges by the records. If the records do not decide, compares bytecodes, too. All
 * rounds share one budget of steps. */
static int find_ranges(struct leaf_methods *methods, struct leaf_material *m, struct leaf_graph *g,
                       struct leaf_ranges *ret)
{
    size_t left = WANTED_MAX;
    int r = leaf_ranges_make(&m->in, g, ret);

    for (int round = 0; r == 0 && round < ROUNDS_MAX; round++) {
        struct leaf_ranges more = { 0 };

        r = resolve_wanted(methods, m, &left);
        if (r > 0)
            r = leaf_ranges_make(&m->in, g, &more);
        else
            break;
        if (r == 0) {
            free(ret->at);
            *ret = more;
        }
    }
    return r == -E2BIG && ret->at ? 0 : r; /* the previous result holds */
}

/* Replaces indices of chains by offsets, and indices of methods by addresses in the JVM. Returns 0
 * or -ENOMEM. */
static int name_ranges(const struct leaf_material *m, struct leaf_map *map)
{
    for (size_t i = 0; i < map->ranges.count; i++) {
        struct leaf_range *at = &map->ranges.at[i];

        at->chain = at->chain == LEAF_NONE ? 0 : m->scopes[at->chain];
        if (at->callee == LEAF_NONE)
            continue;
        if (!map->callees)
            map->callees = calloc(map->ranges.count, sizeof(*map->callees));
        if (!map->callees)
            return -ENOMEM;
        map->callees[i] = m->addresses[at->callee];
    }
    return 0;
}

/* Makes the ranges of @b. Code without a loop needs only its instructions. */
static int make_ranges(struct hotspot_vm *vm, const struct blob *b, struct leaf_map *map)
{
    _cleanup_(leaf_methods_deinit) struct leaf_methods methods = { 0 };
    _cleanup_(leaf_material_deinit) struct leaf_material m = { 0 };
    _cleanup_(leaf_graph_deinit) struct leaf_graph g = { 0 };
    int r = leaf_read_code(vm, &vm->leaf_maps->stubs, b, &m)
                ?: leaf_graph_make(m.instructions, m.in.instruction_count, &m.in.ways, &g);

    if (r < 0 || g.loop_count == 0)
        return r;
    r = leaf_methods_init(vm, &m, &methods) ?: leaf_read_records(vm, b, &methods, &m) ?:
        find_ranges(&methods, &m, &g, &map->ranges);
    return r == 0 ? name_ranges(&m, map) : r;
}

/* Makes the map of @b in @m. Return: 0; -errno: it cannot be made now. */
static int map_make(struct hotspot_vm *vm, const struct hotspot_code *code, const struct blob *b,
                    struct leaf_map *m)
{
    struct leaf_map made = { .blob = b->address, .compile_id = b->compile_id };
    int r = make_ranges(vm, b, &made), still = -ENOMEM;

    made.unknown = r < 0;
    if (r == 0 || r == -E2BIG || r == -EBADMSG)
        still = code_still(vm, code); /* the code may have been replaced during the read */
    if (still <= 0) {
        leaf_map_deinit(&made);
        return r < 0 ? r : still < 0 ? still : -ENOENT;
    }
    if (made.unknown)
        leaf_map_deinit(&made);
    leaf_maps_put(vm->leaf_maps, m, &made);
    return 0;
}

int leaf_map_find(struct hotspot_vm *vm, const struct hotspot_code *code, const struct blob *b,
                  uint32_t pc, struct leaf_spot *ret)
{
    const struct leaf_range *range;
    struct leaf_map *m;
    int r;

    /* proof.h does not check the tables of calls and traps, so an unknown release gets no map */
    if (!vm->layout.run)
        return 0;
    if (!vm->leaf_maps && vm_reads_nothing(vm))
        return -EAGAIN;
    if (!vm->leaf_maps)
        vm->leaf_maps = leaf_maps_new();
    if (!vm->leaf_maps)
        return -ENOMEM;
    m = leaf_maps_at(vm->leaf_maps, b);
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
    *ret = (struct leaf_spot){ .scope = range->chain,
                               .bci = range->bci,
                               .callee = m->callees ? m->callees[range - m->ranges.at] : 0,
                               .callee_bci = range->callee_bci,
                               .drop = range->drop,
                               .verdict = range->verdict };
    return 1;
}
