/* SPDX-License-Identifier: Apache-2.0 */
/* Cache of one JVM's loop maps (leaf_map.h). Thread: as the VM's. */
#pragma once

#include "base/u64_cache.h"
#include "hotspot/code/code.h"
#include "hotspot/leaf/leaf.h"

#define LEAF_MAPS 1024
#define LEAF_WAYS 8 /* slots that a map may lie in */
#define LEAF_STUBS_MAX 1024
#define LEAF_MAPS_BYTES_MAX                                                                        \
    ((size_t)8 << 20) /* of all maps together; beyond, all are dropped and                         \
                       * made again */

/* The loop map of one version of code. The chain of a range is the offset where its scope is
 * encoded; 0: none. */
struct leaf_map {
    uint64_t blob; /* 0: the slot is free */
    int32_t compile_id;
    bool unknown; /* a limit was exceeded: no pc of it is sure */
    struct leaf_ranges ranges;
    uint64_t *callees; /* owned; Method* of each range's callee */
};

struct leaf_maps {
    struct leaf_map at[LEAF_MAPS]; /* by code address: in its first slot or one behind */
    size_t bytes;
    struct u64_cache stubs; /* leaf_calls.h */
};

/* Frees what @m owns and clears it. */
void leaf_map_deinit(struct leaf_map *m);
/* Returns an empty set of maps; NULL: out of memory. */
struct leaf_maps *leaf_maps_new(void);
/* Returns the map of @b, or the slot for it: a free one, or that of the oldest code. */
struct leaf_map *leaf_maps_at(struct leaf_maps *maps, const struct blob *b);
/* Frees all of @m; accepts NULL. */
struct leaf_maps *leaf_maps_free(struct leaf_maps *m);
/* Stores @made, with its ranges, in the slot @at of @maps. Takes over the ranges. */
void leaf_maps_put(struct leaf_maps *maps, struct leaf_map *at, const struct leaf_map *made);
