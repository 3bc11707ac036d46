/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the node's runtimes know of containers, read once for each container. If the cache is full,
 * the least recently used entry is evicted. Thread: the engine's; may block for the broker.
 */
#pragma once

#include "discover/discover.h"

#define POD_CACHE_MAX 512 /* containers */

struct pod_cache;

/* Makes an empty cache. Returns 0 or -ENOMEM. */
int pod_cache_new(const struct discover_source *source, void *ctx, struct pod_cache **ret);
struct pod_cache *pod_cache_free(struct pod_cache *pc);

/* Fills the empty names of @c, if c->id has 64 hex digits. Looks for missing names again after 10 s
 * at the earliest, as runtimes write them a moment after the start. If a runtime of this node made
 * the container around @c, adds no names: processes there may have taken the id of another
 * container. Then only the pod around that container counts. */
void pod_cache_fill(struct pod_cache *pc, struct container *c, uint64_t now_ns);
