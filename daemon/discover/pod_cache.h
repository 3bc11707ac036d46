/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the node's runtimes say about containers, read once per container. Bounded; the entry that
 * was unused longest gives way. Thread: the engine's; may block for the broker.
 */
#pragma once

#include "discover/discover.h"

#define POD_CACHE_MAX 512 /* containers */

struct pod_cache;

/* 0 or -ENOMEM. */
int pod_cache_new(const struct discover_source *source, void *ctx, struct pod_cache **ret);
struct pod_cache *pod_cache_free(struct pod_cache *pc);

/* Adds names to @c where it has none, if c->id is of 64 hex digits. What is not there is asked for
 * again after 10 s at the earliest: runtimes write a moment after the start. Where a runtime of
 * this node made the container around @c it adds none: its processes may have taken the id of
 * another. */
void pod_cache_fill(struct pod_cache *pc, struct container *c, uint64_t now_ns);
