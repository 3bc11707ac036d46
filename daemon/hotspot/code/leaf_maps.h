/* SPDX-License-Identifier: Apache-2.0 */
/* The maps of loops (leaf_map.h) that are kept of one JVM. Thread: as the VM's. */
#pragma once

#include "base/u64_cache.h"
#include "hotspot/code/code.h"
#include "hotspot/leaf/leaf.h"

#define LEAF_MAPS 1024
#define LEAF_WAYS 8 /* places that a map may have */
#define LEAF_STUBS_MAX 1024
#define LEAF_MAPS_BYTES_MAX ((size_t)8 << 20) /* of all together; then all are made again */

/* Of one version of code. A range's chain is where its scope is encoded; 0: none. */
struct leaf_map {
    uint64_t blob; /* 0: the place is free */
    int32_t compile_id;
    bool unknown; /* more than a limit allows: nothing is sure of any pc */
    struct leaf_ranges ranges;
    uint64_t *callees; /* owned; Method* of each range's callee */
};

struct leaf_maps {
    struct leaf_map
        at[LEAF_MAPS]; /* by address of the code, at the first of its places or behind */
    size_t bytes;
    struct u64_cache stubs; /* leaf_calls.h */
};

/* Frees what @m owns: it has no ranges then. */
void leaf_map_deinit(struct leaf_map *m);
/* Returns an empty set of maps; NULL: no memory. */
struct leaf_maps *leaf_maps_new(void);
/* Returns the map of @b, or the place for it: one that is free, or that of the oldest code. */
struct leaf_map *leaf_maps_at(struct leaf_maps *maps, const struct blob *b);
/* Frees all of @m; accepts NULL. */
struct leaf_maps *leaf_maps_free(struct leaf_maps *m);
/* Puts @made, whose ranges it takes, into the place @at of @maps. */
void leaf_maps_put(struct leaf_maps *maps, struct leaf_map *at, const struct leaf_map *made);
