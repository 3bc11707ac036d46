/* SPDX-License-Identifier: Apache-2.0 */
#include "hotspot/code/leaf_maps.h"

void leaf_map_deinit(struct leaf_map *m)
{
    free(m->ranges.at);
    m->ranges = (struct leaf_ranges){ 0 };
    free(TAKE_PTR(m->callees));
}

static size_t map_bytes(const struct leaf_map *m)
{
    return m->ranges.room * sizeof(*m->ranges.at) +
           (m->callees ? m->ranges.count * sizeof(*m->callees) : 0);
}

static void map_drop(struct leaf_maps *maps, struct leaf_map *m)
{
    maps->bytes -= map_bytes(m);
    leaf_map_deinit(m);
    *m = (struct leaf_map){ 0 };
}

struct leaf_maps *leaf_maps_new(void)
{
    struct leaf_maps *m = calloc(1, sizeof(*m));

    if (m)
        u64_cache_init(&m->stubs, LEAF_STUBS_MAX);
    return m;
}

struct leaf_map *leaf_maps_at(struct leaf_maps *maps, const struct blob *b)
{
    size_t first = b->address >> 6;
    struct leaf_map *place = &maps->at[first % LEAF_MAPS];

    for (size_t i = 0; i < LEAF_WAYS; i++) {
        struct leaf_map *m = &maps->at[(first + i) % LEAF_MAPS];

        if (m->blob == b->address)
            return m;
        if (place->blob && (!m->blob || m->compile_id < place->compile_id))
            place = m;
    }
    return place;
}

struct leaf_maps *leaf_maps_free(struct leaf_maps *m)
{
    for (size_t i = 0; m && i < LEAF_MAPS; i++)
        map_drop(m, &m->at[i]);
    if (m)
        u64_cache_deinit(&m->stubs);
    free(m);
    return NULL;
}

void leaf_maps_put(struct leaf_maps *maps, struct leaf_map *at, const struct leaf_map *made)
{
    map_drop(maps, at);
    maps->bytes += map_bytes(made);
    *at = *made;
    for (size_t i = 0; maps->bytes > LEAF_MAPS_BYTES_MAX && i < LEAF_MAPS; i++) {
        if (&maps->at[i] != at)
            map_drop(maps, &maps->at[i]);
    }
}
