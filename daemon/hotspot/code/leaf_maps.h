/* SPDX-License-Identifier: Apache-2.0 */
/* The maps of loops (leaf_map.h) that are kept of one JVM. Thread: as the VM's. */
#pragma once

#include "hotspot/code/code.h"
#include "hotspot/leaf/leaf.h"

#define LEAF_MAPS 512
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
    struct leaf_map at[LEAF_MAPS]; /* by address of the code */
    size_t bytes;
};

/* Frees what @m owns: it has no ranges then. */
void leaf_map_deinit(struct leaf_map *m);
/* Frees all of @m; accepts NULL. */
struct leaf_maps *leaf_maps_free(struct leaf_maps *m);
/* Puts @made, whose ranges it takes, into the place @at of @maps. */
void leaf_maps_put(struct leaf_maps *maps, struct leaf_map *at, const struct leaf_map *made);
