/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each release has changed: once its first minutes are in the history, they are compared with
 * the hour before it. The result is a mark beside the release's, and a metric.
 */
#pragma once

#include "request/backend.h"

#define DEPLOYS_MAX 256 /* services whose last release is compared; others are counted */
#define DEPLOYS_WARM_NS (120 * NSEC_PER_SEC) /* of a JVM: they say how it starts */
#define DEPLOYS_LATELY_NS (600 * NSEC_PER_SEC)
#define DEPLOYS_BEFORE_NS (3600 * NSEC_PER_SEC)
#define DEPLOYS_WRITTEN_NS (90 * NSEC_PER_SEC) /* after which a minute is in the history */

struct api;
struct deploys;

/* Makes it of an @api that has a history. 0 or -ENOMEM. */
int deploys_new(struct api *api, struct deploys **ret);
/* Has deploys_look() return after the comparison under way. NULL is fine. Thread: any. */
void deploys_stop(struct deploys *d);
/* NULL is fine. Returns NULL. */
struct deploys *deploys_free(struct deploys *d);
/* Compares what is due at @now_ns (CLOCK_REALTIME). 0 or -errno with @err. Blocks for the disk. */
int deploys_look(struct deploys *d, uint64_t now_ns, struct error *err);
/* Appends flamed_regression of the services that @v sees. @d may be NULL. Thread: any. */
void deploys_metrics(struct deploys *d, const struct viewer *v, struct buf *out);
