/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of JVMs as they count it themselves: what /metrics says of it. */
#pragma once

#include "api/api_impl.h"
#include "hotspot/counters.h"

#define HEAP_METRICS_JVMS_MAX 1024              /* in one answer */
#define HEAP_METRICS_NEW_NS (30 * NSEC_PER_SEC) /* older counters are not told */

/* What the engine's thread hands to the caller's, which writes the text. */
struct heap_metrics {
    struct heap_metrics_jvm *jvms; /* owned */
    size_t count, room;
    struct buf labels;                  /* of all of them */
    uint64_t off, late, unread, beyond; /* JVMs left out: why */
};

/* Fills *@ret, which is zeroed, with the counters at hand of what @v sees, and has them read again
 * soon. Thread: the engine's. */
void heap_metrics_collect(struct api *api, const struct viewer *v, struct heap_metrics *ret);
/* Appends the families; @whole: also how many JVMs are left out. Thread: any. */
void heap_metrics_write(const struct heap_metrics *m, bool whole, struct buf *out);
void heap_metrics_deinit(struct heap_metrics *m);
