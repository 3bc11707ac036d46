/* SPDX-License-Identifier: Apache-2.0 */
/* Cache of one JVM's loop maps (leaf_map.h). Thread: the VM's. */
#pragma once

#include "base/u64_cache.h"
#include "hotspot/code/code.h"
#include "hotspot/leaf/leaf.h"

#define LEAF_MAPS 1024
#define LEAF_WAYS 8 /* slots that a map may lie in */
#define LEAF_STUBS_MAX 1024
#define LEAF_MAPS_BYTES_MAX                                                                        \
    ((size_t)8 << 20) /* bytes of all maps together; a larger cache is emptied */

/* The loop map of one version of code. The chain of a range is the offset of its scope; 0: none. */
struct leaf_map {
    uint64_t blob; /* 0: the slot is free */
    int32_t compile_id;
    bool unknown; /* a limit was exceeded: no pc in this code has sure frames */
    struct leaf_ranges ranges;
    uint64_t *callees; /* owned; Method* of each range's callee */
};

struct leaf_maps {
    struct leaf_map
        at[LEAF_MAPS]; /* by code address: in the first slot of the address, or behind it */
    size_t bytes;
    struct u64_cache stubs; /* leaf_calls.h */
};

/* Frees what @m owns and clears it. */
void leaf_map_deinit(struct leaf_map *m);
/* Returns an empty set of maps; NULL: out of memory. */
struct leaf_maps *leaf_maps_new(void);
/* Returns the map of @b. If there is none, returns a slot for it: a free slot, or the slot of the
 * oldest code. */
struct leaf_map *leaf_maps_at(struct leaf_maps *maps, const struct blob *b);
/* Frees all of @m; accepts NULL. */
struct leaf_maps *leaf_maps_free(struct leaf_maps *m);
/* Stores @made, with its ranges, in the slot @at of @maps. Takes over the ranges. */
void leaf_maps_put(struct leaf_maps *maps, struct leaf_map *at, const struct leaf_map *made);
