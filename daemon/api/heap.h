/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of the memory of JVMs, from their own counters. */
#pragma once

#include "api/api_impl.h"
#include "hotspot/counters.h"

#define HEAP_METRICS_JVMS_MAX 1024              /* limit of JVMs in one answer */
#define HEAP_METRICS_NEW_NS (30 * NSEC_PER_SEC) /* older counters are left out */

/* The numbers that the engine's thread collects; the caller's thread writes the text. */
struct heap_metrics {
    struct heap_metrics_jvm *jvms; /* owned */
    size_t count, room;
    struct buf labels;                  /* labels of all JVMs */
    uint64_t off, late, unread, beyond; /* JVMs left out, by reason */
};

/* Fills *@ret, which must be zero, with the present counters of the JVMs that @v sees, and requests
 * new ones. Thread: the engine's. */
void heap_metrics_collect(struct api *api, const struct viewer *v, struct heap_metrics *ret);
/* Appends the families. @whole: also appends how many JVMs are left out. Thread: any. */
void heap_metrics_write(const struct heap_metrics *m, bool whole, struct buf *out);
void heap_metrics_deinit(struct heap_metrics *m);
